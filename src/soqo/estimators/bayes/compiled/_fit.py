"""A fit of one run: ``_fits`` as machine code."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes._fits import GROWTH, LOG_VARIANT_PRIORS, MIN_SQUARE_RATIO, NEGLIGIBLE, UNLIKELY
from soqo.estimators.bayes._model import ENTRY_DEVIATION, OFFSET_SIZE, TRACE_DEVIATION
from soqo.estimators.bayes.compiled._mixture import mixture
from soqo.estimators.bayes.compiled._scale_average import average
from soqo.estimators.bayes.compiled._small_matrices import cholesky, solve_lower, triangular_factor
from soqo.estimators.bayes.compiled._symmetric_eigen import symmetric_eigen
from soqo.typing import Array, IntArray

_ALONG = TRACE_DEVIATION - ENTRY_DEVIATION
_LOG_PLAIN, _LOG_OFFSET = float(LOG_VARIANT_PRIORS[0]), float(LOG_VARIANT_PRIORS[1])


@compiled
def _apply_prior(X: Array, k: int, p: int, diagonal: IntArray, unit: float, extra: float, out: Array) -> None:
    """Write the square root of the prior covariance, which is symmetric, times X to ``out``."""
    d, columns = diagonal.size, X.shape[1]
    along = np.zeros(columns)
    for i in range(d):
        for j in range(columns):
            along[j] += X[k + diagonal[i], j]
    for i in range(k):
        for j in range(columns):
            out[i, j] = extra * X[i, j]
    for i in range(k, k + p):
        for j in range(columns):
            out[i, j] = unit * ENTRY_DEVIATION * X[i, j]
    for i in range(d):
        for j in range(columns):
            out[k + diagonal[i], j] += (unit * _ALONG / d) * along[j]


@compiled
def _whiten(rows: Array, bias_rows: int, q: int, kappa: float, white: Array, L: Array) -> bool:
    """Fill in rows without the covariance of noise and N, and its Cholesky factor; return False if there is none."""
    B = np.ascontiguousarray(rows[:bias_rows, :q])
    L[:, :] = kappa**2 * np.dot(B, B.T)
    for i in range(bias_rows):
        L[i, i] += 1.0
    if not cholesky(L):
        return False
    white[:, :] = rows
    solve_lower(L, 0.0, white[:bias_rows])
    return True


@compiled
def _singular_coordinates(Xt: Array, y: Array, y0: Array, D: Array, c: Array, c0: Array) -> Array:
    """Fill in the singular values of X and the coordinates of y and y0; return V. See ``_fits``.

    ``c`` and ``c0`` are zero before.
    """
    n, used = Xt.shape
    X, wide = np.ascontiguousarray(Xt.T), used < n
    gram = np.dot(X, Xt) if wide else np.dot(Xt, X)
    found = math.isfinite(np.sum(gram)) and symmetric_eigen(gram, D) and np.min(D) > MIN_SQUARE_RATIO * np.max(D)
    if not found:
        V, values, Ut = np.linalg.svd(Xt, False)
        D[:] = values
        _project(Ut, y, y0, c, c0)
        return V
    for i in range(used):
        D[i] = math.sqrt(D[i])
    if wide:
        _project(gram, y, y0, c, c0)
        V = np.dot(Xt, np.ascontiguousarray(gram.T))
        for i in range(n):
            for j in range(used):
                V[i, j] /= D[j]
        return V
    _project(gram, np.dot(Xt, y), np.dot(Xt, y0), c, c0)
    for i in range(used):
        c[i] /= D[i]
        c0[i] /= D[i]
    return np.ascontiguousarray(gram.T)


@compiled
def _project(rows: Array, y: Array, y0: Array, c: Array, c0: Array) -> None:
    """Add the products of rows with y and y0 to c and c0."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            c[i] += rows[i, j] * y[j]
            c0[i] += rows[i, j] * y0[j]


