"""Random streams: one per run and purpose, so that draws are independent of each other.

A simulation of 1,000 runs has, for each run, one stream for the curvature, one for the steps of v, one for the feedback
noise and one for the policy's own probes. The first k runs therefore do not depend on the number of runs, a policy that
draws more probes does not change the path, and runs can be computed in any order and on any machine.

>>> first = stream(seed=7, run=3, purpose="steps").standard_normal(2)
>>> again = streams(seed=7, runs=range(10), purpose="steps")[3].standard_normal(2)
>>> bool((first == again).all())
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from soqo._foundation.arguments import choice, integer
from soqo.errors import ArgumentError
from soqo.typing import Array, RngLike

_Purpose = Literal[
    "curvature",
    "steps",
    "noise",
    "policy",
    "offset",
    "meter",
    "delay",
    "context",
    "factor",
    "unit",
    "outages",
    "covariates",
]
"""What a run draws random numbers for. The order is part of every seed: append only, never reorder."""

_PURPOSES: tuple[_Purpose, ...] = get_args(_Purpose)


def stream(seed: int, run: int, purpose: _Purpose) -> np.random.Generator:
    """Return the generator of one run for one purpose."""
    seed, run = integer("seed", seed, least=0), integer("run", run, least=0)
    choice("purpose", purpose, _PURPOSES)
    key = (run, _PURPOSES.index(purpose))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def streams(seed: int, runs: Iterable[int], purpose: _Purpose) -> list[np.random.Generator]:
    """Return the generators of several runs for one purpose."""
    return [stream(seed, run, purpose) for run in runs]


def as_generators(rng: RngLike | None, batch: tuple[int, ...]) -> Sequence[np.random.Generator]:
    """Return one generator for each run of a batch.

    Parameters
    ----------
    rng : int, numpy.random.Generator or sequence of Generators
        A seed or a generator serves all runs in turn; a sequence has one generator per run.
    batch : tuple of int
        The batch shape; ``()`` is a single run.

    Raises
    ------
    ArgumentError
        If ``rng`` is of another type, or a sequence of another length than the batch.
    """
    if isinstance(rng, int | np.integer):
        rng = np.random.default_rng(integer("rng", rng, least=0))
    if isinstance(rng, np.random.Generator):
        return [rng] * math.prod(batch)
    if not isinstance(rng, Sequence) or not all(isinstance(generator, np.random.Generator) for generator in rng):
        raise ArgumentError(
            f"rng must be an int, a numpy.random.Generator or a sequence of one per run, got {type(rng).__name__}"
        )
    if len(rng) != math.prod(batch):
        raise ArgumentError(
            f"rng must hold one generator per run, {math.prod(batch)} for batch shape {batch}, got {len(rng)}"
        )
    return rng


def draw_per_run(rng: RngLike | None, batch: tuple[int, ...], draw: Callable[[np.random.Generator], Array]) -> Array:
    """Draw once for each run of a batch.

    Parameters
    ----------
    rng : int, numpy.random.Generator or sequence of Generators
        A seed or a generator serves all runs in turn; a sequence has one generator per run.
    batch : tuple of int
        The batch shape; ``()`` is a single run.
    draw : callable
        Makes the draw of one run from its generator.

    Returns
    -------
    Array, shape (*batch, *draw_shape)
        The draws.

    Raises
    ------
    ArgumentError
        If ``rng`` is of another type, or a sequence of another length than the batch.

    Examples
    --------
    >>> z = draw_per_run(0, (5,), lambda rng: rng.standard_normal((3, 2)))
    >>> z.shape
    (5, 3, 2)
    """
    draws = np.stack([draw(generator) for generator in as_generators(rng, batch)])
    return draws.reshape(*batch, *draws.shape[1:])
