"""How SCaLE comes from readings to an estimate of A: a radius for trace minimization, and what stands in for zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soqo._arguments import choice, number
from soqo.estimators._estimate import Status
from soqo.estimators.sdp._batched import smallest_radii, trace_min_runs
from soqo.estimators.sdp._least_squares import psd_least_squares
from soqo.typing import Array

__all__ = ["FALLBACKS", "RADIUS_RULES", "Recovery"]

RADIUS_RULES = ("residual", "cap")
FALLBACKS = ("least_squares", "none")


@dataclass(frozen=True)
class Recovery:
    """Trace minimization as SCaLE uses it, for a batch of runs; the arguments are those of :class:`soqo.SCaLE`.

    Examples
    --------
    >>> Z = np.ones((1, 4, 1))
    >>> matrices, statuses = Recovery(noise_cap=0.5, radius=0.5)(Z, np.array([[1.0, 1.0, np.nan, 1.25]]))
    >>> matrices.round(6), statuses[0].name      # the smallest M with |1/2 M - 1| twice and |1/2 M - 1.25| in 0.5
    (array([[[1.833333]]]), 'SOLVED')
    """

    noise_cap: float
    radius: Any = "residual"
    fallback: str = "least_squares"

    def __post_init__(self) -> None:
        if isinstance(self.radius, str):
            choice("radius", self.radius, RADIUS_RULES)
        else:
            object.__setattr__(self, "radius", number("radius", self.radius, least=0.0))
        choice("fallback", self.fallback, FALLBACKS)

    def __call__(self, Z: Array, y: Array) -> tuple[Array, npt.NDArray[Any]]:
        """Estimates, (*batch, d, d), and how they came about.

        Parameters
        ----------
        Z : Array, shape (*batch, m, d)
            Where the player stood off the minimizer.
        y : Array, shape (*batch, m)
            The readings; NaN where there was none.
        """
        matrices, statuses = trace_min_runs(Z, y, self.radii(Z, y))
        if self.fallback == "least_squares":
            for run, status in np.ndenumerate(statuses):
                heard = ~np.isnan(y[run])
                if status is Status.CONSISTENT_WITH_ZERO and heard.any():
                    matrices[run] = psd_least_squares(Z[run][heard], y[run][heard]).matrix
        return matrices, statuses

    def radii(self, Z: Array, y: Array) -> Array:
        """The radius for each run."""
        if not isinstance(self.radius, str):
            return np.full(y.shape[:-1], self.radius)
        count, d = (~np.isnan(y)).sum(axis=-1), Z.shape[-1]
        if self.radius == "cap":
            return np.asarray(self.noise_cap * count)
        radii = np.asarray(0.5 * self.noise_cap * count)
        telling = count > 1.5 * d * (d + 1) / 2
        radii[telling] = 1.05 * smallest_radii(Z[telling], y[telling])
        return radii
