"""A posterior after something has happened to the plant: A has changed, or the offset has begun to walk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators._measurements import svec
from soqo.estimators.bayes._marginal_likelihood import LOG_SCALE_DEVIATION
from soqo.estimators.bayes._model import ReadingModel
from soqo.estimators.bayes._row_algebra import merge_rows
from soqo.typing import Array, BoolArray

if TYPE_CHECKING:
    from soqo.estimators.bayes._posterior import Posterior

_UNNOTICED_STEPS = 20.0
"""The number of steps that an offset may have walked before it is released."""

_KEPT_SCALE_DEVIATION = 0.1
"""The prior's deviation of log s where s is known; less than the step of the grid."""


def with_walking_offset(posterior: Posterior, step: Array, deviation: Array) -> Posterior:
    """Return the prior with an offset that walks.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    step, deviation : Array, shape (runs,)
        The deviations of a step of g and of g at first, in units of sigma. Where the step is zero, g does not walk.

    Examples
    --------
    >>> from soqo.estimators.bayes import Posterior
    >>> prior = Posterior.start(ReadingModel(dim=2, offset=True), runs=1, base_load=0.0)
    >>> with_walking_offset(prior, np.array([0.1]), np.array([3.0])).offset_step
    array([0.1])
    """
    d = posterior.second_moment.shape[1]
    first = np.where(step > 0.0, np.square(deviation), 0.0)[:, None, None] * np.diag(np.arange(1 + d) > 0)
    return evolve(posterior, offset_step=step, walk_covariance=first, walk_mean=np.zeros_like(posterior.walk_mean))


def with_released_offset(posterior: Posterior, model: ReadingModel, speed: float) -> Posterior:
    """Return the posterior with an offset that walks from now on, with a fit.

    What the readings say about A, given the constant offset, is kept.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    model : ReadingModel
        The model, with an offset and without a context.
    speed : float
        How far a step changes a typical reading, in units of the noise.

    Examples
    --------
    >>> from soqo.estimators.bayes import Posterior
    >>> model = ReadingModel(dim=1, offset=True)
    >>> posterior = Posterior.start(model, runs=1, base_load=0.0)
    >>> for u, y in ((1.0, 3.0), (2.0, 5.0), (-1.0, 3.0), (-2.0, 5.1)):
    ...     posterior = posterior.update(model, np.array([[u]]), np.array([y]))
    >>> bool(with_released_offset(posterior, model, speed=0.1).offset_step[0] > posterior.offset_step[0])
    True
    """
    d, linear = model.dim, model.linear
    g = posterior.mean[:, linear]
    rows = merge_rows(posterior.factor, posterior.buffer, posterior.buffer_rows)
    rows[:, :, -1] -= np.matvec(rows[:, :, linear], g)
    mean = np.zeros_like(posterior.walk_mean)
    mean[:, 0] = posterior.level
    mean[:, 0, -1] -= np.vecdot(posterior.level[:, linear], g)
    mean[:, 0, linear] = 0.0
    mean[:, 1:, -1] = g
    size = np.maximum(posterior.sizes[:, 0], 1e-150)
    step = speed / size
    # With b, the constant 1/2 b'A b of the readings walks as well.
    relative = np.sqrt(np.vecdot(g, g) / d) / np.maximum(posterior.scale * size, 1e-150)
    level_speed = np.maximum(posterior.level_speed, speed * np.maximum(1.0, relative))
    root = posterior.root[:, linear] / np.maximum(posterior.noise, 1e-150)[:, None, None]
    covariance = np.zeros_like(posterior.walk_covariance)
    covariance[:, 0, 0] = posterior.level_variance + _UNNOTICED_STEPS * np.square(level_speed)
    # It may have walked for a while before this was noticed.
    covariance[:, 1:, 1:] = root @ root.mT + (_UNNOTICED_STEPS * np.square(step))[:, None, None] * np.eye(d)
    variants = np.zeros_like(posterior.variants)
    variants[:, 0] = 1.0
    released = evolve(
        posterior,
        factor=rows,
        buffer=np.zeros_like(posterior.buffer),
        buffer_rows=np.zeros_like(posterior.buffer_rows),
        level=mean[:, 0],
        level_variance=covariance[:, 0, 0],
        level_speed=level_speed,
        offset_step=step,
        walk_mean=mean,
        walk_covariance=covariance,
        variants=variants,
    )
    return released.fit(model, np.ones(step.size, dtype=np.bool_))


