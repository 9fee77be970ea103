"""Base loads that other beliefs assume, compared with that of the best belief at some ages.

A fit for each base load, with and without an offset, is what decides, and it costs several ordinary fits. It is not
made where something cheaper shows that nothing would follow from it:

- The first time, base loads that walk are fitted only where a constant one is not much less probable than none: over
  few readings, a slow walk is nearly a constant, and faster ones only where the evidence increases with the speed.
- Later, :func:`residual_gain` compares the base loads with A as the best belief has it. Only a factor of the hitting
  cost, a multiple of |u|^2 and the offset are fitted anew, which is a least-squares problem with d + 2 unknowns instead
  of d(d+1)/2 and more. What a base load has done to the estimate of A is mostly of this form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from soqo.estimators.bayes import LOG_BASE_LOAD_RANGE, RELATIVE_ERROR, Posterior, ReadingModel
from soqo.policies.glide._beliefs import BASE_LOAD_LOG_PRIORS, Beliefs, Rows, new_beliefs
from soqo.typing import Array, BoolArray, IntArray

SPEEDS = (0.05, 0.3, 2.0, 10.0)
"""The speeds rho of base loads that walk."""

FIRST_NATS, LATER_NATS, LATER_COST = -6.0, 8.0, 6.0
"""By how much the evidence for another base load must exceed that for the best belief's: the first time, when the
latest readings are all that there are, and later, when so much is subtracted from its weight."""

CONSTANT_NATS = -7.0
"""Where a constant base load is less probable than the best belief's by more than this, none that walks is fitted."""

RESIDUAL_NATS = -6.0
"""Residuals that speak against a base load by more than this exclude that the fits support one by ``LATER_NATS``."""

COLLINEAR = 1e-9
"""Is added to the squared lengths of columns, in units of them, so that dependent columns do no harm."""

_LOG_TWO_PI = math.log(2.0 * math.pi)


def add_base_loads(beliefs: Beliefs, model: ReadingModel, runs: IntArray, best: IntArray) -> Beliefs:
    """Add beliefs with other base loads than the best one's, fitted to the latest readings.

    Parameters
    ----------
    beliefs : Beliefs
        The beliefs.
    model : ReadingModel
        The assumptions about the readings.
    runs : IntArray
        The runs to review.
    best : IntArray, shape (runs of the batch,)
        The best belief of each run.
    """
    first = beliefs.age[best[runs]] <= beliefs.recent_y.shape[1]
    parts = _supported(beliefs, model, runs[first], best, first=True)
    later = runs[~first]
    if later.size:
        rows = beliefs.latest_accepted(later, best[later])
        later = later[residual_gain(model, beliefs.posterior.without_rows().take(best[later]), rows) > RESIDUAL_NATS]
    parts += _supported(beliefs, model, later, best, first=False)
    return beliefs.join(*parts) if parts else beliefs


def _supported(
    beliefs: Beliefs, model: ReadingModel, runs: IntArray, best: IntArray, *, first: bool
) -> list[dict[str, Any]]:
    """Return new beliefs with base loads that the latest readings support better than the best belief's."""
    if not runs.size:
        return []
    chosen = best[runs]
    rows, posterior = beliefs.latest_accepted(runs, chosen), beliefs.posterior
    own = np.where(posterior.level_variance[chosen] > 0.0, posterior.level_speed[chosen], np.nan)
    none, constant = _marginals(model, rows, (None, 0.0))
    reference = np.where(own == 0.0, constant + _log_prior(0.0), none + _log_prior(None))
    for rho in SPEEDS:
        same = np.flatnonzero(own == rho)
        if same.size:
            reference[same] = _marginals(model, rows.of_runs(same), (rho,))[0] + _log_prior(rho)
    walks = np.ones(runs.size, dtype=np.bool_)
    if first:
        walks = constant + _log_prior(0.0) - reference > CONSTANT_NATS
    marginal = {0.0: constant, **_walks(model, rows, np.flatnonzero(walks))}
    evidence = {rho: found + _log_prior(rho) for rho, found in marginal.items()}
    walk_top = np.max([evidence[rho] for rho in SPEEDS], axis=0)
    least, cost = (FIRST_NATS, 0.0) if first else (LATER_NATS, LATER_COST)
    parts = []
    for rho, value in evidence.items():
        gain = value - reference
        # Of base loads that walk, the most probable one; a constant one only if it is more probable than that.
        where = np.flatnonzero((own != rho) & (value >= walk_top) & (gain > least))
        if where.size:
            start = Posterior.start(model, where.size, base_load=rho)
            learned = rows.of_runs(where).learned(model, start).fit_all(model)
            weight = beliefs.total[chosen[where]] + gain[where] - cost - marginal[rho][where]
            part = new_beliefs(runs[where], learned, weight, age=0.0, rejected=0.0)
            part["age"], part["epoch"] = beliefs.age[chosen][where], beliefs.epoch[chosen][where]
            parts.append(part)
    return parts


