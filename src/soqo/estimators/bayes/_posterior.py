r"""Recursive Bayesian least squares for A with unknown noise, scale and rank.

The rows of all readings are stored as a triangular factor, so that no condition number is squared. From this factor,
one singular value decomposition gives the marginal likelihood of every pair (sigma, s) in closed form, and the average
of the posterior over them. This fit is repeated at each of the first readings, and later whenever the number of
readings has grown by a tenth. Between two fits, the mean and a square root of the covariance are updated by Potter's
formula (Battin, "Astronautical guidance", 1964), which costs O(p^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register, rename_fields
from soqo.estimators._measurements import smat, svec
from soqo.estimators.bayes._marginal_likelihood import PRIOR_MEAN_SCALE, PRIOR_MEAN_SQUARE_SCALE, MarginalLikelihood
from soqo.estimators.bayes._model import RELATIVE_ERROR, ReadingModel, prior_root
from soqo.typing import Array, BoolArray, IntArray

_GROWTH = 1.1
"""The factor by which the number of readings grows from one fit to the next."""

_MAX_FREQUENT_FITS = 40
"""Every reading is followed by a fit up to twice the number of unknowns, and up to this number at most."""

_MAX_BUFFER_ROWS = 32
"""The largest number of rows that are stored before they become part of the triangular factor."""


_rename = rename_fields(
    heard="total_readings", due="next_fit", waiting="buffer", filled="buffer_rows", largest="max_abs_reading"
)


@register("GLIDE.belief", migrations={0: _rename})
@dataclass(frozen=True)
class Posterior(Value):
    """The normal posterior of A and N for each of several runs.

    Attributes
    ----------
    mean : Array, shape (runs, p + q)
        The mean of svec(A) and N.
    root : Array, shape (runs, p + q, p + q)
        A square root of their covariance.
    noise, scale : Array, shape (runs,)
        The estimates of sigma and s.
    readings : Array, shape (runs,)
        The number of readings since the last restart; with forgetting, the sum of their weights.
    total_readings, next_fit : Array, shape (runs,)
        The number of readings since the last restart, and the number at which the next fit takes place.
    second_moment : Array, shape (runs, d, d)
        The sum of u u'.
    factor : Array, shape (runs, q + p + 1, q + p + 1)
        The triangular factor of the rows of N, svec(A) and y.
    buffer, buffer_rows : Array, shape (runs, rows, q + p + 1) and (runs,)
        The latest rows, which are not yet part of the factor, and their number.
    max_abs_reading : Array, shape (runs,)
        The largest absolute value of a reading.
    prior_mean, prior_unit : Array, shape (runs, d, d) and (runs,)
        The mean of A before the first reading for s = 1, and the unit of s.

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
    next_fit: Array
    factor: Array
    buffer: Array
    buffer_rows: IntArray
    max_abs_reading: Array
    prior_mean: Array
    prior_unit: Array

    @classmethod
    def start(cls, model: ReadingModel, runs: int) -> Posterior:
        """Return the prior, for this number of runs.

        Parameters
        ----------
        model : ReadingModel
            The model.
        runs : int
            The number of runs.
        """
        d, p, q = model.dim, model.unknowns, model.biases
        identity = np.tile(np.eye(d), (runs, 1, 1))
        root = np.zeros((runs, p + q, p + q))
        root[:, :p, :p] = math.sqrt(PRIOR_MEAN_SQUARE_SCALE) * prior_root(d)
        columns = q + p + 1
        return cls(
            mean=np.concatenate([PRIOR_MEAN_SCALE * svec(identity), np.zeros((runs, q))], axis=1),
            root=root,
            noise=np.ones(runs),
            scale=np.full(runs, PRIOR_MEAN_SCALE),
            readings=np.zeros(runs),
            total_readings=np.zeros(runs),
            second_moment=np.zeros((runs, d, d)),
            next_fit=np.ones(runs),
            factor=np.zeros((runs, columns, columns)),
            buffer=np.zeros((runs, min(columns, _MAX_BUFFER_ROWS), columns)),
            buffer_rows=np.zeros(runs, dtype=np.int64),
            max_abs_reading=np.zeros(runs),
            prior_mean=identity,
            prior_unit=np.ones(runs),
        )

    # ---- predictions -----------------------------------------------------------------------------------------------

    def predict(self, features: Array) -> tuple[Array, Array]:
        """Return the mean and the variance of readings with these features, without the noise; shape (runs,) each.

        Parameters
        ----------
        features : Array, shape (runs, p + q)
            The features, from :meth:`ReadingModel.features`.
        """
        spread = np.vecmat(features, self.root)
        return np.vecdot(features, self.mean), np.vecdot(spread, spread)

    def cross_covariance(self, model: ReadingModel, features: Array) -> tuple[Array, Array]:
        """Return the variance of readings without noise, and their covariance with A, shape (runs, d, d).

        Parameters
        ----------
        model : ReadingModel
            The model.
        features : Array, shape (runs, p + q)
            The features, from :meth:`ReadingModel.features`.
        """
        spread = np.vecmat(features, self.root)
        return np.vecdot(spread, spread), smat(np.matvec(self.root[:, : model.unknowns], spread))

    def deviations(self, directions: Array) -> Array:
        """Return the standard deviation of w'A w, shape (runs, k), for directions w of shape (runs, k, d).

        Parameters
        ----------
        directions : Array, shape (runs, k, d)
            The directions w.
        """
        d = directions.shape[-1]
        return directional_deviations(self.root[..., : d * (d + 1) // 2, :], directions)

    def identity_deviation(self, model: ReadingModel) -> Array:
        """Return the standard deviation of A along the identity, tr(A) / sqrt(d); shape (runs,).

        Parameters
        ----------
        model : ReadingModel
            The model.
        """
        along = svec(np.eye(model.dim)) / math.sqrt(model.dim)
        spread = along @ self.root[:, : model.unknowns]
        return np.asarray(np.sqrt(np.vecdot(spread, spread)))

    # ---- updates ---------------------------------------------------------------------------------------------------

    def update(self, model: ReadingModel, u: Array, y: Array, features: Array | None = None) -> Posterior:
        """Return the posterior after one more reading in each run.

        Parameters
        ----------
        model : ReadingModel
            The assumptions about the readings.
        u, y : Array, shape (runs, d) and (runs,)
            The readings, after :func:`clip_inputs`. Runs whose y is NaN do not change.
        features : Array, shape (runs, p + q), optional
            ``model.features(u)``, if the caller has computed it.
        """
        observed = ~np.isnan(y)
        u = np.where(observed[:, None], u, 0.0)
        features = model.features(u) if features is None else np.where(observed[:, None], features, 0.0)
        square = np.vecdot(u, u)
        relative = np.where(self.max_abs_reading > 0.0, RELATIVE_ERROR * square / self.noise, 0.0)
        weight = observed / np.sqrt(1.0 + relative * relative)
        row, y = weight[:, None] * features, weight * np.where(observed, y, 0.0)
        after = self._append(model, u, row, y, weight, observed)
        fit_now = observed & (after.total_readings >= after.next_fit)
        if not fit_now.all():
            after = after._potter_step(model, row, y, weight)
        return after.fit(model, fit_now) if fit_now.any() else after

    def _append(
        self, model: ReadingModel, u: Array, row: Array, y: Array, weight: Array, observed: BoolArray
    ) -> Posterior:
        """Store the row in the buffer, and empty a full buffer into the factor first."""
        p = model.unknowns
        buffer, buffer_rows, factor = self.buffer.copy(), self.buffer_rows, self.factor
        overflows = observed & (buffer_rows == buffer.shape[1])
        full = np.flatnonzero(overflows)
        if full.size:
            factor = _overwrite(factor, full, _merge(factor[full], buffer[full]))
            buffer[full] = 0.0
            buffer_rows = np.where(overflows, 0, buffer_rows)
        keep = np.where(observed, model.forgetting, 1.0)
        if model.forgetting < 1.0:
            fade = np.sqrt(keep)[:, None, None]
            factor, buffer = factor * fade, buffer * fade
        runs = np.flatnonzero(observed)
        stored = np.concatenate([row[:, p:], row[:, :p], y[:, None]], axis=1)
        buffer[runs, buffer_rows[runs]] = stored[runs]
        outer = weight[:, None, None] * u[:, :, None] * u[:, None, :]
        return evolve(
            self,
            factor=factor,
            buffer=buffer,
            buffer_rows=buffer_rows + observed,
            readings=keep * self.readings + observed,
            total_readings=self.total_readings + observed,
            max_abs_reading=np.maximum(self.max_abs_reading, np.abs(y)),
            second_moment=keep[:, None, None] * self.second_moment + outer,
        )

    def _potter_step(self, model: ReadingModel, row: Array, y: Array, weight: Array) -> Posterior:
        """Update the mean and the root of the covariance by one weighted row."""
        root = self.root
        if model.forgetting < 1.0:
            # The earlier readings lose weight before this one is added, as the stored rows do.
            root = root / np.where(weight > 0.0, math.sqrt(model.forgetting), 1.0)[:, None, None]
        spread = np.vecmat(row, root)
        total = np.vecdot(spread, spread) + np.square(self.noise)
        gain = np.matvec(root, spread)
        innovation = y - np.vecdot(row, self.mean)
        shrink = gain / (total + self.noise * np.sqrt(total))[:, None]
        root = root - shrink[:, :, None] * spread[:, None, :]
        mean = self.mean + gain * (innovation / total)[:, None]
        return evolve(self, mean=mean, root=root)

    def fit(self, model: ReadingModel, which: BoolArray) -> Posterior:
        """Return the posterior with the noise and the scale estimated again in some of the runs.

        Parameters
        ----------
        model : ReadingModel
            The model.
        which : BoolArray, shape (runs,)
            The runs to fit.
        """
        runs = np.flatnonzero(which)
        factor = _merge(self.factor[runs], self.buffer[runs])
        fields = _fit_factor(model, self, factor, runs)
        readings = self.readings[runs]
        # With forgetting, ``readings`` is bounded by the window, so the next fit is counted in total readings.
        frequent = readings < min(2 * model.unknowns, _MAX_FREQUENT_FITS)
        fields["next_fit"] = self.total_readings[runs] + np.where(frequent, 1.0, (_GROWTH - 1.0) * readings)
        fields["factor"], fields["buffer"] = factor, np.zeros_like(self.buffer[runs])
        changed: dict[str, Any] = {name: _overwrite(getattr(self, name), runs, new) for name, new in fields.items()}
        return evolve(self, **changed, buffer_rows=np.where(which, 0, self.buffer_rows))

    def restart(self, which: BoolArray, matrix: Array) -> Posterior:
        """Return the posterior with a new prior in some runs, around this matrix and with the estimated scale.

        Parameters
        ----------
        which : BoolArray, shape (runs,)
            The runs to change.
        matrix : Array, shape (runs, d, d)
            The mean of the new prior.
        """
        return evolve(
            self.reset(which),
            prior_mean=np.where(which[:, None, None], matrix, self.prior_mean),
            prior_unit=np.where(which, self.scale, self.prior_unit),
        )

    def reset(self, which: BoolArray) -> Posterior:
        """Return the posterior without the readings since the last restart in some runs.

        The mean and the covariance of these runs become those of the prior at the next reading.

        Parameters
        ----------
        which : BoolArray, shape (runs,)
            The runs to change.
        """
        mask = which[:, None, None]
        return evolve(
            self,
            factor=np.where(mask, 0.0, self.factor),
            buffer=np.where(mask, 0.0, self.buffer),
            buffer_rows=np.where(which, 0, self.buffer_rows),
            readings=np.where(which, 0.0, self.readings),
            total_readings=np.where(which, 0.0, self.total_readings),
            next_fit=np.where(which, 1.0, self.next_fit),
            max_abs_reading=np.where(which, 0.0, self.max_abs_reading),
            second_moment=np.where(mask, 0.0, self.second_moment),
        )


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


def triangular_factor(rows: Array) -> Array:
    """Return R of the QR decomposition of the rows."""
    R: Any = np.linalg.qr(rows, mode="r")
    return np.asarray(R)


def _fit_factor(model: ReadingModel, posterior: Posterior, factor: Array, runs: IntArray) -> dict[str, Array]:
    """Return mean, root, noise and scale from the triangular factor of all rows, for some of the runs."""
    d, p, q = model.dim, model.unknowns, model.biases
    bias_rows, cross = factor[:, :q, :q], factor[:, :q, q:]
    # With N integrated out, the noise of the rows that contain N has covariance I + kappa^2 R R'.
    noise_root = np.linalg.cholesky(np.eye(q) + model.kappa**2 * bias_rows @ bias_rows.swapaxes(-1, -2))
    T = triangular_factor(np.concatenate([np.linalg.solve(noise_root, cross), factor[:, q:, q:]], axis=1))
    center = svec(posterior.prior_mean[runs])
    prior = posterior.prior_unit[runs][:, None, None] * prior_root(d)
    U, D, Vt = np.linalg.svd(T[:, :p, :p] @ prior)
    c = np.vecmat(T[:, :p, p], U)
    c0 = np.vecmat(np.matvec(T[:, :p, :p], center), U)
    likelihood = MarginalLikelihood(D, c, c0, np.square(T[:, p, p]), posterior.readings[runs])
    average = likelihood.average(posterior.max_abs_reading[runs], model.noise_cap)
    to_A = prior @ Vt.swapaxes(-1, -2)
    mean = average.scale[:, None] * center + np.matvec(to_A, average.mean)
    root = to_A * np.sqrt(average.variance)[:, None, :]
    # The conditional distribution of N given A.
    ridge = np.linalg.cholesky(np.eye(q) / max(model.kappa, 1e-12) ** 2 + bias_rows.swapaxes(-1, -2) @ bias_rows)
    half = np.linalg.solve(ridge, bias_rows.swapaxes(-1, -2))
    gain = np.linalg.solve(ridge.swapaxes(-1, -2), half)
    bias_mean = np.matvec(gain, cross[:, :, p] - np.matvec(cross[:, :, :p], mean))
    bias_root = average.noise[:, None, None] * np.linalg.inv(ridge).swapaxes(-1, -2)
    full = np.zeros((runs.size, p + q, p + q))
    full[:, :p, :p] = root
    full[:, p:, :p] = -gain @ cross[:, :, :p] @ root
    full[:, p:, p:] = bias_root
    return {
        "mean": np.concatenate([mean, bias_mean], axis=1),
        "root": full,
        "noise": average.noise,
        "scale": average.scale * posterior.prior_unit[runs],
    }


def _merge(factor: Array, buffer: Array) -> Array:
    """Return the triangular factor of the rows of both."""
    return triangular_factor(np.concatenate([factor, buffer], axis=1))


def _overwrite(values: Array, runs: IntArray, new: Array) -> Array:
    """Return a copy with new values in some of the runs."""
    if runs.size == values.shape[0]:
        return new
    copy = values.copy()
    copy[runs] = new
    return copy
