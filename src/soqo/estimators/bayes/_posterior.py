"""Recursive Bayesian least squares for A with unknown noise, scale and rank, and with a base load that may walk.

The first rows are stored as they are, and later ones as a triangular factor, so that no condition number is squared.
From them, a fit (``_fits``) estimates the noise and the scale. It is repeated at each of the first readings, and later
whenever the number of readings has grown by a tenth, or by a fifth if there are many. Between two fits, the mean and a
square root of the covariance are updated by Potter's formula (Battin, "Astronautical guidance", 1964), which costs
O(p^2).

A base load is a random walk with steps of rho sigma (a local level model, Durbin and Koopman, "Time series analysis by
state space methods", 2012), whose filter whitens the rows (``_whitening``).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soqo._foundation.blas import all_entries, any_entry, as_array, is_finite_quick, max_entry, min_entry, numbers_of
from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._foundation.one_number import concatenate_entries, take_entries
from soqo._storage.registry import register, rename_fields
from soqo.estimators._measurements import smat, svec
from soqo.estimators.bayes._fit_schedule import fit_is_due, is_fitted_always
from soqo.estimators.bayes._fits import VARIANTS, FitInput, fit_variants, least_noise, typical_sizes
from soqo.estimators.bayes._marginal_likelihood import LOG_SCALE_DEVIATION, PRIOR_MEAN_SCALE, PRIOR_MEAN_SQUARE_SCALE
from soqo.estimators.bayes._mixture import triangular_factor
from soqo.estimators.bayes._model import RELATIVE_ERROR, ReadingModel, prior_root
from soqo.estimators.bayes._row_algebra import (
    log_first_density,
    log_innovation_density,
    merge_rows,
    overwrite,
    potter,
    weighted_variance,
)
from soqo.estimators.bayes._walking_offset import displacements, no_walk, predict_walk
from soqo.estimators.bayes._whitening import (
    walk_steps,
    white_row,
    white_rows_one_by_one,
    white_rows_with_level,
    white_rows_without_level,
)
from soqo.typing import Array, BoolArray, IntArray

_ROWS_STEP = 4
"""The first rows are fitted with rows of zeros up to a multiple of this number."""

_MAX_BUFFER_ROWS = 32
"""The largest number of rows that are stored before they become part of the triangular factor."""

_LOG_LEAST_SIZE = math.log(1e-3) + 1e-6
"""The logarithm of a size in units of the typical one that is above the least that counts, with room for round-off."""

_NO_ROWS = np.broadcast_to(0.0, (1 << 40, 1))
"""Takes the place of arrays that are not needed; it uses no memory."""


_rename = rename_fields(
    heard="total_readings", due="next_fit", waiting="buffer", filled="buffer_rows", largest="max_abs_reading"
)


def _reorder(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of version 1, whose unknowns were ordered as svec(A) and N, in the current form."""
    runs, d, _ = fields["second_moment"].shape
    p, size = d * (d + 1) // 2, fields["mean"].shape[1]
    order = np.concatenate([np.arange(p, size), np.arange(p)])
    variants = np.zeros((runs, len(VARIANTS)))
    variants[:, 0] = 1.0
    zeros, unknown = np.zeros(runs), np.full(runs, math.nan)
    return {
        **fields,
        "mean": fields["mean"][:, order],
        "root": fields["root"][:, order],
        "log_sizes": np.zeros((runs, 1)),
        "scale_deviation": np.full(runs, LOG_SCALE_DEVIATION),
        "noise_cap": np.full(runs, math.inf),
        "known_noise": unknown,
        "level": np.zeros((runs, size + 1)),
        "level_variance": zeros,
        "level_speed": zeros,
        "first_reading": unknown,
        "log_evidence": zeros,
        "log_marginal": zeros,
        "log_jacobian": zeros,
        "variants": variants,
    }