def _marginals(model: ReadingModel, rows: Rows, base_loads: Sequence[float | None]) -> Array:
    """Return the log marginal density of the readings with each of these base loads, shape (base loads, runs)."""
    runs = len(rows.y)
    speeds = np.repeat([math.nan if rho is None else rho for rho in base_loads], runs)
    start = Posterior.start(model, speeds.size, base_load=speeds)
    found = rows.learned(model, start, len(base_loads)).summary_of_fit(model)[1]
    return found.reshape(len(base_loads), runs)


def _walks(model: ReadingModel, rows: Rows, where: IntArray) -> dict[float, Array]:
    """Return the log marginal densities with base loads that walk, in some runs; faster ones only as they increase."""
    found = {rho: np.full(len(rows.y), -np.inf) for rho in SPEEDS}
    before = np.full(len(rows.y), -np.inf)
    for pair in (SPEEDS[:2], SPEEDS[2:]):  # two of them in one call
        densities = _marginals(model, rows.of_runs(where), pair) if where.size else np.empty((2, 0))
        increases = np.ones(where.size, dtype=np.bool_)
        for rho, density in zip(pair, densities, strict=True):
            found[rho][where] = np.where(increases, density, -np.inf)
            increases &= density > before[where]
            before[where] = density
        where = where[increases]
    return found


def _log_prior(rho: float | None) -> float:
    return BASE_LOAD_LOG_PRIORS["none" if rho is None else "walk" if rho else "constant"]


def residual_gain(model: ReadingModel, posterior: Posterior, rows: Rows) -> Array:
    """Return by how much residuals support a base load other than the posterior's, in nats; shape (runs,).

    The residuals are those of the mean of A. For a base load, a factor of the hitting cost, a multiple of |u|^2 and the
    offset are fitted as well, each with the penalty 1/2 log n of the Bayesian information criterion (Schwarz,
    "Estimating the dimension of a model", 1978). No base load means no offset either, and the noise that the posterior
    has found.

    Parameters
    ----------
    model : ReadingModel
        The assumptions about the readings.
    posterior : Posterior
        The posterior of the best belief of each run.
    rows : Rows
        Its latest readings; y is NaN for none.

    Returns
    -------
    Array, shape (runs,)
        The largest log likelihood of another base load minus that of the posterior's.
    """
    q, p = model.biases, model.unknowns
    features, seen = rows.features(model), ~np.isnan(rows.y)
    y = np.where(seen, rows.y, 0.0)
    square_length = model.square_length(features)
    R = 1.0 + np.square(RELATIVE_ERROR * square_length / posterior.noise[:, None]) + model.model_error(square_length)
    signal = np.matvec(features[..., -p:], posterior.mean[:, -p:])
    plain = np.where(seen, y - signal - np.matvec(features[..., :q], posterior.mean[:, :q]), 0.0)
    floor = np.square(1e-12 * np.abs(y).max(axis=1)) + 1e-200
    count = seen.sum(axis=1)
    # A bias can take the place of a base load, and its prior says how improbable that is.
    N = posterior.mean[:, :q] / (model.kappa or 1.0)
    square = (np.square(plain) / R).sum(axis=1) + np.square(N).sum(axis=1)
    variance = np.square(posterior.noise) + floor
    of_none = -0.5 * (count * (np.log(variance) + _LOG_TWO_PI) + square / variance + (np.log(R) * seen).sum(axis=1))
    of_none += BASE_LOAD_LOG_PRIORS["none"]
    columns = np.concatenate(
        [signal[..., None], square_length[..., None], features[..., q:-p], (y - signal)[..., None]], axis=2
    )
    first = np.abs(y)[np.arange(len(y)), seen.argmax(axis=1)]
    of_first = -LOG_BASE_LOAD_RANGE - np.log(np.maximum(np.maximum(first, posterior.noise), 1e-300))
    own = np.where(posterior.level_variance > 0.0, posterior.level_speed, np.nan)
    white, log_variance = _whiten(columns, R, seen)
    found = _log_likelihood(white, np.maximum(count - 1, 1), floor) - 0.5 * log_variance
    found += of_first + np.array([_log_prior(rho) for rho in _RHO.ravel().tolist()])[:, None]
    same = own == _RHO
    reference = np.where(same.any(axis=0), np.where(same, found, -np.inf).max(axis=0), of_none)
    best = np.where(same, -np.inf, found).max(axis=0)
    return np.where(count > columns.shape[2], best - reference, np.inf)


