"""Random streams: one per run and purpose, so that no draw disturbs another.

A simulation of 1,000 runs keeps, for each run, one stream for the curvature, one for the steps of v, one for the
feedback noise and one for the policy's own probing. The first k runs therefore do not depend on how many runs there
are, a policy that draws more probes does not change the path, and runs can be computed in any order or place.

>>> first = stream(seed=7, run=3, purpose="steps").standard_normal(2)
>>> again = streams(seed=7, runs=range(10), purpose="steps")[3].standard_normal(2)
>>> bool((first == again).all())
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from soqo._arguments import choice, integer
from soqo.errors import ArgumentError
from soqo.typing import Array

__all__ = ["PURPOSES", "per_run", "stream", "streams"]

PURPOSES = ("curvature", "steps", "noise", "policy")
"""What a run draws random numbers for. The order is part of every seed: append, never reorder."""


def stream(seed: int, run: int, purpose: str) -> np.random.Generator:
    """The generator of one run for one purpose."""
    integer("seed", seed, least=0)
    integer("run", run, least=0)
    choice("purpose", purpose, PURPOSES)
    key = (run, PURPOSES.index(purpose))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def streams(seed: int, runs: Iterable[int], purpose: str) -> list[np.random.Generator]:
    """The generators of several runs for one purpose."""
    return [stream(seed, run, purpose) for run in runs]


def per_run(rng: Any, batch: tuple[int, ...], draw: Callable[[np.random.Generator], Array]) -> Array:
    """Draw once for each run of a batch, from one generator in turn or from a generator per run.

    Parameters
    ----------
    rng
        A generator, or a sequence of as many generators as the batch has runs.
    batch
        The batch shape; ``()`` is a single run.
    draw
        Makes one run's draw from its generator.

    Returns
    -------
    Array
        The draws, shape ``(*batch, *draw_shape)``.

    Examples
    --------
    >>> z = per_run(np.random.default_rng(0), (5,), lambda rng: rng.standard_normal((3, 2)))
    >>> z.shape
    (5, 3, 2)
    """
    runs = math.prod(batch)
    if isinstance(rng, np.random.Generator):
        generators: Sequence[np.random.Generator] = [rng] * runs
    elif isinstance(rng, Sequence) and all(isinstance(g, np.random.Generator) for g in rng):
        generators = rng
    else:
        raise ArgumentError(
            f"rng must be a numpy.random.Generator or a sequence of one per run, got {type(rng).__name__}"
        )
    if len(generators) != runs:
        raise ArgumentError(
            f"rng must hold one generator per run, {runs} for batch shape {batch}, got {len(generators)}"
        )
    draws = np.stack([draw(generator) for generator in generators])
    return draws.reshape(*batch, *draws.shape[1:])
