r"""An estimate for an A that is near a multiple of the identity.

The prior is A ~ N(t I, (tau t)^2 per entry). The scale t is fitted by generalized least squares with the prior of the
scale, and tau, the spread of A around the identity, is chosen by the marginal likelihood. A large tau says that A is
not near a multiple of the identity; the other estimates are better then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.estimators.lowrank._bases import PRIOR_SCALE
from soqo.estimators.lowrank._readings import Moments, Readings, covariance_factor
from soqo.typing import Array

_SPREADS = tuple(float(tau) for tau in np.geomspace(0.03, 2.0, 9))
"""The values of tau that are tried."""

_MAX_SPREAD2 = 3.0
"""Where tau^2 d is at least this, A is not near a multiple of the identity."""

_EVERY_SPREAD = 30
"""Up to this number of readings, all values of tau are tried; with more, the last one and one of its neighbors."""


@register("lowrank.flat")
@dataclass(frozen=True)
class Flat(Value):
    """The estimate.

    Attributes
    ----------
    matrix : Array, shape (d, d)
        The posterior mean, which need not be in the cone.
    scale : float
        The scale t.
    spread : int
        The number of tau in the list of its values.
    """

    matrix: Array
    scale: float
    spread: int

    @property
    def applies(self) -> bool:
        """Whether A is near a multiple of the identity."""
        return _SPREADS[self.spread] ** 2 * len(self.matrix) < _MAX_SPREAD2


def fit_flat(readings: Readings, noise2: float, before: Flat | None) -> Flat:
    """Return the estimate from readings.

    Parameters
    ----------
    readings : Readings
        The readings.
    noise2 : float
        The variance of the noise.
    before : Flat or None
        The last estimate, whose tau and one of its neighbors are tried; None to try all.

    Examples
    --------
    >>> Z = 10.0 * np.random.default_rng(0).standard_normal((40, 3))
    >>> round(fit_flat(Readings(Z, np.vecdot(Z, Z)), 1e-4, None).scale, 3)
    2.0
    """
    products = readings.Z @ readings.Z.T
    if before is None or len(readings.y) <= _EVERY_SPREAD:
        tried: tuple[int, ...] = tuple(range(len(_SPREADS)))
    else:
        neighbor = before.spread + (1 if len(readings.y) % 2 else -1)
        tried = tuple(i for i in (before.spread, neighbor) if 0 <= i < len(_SPREADS))
    scale = None if before is None else before.scale
    fits = [(_fit(readings, products, _SPREADS[i], noise2, scale), i) for i in tried]
    (_, t, matrix), spread = max(fits, key=lambda fit: fit[0][0])
    return Flat(matrix, t, spread)


def update_flat(data: Readings | Moments, noise2: float, before: Flat) -> Flat:
    """Return the estimate from readings, with the same scale and tau.

    Parameters
    ----------
    data : Readings or Moments
        The readings.
    noise2 : float
        The variance of the noise.
    before : Flat
        The last estimate.

    Examples
    --------
    >>> Z = 10.0 * np.random.default_rng(0).standard_normal((40, 3))
    >>> readings = Readings(Z, np.vecdot(Z, Z))
    >>> update_flat(readings, 1e-4, fit_flat(readings, 1e-4, None)).matrix.diagonal().round(3)
    array([2., 2., 2.])
    """
    tau, identity = _SPREADS[before.spread], np.eye(len(before.matrix))
    matrix = data.posterior_mean((tau * before.scale) * identity, 1.0 / tau, noise2)
    return Flat(matrix, before.scale, before.spread)


def _fit(
    readings: Readings, products: Array, tau: float, noise2: float, scale: float | None
) -> tuple[float, float, Array]:
    """Return the log evidence, the scale and the posterior mean for one tau."""
    Z, y = readings.Z, readings.y
    q = 0.5 * np.diag(products)
    t = max(float(y @ q) / max(float(q @ q), 1e-300), 1e-150) if scale is None else scale
    for _ in range(2):
        # The covariance depends on t; one more step with a better t is enough.
        factor = covariance_factor((tau * t) * products, noise2)
        along = cho_solve(factor, q, check_finite=False)
        prior = 1.0 / max(PRIOR_SCALE, t) ** 2
        last, t = t, max((float(along @ y) + prior * PRIOR_SCALE) / (float(along @ q) + prior), 1e-150)
        if abs(t - last) < 0.1 * t:
            break
    residual = y - t * q
    white = solve_triangular(factor[0], residual, lower=True, check_finite=False)
    evidence = -0.5 * float(white @ white) - float(np.log(np.diag(factor[0])).sum())
    alpha = solve_triangular(factor[0], white, lower=True, trans="T", check_finite=False)
    change = (0.5 * (tau * t) ** 2) * ((Z.T * alpha) @ Z)
    if not math.isfinite(evidence):
        evidence = -math.inf
    return evidence, t, t * np.eye(Z.shape[1]) + change