def _without_next_fit(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of version 2 without the time of the next fit, and with an offset that does not walk."""
    runs, d, _ = fields["second_moment"].shape
    kept = {name: value for name, value in fields.items() if name != "next_fit"}
    return {**kept, **no_walk(runs, d, fields["mean"].shape[1] + 1)}


class Innovation(NamedTuple):
    """What one reading of each run says before the posterior uses it.

    Where the shape is (runs,), there is a number instead of an array if there is one run.

    Attributes
    ----------
    difference : Array, shape (runs, m + 1)
        The features and the reading, without the level.
    spread : Array, shape (runs, m)
        The features, without the level, times the root of the covariance.
    innovation, mean, noise : Array, shape (runs,)
        The reading minus its mean, this mean, and the deviation of noise and level.
    deviation : Array, shape (runs,)
        The deviation of the reading: of its mean, of noise and level, and of the errors that grow with |u|^2.
    weight, total : Array, shape (runs,)
        The reciprocal deviation of noise and level in units of the noise, and the variance of the weighted reading.
    log_evidence : Array, shape (runs,)
        The logarithm of the density of all readings, this one included.
    square_length : Array, shape (runs,)
        |u|^2 times the factor of the hitting cost.
    has_level : bool
        Whether a run has a base load.
    """

    difference: Array
    spread: Array
    innovation: Any
    mean: Any
    noise: Any
    deviation: Any
    weight: Any
    total: Any
    log_evidence: Any
    square_length: Any
    has_level: bool


@register("GLIDE.belief", version=3, migrations={0: _rename, 1: _reorder, 2: _without_next_fit})
@dataclass(frozen=True)
class Posterior(Value):
    """The normal posterior of the unknowns for each of several runs.

    Attributes
    ----------
    mean : Array, shape (runs, m)
        The mean of N, of the terms of offset and context, and of svec(A); m = q + e + p.
    root : Array, shape (runs, m, m)
        A square root of their covariance.
    noise, scale : Array, shape (runs,)
        The estimates of sigma and s.
    readings : Array, shape (runs,)
        The number of readings since the last restart; with forgetting, the sum of their weights.
    total_readings : Array, shape (runs,)
        The number of readings since the last restart.
    second_moment : Array, shape (runs, d, d)
        The sum of u u'.
    log_sizes : Array, shape (runs, 1 + k)
        The sums of the logarithms of |u| / sqrt(d) and of the absolute entries of the context.
    factor : Array, shape (runs, m + 1, m + 1)
        The triangular factor of the whitened rows and readings.
    buffer, buffer_rows : Array, shape (runs, rows, m + 1) and (runs,)
        The latest rows, which are not yet part of the factor, and their number.
    max_abs_reading : Array, shape (runs,)
        The largest absolute value of a whitened reading.
    prior_mean, prior_unit : Array, shape (runs, d, d) and (runs,)
        The mean of A before the first reading for s = 1, and the unit of s.
    scale_deviation, noise_cap, known_noise : Array, shape (runs,)
        The prior's deviation of log s, a bound on the noise (infinite for none), and the noise that readings before a
        restart have shown (NaN for none).
    level, level_variance, level_speed : Array, shape (runs, m + 1), (runs,) and (runs,)
        The filtered mean of the rows, its variance P (zero without a base load, infinite before the first reading) and
        rho.
    offset_step : Array, shape (runs,)
        The deviation of a step of g, in units of sigma, if the offset walks; zero if it does not.
    walk_mean, walk_covariance : Array, shape (runs, 1 + d, m + 1) and (runs, 1 + d, 1 + d)
        If the offset walks, the filtered means of the base load and of g for each column of the rows, and their
        covariance in units of sigma^2.
    first_reading : Array, shape (runs,)
        The absolute value of the reading that defined the level, which is not stored; NaN for none.
    log_evidence, log_marginal, log_jacobian : Array, shape (runs,)
        The logarithm of the density of all readings, and the parts of it at the last fit: of the whitened readings, and
        of the transformation that whitened them.
    variants : Array, shape (runs, 4)
        The probabilities of the variants: plain, with an offset, plain without N, with an offset without N.

    Examples
    --------
    >>> model = ReadingModel(dim=1, bias="none")
    >>> posterior = Posterior.start(model, runs=1)
    >>> for u in (1.0, 2.0, 3.0, 4.0):
    ...     posterior = posterior.update(model, np.array([[u]]), np.array([0.5 * 3.0 * u**2]))
    >>> posterior.mean.round(6)
    array([[3.]])
    """

    mean: Array
    root: Array
    noise: Array
    scale: Array
    readings: Array
    total_readings: Array
    second_moment: Array
    log_sizes: Array
    factor: Array
    buffer: Array
    buffer_rows: IntArray
    max_abs_reading: Array
    prior_mean: Array
    prior_unit: Array
    scale_deviation: Array
    noise_cap: Array
    known_noise: Array
    level: Array
    level_variance: Array
    level_speed: Array
    offset_step: Array
    walk_mean: Array
    walk_covariance: Array
    first_reading: Array
    log_evidence: Array
    log_marginal: Array
    log_jacobian: Array
    variants: Array

    @classmethod
    def start(cls, model: ReadingModel, runs: int, *, base_load: float | Array | None = None) -> Posterior:
        """Return the prior, for this number of runs.

        Parameters
        ----------
        model : ReadingModel
            The model.
        runs : int
            The number of runs.
        base_load : float or Array of shape (runs,), optional
            The speed rho of a base load, zero for a constant one; None or NaN for no base load.
        """
        d, p = model.dim, model.unknowns
        speed = np.full(runs, math.nan if base_load is None else base_load, dtype=np.float64)
        absent = np.isnan(speed)
        identity = np.tile(np.eye(d), (runs, 1, 1))
        root = np.zeros((model.size, model.size))
        root[-p:, -p:] = math.sqrt(PRIOR_MEAN_SQUARE_SCALE) * prior_root(d)
        mean = np.zeros((runs, model.size))
        mean[:, -p:] = PRIOR_MEAN_SCALE * svec(identity)
        columns = model.size + 1
        variants = np.zeros((runs, len(VARIANTS)))
        variants[:, 0] = 1.0
        return cls(
            mean=mean,
            root=np.broadcast_to(root, (runs, *root.shape)),  # one for all runs, until there is a reading
            noise=np.ones(runs),
            scale=np.full(runs, PRIOR_MEAN_SCALE),
            readings=np.zeros(runs),
            total_readings=np.zeros(runs),
            second_moment=np.zeros((runs, d, d)),
            log_sizes=np.zeros((runs, 1 + model.context)),
            factor=np.broadcast_to(0.0, (runs, columns, columns)),  # without memory, until there are many rows
            buffer=np.zeros((runs, min(columns, _MAX_BUFFER_ROWS), columns)),
            buffer_rows=np.zeros(runs, dtype=np.int64),
            max_abs_reading=np.zeros(runs),
            prior_mean=identity,
            prior_unit=np.ones(runs),
            scale_deviation=np.full(runs, LOG_SCALE_DEVIATION),
            noise_cap=np.full(runs, math.inf if model.noise_cap is None else model.noise_cap),
            known_noise=np.full(runs, math.nan),
            level=np.zeros((runs, columns)),
            level_variance=np.where(absent, 0.0, math.inf),
            level_speed=np.where(absent, 0.0, speed),
            **no_walk(runs, d, columns),
            first_reading=np.full(runs, math.nan),
            log_evidence=np.zeros(runs),
            log_marginal=np.zeros(runs),
            log_jacobian=np.zeros(runs),
            variants=variants,
        )

    # ---- subsets ---------------------------------------------------------------------------------------------------

    def take(self, index: IntArray | BoolArray | slice) -> Posterior:
        """Return the posterior of some of the runs.

        Parameters
        ----------
        index : IntArray, BoolArray or slice
            The runs.
        """
        return evolve(self, **{name: take_entries(value, index) for name, value in self.__dict__.items()})

    def take_estimates(self, index: IntArray) -> Posterior:
        """Return the posterior of some of the runs without the stored rows, which estimates do not need.

        Parameters
        ----------
        index : IntArray
            The runs.
        """
        return evolve(self, factor=_NO_ROWS, buffer=_NO_ROWS).take(index)

    def take_means(self, index: IntArray) -> Posterior:
        """Return the posterior of some of the runs without rows and root, which expected readings do not need.

        Parameters
        ----------
        index : IntArray
            The runs.
        """
        return evolve(self, factor=_NO_ROWS, buffer=_NO_ROWS, root=_NO_ROWS).take(index)

    def without_rows(self) -> Posterior:
        """Return the posterior without the stored rows and the root, for copies that do not need them."""
        return evolve(self, factor=_NO_ROWS, buffer=_NO_ROWS, root=_NO_ROWS, level=_NO_ROWS, walk_mean=_NO_ROWS)

    @classmethod
    def concatenate(cls, parts: Sequence[Posterior]) -> Posterior:
        """Return one posterior for the runs of several.

        Parameters
        ----------
        parts : sequence of Posterior
            The posteriors.
        """
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: concatenate_entries([getattr(part, name) for part in parts]) for name in names})

    # ---- predictions -----------------------------------------------------------------------------------------------

    def predict(self, features: Array) -> tuple[Array, Array, Array]:
        """Return the mean and the variance of readings, without the noise, and the deviation of the noise.

        The noise contains the error of the level. Each has the shape (runs,).

        Parameters
        ----------
        features : Array, shape (runs, m)
            The features, from :meth:`ReadingModel.features`.
        """
        level, variance = self._level_at(features)
        difference = features - level[:, :-1]
        spread = np.vecmat(difference, self.root)
        mean = np.vecdot(difference, self.mean) + level[:, -1]
        return mean, np.vecdot(spread, spread), self.noise * np.sqrt(1.0 + variance)

    def predicted_mean(self, features: Array) -> Array:
        """Return the mean of readings, shape (runs,), without their variance, which costs more.

        Parameters
        ----------
        features : Array, shape (runs, m)
            The features, from :meth:`ReadingModel.features`.
        """
        level, _ = self._level_at(features)
        return np.asarray(np.vecdot(features - level[:, :-1], self.mean) + level[:, -1])

    def expected(self, features: Array) -> Array:
        """Return the mean of several readings of each run, without the steps that a level takes in between.

        Parameters
        ----------
        features : Array, shape (runs, n, m)
            The features.

        Returns
        -------
        Array, shape (runs, n)
            The means.
        """
        level = self._levels(features)
        return np.asarray(np.vecdot(features - level[..., :-1], self.mean[:, None]) + level[..., -1])

    def _levels(self, features: Array) -> Array:
        """Return the filtered mean of the rows at several features of each run, shape (runs, n or 1, m + 1)."""
        level = self.level[:, None]
        walking = np.flatnonzero(self.offset_step)
        if walking.size:
            level = np.repeat(level, features.shape[1], axis=1)
            u = displacements(features[walking], self.second_moment.shape[1])
            level[walking] = self.walk_mean[walking, None, 0] + u @ self.walk_mean[walking, 1:]
        return level

    def _level_at(self, features: Array) -> tuple[Array, Array]:
        """Return the filtered mean of the rows at these features, and its variance: base load and walking offset."""
        if not any_entry(self.offset_step):
            return self.level, self.level_variance
        walking = np.flatnonzero(self.offset_step)
        level, variance = self.level.copy(), self.level_variance.copy()
        u = displacements(features[walking], self.second_moment.shape[1])
        level[walking], variance[walking] = predict_walk(self.walk_mean[walking], self.walk_covariance[walking], u)
        variance[np.isinf(self.level_variance)] = np.inf
        return level, variance

    def cross_covariance(self, model: ReadingModel, features: Array) -> tuple[Array, Array]:
        """Return the variance of several readings of each run without noise, and their covariance with A.

        Parameters
        ----------
        model : ReadingModel
            The model.
        features : Array, shape (runs, n, m)
            The features, from :meth:`ReadingModel.features`.

        Returns
        -------
        variance, covariance : Array, shape (runs, n) and (runs, n, d, d)
            The variances and the covariances.
        """
        spread = (features - self._levels(features)[..., :-1]) @ self.root
        return np.vecdot(spread, spread), smat(spread @ self.root[:, -model.unknowns :].swapaxes(-1, -2))

    def deviations(self, directions: Array) -> Array:
        """Return the standard deviation of w'A w, shape (runs, k), for directions w of shape (runs, k, d).

        Parameters
        ----------
        directions : Array, shape (runs, k, d)
            The directions w.
        """
        d = directions.shape[-1]
        return directional_deviations(self.root[..., -(d * (d + 1) // 2) :, :], directions)

    def identity_deviation(self, model: ReadingModel) -> Array:
        """Return the standard deviation of A along the identity, tr(A) / sqrt(d); shape (runs,).

        Parameters
        ----------
        model : ReadingModel
            The model.
        """
        along = svec(np.eye(model.dim)) / math.sqrt(model.dim)
        spread = along @ self.root[:, -model.unknowns :]
        return np.asarray(np.sqrt(np.vecdot(spread, spread)))

    def base_load(self) -> Array:
        """Return the estimate of the base load, shape (runs,)."""
        return np.asarray(self.level[:, -1] - np.vecdot(self.level[:, :-1], self.mean))

    @property
    def sizes(self) -> Array:
        """The geometric means of |u| / sqrt(d) and of the absolute entries of the context, shape (runs, 1 + k)."""
        return typical_sizes(self.log_sizes, self.total_readings)

    @property
    def is_restarted(self) -> BoolArray:
        """Whether it started again after a suspected change, shape (runs,)."""
        return ~np.isnan(self.known_noise)

    # ---- updates ---------------------------------------------------------------------------------------------------

    def update(
        self,
        model: ReadingModel,
        u: Array,
        y: Array,
        features: Array | None = None,
        *,
        w: Array | None = None,
        precision: Array | None = None,
        fit: bool | BoolArray = True,
    ) -> Posterior:
        """Return the posterior after one more reading in each run.

        Parameters
        ----------
        model : ReadingModel
            The assumptions about the readings.
        u, y : Array, shape (runs, d) and (runs,)
            The readings, after :func:`clip_inputs`. Runs whose y is NaN do not change.
        features : Array, shape (runs, m), optional
            ``model.features(u, w)``, if the caller has computed it.
        w : Array, shape (runs, k), optional
            The context.
        precision : Array, shape (runs,), optional
            The precision of each reading in units of that of the noise; one by default.
        fit : bool or BoolArray of shape (runs,)
            The runs in which a fit follows; by default those for which :func:`fit_is_due` after this reading. If it is
            False, the mean and the covariance are not updated either, and a call of :meth:`fit` must follow.
        """
        observed = ~np.isnan(y)
        u = np.where(observed[:, None], u, 0.0)
        if features is None:
            features = model.features(u, w)
        difference, weight, after = white_row(self, model, y, features, observed, precision)
        stored = weight > 0.0
        after = after._append(model, u, weight[:, None] * difference, w, weight, stored)
        if fit is False:
            return after
        fit_now = stored & (fit_is_due(model, after.total_readings, self.is_restarted) if fit is True else fit)
        # A fit replaces what this step would give: mean and root, and with few readings the evidence.
        needed = np.flatnonzero(~(fit_now & is_fitted_always(model, after.readings, self.is_restarted)))
        if needed.size:
            after = after._potter_step(model, difference, weight, needed, fit_now)
        if fit_now.any():
            after = after._fit_runs(model, np.flatnonzero(fit_now), review=False, shared=self)
        if not is_finite_quick(after.mean):
            # A reading whose terms overflow is not used.
            after = self._choose(after, np.isfinite(after.mean).all(axis=1) & np.isfinite(after.noise))
        return after

    def can_assimilate(self) -> bool:
        """Return whether :meth:`innovation` and :meth:`assimilate` apply: the levels are known, and none walks."""
        return bool(
            max_entry(self.level_variance) < math.inf
            and not any_entry(self.offset_step)
            and min_entry(self.max_abs_reading) > 0.0
        )

    def innovation(self, model: ReadingModel, features: Array, y: Array) -> Innovation:
        """Return what readings say, see :meth:`can_assimilate`.

        Parameters
        ----------
        model : ReadingModel
            The model.
        features, y : Array, shape (runs, m) and (runs,)
            The readings; none is missing.
        """
        difference, has_level = np.concatenate([features, y[:, None]], axis=1), any_entry(self.level_variance)
        if has_level:  # otherwise the level is zero
            difference -= self.level
        row = difference[:, :-1]
        spread = np.vecmat(row, self.root)
        variance, explained = np.vecdot(spread, spread), np.vecdot(row, self.mean)
        noise, level_variance, level, evidence, variance, explained, reading, square_length = numbers_of(
            self.noise,
            self.level_variance,
            self.level[:, -1],
            self.log_evidence,
            variance,
            explained,
            difference[:, -1],
            model.square_length(features),
        )
        relative_error = RELATIVE_ERROR * square_length
        # As in ``white_row``, to the last bit: what was checked before is not checked again.
        reading_variance = 1.0 + np.square(relative_error / noise)
        spread_and_error = variance + np.square(relative_error)
        if model.trusted_distance is not None:
            model_error = model.model_error(square_length)
            reading_variance = reading_variance + model_error
            spread_and_error = spread_and_error + model_error * np.square(noise)
        noise_and_level, mean = noise, explained
        if has_level:
            mean = explained + level
            noise_and_level = noise * np.sqrt(1.0 + level_variance)
            reading_variance = level_variance + reading_variance
        weight, innovation = 1.0 / np.sqrt(reading_variance), reading - explained
        total = weighted_variance(variance, weight, noise)
        return Innovation(
            difference,
            spread,
            innovation,
            mean,
            noise_and_level,
            np.sqrt(spread_and_error + np.square(noise_and_level)),
            weight,
            total,
            evidence + log_innovation_density(innovation, total, weight),
            square_length,
            has_level,
        )

    def assimilate(self, model: ReadingModel, u: Array, found: Innovation, w: Array | None = None) -> Posterior:
        """Return the posterior after one more reading in each run, without a fit.

        Parameters
        ----------
        model : ReadingModel
            The assumptions about the readings, without forgetting.
        u : Array, shape (runs, d)
            The displacements.
        found : Innovation
            What :meth:`innovation` has returned for the readings.
        w : Array, shape (runs, k), optional
            The context.
        """
        weight, total, innovation = as_array(found.weight), as_array(found.total), as_array(found.innovation)
        scaled = weight[:, None] * found.difference
        mean, root = potter(self.mean, self.root, found.spread, innovation, total, weight, self.noise)
        factor, buffer, buffer_rows = self._with_room()
        place = max_entry(buffer_rows)
        if min_entry(buffer_rows) == place:
            buffer[:, place] = scaled
        else:
            buffer[np.arange(len(u)), buffer_rows] = scaled
        level, level_variance = self.level, self.level_variance
        if found.has_level:
            # Without a base load, the variance is zero and the level stays as it is.
            gain = level_variance * np.square(weight)
            level = level + gain[:, None] * found.difference
            variance = level_variance * (1.0 - gain) + np.square(self.level_speed)
            level_variance = np.where(level_variance > 0.0, variance, 0.0)
        return evolve(
            self,
            mean=mean,
            root=root,
            log_evidence=as_array(found.log_evidence),
            log_jacobian=self.log_jacobian + np.log(weight),
            factor=factor,
            buffer=buffer,
            buffer_rows=buffer_rows + 1,
            readings=self.readings + 1.0,
            total_readings=self.total_readings + 1.0,
            max_abs_reading=np.maximum(self.max_abs_reading, np.abs(scaled[:, -1])),
            # The weight is at most one.
            second_moment=self.second_moment + (weight[:, None] * u)[:, :, None] * u[:, None, :],
            log_sizes=self._add_sizes(model, u, w, None),
            level=level,
            level_variance=level_variance,
        )

    def _choose(self, after: Posterior, which: BoolArray) -> Posterior:
        """Return another posterior in some of the runs, and this one in the others."""
        chosen = {}
        for name, value in self.__dict__.items():
            mask = which.reshape(-1, *(1,) * (value.ndim - 1))
            chosen[name] = np.where(mask, after.__dict__[name], value)
        return evolve(self, **chosen)

    def update_rows(
        self, model: ReadingModel, u: Array, y: Array, features: Array, w: Array | None = None
    ) -> Posterior:
        """Return the posterior after several readings in each run, without a fit; a call of :meth:`fit` must follow.

        Parameters
        ----------
        model : ReadingModel
            The assumptions about the readings.
        u, y, features : Array, shape (runs, n, d), (runs, n) and (runs, n, m)
            The readings and their features; y is NaN for none.
        w : Array, shape (runs, n, k), optional
            The contexts.
        """
        # A reading whose terms overflow is not used.
        relative = RELATIVE_ERROR * model.square_length(features) / self.noise[:, None]
        seen = ~np.isnan(y) & np.isfinite(relative * relative)
        used_rows = np.flatnonzero(seen.any(axis=0))
        if not used_rows.size:
            return self
        seen = seen[:, used_rows]
        u = np.where(seen[..., None], u[:, used_rows], 0.0)
        w = None if w is None else w[:, used_rows]
        whole = np.concatenate([features, y[..., None]], axis=2)[:, used_rows]
        whole[~seen] = 0.0
        if not self.level_variance.any():
            rows, weight, after = white_rows_without_level(self, model, whole, seen)
        elif not self.offset_step.any():
            rows, weight, after = white_rows_with_level(self, model, whole, seen)
        else:
            rows, weight, after = white_rows_one_by_one(self, model, whole, seen)
        stored = weight > 0.0
        after = evolve(after, log_sizes=self._add_all_sizes(model, u, w, stored))
        # Each reading reduces the weights of those before it.
        later = stored.sum(axis=1)[:, None] - np.cumsum(stored, axis=1)
        decay = model.forgetting**later
        kept = model.forgetting ** stored.sum(axis=1)
        whole = rows * np.sqrt(decay)[..., None]
        if not self.total_readings.any() and whole.shape[1] <= self.buffer.shape[1]:  # the same for all runs
            # One after the other, without those that were not stored.
            first = np.argsort(~stored, axis=1, kind="stable")
            buffer = np.zeros_like(after.buffer)
            buffer[:, : whole.shape[1]] = np.take_along_axis(whole, first[:, :, None], axis=1)
            factor, buffer_rows = after.factor, stored.sum(axis=1)
        else:
            if self.total_readings.any():
                earlier = merge_rows(after.factor, after.buffer, after.buffer_rows) * np.sqrt(kept)[:, None, None]
                whole = np.concatenate([earlier, whole], axis=1)
            elif whole.shape[1] < whole.shape[2]:  # the factor has as many rows as columns
                whole = np.pad(whole, ((0, 0), (0, whole.shape[2] - whole.shape[1]), (0, 0)))
            factor = triangular_factor(whole)
            buffer, buffer_rows = np.zeros_like(after.buffer), np.zeros_like(after.buffer_rows)
        outer = ((np.minimum(weight, 1.0) * decay)[..., None] * u).swapaxes(1, 2) @ u
        return evolve(
            after,
            max_abs_reading=np.maximum(self.max_abs_reading, np.abs(rows[:, :, -1]).max(axis=1)),
            total_readings=self.total_readings + stored.sum(axis=1),
            factor=factor,
            buffer=buffer,
            buffer_rows=buffer_rows,
            readings=kept * self.readings + (stored * decay).sum(axis=1),
            second_moment=kept[:, None, None] * self.second_moment + outer,
        )

    def skip(self) -> Posterior:
        """Return the posterior after a reading that is not used: base load and offset have taken another step."""
        variance = self.level_variance + np.square(self.level_speed)
        if not self.offset_step.any():
            return evolve(self, level_variance=variance)
        d = self.second_moment.shape[1]
        steps = np.where(self.offset_step[:, None] > 0.0, walk_steps(self), 0.0)
        covariance = self.walk_covariance + steps[:, :, None] * np.eye(1 + d)
        return evolve(self, level_variance=variance, walk_covariance=covariance)

    def _append(
        self, model: ReadingModel, u: Array, row: Array, w: Array | None, weight: Array, stored: BoolArray
    ) -> Posterior:
        """Store the row in the buffer."""
        factor, buffer, buffer_rows = self._with_room(stored)
        keep = np.where(stored, model.forgetting, 1.0)
        if model.forgetting < 1.0:
            fade = np.sqrt(keep)[:, None, None]
            factor, buffer = factor * fade, buffer * fade
        runs = np.flatnonzero(stored)
        buffer[runs, buffer_rows[runs]] = row[runs]
        outer = np.minimum(weight, 1.0)[:, None, None] * u[:, :, None] * u[:, None, :]
        return evolve(
            self,
            factor=factor,
            buffer=buffer,
            buffer_rows=buffer_rows + stored,
            readings=keep * self.readings + stored,
            total_readings=self.total_readings + stored,
            max_abs_reading=np.maximum(self.max_abs_reading, np.abs(row[:, -1])),
            second_moment=keep[:, None, None] * self.second_moment + outer,
            log_sizes=self._add_sizes(model, u, w, stored),
        )

    def _with_room(self, which: BoolArray | None = None) -> tuple[Array, Array, IntArray]:
        """Return the factor, a copy of the buffer and its number of rows, after full buffers have become part of it.

        In the runs that are not chosen, a buffer may remain full.
        """
        factor, buffer, buffer_rows = self.factor, self.buffer.copy(), self.buffer_rows
        if max_entry(buffer_rows) < buffer.shape[1]:
            return factor, buffer, buffer_rows
        full = buffer_rows == buffer.shape[1] if which is None else which & (buffer_rows == buffer.shape[1])
        runs = np.flatnonzero(full)
        if runs.size:
            factor = overwrite(factor, runs, merge_rows(factor[runs], buffer[runs], buffer_rows[runs]))
            buffer[runs] = 0.0
            buffer_rows = np.where(full, 0, buffer_rows)
        return factor, buffer, buffer_rows

    def _add_sizes(self, model: ReadingModel, u: Array, w: Array | None, stored: BoolArray | None) -> Array:
        """Return the sums of the logarithms of typical sizes with one more reading, in the runs that store one."""
        if not model.extras:
            return self.log_sizes
        sizes = np.sqrt(np.vecdot(u, u) / model.dim)[:, None]
        if w is not None:
            sizes = np.concatenate([sizes, np.abs(w)], axis=1)
        if stored is None:
            # There are readings, and most sizes are far above the least one that counts, which takes longer to compute
            # than their logarithm.
            more = np.log(np.maximum(sizes, 1e-150))
            if min_entry(more - self.log_sizes / self.total_readings[:, None]) > _LOG_LEAST_SIZE:
                return np.asarray(self.log_sizes + more)
        # A reading at u = 0 says nothing about the typical size.
        least = 1e-3 * self.sizes * (self.total_readings > 0.0)[:, None]
        more = np.log(np.maximum(np.maximum(sizes, least), 1e-150))
        return np.asarray(self.log_sizes + (more if stored is None else np.where(stored[:, None], more, 0.0)))

    def _add_all_sizes(self, model: ReadingModel, u: Array, w: Array | None, stored: BoolArray) -> Array:
        """Do the same for several readings."""
        log_sizes, count = self.log_sizes, self.total_readings[:, None]
        if not model.extras:
            return log_sizes
        sizes = np.sqrt(np.vecdot(u, u) / model.dim)[..., None]
        if w is not None:
            sizes = np.concatenate([sizes, np.abs(w)], axis=2)
        # Most sizes are far above the least one that counts.
        more = np.where(stored[..., None], np.log(np.maximum(sizes, 1e-150)), 0.0)
        total, number = np.cumsum(more, axis=1), np.cumsum(stored, axis=1)[..., None]
        earlier = count[:, None] + number - stored[..., None]
        mean = (log_sizes[:, None] + total - more) / np.maximum(earlier, 1.0)
        if ((more - mean > _LOG_LEAST_SIZE) | (earlier == 0.0) | ~stored[..., None]).all():
            return np.asarray(log_sizes + total[:, -1])
        for k in range(stored.shape[1]):
            mean = np.exp(log_sizes / np.maximum(count, 1.0))
            typical = np.maximum(sizes[:, k], np.where(count > 0.0, 1e-3 * mean, 1e-150))
            log_sizes = log_sizes + np.where(stored[:, k, None], np.log(typical), 0.0)
            count = count + stored[:, k, None]
        return np.asarray(log_sizes)

    def _potter_step(
        self,
        model: ReadingModel,
        difference: Array,
        weight: Array,
        runs: IntArray | None = None,
        fitted: BoolArray | None = None,
    ) -> Posterior:
        """Update the evidence by the density of one row, in some runs or in all, and the rest where no fit follows."""
        runs = np.arange(weight.size) if runs is None else runs
        before, noise, root, evidence = self.mean, self.noise, self.root, self.log_evidence
        if runs.size < weight.size:
            difference, weight, before, noise = difference[runs], weight[runs], before[runs], noise[runs]
            root, evidence = root[runs], evidence[runs]
        stored = weight > 0.0
        if model.forgetting < 1.0:
            # The earlier readings lose weight before this one is added, as the stored rows do.
            root = root / np.where(stored, math.sqrt(model.forgetting), 1.0)[:, None, None]
        spread = np.vecmat(difference[:, :-1], root)
        innovation = difference[:, -1] - np.vecdot(difference[:, :-1], before)
        variance = np.vecdot(spread, spread)
        total = weighted_variance(variance, weight, noise)
        parts, moved = [before, root, spread, innovation, total, weight, noise], runs
        if fitted is not None and any_entry(fitted[runs]):
            kept = np.flatnonzero(~fitted[runs])
            parts, moved = [values[kept] for values in parts], runs[kept]
        mean, root = self.mean, self.root
        if moved.size:
            new_mean, new_root = potter(*parts)
            mean, root = overwrite(mean, moved, new_mean), overwrite(root, moved, new_root)
        if not all_entries(stored):
            weight = np.where(stored, weight, 1.0)
            total = weighted_variance(variance, weight, noise)
        log_density = log_innovation_density(innovation, total, weight)
        evidence = evidence + np.where(stored, log_density, 0.0)
        return evolve(self, mean=mean, root=root, log_evidence=overwrite(self.log_evidence, runs, evidence))

    def fit(self, model: ReadingModel, which: BoolArray, *, review: bool = False) -> Posterior:
        """Return the posterior with the noise and the scale estimated again in some of the runs.

        Parameters
        ----------
        model : ReadingModel
            The model.
        which : BoolArray, shape (runs,)
            The runs to fit.
        review : bool
            Whether to evaluate all variants, also those that were unlikely at the last fit.
        """
        runs = np.flatnonzero(which)
        return self._fit_runs(model, runs, review=review) if runs.size else self

    def _fit_runs(
        self, model: ReadingModel, runs: IntArray, *, review: bool, shared: Posterior | None = None
    ) -> Posterior:
        """Fit some runs; if another posterior is given, only its arrays must not change."""
        count, after, shared = self._stored_rows(runs), self, self if shared is None else shared
        for rows in set(count.tolist()):
            after = after._fit(model, runs[count == rows], min(rows, self.buffer.shape[1]), review, shared)
        return after

    def fit_all(self, model: ReadingModel) -> Posterior:
        """Return the fit of all runs and variants, with the marginal density of the stored rows as its evidence.

        Parameters
        ----------
        model : ReadingModel
            The model.
        """
        return self.fit(model, self.total_readings > 0.0, review=True).with_marginal_evidence()

    def summary_of_fit(self, model: ReadingModel, runs: IntArray | None = None) -> tuple[Array, Array]:
        """Return the noise and the logarithm of the marginal density of all stored rows, in some runs or in all.

        They are ``noise`` and ``log_evidence`` of :meth:`fit_all`, at a lower cost.

        Parameters
        ----------
        model : ReadingModel
            The model.
        runs : IntArray, optional
            The runs; all by default.
        """
        runs = np.arange(self.noise.size) if runs is None else runs
        noise, evidence = self.noise[runs], self.with_marginal_evidence().log_evidence[runs]
        for where, part, rows, triangular in self._groups_of_rows(runs):
            own = runs[where]
            found = fit_variants(model, part, rows, triangular=triangular, review=True, evidence_only=True)
            first = log_first_density(self.first_reading[own], found["noise"])
            noise[where], evidence[where] = found["noise"], found["log_marginal"] + self.log_jacobian[own] + first
        return noise, evidence

    def least_noise(self, model: ReadingModel) -> Array:
        """Return a lower bound on the noise of :meth:`summary_of_fit`, at a lower cost; shape (runs,).

        Parameters
        ----------
        model : ReadingModel
            The model. There are fewer readings than make its bias optional.
        """
        least = np.zeros(self.noise.size)
        for where, part, rows, triangular in self._groups_of_rows(np.arange(least.size)):
            least[where] = least_noise(model, part, rows, triangular=triangular)
        return least

    def fit_input(self, runs: IntArray | None = None) -> FitInput:
        """Return what a fit needs beside the rows, of some runs or of all.

        Parameters
        ----------
        runs : IntArray, optional
            The runs; all by default.
        """
        every = FitInput(*map(self.__dict__.__getitem__, FitInput._fields))
        return every if runs is None else every.take(runs)

    def _groups_of_rows(self, runs: IntArray) -> Iterator[tuple[IntArray, FitInput, Array, bool]]:
        """Yield positions in some runs, what their fit needs, and whether their rows are a triangular factor."""
        count, known = self._stored_rows(runs), self.total_readings[runs] > 0.0
        for number in set(count[known].tolist()):
            where = np.flatnonzero(known & (count == number))
            chosen = runs[where]
            few = min(number, self.buffer.shape[1])
            if few:
                rows = self.buffer[chosen, :few]
            else:
                rows = merge_rows(self.factor[chosen], self.buffer[chosen], self.buffer_rows[chosen])
            yield where, self.fit_input(chosen), rows, not few

    def _stored_rows(self, runs: IntArray) -> IntArray:
        """Return the number of rows of a fit of the buffer, in steps; zero if the rows are in the factor."""
        # The first rows stay in the buffer: a fit of few rows is cheaper than one of a factor of all columns. Rows of
        # zeros are added in steps, which depend on the run only, so that many runs are fitted together.
        step = _ROWS_STEP * -(-self.buffer_rows[runs] // _ROWS_STEP)
        return np.where(self.buffer_rows[runs] == self.total_readings[runs], step, 0)

    def _fit(self, model: ReadingModel, runs: IntArray, few: int, review: bool, shared: Posterior) -> Posterior:
        """Fit some runs whose rows are the first few of the buffer, or that have a triangular factor if few is 0."""
        every = runs.size == self.readings.size
        if few:
            rows = self.buffer[:, :few] if every else self.buffer[runs, :few]
        else:
            factor, buffer = (self.factor, self.buffer) if every else (self.factor[runs], self.buffer[runs])
            rows = merge_rows(factor, buffer, self.buffer_rows[runs])
        part = self.fit_input(None if every else runs)
        fields = fit_variants(model, part, rows, triangular=not few, review=review)
        # The marginal density replaces the product of predictive densities while there is a fit at every reading.
        exact = is_fitted_always(model, part.readings, self.is_restarted[runs])
        evidence = fields["log_marginal"] + self.log_jacobian[runs]
        evidence = evidence + log_first_density(self.first_reading[runs], fields["noise"])
        fields["log_evidence"] = np.where(exact, evidence, self.log_evidence[runs])
        if not few:
            fields["factor"], fields["buffer"] = rows, np.zeros_like(buffer)
            fields["buffer_rows"] = np.zeros(runs.size, dtype=np.int64)
        mine, other = self.__dict__, shared.__dict__
        fitted = {name: overwrite(mine[name], runs, new, shared=other[name]) for name, new in fields.items()}
        return evolve(self, **fitted)

    def with_marginal_evidence(self) -> Posterior:
        """Return the posterior after a fit, with the marginal density of all stored rows as its evidence."""
        first = log_first_density(self.first_reading, self.noise)
        return evolve(self, log_evidence=self.log_marginal + self.log_jacobian + first)


def directional_deviations(root: Array, directions: Array) -> Array:
    """Return the standard deviation of w'A w for directions w, shape (..., k).

    Parameters
    ----------
    root : Array, shape (..., p, n)
        A square root of the covariance of svec(A).
    directions : Array, shape (..., k, d)
        The directions w, which need not have length one.

    Examples
    --------
    >>> directional_deviations(np.eye(3), np.array([[1.0, 0.0], [2.0, 0.0]]))
    array([1., 4.])
    """
    spread = np.matmul(svec(directions[..., :, None] * directions[..., None, :]), root)
    return np.asarray(np.sqrt(np.square(spread).sum(axis=-1)))
