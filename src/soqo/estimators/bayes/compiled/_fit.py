"""A fit of one run: ``_fits`` as machine code."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes._fits import GROWTH, LOG_VARIANT_PRIORS, NEGLIGIBLE, UNLIKELY
from soqo.estimators.bayes._model import ENTRY_DEVIATION, OFFSET_SIZE, TRACE_DEVIATION
from soqo.estimators.bayes.compiled._scale_average import average
from soqo.estimators.bayes.compiled._small_matrices import cholesky, solve_lower, triangular_factor
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
def _fit_variant(
    rows: Array,
    bias_rows: int,
    sizes: IntArray,
    k: int,
    kappa: float,
    diagonal: IntArray,
    center: Array,
    numbers: Array,
    evidence_only: bool,
    mean: Array,
    root: Array,
) -> tuple[bool, float, float, float]:
    """Fill in mean and root of one variant; return whether all is finite, the noise, the scale and the log evidence.

    ``numbers`` are the readings, the largest absolute reading, the bound on the noise, the known noise, the deviation
    of log s, the guess of the noise, the unit of s, and the deviation of an entry of the offset for s = 1.
    """
    p, q, m = sizes[1], sizes[2], sizes[4]
    n, first, count = k + p, m - k - p, rows.shape[0]
    unit, extra = numbers[6], numbers[6] * numbers[7]
    white = np.empty((count, q + n + 1))
    white[:, :q] = rows[:, :q]
    white[:, q:] = rows[:, first:]
    L = np.empty((0, 0))
    if kappa:
        B = np.ascontiguousarray(rows[:bias_rows, :q])
        L = kappa**2 * np.dot(B, B.T)
        for i in range(bias_rows):
            L[i, i] += 1.0
        if not cholesky(L):
            return False, 0.0, 0.0, 0.0
        solve_lower(L, 0.0, white[:bias_rows])
    used, rest = min(count, n), 0.0
    transposed, y = np.empty((n, used)), np.empty(used)
    if count > n:
        T = triangular_factor(white, q)
        rest = T[n, n] ** 2
        for i in range(n):
            y[i] = T[n, i]
            for j in range(n):
                transposed[i, j] = T[i, j] if j <= i else 0.0
    else:
        for j in range(used):
            y[j] = white[j, q + n]
            for i in range(n):
                transposed[i, j] = white[j, q + i]
    design = np.empty((n, used))
    _apply_prior(transposed, k, p, diagonal, unit, extra, design)
    if not math.isfinite(np.sum(design)):
        return False, 0.0, 0.0, 0.0
    V, D, Ut = np.linalg.svd(design, False)  # of the transpose
    y0 = np.zeros(used)
    for i in range(p):
        for j in range(used):
            y0[j] += transposed[k + i, j] * center[i]
    c, c0 = np.zeros(used), np.zeros(used)
    for j in range(used):
        for i in range(used):
            c[i] += Ut[i, j] * y[j]
            c0[i] += Ut[i, j] * y0[j]
    coordinates, variance = np.empty(used), np.empty(used)
    scale, mean_square_scale, noise, log_evidence = average(
        D, c, c0, rest, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], coordinates, variance
    )
    if evidence_only:
        for i in range(L.shape[0]):
            log_evidence -= math.log(L[i, i])
        return math.isfinite(log_evidence), noise, scale * unit, log_evidence
    _inner(V, coordinates, variance, scale, mean_square_scale, k, p, diagonal, unit, extra, center, first, mean, root)
    if kappa:
        log_evidence -= _given_the_rest(rows, white, L, bias_rows, q, n, first, kappa, noise, mean, root)
    return math.isfinite(np.sum(mean)) and math.isfinite(noise), noise, scale * unit, log_evidence


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
    first: int,
    mean: Array,
    root: Array,
) -> None:
    """Fill in mean and root of all unknowns but N."""
    n, used = V.shape
    mean[:] = 0.0
    root[:, :] = 0.0
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
def _given_the_rest(
    rows: Array,
    white: Array,
    L: Array,
    b: int,
    q: int,
    n: int,
    first: int,
    kappa: float,
    noise: float,
    mean: Array,
    root: Array,
) -> float:
    """Fill in mean and root of N given the other unknowns; return the logarithm of the determinant of L."""
    log_determinant = 0.0
    residual = np.empty(b)
    for i in range(b):
        log_determinant += math.log(L[i, i])
        total = white[i, q + n]
        for j in range(n):
            total -= white[i, q + j] * mean[first + j]
        residual[i] = total
    gain = np.ascontiguousarray(white[:b, :q].T) * kappa**2
    mean[:q] = np.dot(gain, residual)
    half = rows[:b, :q].copy()
    solve_lower(L, 1.0, half)
    own = np.dot(gain, half)
    for i in range(q):
        for j in range(q):
            root[i, j] = -kappa * noise * own[i, j]
        root[i, i] += kappa * noise
    given = np.dot(np.ascontiguousarray(white[:b, q : q + n]), np.ascontiguousarray(root[first:, first:]))
    root[:q, first:] = -np.dot(gain, given)
    return log_determinant


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
    m = sizes[4]
    wanted, log_weights = np.zeros(4), np.full(4, -np.inf)
    _wanted(sizes, optional_bias, numbers[0], offset, review, variants, wanted)
    candidates = int(wanted.sum())
    means, roots = np.empty((candidates, m)), np.empty((candidates, m, m))
    noises, scales, index = np.empty(candidates), np.empty(candidates), np.empty(candidates, np.int64)
    found = 0
    for variant in range(4):
        if wanted[variant] == 0.0:
            continue
        k = sizes[3] if variant in (1, 3) else 0
        own_kappa = kappa if variant < 2 and sizes[2] > 0 else 0.0
        finite, noises[found], scales[found], evidence = _fit_variant(
            rows,
            bias_rows,
            sizes,
            k,
            own_kappa,
            diagonal,
            center,
            numbers,
            evidence_only,
            means[found],
            roots[found],
        )
        if not finite:
            return False, 0.0, 0.0, 0.0
        log_weights[variant] = evidence + (_LOG_OFFSET if variant in (1, 3) else _LOG_PLAIN)
        index[found] = variant
        found += 1
    top, total = log_weights.max(), 0.0
    for variant in range(4):
        variants[variant] = math.exp(log_weights[variant] - top)
        total += variants[variant]
    for variant in range(4):
        variants[variant] /= total
    shares = _shares(variants, index)
    noise, scale = math.exp(np.sum(shares * np.log(noises))), np.sum(shares * scales)
    if not evidence_only:
        _mixture(shares, means, roots, mean, root)
    return math.isfinite(top), noise, scale, top + math.log(total)


@compiled
def _shares(weights: Array, index: IntArray) -> Array:
    """Return the shares of the candidates in the mixture; a variant that hardly matters is left out."""
    shares = np.zeros(index.size)
    for j in range(index.size):
        if weights[index[j]] > NEGLIGIBLE:
            shares[j] = weights[index[j]]
    return shares / np.sum(shares)


@compiled
def _mixture(shares: Array, means: Array, roots: Array, mean: Array, root: Array) -> None:
    """Fill in the mean and a root of the covariance of the mixture."""
    candidates, m = means.shape
    counted, best = 0, 0
    for j in range(candidates):
        counted += shares[j] > 0.0
        if shares[j] > shares[best]:
            best = j
    if counted == 1:
        mean[:] = means[best]
        root[:, :] = roots[best]
        return
    mean[:] = 0.0
    for j in range(candidates):
        if shares[j] > 0.0:
            mean += shares[j] * means[j]
    stack, begin = np.empty((counted * (m + 1), m)), 0
    for j in range(candidates):
        if shares[j] > 0.0:
            factor = math.sqrt(shares[j])
            for i in range(m):
                for k in range(m):
                    stack[begin + i, k] = factor * roots[j, k, i]
            for k in range(m):
                stack[begin + m, k] = factor * (means[j, k] - mean[k])
            begin += m + 1
    R = triangular_factor(stack, 0)
    for k in range(m):
        for i in range(m):
            root[k, i] = R[k, i] if i <= k else 0.0


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