@compiled
def _fit_variant(
    rows: Array,
    sizes: IntArray,
    k: int,
    diagonal: IntArray,
    center: Array,
    numbers: Array,
    evidence_only: bool,
    mean: Array,
    root: Array,
) -> tuple[bool, float, float, float]:
    """Fill in mean and root of the unknowns without N; return whether all is finite, noise, scale and log evidence.

    The rows of a variant with a bias are whitened. ``numbers`` are the readings, the largest absolute reading, the
    bound on the noise, the known noise, the deviation of log s, the guess of the noise, the unit of s, and the
    deviation of an entry of the offset for s = 1.
    """
    p, m = sizes[1], sizes[4]
    n, first, count = k + p, m - k - p, rows.shape[0]
    unit, extra = numbers[6], numbers[6] * numbers[7]
    used, rest = min(count, n), 0.0
    transposed, y = np.empty((n, used)), np.empty(used)
    if count > n:
        T = triangular_factor(rows, first)
        rest = T[n, n] ** 2
        for i in range(n):
            y[i] = T[n, i]
            for j in range(n):
                transposed[i, j] = T[i, j] if j <= i else 0.0
    else:
        for j in range(used):
            y[j] = rows[j, m]
            for i in range(n):
                transposed[i, j] = rows[j, first + i]
    design = np.empty((n, used))
    _apply_prior(transposed, k, p, diagonal, unit, extra, design)
    if not math.isfinite(np.sum(design)):
        return False, 0.0, 0.0, 0.0
    y0 = np.zeros(used)
    for i in range(p):
        for j in range(used):
            y0[j] += transposed[k + i, j] * center[i]
    D, c, c0 = np.empty(used), np.zeros(used), np.zeros(used)
    V = _singular_coordinates(design, y, y0, D, c, c0)
    coordinates, variance = np.empty(used), np.empty(used)
    scale, mean_square_scale, noise, log_evidence = average(
        D, c, c0, rest, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], coordinates, variance
    )
    if not evidence_only:
        _inner(V, coordinates, variance, scale, mean_square_scale, k, p, diagonal, unit, extra, center, mean, root)
    return math.isfinite(log_evidence) and math.isfinite(noise), noise, scale * unit, log_evidence


@compiled
def _inner(
    V: Array,
    coordinates: Array,
    variance: Array,
    scale: float,
    mean_square_scale: float,
    k: int,
    p: int,
    diagonal: IntArray,
    unit: float,
    extra: float,
    center: Array,
    mean: Array,
    root: Array,
) -> None:
    """Fill in mean and root of all unknowns but N; those of an offset that a variant does not have are zero."""
    n, used = V.shape
    first = mean.size - n
    mean[:first], root[:first, :], root[:, :first] = 0.0, 0.0, 0.0
    solution, out = np.zeros((n, 1)), np.empty((n, 1))
    for j in range(used):
        for i in range(n):
            solution[i, 0] += V[i, j] * coordinates[j]
    _apply_prior(solution, k, p, diagonal, unit, extra, out)
    for i in range(n):
        mean[first + i] = out[i, 0]
    for i in range(p):
        mean[first + k + i] += scale * center[i]
    if used == n:
        scaled = np.empty((n, n))
        for i in range(n):
            for j in range(n):
                scaled[i, j] = V[i, j] * math.sqrt(variance[j])
    else:
        # What the rows do not contain has the variance of the prior.
        unseen = math.sqrt(mean_square_scale)
        weighted = np.empty((n, used))
        for i in range(n):
            for j in range(used):
                weighted[i, j] = V[i, j] * (math.sqrt(variance[j]) - unseen)
        scaled = np.dot(weighted, np.ascontiguousarray(V.T))
        for i in range(n):
            scaled[i, i] += unseen
    _apply_prior(scaled, k, p, diagonal, unit, extra, root[first:, first:])


@compiled
def unexplained(rows: Array, bias_rows: int, sizes: IntArray, kappa: float, offset: bool) -> float:
    """Return the root of the sum of squares that no A and, if there is one, no offset explains; zero if unknown.

    Parameters
    ----------
    rows, bias_rows, sizes, kappa, offset
        As for :func:`fit_variants`.

    Examples
    --------
    >>> rows = np.array([[0.5, 1.5], [0.5, 4.5]])                   # y = 1.5 and 4.5, both at u = 1
    >>> round(unexplained(rows, 2, np.array([1, 1, 0, 0, 1]), 0.0, False) ** 2, 9)
    4.5
    """
    q, columns = sizes[2], sizes[1] + (sizes[3] if offset else 0)
    white = rows
    if kappa != 0.0 and q > 0:
        white = np.empty(rows.shape)
        if not _whiten(rows, bias_rows, q, kappa, white, np.empty((bias_rows, bias_rows))):
            return 0.0
    if rows.shape[0] <= columns:
        return 0.0
    return abs(triangular_factor(white, sizes[4] - columns)[columns, columns])


@compiled
def _wanted(
    sizes: IntArray, optional_bias: bool, readings: float, offset: bool, review: bool, variants: Array, wanted: Array
) -> None:
    """Mark the variants to evaluate."""
    p, q = sizes[1], sizes[2]
    unbiased = readings >= 4 * p and optional_bias and q > 0
    wanted[0], wanted[1] = 1.0, 1.0 if offset else 0.0
    wanted[2], wanted[3] = 1.0 if unbiased else 0.0, 1.0 if offset and unbiased else 0.0
    count = max(readings, 1.0)
    if review or readings < 4 * p or math.floor(np.log2(count)) != math.floor(np.log2(count / GROWTH)):
        return
    likely = False
    for i in range(4):
        likely |= wanted[i] > 0.0 and variants[i] > UNLIKELY
    if likely:
        for i in range(4):
            if not variants[i] > UNLIKELY:
                wanted[i] = 0.0