_RHO = np.array([0.0, *SPEEDS])[:, None]


def _whiten(columns: Array, R: Array, seen: BoolArray) -> tuple[Array, Array]:
    """Return columns without each base load, shape (base loads, runs, n, k), and the sums of the log variances.

    This is what ``soqo.estimators.bayes._whitening`` does to the rows of a fit.
    """
    runs, n, k = columns.shape
    shape = _RHO.size, runs
    white, variances = np.zeros((*shape, n, k)), np.ones((*shape, n))
    level, P = np.zeros((*shape, k)), np.full(shape, np.inf)
    for t in range(n):
        observed, diffuse = seen[:, t], np.isinf(P)
        used = observed & ~diffuse
        known = np.where(diffuse, 0.0, P)
        variance = np.where(used, known + R[:, t], 1.0)
        difference = columns[:, t] - level
        variances[..., t] = variance
        white[..., t, :] = np.where(used, 1.0 / np.sqrt(variance), 0.0)[..., None] * difference
        # The first reading defines the level.
        gain = np.where(used, known / variance, observed)
        level = level + gain[..., None] * difference
        P = np.where(observed, np.where(diffuse, R[:, t], known * (1.0 - gain)), P) + np.square(_RHO)
    return white, np.log(variances).sum(axis=2)


def _log_likelihood(white: Array, count: Array, floor: Array) -> Array:
    """Return the largest log likelihood of the last column given none, the first two, or all of the others."""
    gram = white.swapaxes(-1, -2) @ white
    finite = np.isfinite(gram).all(axis=(-1, -2))
    gram[~finite] = 1.0
    last = white.shape[-1] - 1
    size = np.sqrt(np.maximum(np.diagonal(gram, axis1=-2, axis2=-1), 1e-300))
    gram /= size[..., :, None] * size[..., None, :]
    gram[..., np.arange(last + 1), np.arange(last + 1)] = 1.0 + COLLINEAR
    explained = np.cumsum(np.square(np.linalg.cholesky(gram)[..., last, :last]), axis=-1)
    best = np.full(finite.shape, -np.inf)
    for k in (0, 2, last):
        left = np.maximum(1.0 - explained[..., k - 1], 0.0) if k else 1.0
        square = np.square(size[..., last]) * left
        best = np.maximum(best, -0.5 * (count * np.log(square / count + floor) + k * np.log(count)))
    return np.where(finite, best - 0.5 * count * (1.0 + _LOG_TWO_PI), np.inf)
