r"""Bayesian linear regression of A on the readings of a finished log, and a sample of its posterior.

The model is generalized least squares with the noise estimated from the residuals, and with a weak prior: A around s I
with deviation s, as in `_model`. The regression sets s to the best fit of s I to the readings; for each draw of a
sample, s is multiplied by a random factor (up to ten in two of three draws).

The readings contain a base load, which is a random walk. Its speed rho, the deviation of a step in units of the noise,
is the most likely of a grid. For a given rho the covariance of the readings is known, and the Kalman filter of a local
level whitens the rows: from each row (and reading) it subtracts the level that the rows before predict, and divides by
the deviation of that prediction; the first row starts the level and is used up. For rho = 0 the base load is a
constant. If the minimizer that the log holds differs from the true one by a constant b, then a reading at u = x - v is
1/2 (u + b)'A(u + b) plus the base load, which is linear in A, in g = A b and in the base load. The unknowns g are in
the model if the readings support them by the Bayesian information criterion.

What moves the minimizer may move the base load, too. Since x lags behind v, the steps of such a base load correlate
with u, and would be taken for hitting cost. The base load may therefore be a linear combination of columns that are
given, such as v and its squares; groups of them are in the model, one after the other, by the same criterion and by
some further evidence.

The draws are from the normal posterior, given that A is positive semi-definite (hit-and-run sampling).

A least-squares estimate of a rank-deficient A has small eigenvalues in place of zeros, and so has every draw from its
distribution. The cost of a policy depends on the square roots of the eigenvalues, so all such draws are biased in the
same direction. If some eigenvalues are not significantly different from zero, half of the draws therefore have that
lower rank and are fitted to the readings with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from soqo._foundation.frozen_dataclasses import Value
from soqo._model.spectrum import Spectrum
from soqo.estimators._measurements import smat, svec, svec_rows
from soqo.estimators.bayes._cone import map_in_cone
from soqo.estimators.bayes._posterior import clip_readings
from soqo.typing import Array, BoolArray

_LOG_SCALE_DEVIATION = math.log(10.0)
"""The deviation of the logarithm of the factor by which the prior's scale is multiplied in a draw."""

_RELATIVE_ERROR = 1e-9
"""The least deviation of a reading's relative error, in units of |u|^2: it bounds the weight of readings at large u, so
that round-off does not matter."""

_TRACE_DEVIATION = 3.0
"""The prior's deviation of A along the identity, in units of the scale s; one in all other directions."""

_INFORMED_SHARE = 0.5
"""The readings inform a direction if the posterior variance is below this share of the prior variance."""

_SIGNIFICANT_DEVIATIONS = 4.0
"""An eigenvalue of fewer deviations is not significantly different from zero."""

