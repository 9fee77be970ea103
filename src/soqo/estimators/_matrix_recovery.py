"""SCaLE's estimator: trace minimization with a rule for the radius and a fallback for estimates of zero."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from soqo._foundation.arguments import choice, number
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._model.spectrum import quadratic_form
from soqo.errors import ArgumentError
from soqo.estimators._estimate import Status
from soqo.estimators.sdp import batched_min_radius, batched_trace_min, psd_least_squares
from soqo.typing import Array

_RadiusRule = Literal["residual", "cap", "exact"]
_Fallback = Literal["least_squares", "none"]

_MIN_READINGS_PER_UNKNOWN = 1.5
"""With fewer readings the best fit follows the noise, and its residual does not show how large the noise is."""

_ROUND_OFF = 1e-9
"""The relative amount by which the exact radius is larger than the norm of the noise."""

_RADIUS_FACTOR = 1.05
"""The radius of the rule ``"residual"``, in units of the smallest feasible one."""


@dataclass(frozen=True)
class Recovery(Value):
    """The estimator of SCaLE for a batch of runs: trace minimization within a radius that a rule chooses.

    Parameters
    ----------
    noise_cap : float
        The largest possible noise of a reading.
    radius : float, "residual", "cap" or "exact"
        The l1 radius, or the rule for it: ``"residual"`` takes 1.05 times the smallest feasible radius (half the noise
        cap per reading, if there are too few readings to determine a fit), ``"cap"`` the noise cap per reading,
        ``"exact"`` the l1 norm of the noise itself, which only a simulation knows.
    fallback : {"least_squares", "none"}
        The estimate of a run whose readings are consistent with zero: PSD least squares, or zero.
    oracle_A : Array, shape (d, d) or (*batch, d, d), optional
        The true A, for the rule ``"exact"``.

    See Also
    --------
    soqo.SCaLE : The policy, which has the same arguments.

    Examples
    --------
    >>> Z = np.ones((1, 4, 1))
    >>> matrices, statuses = Recovery(noise_cap=0.5, radius=0.5)(Z, np.array([[1.0, 1.0, np.nan, 1.25]]))
    >>> matrices.round(6), statuses[0].name      # the smallest M with |1/2 M - 1| twice and |1/2 M - 1.25| in 0.5
    (array([[[1.833333]]]), 'SOLVED')
    """

    noise_cap: float
    radius: float | _RadiusRule = "residual"
    _: KW_ONLY
    fallback: _Fallback = "least_squares"
    oracle_A: Array | None = None

    def __post_init__(self) -> None:
        set_fields(self, noise_cap=number("noise_cap", self.noise_cap, least=0.0))
        if isinstance(self.radius, str):
            choice("radius", self.radius, get_args(_RadiusRule))
        else:
            set_fields(self, radius=number("radius", self.radius, least=0.0))
        choice("fallback", self.fallback, get_args(_Fallback))

    def __call__(self, Z: Array, y: Array) -> tuple[Array, npt.NDArray[Any]]:
        """Return estimates and their statuses.

        Parameters
        ----------
        Z : Array, shape (*batch, m, d)
            The deviations x - v from the minimizer at which the cost was measured.
        y : Array, shape (*batch, m)
            The readings; NaN marks a missing one.

        Returns
        -------
        matrices : Array, shape (*batch, d, d)
        statuses : array of Status, shape (*batch,)
        """
        matrices, statuses = batched_trace_min(Z, y, self.radii(Z, y))
        if self.fallback == "least_squares":
            for run, status in np.ndenumerate(statuses):
                present = ~np.isnan(y[run])
                if status is Status.CONSISTENT_WITH_ZERO and present.any():
                    matrices[run] = psd_least_squares(Z[run][present], y[run][present]).matrix
        return matrices, statuses

    def radii(self, Z: Array, y: Array) -> Array:
        """Return the radius for each run, shape (*batch,).

        Parameters
        ----------
        Z : Array, shape (*batch, m, d)
            The deviations x - v from the minimizer at which the cost was measured.
        y : Array, shape (*batch, m)
            The readings; NaN marks a missing one.
        """
        if not isinstance(self.radius, str):
            return np.full(y.shape[:-1], self.radius)
        count, d = (~np.isnan(y)).sum(axis=-1), Z.shape[-1]
        if self.radius == "exact":
            return self._exact_radii(Z, y)
        if self.radius == "cap":
            return np.asarray(self.noise_cap * count)
        radii = np.asarray(0.5 * self.noise_cap * count)
        determined = count > _MIN_READINGS_PER_UNKNOWN * d * (d + 1) / 2
        with np.errstate(over="ignore"):  # a radius of infinity is consistent with zero
            radii[determined] = _RADIUS_FACTOR * batched_min_radius(Z[determined], y[determined])
        return radii

    def _exact_radii(self, Z: Array, y: Array) -> Array:
        """Return the l1 norm of the noise of each run; the readings at the true A then always fit."""
        if self.oracle_A is None:
            raise ArgumentError("radius must not be 'exact' outside of a simulation, which alone knows the noise")
        cost = quadratic_form(np.asarray(self.oracle_A)[..., None, :, :], Z)
        # A rounded-off radius must not exclude the true A.
        return np.asarray(np.nansum(np.abs(y - cost), axis=-1) * (1.0 + _ROUND_OFF))
