"""The error of the minimizer that the player is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from soqo._foundation.arguments import finite_array, number
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike


@register("Offset")
@dataclass(frozen=True)
class Offset(Value):
    """The player is told v + b, where v is the true minimizer: b is constant, random for each run, or a slow walk.

    Parameters
    ----------
    b : float or array_like of shape (d,)
        The constant part, the same for all runs.
    scale : float
        The standard deviation, per coordinate, of a part that is drawn once for each run.
    walk : float
        The standard deviation, per coordinate, of a step of its random walk.

    Examples
    --------
    >>> Offset([1.0, -2.0]).paths([np.random.default_rng(0)], horizon=2, dim=2)
    array([[[ 1., -2.],
            [ 1., -2.]]])
    """

    b: ArrayLike = 0.0
    _: KW_ONLY
    scale: float = 0.0
    walk: float = 0.0

    def __post_init__(self) -> None:
        b = finite_array("b", self.b)
        if b.ndim > 1:
            raise ArgumentError(f"b must be a number or a vector, got shape {b.shape}")
        set_fields(
            self,
            b=freeze(b),
            scale=number("scale", self.scale, least=0.0),
            walk=number("walk", self.walk, least=0.0),
        )

    def paths(self, rngs: Sequence[np.random.Generator], horizon: int, *, dim: int) -> Array:
        """Return the offsets of several runs, shape (runs, horizon, dim); the first ones do not depend on the horizon.

        Parameters
        ----------
        rngs : sequence of numpy.random.Generator
            One generator for each run.
        horizon : int
            The number of rounds.
        dim : int
            The dimension of v.
        """
        if np.shape(self.b) not in ((), (dim,)):
            raise ArgumentError(f"b must be a number or have shape {(dim,)}, got {np.shape(self.b)}")
        level = np.stack([self.scale * rng.standard_normal(dim) for rng in rngs])[:, None]
        steps = np.stack([rng.standard_normal((horizon, dim)) for rng in rngs])
        return np.asarray(np.asarray(self.b) + level + self.walk * np.cumsum(steps, axis=1))
