"""The curvature of a plant: what an engineer would fit from a model, and what the benchmark knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.estimators import measure, smat, svec_rows
from soqo.plants._plant import Conditions, Plant
from soqo.typing import Array

_SAMPLES_PER_UNKNOWN, _MAX_SAMPLES = 40, 600
"""The number of samples of a fit for each unknown, and the largest one."""

_FEW_SAMPLES_PER_UNKNOWN = 10
"""With fewer samples for each unknown, A is shrunk towards a multiple of the identity as far as the evidence says: the
cost is not quite quadratic, and least squares would take what is left over for curvature."""

_RATIOS = np.geomspace(1e-8, 1e2, 61)
"""The variances of the entries of A that are tried, relative to that of the residuals in units of the samples."""

_BINS = 8
"""The number of values of the context for which A is fitted."""


@dataclass(frozen=True)
class CurvatureFit(Value):
    """The curvature of a plant, fitted to its hitting cost around v, in kW and the units of its positions.

    Attributes
    ----------
    mean : Array, shape (d, d)
        The fit to all rounds.
    levels : Array, shape (n,)
        Increasing values of the context.
    tables : Array, shape (n, d, d)
        The fits for these values.
    explained : float
        The share of the variance of the hitting cost that the fits explain (R^2).
    """

    mean: Array
    levels: Array
    tables: Array
    explained: float


def fit_curvature(plant: Plant, conditions: Conditions, *, seed: int = 0) -> CurvatureFit:
    """Fit A by least squares to the hitting cost at random deviations from v, for several values of the context.

    Parameters
    ----------
    plant : Plant
        The plant, which is evaluated without noise.
    conditions : Conditions
        The conditions, of the leading shape (rounds, runs); actuators that are not active count as active.
    seed : int
        The seed of the deviations.

    Returns
    -------
    CurvatureFit
        The mean of A, and A for several values of the context.

    Examples
    --------
    >>> from soqo.plants import Quadratic
    >>> plant = Quadratic([[2.0]])
    >>> fit_curvature(plant, plant.draw(20, [0])).mean.round(6)
    array([[2.]])
    """
    rng = np.random.default_rng(seed)
    d = plant.dim
    unknowns = d * (d + 1) // 2
    samples = min(_SAMPLES_PER_UNKNOWN * unknowns, _MAX_SAMPLES)
    flat = conditions[np.unravel_index(np.arange(conditions.noise.size), conditions.noise.shape)]
    context = flat.context[:, 0] if flat.context is not None else np.zeros(len(flat))
    order = np.argsort(context)
    bins = [part for part in np.array_split(order, _BINS) if len(part)]
    if context[order[0]] == context[order[-1]]:
        bins = [order]
    tables, levels, residual, total = [], [], 0.0, 0.0
    for part in bins:
        rows = rng.choice(part, samples)
        A, left, spread = _fit(plant, flat[rows], rng)
        tables.append(A)
        levels.append(float(context[part].mean()))
        residual, total = residual + left, total + spread
    weights = np.array([len(part) for part in bins], dtype=np.float64)
    mean = np.tensordot(weights / weights.sum(), np.array(tables), axes=1)
    return CurvatureFit(mean, np.array(levels), np.array(tables), 1.0 - residual / total)


def _fit(plant: Plant, conditions: Conditions, rng: np.random.Generator) -> tuple[Array, float, float]:
    """Return the positive semi-definite fit of A, the residual sum of squares, and that of the hitting cost."""
    rows = (len(conditions), plant.dim)
    # Actuators mostly move together, since the same weather or load moves all entries of v.
    common = rng.standard_normal((len(conditions), 1))
    u = plant.typical_step * np.sqrt(0.5) * (common + rng.standard_normal(rows))
    # The mean over u and -u has no odd terms, so that a v which is not quite the minimizer does not disturb the fit.
    up, down = plant.lost(conditions, conditions.best + np.stack([u, -u]))
    cost, unknowns = 0.5 * (up + down), plant.dim * (plant.dim + 1) // 2
    if len(cost) >= _FEW_SAMPLES_PER_UNKNOWN * unknowns:
        solution = smat(np.linalg.lstsq(svec_rows(u), cost, rcond=None)[0])
    else:
        solution = _shrunk_fit(u, cost)
    left = float(np.sum((cost - measure(u, solution)) ** 2))
    values, vectors = np.linalg.eigh(solution)
    A = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return A, left, float(np.sum(cost**2))


def _shrunk_fit(u: Array, cost: Array) -> Array:
    """Return the posterior mean of A under A ~ N(t I, a^2 per entry), with t and a by marginal likelihood.

    The residuals grow with the square of |u|, so that samples far away have less weight.
    """
    half_square = 0.5 * np.vecdot(u, u)
    weight = 1.0 / np.hypot(1.0, half_square / np.median(half_square))
    z, y = np.sqrt(weight)[:, None] * u, weight * cost
    kernel = 0.25 * np.square(z @ z.T)
    unit = float(np.trace(kernel)) / len(y)
    values, vectors = np.linalg.eigh(kernel / unit)
    white_q, white_y = vectors.T @ (weight * half_square), vectors.T @ y
    variance = 1.0 + _RATIOS[:, None] * np.maximum(values, 0.0)
    scale = (white_q * white_y / variance).sum(axis=1) / (white_q**2 / variance).sum(axis=1)
    residual = white_y - scale[:, None] * white_q
    residual2 = (residual**2 / variance).mean(axis=1)
    evidence = -0.5 * len(y) * np.log(residual2 + 1e-300) - 0.5 * np.log(variance).sum(axis=1)
    best = int(np.argmax(evidence))
    alpha = vectors @ (residual[best] / variance[best]) * (_RATIOS[best] / unit)
    return np.asarray(scale[best] * np.eye(u.shape[1]) + 0.5 * (z.T * alpha) @ z)
