"""A base load that depends on something that the player is told with each reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from soqo._foundation.arguments import finite_array, number
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._simulation.autoregression import draw_autoregression
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike


@register("Covariates")
@dataclass(frozen=True)
class Covariates(Value):
    """Readings contain the load h'w, and the player is told w with each of them: h is what a policy may learn.

    The covariates w of a reading, such as the load of a plant, are a stationary autoregression in each component.

    Parameters
    ----------
    h : array_like, shape (k,)
        The effect of the covariates on the base load, the same for all runs.
    scale : float
        The standard deviation of w, per component.
    correlation : float
        The correlation of w with that of the next round, at least 0 and below 1.

    Examples
    --------
    >>> w, load = Covariates([2.0]).draw([np.random.default_rng(0)], horizon=5)
    >>> w.shape, load.shape, bool((load == 2.0 * w[..., 0]).all())
    ((1, 5, 1), (1, 5), True)
    """

    h: ArrayLike
    _: KW_ONLY
    scale: float = 1.0
    correlation: float = 0.9

    def __post_init__(self) -> None:
        h = finite_array("h", self.h)
        if h.ndim != 1 or not h.size:
            raise ArgumentError(f"h must have shape (k,), got {h.shape}")
        correlation = number("correlation", self.correlation, least=0.0, most=1.0)
        if correlation == 1.0:
            raise ArgumentError(f"correlation must be below 1, got {self.correlation!r}")
        set_fields(self, h=freeze(h), scale=number("scale", self.scale, least=0.0), correlation=correlation)

    @property
    def components(self) -> int:
        """The dimension k of w."""
        return np.size(self.h)

    def draw(self, rngs: Sequence[np.random.Generator], horizon: int) -> tuple[Array, Array]:
        """Return the covariates and the loads of several runs; the first rounds do not depend on the horizon.

        Parameters
        ----------
        rngs : sequence of numpy.random.Generator
            One generator for each run.
        horizon : int
            The number of rounds.

        Returns
        -------
        w : Array, shape (runs, horizon, k)
            The covariates.
        load : Array, shape (runs, horizon)
            The loads h'w.
        """
        w = draw_autoregression(rngs, horizon, dim=self.components, scale=self.scale, correlation=self.correlation)
        return w, np.asarray(np.vecdot(w, np.asarray(self.h)))