def with_rescaled_curvature(posterior: Posterior, model: ReadingModel, factor: Array, error: Array) -> Posterior:
    """Return the posterior after A has changed to a multiple of itself, with a fit.

    A reading y at u is one of the new A at u / sqrt(factor). What the readings say about the size of A is forgotten
    as far as the factor is uncertain, and what they say about its other properties is kept.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    model : ReadingModel
        The model.
    factor : Array, shape (runs,)
        The factor, positive.
    error : Array, shape (runs,)
        The relative standard deviation of the factor.

    Examples
    --------
    >>> from soqo.estimators.bayes import Posterior
    >>> model = ReadingModel(dim=1, bias="none")
    >>> posterior = Posterior.start(model, runs=1)
    >>> for u in (1.0, 2.0, 3.0, 4.0):
    ...     posterior = posterior.update(model, np.array([[u]]), np.array([u * u]))  # A = 2
    >>> with_rescaled_curvature(posterior, model, np.array([5.0]), np.array([0.0])).mean.round(3)
    array([[10.]])
    """
    q = model.biases
    columns = np.ones((factor.size, model.size + 1))
    columns[:, q:-1] = 1.0 / factor[:, None]
    rows = merge_rows(posterior.factor, posterior.buffer, posterior.buffer_rows) * columns[:, None, :]
    # With rows R, a mean a and noise sigma, (R'R / sigma^2)^{-1} + error^2 a a' is the covariance for P R, where
    # P = I - (1 - shrink) e e' and e is the direction of R a. The residuals are orthogonal to e.
    along = np.matvec(rows[:, :, q:-1], factor[:, None] * posterior.mean[:, q:])
    length = np.sqrt(np.vecdot(along, along))
    direction = along / np.maximum(length, 1e-300)[:, None]
    shrink = 1.0 / np.hypot(1.0, error * length / posterior.noise)
    rows = rows - (1.0 - shrink)[:, None, None] * direction[:, :, None] * np.vecmat(direction, rows)[:, None, :]
    everywhere = np.ones(factor.size, dtype=np.bool_)
    scaled = evolve(
        posterior,
        factor=rows,
        buffer=np.zeros_like(posterior.buffer),
        buffer_rows=np.zeros_like(posterior.buffer_rows),
        second_moment=posterior.second_moment / factor[:, None, None],
        log_sizes=posterior.log_sizes
        - 0.5 * (posterior.total_readings * np.log(factor))[:, None] * _first_entry(posterior.log_sizes),
        # The scale s is kept: without the size of A, the readings would support any smaller one.
        prior_mean=(factor * posterior.scale / posterior.prior_unit)[:, None, None] * posterior.prior_mean,
        prior_unit=factor * posterior.scale,
        scale_deviation=np.full(factor.size, _KEPT_SCALE_DEVIATION),
        level=posterior.level * columns,
        walk_mean=posterior.walk_mean * columns[:, None, :],
    )
    return scaled.fit(model, everywhere)


def without_direction(posterior: Posterior, model: ReadingModel, direction: Array) -> Posterior:
    """Return the posterior without what the readings say about A w for one direction w, with a fit.

    With the rows R and a basis S of the matrices w z' + z w', the rows P R contain exactly the information about
    the other unknowns, where P projects onto the orthogonal complement of the columns of R S. The prior is that
    of a plant without readings.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    model : ReadingModel
        The model.
    direction : Array, shape (runs, d)
        The direction w.

    Examples
    --------
    >>> from soqo.estimators.bayes import Posterior
    >>> model, w = ReadingModel(dim=1, bias="none"), np.array([[1.0]])
    >>> posterior = Posterior.start(model, runs=1)
    >>> for u in (1.0, 2.0, 3.0, 4.0):
    ...     posterior = posterior.update(model, np.array([[u]]), np.array([u * u]))
    >>> forgotten = without_direction(posterior, model, w)
    >>> bool(forgotten.deviations(w[None])[0, 0] > 100.0 * posterior.deviations(w[None])[0, 0])
    True
    """
    d, p = model.dim, model.unknowns
    outer = direction[:, None, :, None] * np.eye(d)[:, None, :]  # the matrices w e_j'
    basis = svec(0.5 * (outer + outer.swapaxes(-1, -2)))
    rows = merge_rows(posterior.factor, posterior.buffer, posterior.buffer_rows)
    columns, _ = np.linalg.qr(rows[:, :, -p - 1 : -1] @ basis.swapaxes(-1, -2))
    forgotten = evolve(
        posterior,
        factor=rows - columns @ (columns.swapaxes(-1, -2) @ rows),
        buffer=np.zeros_like(posterior.buffer),
        buffer_rows=np.zeros_like(posterior.buffer_rows),
        prior_mean=np.broadcast_to(np.eye(d), posterior.prior_mean.shape).copy(),
        prior_unit=np.ones_like(posterior.prior_unit),
        scale_deviation=np.full_like(posterior.scale_deviation, LOG_SCALE_DEVIATION),
    )
    return forgotten.fit(model, np.ones(len(direction), dtype=np.bool_))


def without_readings(posterior: Posterior, which: BoolArray) -> Posterior:
    """Return the posterior without the readings since the last restart in some runs.

    The mean and the covariance of these runs become those of the prior at the next reading.

    Parameters
    ----------
    posterior : Posterior
        The posterior.
    which : BoolArray, shape (runs,)
        The runs to change.

    Examples
    --------
    >>> from soqo.estimators.bayes import Posterior
    >>> model = ReadingModel(dim=1)
    >>> posterior = Posterior.start(model, runs=1).update(model, np.array([[1.0]]), np.array([1.0]))
    >>> without_readings(posterior, np.array([True])).readings
    array([0.])
    """
    mask = which[:, None, None]
    return evolve(
        posterior,
        factor=np.where(mask, 0.0, posterior.factor),
        buffer=np.where(mask, 0.0, posterior.buffer),
        buffer_rows=np.where(which, 0, posterior.buffer_rows),
        readings=np.where(which, 0.0, posterior.readings),
        total_readings=np.where(which, 0.0, posterior.total_readings),
        max_abs_reading=np.where(which, 0.0, posterior.max_abs_reading),
        second_moment=np.where(mask, 0.0, posterior.second_moment),
        log_sizes=np.where(which[:, None], 0.0, posterior.log_sizes),
        log_evidence=np.where(which, 0.0, posterior.log_evidence),
        log_jacobian=np.where(which, 0.0, posterior.log_jacobian),
        first_reading=np.where(which, math.nan, posterior.first_reading),
    )


def _first_entry(values: Array) -> Array:
    """Return one for the first entry of each row and zero for the others."""
    return np.asarray(np.arange(values.shape[1]) == 0, dtype=np.float64)