@compiled
def fit_variants(
    rows: Array,
    bias_rows: int,
    sizes: IntArray,
    kappa: float,
    optional_bias: bool,
    diagonal: IntArray,
    center: Array,
    numbers: Array,
    offset: bool,
    review: bool,
    evidence_only: bool,
    variants: Array,
    mean: Array,
    root: Array,
) -> tuple[bool, float, float, float]:
    """Fill in mean, root and the probabilities of the variants.

    Parameters
    ----------
    rows : Array, shape (n, m + 1)
        The whitened features and readings, or their triangular factor.
    bias_rows : int
        The number of rows that contain N: q of a triangular factor, all otherwise.
    sizes : IntArray, shape (5,)
        The sizes d, p, q, e and m.
    kappa, optional_bias : float and bool
        As in the model.
    diagonal : IntArray, shape (d,)
        The entries of svec(A) on the diagonal.
    center, numbers : Array, shape (p,) and (8,)
        The prior mean by svec, and the numbers of :func:`_fit_variant`.
    offset, review, evidence_only : bool
        Whether there may be an offset, whether to evaluate all variants, and whether to leave mean and root as they
        are.
    variants, mean, root : Array, shape (4,), (m,) and (m, m)
        The results; the probabilities are read first.

    Returns
    -------
    finite : bool
        Whether the results can be used.
    noise, scale, log_marginal : float
        As in the posterior.

    Examples
    --------
    >>> mean, root, variants = np.empty(1), np.empty((1, 1)), np.array([1.0, 0.0, 0.0, 0.0])
    >>> rows = np.array([[0.5, 1.5], [2.0, 6.0], [4.5, 13.5], [8.0, 24.0]])        # y = 3 (u^2 / 2) for u = 1..4
    >>> numbers = np.array([4.0, 24.0, np.inf, np.nan, 2.3, np.nan, 1.0, 1.0])
    >>> finite, noise, _, _ = fit_variants(
    ...     rows, 4, np.array([1, 1, 0, 0, 1]), 0.0, False, np.array([0]), np.ones(1), numbers, False, True, False,
    ...     variants, mean, root
    ... )
    >>> finite, mean.round(6)
    (True, array([3.]))
    """
    q, e, m = sizes[2], sizes[3], sizes[4]
    wanted, log_weights = np.zeros(4), np.full(4, -np.inf)
    _wanted(sizes, optional_bias, numbers[0], offset, review, variants, wanted)
    has_bias = kappa != 0.0 and q > 0
    white, L, log_determinant = rows, np.empty((0, 0)), 0.0
    if has_bias and wanted[0] + wanted[1] > 0.0:
        white, L = np.empty(rows.shape), np.empty((bias_rows, bias_rows))
        if not _whiten(rows, bias_rows, q, kappa, white, L):
            return False, 0.0, 0.0, 0.0
        for i in range(bias_rows):
            log_determinant += math.log(L[i, i])
    means, roots = np.empty((4, m - q)), np.empty((4, m - q, m - q))
    noises, scales = np.ones(4), np.zeros(4)
    for variant in range(4):
        if wanted[variant] == 0.0:
            continue
        finite, noises[variant], scales[variant], evidence = _fit_variant(
            white if variant < 2 else rows,
            sizes,
            e if variant in (1, 3) else 0,
            diagonal,
            center,
            numbers,
            evidence_only,
            means[variant],
            roots[variant],
        )
        if not finite:
            return False, 0.0, 0.0, 0.0
        log_weights[variant] = evidence - (log_determinant if variant < 2 else 0.0)
        log_weights[variant] += _LOG_OFFSET if variant in (1, 3) else _LOG_PLAIN
    top, total = log_weights.max(), 0.0
    for variant in range(4):
        variants[variant] = math.exp(log_weights[variant] - top)
        total += variants[variant]
    for variant in range(4):
        variants[variant] /= total
    shares = _shares(variants)
    noise, scale = math.exp(np.sum(shares * np.log(noises))), np.sum(shares * scales)
    finite = math.isfinite(top)
    if not evidence_only:
        mixture(shares, means, roots, noises, rows, white, L, bias_rows, kappa if has_bias else 0.0, e, mean, root)
        finite &= math.isfinite(np.sum(mean))
    return finite, noise, scale, top + math.log(total)


@compiled
def _shares(weights: Array) -> Array:
    """Return the shares of the variants in the mixture; one that hardly matters is left out."""
    shares = np.zeros(4)
    for variant in range(4):
        if weights[variant] > NEGLIGIBLE:
            shares[variant] = weights[variant]
    return shares / np.sum(shares)


@compiled
def offset_deviation(log_size: float, total_readings: float) -> float:
    """Return the prior's deviation of an entry of the offset for s = 1.

    Parameters
    ----------
    log_size, total_readings : float
        The sum of the logarithms of |u| / sqrt(d), and the number of readings.

    Examples
    --------
    >>> offset_deviation(0.0, 4.0)
    3.0
    """
    return OFFSET_SIZE * math.exp(log_size / max(total_readings, 1.0))
