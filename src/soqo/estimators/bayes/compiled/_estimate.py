"""The MAP estimate of A in the cone for one run: ``_map_estimate`` as machine code."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes._map_estimate import (
    ALPHA,
    BOUNDARY_SHARE,
    DECREASE,
    EARLY_STEPS,
    EXTRA_READINGS,
    INTERIOR_DEVIATIONS,
    LATE_STEPS,
    SMALL_CHANGE,
)
from soqo.estimators.bayes.compiled._small_matrices import cholesky, solve_symmetric
from soqo.estimators.bayes.compiled._symmetric_eigen import sorted_eigen
from soqo.typing import Array

_ROOT_HALF, _ROOT_TWO = math.sqrt(0.5), math.sqrt(2.0)


@compiled
def to_vector(M: Array, vector: Array) -> None:
    """Write svec(M) to ``vector``.

    Parameters
    ----------
    M : Array, shape (d, d)
        A symmetric matrix.
    vector : Array, shape (d(d+1)/2,)
        Where svec(M) is written.

    Examples
    --------
    >>> vector = np.empty(3)
    >>> to_vector(np.array([[1.0, 2.0], [2.0, 3.0]]), vector)
    >>> vector
    array([1.        , 2.82842712, 3.        ])
    """
    k = 0
    for i in range(M.shape[0]):
        for j in range(i):
            vector[k] = _ROOT_TWO * M[i, j]
            k += 1
        vector[k] = M[i, i]
        k += 1


@compiled
def to_matrix(vector: Array, M: Array) -> None:
    """Write smat(vector) to ``M``.

    Parameters
    ----------
    vector : Array, shape (d(d+1)/2,)
        A symmetric matrix as a vector, by svec.
    M : Array, shape (d, d)
        Where the matrix is written.

    Examples
    --------
    >>> M = np.empty((2, 2))
    >>> to_matrix(np.array([1.0, 2.0 * np.sqrt(2.0), 3.0]), M)
    >>> M.round(12)
    array([[1., 2.],
           [2., 3.]])
    """
    k = 0
    for i in range(M.shape[0]):
        for j in range(i):
            M[i, j] = M[j, i] = _ROOT_HALF * vector[k]
            k += 1
        M[i, i] = vector[k]
        k += 1


@compiled
def deviation(root: Array, w: Array) -> float:
    """Return the standard deviation of w'A w.

    Parameters
    ----------
    root : Array, shape (p, m)
        A square root of the covariance of svec(A).
    w : Array, shape (d,)
        The direction, which need not have length one.

    Examples
    --------
    >>> deviation(np.eye(3), np.array([2.0, 0.0]))
    4.0
    """
    spread = np.zeros(root.shape[1])
    k = 0
    for i in range(w.size):
        for j in range(i + 1):
            factor = w[i] * w[j] * (_ROOT_TWO if i > j else 1.0)
            for n in range(spread.size):
                spread[n] += factor * root[k, n]
            k += 1
    total = 0.0
    for n in range(spread.size):
        total += spread[n] * spread[n]
    return math.sqrt(total)


@compiled
def _congruence(F: Array, K: Array) -> None:
    """Write the matrix that maps svec(M) to svec(F M F') to ``K``."""
    d, a = F.shape[0], 0
    for i in range(d):
        for j in range(i + 1):
            b = 0
            for k in range(d):
                for n in range(k + 1):
                    value = F[i, k] * F[j, n] + F[i, n] * F[j, k]
                    K[a, b] = value * (_ROOT_HALF if i == j else 1.0) * (_ROOT_HALF if k == n else 1.0)
                    b += 1
            a += 1


@compiled
def _scaled_covariance(covariance: Array, G: Array) -> Array:
    """Return the covariance in the coordinates of G, in which M is G^{-1} M G^{-T}."""
    K = np.empty(covariance.shape)
    _congruence(np.ascontiguousarray(np.linalg.inv(G)), K)
    return np.dot(np.dot(K, covariance), np.ascontiguousarray(K.T))


@compiled
def _residual(mean: Array, P: Array, G: Array, values: Array, alpha: float, scale: float, residual: Array) -> None:
    """Fill in mean + P (Z - alpha I / scale) - M in the coordinates of G, in which P is the covariance."""
    d, p = G.shape[0], residual.size
    inverse = np.ascontiguousarray(np.linalg.inv(G))
    inner = np.dot(np.dot(inverse, mean), np.ascontiguousarray(inverse.T))
    square = np.dot(np.ascontiguousarray(G.T), G)
    for i in range(d):
        inner[i, i] -= values[i]
        for j in range(d):
            square[i, j] *= -alpha / scale
        square[i, i] += values[i]
    pull = np.empty(p)
    to_vector(square, pull)
    to_vector(inner, residual)
    residual += np.dot(P, pull)


@compiled
def _add_to_diagonal(P: Array, number: float) -> None:
    """Add a number, and round-off: M may be so far below its deviation that P loses its rank."""
    trace = 0.0
    for i in range(P.shape[0]):
        trace += P[i, i]
    for i in range(P.shape[0]):
        P[i, i] += number + 1e-13 * trace


@compiled
def _length(direction: Array) -> float:
    """Return the step length for a direction in the coordinates in which the matrix is the identity."""
    lowest = np.linalg.eigvalsh(direction)[0]
    return BOUNDARY_SHARE / max(-lowest, BOUNDARY_SHARE)


@compiled
def _step(mean: Array, P: Array, G: Array, values: Array, alpha: float, scale: float) -> float:
    """Make a primal-dual step in place, and return its size relative to M; 0 if the run stays where it is.

    P, the covariance in the coordinates of G, is overwritten.
    """
    d, p = G.shape[0], P.shape[0]
    residual = np.empty(p)
    _residual(mean, P, G, values, alpha, scale, residual)
    mean_square: float = np.sum(values * values) / d
    mu = max(alpha, DECREASE * mean_square)
    target = np.zeros(p)
    k = 0
    for i in range(d):
        k += i
        target[k] = mu / values[i] - values[i]
        k += 1
    solution = target - residual
    _add_to_diagonal(P, 1.0)
    if not math.isfinite(np.sum(P)) or not solve_symmetric(P, solution) or not math.isfinite(np.sum(solution)):
        return 0.0
    dZ, dM = np.empty((d, d)), np.empty((d, d))
    to_matrix(solution, dZ)
    to_matrix(target - solution, dM)
    inner_M, inner_Z = np.empty((d, d)), np.empty((d, d))
    change = 0.0
    for i in range(d):
        for j in range(d):
            inverse = 1.0 / math.sqrt(values[i] * values[j])
            inner_M[i, j], inner_Z[i, j] = dM[i, j] * inverse, dZ[i, j] * inverse
            change += inner_M[i, j] ** 2
    if not math.isfinite(change) or not math.isfinite(np.sum(inner_Z)):
        return 0.0
    # One length for both: M and Z satisfy a linear equation, which two lengths would violate at each step.
    length = min(_length(inner_M), _length(inner_Z))
    X, S = length * dM, length * dZ
    for i in range(d):
        X[i, i] += values[i]
        S[i, i] += values[i]
    if not cholesky(X):
        return 0.0
    for i in range(d):
        for j in range(i + 1, d):
            X[i, j] = 0.0
    squares, V = sorted_eigen(np.dot(np.dot(np.ascontiguousarray(X.T), S), X))
    product = np.dot(np.dot(np.ascontiguousarray(G), X), np.ascontiguousarray(V))
    for j in range(d):
        values[j] = math.sqrt(max(squares[j], 1e-300))
        factor = 1.0 / math.sqrt(values[j])
        for i in range(d):
            G[i, j] = product[i, j] * factor
    return np.inf if mu > alpha else math.sqrt(change)


@compiled
def _map_in_cone(
    mean: Array, covariance: Array, values: Array, vectors: Array, scale: float, steps: int
) -> tuple[Array, Array]:
    """Return the spectrum of M, starting from one whose eigenvalues are positive."""
    d, p = vectors.shape[0], covariance.shape[0]
    G, own, residual = np.empty((d, d)), np.empty(d), np.empty(p)
    scaled = _scaled_covariance(covariance, vectors * np.sqrt(values))
    for j in range(d):
        own[j] = math.sqrt(ALPHA)
        for i in range(d):
            G[i, j] = vectors[i, j] * math.sqrt(values[j]) / ALPHA**0.25
    P = ALPHA * scaled
    _residual(mean, P, G, own, ALPHA, scale, residual)
    _add_to_diagonal(P, ALPHA)
    solution = residual.copy()
    mu = ALPHA
    if solve_symmetric(P, solution):
        distance: float = np.dot(residual, solution)
        mu = max(ALPHA, distance)
    root = mu**0.25
    for j in range(d):
        own[j] = root * root
        for i in range(d):
            G[i, j] = vectors[i, j] * math.sqrt(values[j]) / root
    # G has been divided by mu^(1/4), of which the covariance in its coordinates is a fourth power.
    scaled *= mu
    for step in range(steps):
        if step:
            scaled = _scaled_covariance(covariance, G)
        if not _step(mean, scaled, G, own, ALPHA, scale) > SMALL_CHANGE:
            break
    M = np.dot(G * own, np.ascontiguousarray(G.T))
    if not math.isfinite(np.sum(M)):
        return values, vectors  # numbers that overflow say nothing
    found, basis = sorted_eigen(M)
    return np.maximum(found, 0.0), basis


@compiled
def map_estimate(
    mean: Array, root: Array, readings: float, scale: float, last_values: Array, last_vectors: Array
) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of the estimate.

    Parameters
    ----------
    mean, root : Array, shape (p,) and (p, m)
        The mean of svec(A), and the rows of the root of the covariance that belong to it.
    readings, scale : float
        As in the posterior.
    last_values, last_vectors : Array, shape (d,) and (d, d)
        The spectrum of the last estimate, as a warm start.

    Examples
    --------
    >>> values, _ = map_estimate(np.array([2.0]), np.array([[0.1]]), 9.0, 1.0, np.ones(1), np.eye(1))
    >>> values                                              # far inside of the cone, the mean is the estimate
    array([2.])
    """
    d, p = last_values.size, mean.size
    matrix = np.empty((d, d))
    to_matrix(mean, matrix)
    values, vectors = sorted_eigen(matrix)
    if readings > p + EXTRA_READINGS and values[0] >= INTERIOR_DEVIATIONS * deviation(root, vectors[:, 0]):
        return values, vectors
    start = np.empty(d)
    for j in range(d):
        # From an eigenvalue far below its own deviation, many steps would be needed.
        start[j] = max(last_values[j], 1e-2 * deviation(root, last_vectors[:, j]) + 1e-150)
    own = np.ascontiguousarray(root)
    covariance = np.dot(own, np.ascontiguousarray(own.T))
    return _map_in_cone(
        matrix, covariance, start, last_vectors, scale, EARLY_STEPS if readings <= 2.0 * p else LATE_STEPS
    )