_WALK_SPEEDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""The grid of rho besides zero. A speed between two of them costs little: the likelihood is flat in log rho."""

_LOAD_EVIDENCE = 3.0
"""A base load that walks, or follows given columns, must be this much more likely, in nats, than a constant one."""

_MIN_READINGS_PER_UNKNOWN = 3
"""With fewer readings, the base load is a constant and b is zero."""

_RELATIVE_RANK_TOLERANCE = 1e-2
"""Directions whose eigenvalue of A is below this share of the largest do not say where the minimum is."""

_STEPS_PER_UNKNOWN, _MAX_CHAIN = 10, 500
"""The steps of hit-and-run sampling; each chain starts at the point of the cone that is nearest to a free draw."""

ALPHA, _MAX_STEPS = 1e-3, 150
"""For the MAP estimate in the cone: a small weight of the Wishart density, and enough steps for a cold start."""


@dataclass(frozen=True)
class PosteriorSample(Value):
    """The posterior mode of A and draws from the posterior.

    Attributes
    ----------
    mode : Array, shape (d, d)
        The MAP estimate.
    draws : Array, shape (draws, d, d)
        The draws.
    low_rank : BoolArray, shape (draws,)
        The draws in which the eigenvalues that are not significant are zero.
    mode_offset : Array, shape (d,)
        The error b of the minimizer for the MAP estimate.
    offsets : Array, shape (draws, d)
        The error b for each draw.
    """

    mode: Array = field(repr=False)
    draws: Array = field(repr=False)
    low_rank: BoolArray = field(repr=False)
    mode_offset: Array = field(repr=False)
    offsets: Array = field(repr=False)


@dataclass(frozen=True)
class BayesianRegression(Value):
    """The sufficient statistics of the readings of a log.

    Attributes
    ----------
    rows, target : Array, shapes (k, p + q) and (k,)
        The triangular factor of the whitened rows of svec(A) and of the q other unknowns, and of the readings.
    noise : float
        The standard deviation of a reading.
    scale : float
        The scale s of A.
    dim : int
        The dimension d.
    other_deviations : Array, shape (q,)
        The prior deviations of the other unknowns: of g, if it is in the model, and of the base load's columns.
    walk_speed : float
        The deviation rho of a step of the base load, in units of the noise.
    has_offset : bool
        Whether the readings support that the minimizer of the log differs from the true one by a constant.
    drivers : int
        The number of groups of columns that the base load follows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u = 10.0 * rng.standard_normal((100, 2))
    >>> regression = BayesianRegression.fit(u, (u * u).sum(axis=1) + rng.uniform(-1.0, 1.0, 100))    # A = 2 I
    >>> regression.informed_directions(), regression.unknowns
    (3, 3)
    >>> bool(np.abs(regression.sample(4, rng).mode - 2.0 * np.eye(2)).max() < 0.1)
    True
    """

    rows: Array = field(repr=False)
    target: Array = field(repr=False)
    noise: float
    scale: float
    dim: int
    other_deviations: Array = field(repr=False)
    walk_speed: float = 0.0
    has_offset: bool = False
    drivers: int = 0

    @classmethod
    def fit(cls, u: Array, y: Array, drivers: Sequence[Array] = ()) -> BayesianRegression:
        """Return the regression of readings y at u, shapes (n,) and (n, d); NaN for a missing reading.

        Parameters
        ----------
        u : Array, shape (n, d)
            The displacements from the minimizer, x - v.
        y : Array, shape (n,)
            The readings; NaN marks a missing one.
        drivers : sequence of Array, shapes (n, ...)
            Groups of columns that the base load may follow; a group is used only together with those before it.
        """
        observed, d = ~np.isnan(y), u.shape[1]
        p = d * (d + 1) // 2
        if observed.sum() < 2:  # one reading only tells the base load
            return cls(np.zeros((1, p)), np.zeros(1), 1.0, 1.0, d, np.ones(0))
        times = np.flatnonzero(observed).astype(np.float64)
        u, y = clip_readings(u[observed], y[observed])
        tables = [table[observed] for table in drivers]
        rows, square = svec_rows(u), np.vecdot(u, u)
        noise = _residual_deviation(np.column_stack([rows, np.ones_like(y)]), y)
        variances = 1.0 + np.square(_RELATIVE_ERROR * square / noise)
        speed, with_offset, groups = _most_likely_model(rows, u, tables, y, times, variances)
        blocks = [*([u] if with_offset else []), *tables[:groups]]
        table, _ = whiten(np.column_stack([rows, *blocks, y, 0.5 * square]), times, variances, speed)
        rows, y, square = table[:, :-2], table[:, -2], table[:, -1]
        solution, *_ = np.linalg.lstsq(rows, y)
        widths = np.array([block.shape[1] for block in blocks], dtype=np.int64)
        parts = np.split(solution[p:], np.cumsum(widths))[: len(blocks)]
        deviations = np.repeat([max(float(np.linalg.norm(part)), 1e-100) for part in parts], widths)
        noise, factor = _residual_deviation(rows, y), _triangular_factor(table[:, :-1])
        scale = _fit_scale(square, rows[:, p:], y, noise)
        return cls(factor[:, :-1], factor[:, -1], noise, scale, d, deviations, speed, with_offset, groups)

    @property
    def unknowns(self) -> int:
        """The number p = d(d+1)/2 of unknowns in A."""
        return self.dim * (self.dim + 1) // 2

    def posterior(self, scale: float) -> tuple[Array, Array]:
        """Return the mean of svec(A), shape (p,), and a root of its covariance, shape (p, p), for this scale of A.

        Parameters
        ----------
        scale : float
            The scale s of A.
        """
        p = self.unknowns
        R = self._factor(scale)[-p:, -1 - p :]
        root = np.asarray(np.linalg.inv(R[:, :p]), dtype=np.float64)
        return root @ R[:, p], np.asarray(np.linalg.cholesky(root @ root.T))

    def _factor(self, scale: float) -> Array:
        """Return [R, z], such that R theta - z is standard normal: first the base load, then g, then svec(A).

        R is triangular, so its last rows give the distribution of A, and those before them that of g given A.
        """
        p, d, k = self.unknowns, self.dim, int(self.rows.shape[1])
        prior = np.zeros((k, k + 1))
        prior[:p, :p] = np.linalg.inv(scale * _prior_root(d))
        prior[p:, p:k] = np.diag(1.0 / self.other_deviations)
        prior[:, k] = prior[:, :p] @ (scale * svec(np.eye(d)))
        readings = np.column_stack([self.rows, self.target]) / self.noise
        start = p + d * self.has_offset
        order = np.r_[start:k, p:start, :p, k]
        return _triangular_factor(np.concatenate([readings, prior])[:, order])[:k]

    def _offset(self, scale: float, matrix: Array, rng: np.random.Generator | None) -> Array:
        """Return b for a given A, shape (d,): its mean, or a draw."""
        if not self.has_offset:
            return np.zeros(self.dim)
        p, d = self.unknowns, self.dim
        R = self._factor(scale)[-p - d : -p, -1 - p - d :]
        right = R[:, -1] - R[:, d:-1] @ svec(matrix) + (0.0 if rng is None else rng.standard_normal(d))
        inverse = np.linalg.pinv(matrix, rcond=_RELATIVE_RANK_TOLERANCE, hermitian=True)
        return np.asarray(inverse @ np.linalg.solve(R[:, :d], right))

    def informs(self, u: Array) -> BoolArray:
        """Return whether the readings are informative about u'Au, shape (n,).

        Parameters
        ----------
        u : Array, shape (n, d)
            The displacements.
        """
        _, root = self.posterior(self.scale)
        rows = svec_rows(u)
        before = self.scale**2 * np.square(rows).sum(axis=1)  # what the prior leaves where the trace is known
        return np.asarray(np.square(rows @ root).sum(axis=1) < _INFORMED_SHARE * before)

    def driven_load(self, drivers: Sequence[Array]) -> Array:
        """Return the part of the base load that follows the given columns, shape (n,), up to a constant.

        Parameters
        ----------
        drivers : sequence of Array, shapes (n, ...)
            The groups of columns, as for the fit.
        """
        if not self.drivers:
            return np.zeros(len(drivers[0]) if drivers else 0)
        columns, factor = np.column_stack(drivers[: self.drivers]), self._factor(self.scale)
        theta = np.linalg.solve(factor[:, :-1], factor[:, -1])  # begins with the columns
        return np.asarray(columns @ theta[: columns.shape[1]])

    def informed_directions(self) -> int:
        """Return the number of the p directions of svec(A) about which the readings are informative."""
        _, root = self.posterior(self.scale)
        relative = np.linalg.solve(self.scale * _prior_root(self.dim), root)
        return int((np.square(np.linalg.svd(relative, compute_uv=False)) < _INFORMED_SHARE).sum())

    def sample(self, draws: int, rng: np.random.Generator) -> PosteriorSample:
        """Draw matrices from the posterior of A.

        Parameters
        ----------
        draws : int
            The number of draws.
        rng : numpy.random.Generator
            The source of random numbers.

        Returns
        -------
        PosteriorSample
            The posterior mode and the draws.
        """
        mean, root = self.posterior(self.scale)
        mode = _map_matrix(mean, root, self.scale)
        deviations = np.linalg.norm(2.0 * svec_rows(mode.vectors[0].T) @ root, axis=1)
        rank = int((mode.values[0] > _SIGNIFICANT_DEVIATIONS * deviations).sum())
        factors = np.exp(_LOG_SCALE_DEVIATION * np.abs(rng.standard_normal(draws)))
        low_rank = (np.arange(draws) % 2 == 1) & (rank < self.dim)
        means, roots = np.empty((draws, self.unknowns)), np.empty((draws, self.unknowns, self.unknowns))
        for k in range(draws):
            means[k], roots[k] = self.posterior(self.scale * factors[k])
        variates = rng.standard_normal(means.shape)
        free = means + np.matvec(roots, variates)
        nearest = [_map_matrix(free[k], roots[k], self.scale) for k in range(draws)]
        offsets = np.empty((draws, self.dim))
        start = np.concatenate([spectrum.matrix() for spectrum in nearest])
        outside = np.linalg.eigvalsh(smat(free))[:, 0] <= 0.0
        matrices = np.where(outside[:, None, None], start, smat(free))
        hard = outside & ~low_rank
        matrices[hard] = hit_and_run(means[hard], roots[hard], start[hard], rng)
        for k in range(draws):
            if low_rank[k]:
                matrices[k] = _low_rank_matrix(rank, free[k], roots[k], nearest[k])
            offsets[k] = self._offset(self.scale * factors[k], matrices[k], rng)
        best = mode.matrix()[0]
        return PosteriorSample(best, matrices, low_rank, self._offset(self.scale, best, None), offsets)


def hit_and_run(mean: Array, root: Array, start: Array, rng: np.random.Generator) -> Array:
    """Sample normal distributions of svec(A), given that A is positive definite; one chain for each start.

    A step goes along a random direction, in coordinates in which the distribution is standard normal: there the
    conditional distribution is normal on an interval, whose ends are where an eigenvalue becomes zero.

    Parameters
    ----------
    mean : Array, shape (chains, p)
        The means of svec(A).
    root : Array, shape (chains, p, p)
        Roots of the covariances.
    start : Array, shape (chains, d, d)
        Positive definite matrices.
    rng : numpy.random.Generator
        The source of random numbers.

    Returns
    -------
    Array, shape (chains, d, d)
        The last matrix of each chain.

    Examples
    --------
    >>> start = np.ones((1, 1, 1))
    >>> bool(hit_and_run(np.array([[-3.0]]), np.ones((1, 1, 1)), start, np.random.default_rng(0)) > 0.0)
    True
    """
    chains, p = mean.shape
    if not chains:
        return start
    matrix, d = start, start.shape[-1]
    standard = np.linalg.solve(root, (svec(matrix) - mean)[..., None])[..., 0]
    for _ in range(min(_STEPS_PER_UNKNOWN * p, _MAX_CHAIN)):
        direction = rng.standard_normal((chains, p))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        along = smat(np.matvec(root, direction))
        values, vectors = np.linalg.eigh(matrix)
        inverse = vectors / np.sqrt(np.maximum(values, 1e-12 * values[:, -1:] + 1e-300))[:, None, :]
        slopes = np.linalg.eigvalsh(inverse.mT @ along @ inverse)
        with np.errstate(divide="ignore"):
            low = np.where(slopes[:, -1] > 0.0, -1.0 / slopes[:, -1], -np.inf)
            high = np.where(slopes[:, 0] < 0.0, -1.0 / slopes[:, 0], np.inf)
        center = -np.vecdot(standard, direction)
        step = center + _truncated_normal(low - center, high - center, rng.random((chains,)))
        step = np.clip(step, 0.999 * low, 0.999 * high)  # stay inside, in spite of round-off
        standard = standard + step[:, None] * direction
        matrix = matrix + step[:, None, None] * along
    return np.asarray(0.5 * (matrix + matrix.mT)).reshape(chains, d, d)


def _truncated_normal(low: Array, high: Array, share: Array) -> Array:
    """Return quantiles of the standard normal distribution on intervals."""
    flip = low > 0.0  # in the upper tail the distribution function has no digits left
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    value = ndtri_exp(
        np.logaddexp(np.log1p(-share) + log_ndtr(low), np.log(np.maximum(share, 1e-300)) + log_ndtr(high))
    )
    value = np.clip(value, low, high)
    return np.where(flip, -value, value)


def _fit_scale(square: Array, others: Array, y: Array, noise: float) -> float:
    """Return the best fit of s, or an upper end of it if it is not significant; 1 if even that is not below 1."""
    solution, *_ = np.linalg.lstsq(np.column_stack([square, others]), y)
    explained, *_ = np.linalg.lstsq(others, square)
    length = float(np.linalg.norm(square - others @ explained))
    if not length > 0.0:
        return 1.0
    best, deviation = float(solution[0]), noise / length
    if best > _SIGNIFICANT_DEVIATIONS * deviation:
        return best
    return min(1.0, max(best, 0.0) + _SIGNIFICANT_DEVIATIONS * deviation)


def whiten(table: Array, times: Array, variances: Array, speed: float) -> tuple[Array, float]:
    """Whiten rows of readings whose base load is a random walk, by the Kalman filter of a local level.

    Parameters
    ----------
    table : Array, shape (n, k)
        The rows, and the readings as a column.
    times : Array, shape (n,)
        The rounds of the readings, increasing.
    variances : Array, shape (n,)
        The variances of the noise, in some unit.
    speed : float
        The deviation of a step of the base load per round, in the root of that unit.

    Returns
    -------
    whitened : Array, shape (n - 1, k)
        The rows relative to the level that the rows before predict, in units of the deviation of the prediction; the
        first row only starts the level, about which nothing was known.
    log_determinant : float
        The sum of the logarithms of the variances of the predictions.

    Examples
    --------
    >>> whiten(np.array([[1.0], [3.0]]), np.arange(2), np.ones(2), speed=0.0)[0] * np.sqrt(2.0)
    array([[2.]])
    """
    steps = speed**2 * np.diff(times)
    gains, deviations = np.empty(len(steps)), np.empty(len(steps))
    variance = float(variances[0])
    for t, (step, noise) in enumerate(zip(steps.tolist(), variances[1:].tolist(), strict=True)):
        variance += step
        total = variance + noise
        gains[t], deviations[t] = variance / total, math.sqrt(total)
        variance *= noise / total
    level, errors = table[0].copy(), np.empty((len(steps), table.shape[1]))
    for t, gain in enumerate(gains.tolist()):
        error = errors[t]
        np.subtract(table[t + 1], level, out=error)
        level += gain * error
    return errors / deviations[:, None], 2.0 * float(np.log(deviations).sum())


def _most_likely_model(
    rows: Array, u: Array, drivers: Sequence[Array], y: Array, times: Array, variances: Array
) -> tuple[float, bool, int]:
    """Return the speed of the base load, whether the minimizer is off by a constant, and how many groups drive it."""
    n, p, d = y.size - 1, rows.shape[1], u.shape[1]
    if n < _MIN_READINGS_PER_UNKNOWN * (p + d):
        return 0.0, False, 0
    ends = np.cumsum([0, *(group.shape[1] for group in drivers)])
    ends = ends[n >= _MIN_READINGS_PER_UNKNOWN * (p + d + ends)]
    table = np.column_stack([rows, u, *drivers[: len(ends) - 1], y])
    models = [(with_offset, groups) for with_offset in (0, 1) for groups in range(len(ends))]
    columns = [np.r_[:p, p : p + d * offset, p + d : p + d + ends[groups]] for offset, groups in models]
    floor = (1e-12 * float(np.abs(y).max())) ** 2 + 1e-200
    speeds = (0.0, *_WALK_SPEEDS)
    likelihood = np.empty((len(models), len(speeds)))
    for k, speed in enumerate(speeds):
        whitened, log_determinant = whiten(table, times, variances, speed)
        factor = _triangular_factor(whitened)
        for model, used in enumerate(columns):
            solution, *_ = np.linalg.lstsq(factor[:, used], factor[:, -1])
            square = float(np.square(factor[:, -1] - factor[:, used] @ solution).sum()) / n
            likelihood[model, k] = -0.5 * (n * math.log(square + floor) + log_determinant)
    likelihood[:, 0] += _LOAD_EVIDENCE
    for model, (_, groups) in enumerate(models):
        likelihood[model] -= 0.5 * (len(columns[model]) - p) * math.log(n) + _LOAD_EVIDENCE * (groups > 0)
    best, k = divmod(int(likelihood.argmax()), len(speeds))
    return speeds[k], models[best][0] == 1, models[best][1]


def _residual_deviation(rows: Array, y: Array) -> float:
    """Return the deviation of the residuals, never zero; of the readings themselves if there are too few of them."""
    solution, _, rank, _ = np.linalg.lstsq(rows, y)
    surplus = y.size - int(rank)
    square = float(np.square(y - rows @ solution).sum()) / surplus if surplus > 0 else float(np.square(y).mean())
    largest = float(np.abs(y).max(initial=0.0))
    return max(math.sqrt(square), 1e-12 * largest, 1e-100)


def _triangular_factor(rows: Array) -> Array:
    """Return R of the QR decomposition of the rows."""
    R: Any = np.linalg.qr(rows, mode="r")
    return np.asarray(R)


def _prior_root(d: int) -> Array:
    """Return a square root of the prior covariance of svec(A) for s = 1, shape (p, p)."""
    along = svec(np.eye(d)) / math.sqrt(d)
    return np.eye(along.size) + (_TRACE_DEVIATION - 1.0) * np.outer(along, along)


def _map_matrix(mean: Array, root: Array, scale: float) -> Spectrum:
    """Return the spectrum of the MAP estimate for a mean of svec(A), shape (p,), as a batch of one."""
    matrix = smat(mean[None])
    d = matrix.shape[-1]
    start = Spectrum(np.full((1, d), scale), np.eye(d)[None])
    return map_in_cone(matrix, (root @ root.T)[None], start, ALPHA, np.full(1, scale), np.full(1, _MAX_STEPS))


def _low_rank_matrix(rank: int, mean: Array, root: Array, near: Spectrum) -> Array:
    """Return the most probable matrix on the span of the leading eigenvectors of another one."""
    Q = near.vectors[0][:, near.values.shape[-1] - rank :]
    units = smat(np.eye(rank * (rank + 1) // 2))
    basis = svec(Q @ units @ Q.T).T
    solution, *_ = np.linalg.lstsq(np.linalg.solve(root, basis), np.linalg.solve(root, mean))
    core = Spectrum.of(smat(solution))
    matrix = core.matrix(np.maximum(core.values, 0.0))
    return np.asarray(Q @ matrix @ Q.T)
