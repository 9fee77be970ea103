r"""Rows of readings, whitened: with weights for the errors of readings, and without a base load that may walk.

For a base load that is a random walk with steps of rho sigma, generalized least squares is ordinary least squares on
rows that the scalar Kalman filter of the level has whitened. With the variance P sigma^2 of the level, F = P + 1 and
K = P / F,

    row~ = (row - level) / sqrt(F),    level += K (row - level),    P <- P (1 - K) + rho^2,

where ``level`` is the filtered mean of the rows themselves. The first row defines the level and is not stored. An
offset that walks is filtered together with the base load, in the same way (``_walking_offset``).

Each function returns the rows, their weights, and the posterior with the new level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.blas import all_entries
from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.bayes._model import RELATIVE_ERROR, ReadingModel
from soqo.estimators.bayes._row_algebra import log_first_density, log_weight, overwrite
from soqo.estimators.bayes._walking_offset import displacements, filter_walk
from soqo.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from soqo.estimators.bayes._posterior import Posterior


def white_rows_without_level(
    posterior: Posterior, model: ReadingModel, rows: Array, seen: BoolArray
) -> tuple[Array, Array, Posterior]:
    """Return the weighted rows of several readings, their weights, and the posterior with the weights."""
    earlier = np.concatenate([posterior.max_abs_reading[:, None] > 0.0, rows[:, :-1, -1] != 0.0], axis=1)
    square_length = model.square_length(rows[..., :-1])
    relative = RELATIVE_ERROR * square_length / posterior.noise[:, None]
    relative = np.where(np.logical_or.accumulate(earlier, axis=1), relative, 0.0)
    R = 1.0 + relative * relative + model.model_error(square_length)
    weight = np.where(seen, 1.0 / np.sqrt(R), 0.0)
    jacobian = posterior.log_jacobian + log_weight(weight).sum(axis=1)
    return weight[..., None] * rows, weight, evolve(posterior, log_jacobian=jacobian)


def white_rows_with_level(
    posterior: Posterior, model: ReadingModel, rows: Array, seen: BoolArray
) -> tuple[Array, Array, Posterior]:
    """Do the same with base loads, see :func:`white_row`."""
    level, variance, known = posterior.level, posterior.level_variance, posterior.max_abs_reading > 0.0
    speed2, first_reading = np.square(posterior.level_speed), posterior.first_reading
    square_length = model.square_length(rows[..., :-1])
    relative, error = RELATIVE_ERROR * square_length / posterior.noise[:, None], model.model_error(square_length)
    R_known, R_unknown = 1.0 + relative * relative + error, 1.0 + error
    white, weights = np.empty_like(rows), np.zeros(seen.shape)
    complete, begins = all_entries(seen), True
    for k in range(rows.shape[1]):
        row, observed = rows[:, k], seen[:, k]
        if not begins:
            # All levels are known, and every run has a reading: the same in half of the operations.
            weight = 1.0 / np.sqrt(variance + R_known[:, k])
            gain, difference = variance * np.square(weight), row - level
            white[:, k], weights[:, k] = weight[:, None] * difference, weight
            level, variance = level + gain[:, None] * difference, variance * (1.0 - gain) + speed2
            continue
        diffuse, R = np.isinf(variance), np.where(known, R_known[:, k], R_unknown[:, k])
        first = observed & diffuse
        P = np.where(diffuse, 0.0, variance)
        weight = np.where(observed & ~diffuse, 1.0 / np.sqrt(P + R), 0.0)
        gain = np.where(first, 1.0, P * np.square(weight))
        difference = row - level
        white[:, k], weights[:, k] = weight[:, None] * difference, weight
        # The first row defines the level.
        level = level + gain[:, None] * difference
        new = np.where(first, R, P * (1.0 - gain)) + speed2
        variance = np.where(observed & (variance > 0.0), new, variance)
        first_reading = np.where(first, np.abs(row[:, -1]), first_reading)
        known = known | (white[:, k, -1] != 0.0)
        begins = not (complete and all_entries(known) and np.isfinite(variance).all())
    began = np.isnan(posterior.first_reading) & ~np.isnan(first_reading)
    density = np.where(began, log_first_density(first_reading, 1e-150), 0.0)
    after = evolve(
        posterior,
        level=level,
        level_variance=variance,
        first_reading=first_reading,
        log_jacobian=posterior.log_jacobian + log_weight(weights).sum(axis=1),
        log_evidence=posterior.log_evidence + density,
    )
    return white, weights, after


def white_rows_one_by_one(
    posterior: Posterior, model: ReadingModel, rows: Array, seen: BoolArray
) -> tuple[Array, Array, Posterior]:
    """Do the same with offsets that walk."""
    after, white, weights = posterior, np.empty_like(rows), np.zeros(seen.shape)
    for k in range(rows.shape[1]):
        difference, weight, after = white_row(after, model, rows[:, k, -1], rows[:, k, :-1], seen[:, k], None)
        white[:, k], weights[:, k] = weight[:, None] * difference, weight
        after = evolve(after, max_abs_reading=np.maximum(after.max_abs_reading, np.abs(white[:, k, -1])))
    return white, weights, after


def white_row(
    posterior: Posterior, model: ReadingModel, y: Array, features: Array, observed: BoolArray, precision: Array | None
) -> tuple[Array, Array, Posterior]:
    """Return the rows without the level, their weights, and the posterior with the new level."""
    R, used = reading_variance(posterior, model, features), observed
    if precision is not None:
        used = observed & (precision > 0.0)
        R = R / np.where(used, precision, 1.0)
    row = np.where(observed[:, None], np.concatenate([features, y[:, None]], axis=1), 0.0)
    if not posterior.level_variance.any():
        weight = np.where(used, 1.0 / np.sqrt(R), 0.0)
        return row, weight, evolve(posterior, log_jacobian=posterior.log_jacobian + log_weight(weight))
    diffuse = np.isinf(posterior.level_variance)
    first = used & diffuse
    P = np.where(diffuse, 0.0, posterior.level_variance)
    difference = row - posterior.level
    weight = np.where(used & ~diffuse, 1.0 / np.sqrt(P + R), 0.0)
    gain = P * np.square(weight)
    level = np.where(first[:, None], row, posterior.level + gain[:, None] * difference)
    variance = np.where(first, R, P * (1.0 - gain)) + np.square(posterior.level_speed)
    # Without a base load the variance stays zero, and without a reading the posterior stays as it is.
    changes = observed & (posterior.level_variance > 0.0) & (first | ~diffuse)
    variance = np.where(changes, variance, posterior.level_variance)
    first_reading = np.where(first, np.abs(row[:, -1]), posterior.first_reading)
    after = evolve(
        posterior,
        level=level,
        level_variance=variance,
        first_reading=first_reading,
        log_jacobian=posterior.log_jacobian + log_weight(weight),
        log_evidence=posterior.log_evidence + np.where(first, log_first_density(first_reading, 1e-150), 0.0),
    )
    walking = np.flatnonzero(posterior.offset_step)
    if walking.size:
        return _whiten_walking(posterior, row, R, observed, walking, difference, weight, after)
    return difference, weight, after


def reading_variance(posterior: Posterior, model: ReadingModel, features: Array) -> Array:
    """Return the variance of readings in units of that of the noise, with their relative error."""
    square_length = model.square_length(features)
    relative = RELATIVE_ERROR * square_length / posterior.noise
    known = posterior.max_abs_reading > 0.0
    if not all_entries(known):
        relative = np.where(known, relative, 0.0)
    variance = 1.0 + relative * relative
    return variance if model.trusted_distance is None else variance + model.model_error(square_length)


def _whiten_walking(
    posterior: Posterior,
    row: Array,
    R: Array,
    observed: BoolArray,
    runs: IntArray,
    difference: Array,
    weight: Array,
    after: Posterior,
) -> tuple[Array, Array, Posterior]:
    """Replace what the filter of the level has found in the runs whose offset walks."""
    u = displacements(row[runs], posterior.second_moment.shape[1], with_reading=True)
    found = filter_walk(
        posterior.walk_mean[runs],
        posterior.walk_covariance[runs],
        row[runs],
        u,
        R[runs],
        diffuse=np.isinf(posterior.level_variance[runs]),
        observed=observed[runs],
        steps2=walk_steps(posterior)[runs],
    )
    difference, weight = difference.copy(), weight.copy()
    difference[runs], weight[runs] = found.difference, found.weight
    jacobian, level, variance = after.log_jacobian.copy(), after.level.copy(), after.level_variance.copy()
    jacobian[runs] = posterior.log_jacobian[runs] + log_weight(found.weight)
    level[runs] = found.mean[:, 0]
    unknown = np.isinf(posterior.level_variance[runs]) & ~observed[runs]
    variance[runs] = np.where(unknown, np.inf, found.covariance[:, 0, 0])
    return (
        difference,
        weight,
        evolve(
            after,
            log_jacobian=jacobian,
            level=level,
            level_variance=variance,
            walk_mean=overwrite(posterior.walk_mean, runs, found.mean),
            walk_covariance=overwrite(posterior.walk_covariance, runs, found.covariance),
        ),
    )


def walk_steps(posterior: Posterior) -> Array:
    """Return the variances of the steps of base load and g in units of sigma^2, shape (runs, 1 + d)."""
    steps = np.repeat(posterior.offset_step[:, None], 1 + posterior.second_moment.shape[1], axis=1)
    steps[:, 0] = posterior.level_speed
    return np.asarray(np.square(steps))
