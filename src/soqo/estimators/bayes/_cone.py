r"""The maximum a posteriori (MAP) estimate of A in the cone of positive semi-definite matrices.

    minimize  1/2 (M - mean)' P^{-1} (M - mean) + alpha (tr(M) / scale - log det M),    P the covariance of M

The second term is the density of a Wishart distribution around scale I. It keeps M inside the cone and hardly penalizes
the small eigenvalues that a matrix of low rank needs. To clip the negative eigenvalues of the mean instead would change
well-known entries because of poorly known ones. At a stationary point,

    M = mean + alpha P (M^{-1} - I / scale),

and Z = alpha M^{-1} is the dual matrix. Primal-dual steps with Nesterov-Todd scaling lead to M Z = alpha I. They use P
and not its inverse, so they lose no digits if P is nearly singular; and from one reading to the next, the last M is a
warm start.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from soqo._foundation.blas import is_finite_quick
from soqo._foundation.frozen_dataclasses import freeze
from soqo._model.spectrum import Spectrum
from soqo.estimators._measurements import smat, svec, triangle
from soqo.estimators._nesterov_todd import scaling_from_spectrum, step_length
from soqo.typing import Array, IntArray

SMALL_CHANGE = 0.1
"""Steps have converged after one that changes M by less than this share of itself: the error is about its square."""

DECREASE = 0.3
"""The factor by which a step aims to bring M Z closer to alpha, so that steps converge."""

BOUNDARY_SHARE = 0.9
"""The share of the distance to the boundary of the cone that a step may cover, so that steps converge."""


def map_in_cone(mean: Array, covariance: Array, start: Spectrum, alpha: float, scale: Array, steps: Array) -> Spectrum:
    """Return the spectrum of M for each run; no eigenvalue is negative.

    Parameters
    ----------
    mean : Array, shape (runs, d, d)
        The mean of M.
    covariance : Array, shape (runs, p, p)
        The covariance of svec(M).
    start : Spectrum
        The spectrum of the matrix to start from, positive definite.
    alpha : float
        The weight of the Wishart density.
    scale : Array, shape (runs,)
        The scale of the Wishart density.
    steps : Array, shape (runs,)
        The largest number of steps.
    """
    # M = G diag(values) G' and Z = inv(G)' diag(values) inv(G), at first with M Z = mu I. If M is far from the
    # solution, Z must be large from the start: otherwise M reaches the boundary before Z can keep it inside.
    G = start.vectors * np.sqrt(start.values)[:, None, :]
    inverse = (start.vectors / np.sqrt(start.values)[:, None, :]).mT
    P = _scaled_covariance(covariance, inverse)
    mu = np.maximum(alpha, _initial_mu(mean, P, G, inverse, alpha, scale))
    # G is divided by mu^(1/4), of which the covariance in its coordinates is a fourth power.
    root = (mu**0.25)[:, None, None]
    G, inverse, P = G / root, root * inverse, mu[:, None, None] * P
    values = np.tile(np.square(root[:, 0]), start.values.shape[1:])
    active = np.flatnonzero(steps > 0)
    for step in range(int(steps.max(initial=0))):
        if step:
            inverse = np.asarray(np.linalg.inv(G[active]), dtype=np.float64)
            P = _scaled_covariance(covariance[active], inverse)
        elif active.size < len(G):
            inverse, P = inverse[active], P[active]
        G[active], values[active], change = _step_or_stay(
            mean[active], P, G[active], inverse, values[active], alpha, scale[active]
        )
        active = active[(change > SMALL_CHANGE) & (step + 1 < steps[active])]
        if not active.size:
            break
    M = (G * values[:, None, :]) @ G.mT
    if not is_finite_quick(M):
        lost = ~np.isfinite(M).all(axis=(1, 2))
        M[lost] = start.matrix()[lost]  # numbers that overflow say nothing
    found = Spectrum.of(M)
    return Spectrum(np.maximum(found.values, 0.0), found.vectors)


def _step_or_stay(
    mean: Array, P: Array, G: Array, inverse: Array, values: Array, alpha: float, scale: Array
) -> tuple[Array, Array, Array]:
    """Make a step in each run; one whose numbers have lost their rank to round-off stays where it is."""
    try:
        return _primal_dual_step(mean, P.copy(), G, inverse, values, alpha, scale)
    except np.linalg.LinAlgError:
        if len(G) == 1:
            return G, values, np.zeros(1)
    parts = [
        _step_or_stay(mean[one], P[one], G[one], inverse[one], values[one], alpha, scale[one])
        for one in (slice(run, run + 1) for run in range(len(G)))
    ]
    G_next, values_next, change = (np.concatenate(column) for column in zip(*parts, strict=True))
    return G_next, values_next, change


def _primal_dual_step(
    mean: Array, P: Array, G: Array, inverse: Array, values: Array, alpha: float, scale: Array
) -> tuple[Array, Array, Array]:
    """Return G and the diagonal after a step, and the size of the step relative to M; P is overwritten."""
    identity = _identity(G.shape[-1])
    diagonal = values[:, :, None] * identity
    residual = _residual(mean, P, G, inverse, values, alpha, scale)
    mu = np.maximum(alpha, DECREASE * np.square(values).mean(axis=1))[:, None]
    target = svec((mu / values - values)[:, :, None] * identity)
    _add_to_diagonal(P, 1.0)
    solution: Array = np.asarray(np.linalg.solve(P, (target - residual)[..., None])[..., 0], dtype=np.float64)
    if not is_finite_quick(solution) or not is_finite_quick(target):
        # A system of numbers that overflow has no solution: the run stays where it is.
        usable = np.isfinite(solution + target).all(axis=-1, keepdims=True)
        solution, target = np.where(usable, solution, 0.0), np.where(usable, target, 0.0)
    dZ, dM = smat(solution), smat(target - solution)
    inner = 1.0 / np.sqrt(values[:, :, None] * values[:, None, :])
    # One length for both: M and Z satisfy a linear equation, which two lengths would violate at each step.
    relative = np.concatenate([dM * inner, dZ * inner])
    sizes = np.sqrt(np.square(relative).sum(axis=(1, 2)))
    lengths = _lengths(relative, sizes).reshape(2, -1)
    length = np.minimum(lengths[0], lengths[1])[:, None, None]
    X, S = diagonal + length * dM, diagonal + length * dZ
    R = np.linalg.cholesky(X)
    squares, V = np.linalg.eigh(R.mT @ S @ R)
    G_next, values_next = scaling_from_spectrum(G @ (R @ V), np.maximum(squares, 1e-300))
    return G_next, values_next, np.where(mu[:, 0] > alpha, np.inf, sizes[: len(G)])


def _lengths(directions: Array, sizes: Array) -> Array:
    """Return the step lengths for directions in the coordinates in which the matrix is the identity.

    No eigenvalue of a direction exceeds its size, the Frobenius norm: only a large one needs its eigenvalues.
    """
    lengths = np.ones(sizes.size)
    large = np.flatnonzero(~(sizes <= BOUNDARY_SHARE))  # also if it is not a number
    if large.size:
        lowest = np.linalg.eigvalsh(directions[large])[:, 0]
        lengths[large] = step_length(lowest, BOUNDARY_SHARE, np.maximum)
    return lengths


def _initial_mu(mean: Array, P: Array, G: Array, inverse: Array, alpha: float, scale: Array) -> Array:
    """Return the squared distance of M = G G' from the solution in deviations, with Z = alpha M^{-1}."""
    root = alpha**0.25
    values = np.full(G.shape[:2], math.sqrt(alpha))
    P = alpha * P
    residual = _residual(mean, P, G / root, root * inverse, values, alpha, scale)
    _add_to_diagonal(P, alpha)
    solution = np.linalg.solve(P, residual[..., None])[..., 0]
    return np.asarray(np.vecdot(residual, solution))


def _add_to_diagonal(P: Array, number: float) -> None:
    """Add a number in place, and round-off: M may be so far below its deviation that P loses its rank."""
    entries = P.reshape(len(P), -1)[:, :: P.shape[-1] + 1]
    entries += number + 1e-13 * entries.sum(axis=1, keepdims=True)


def _scaled_covariance(covariance: Array, inverse: Array) -> Array:
    """Return the covariance in the coordinates of G, in which M is G^{-1} M G^{-T}, from the inverse of G."""
    K = _congruence(inverse)
    return np.asarray(K @ covariance @ K.mT)


def _residual(mean: Array, P: Array, G: Array, inverse: Array, values: Array, alpha: float, scale: Array) -> Array:
    """Return mean + P (Z - alpha I / scale) - M in the coordinates of G, in which P is the covariance."""
    diagonal = values[:, :, None] * _identity(G.shape[-1])
    pull = svec(diagonal - (alpha / scale)[:, None, None] * (G.mT @ G))
    return np.asarray(svec(inverse @ mean @ inverse.mT - diagonal) + np.matvec(P, pull))


def _congruence(F: Array) -> Array:
    """Return the matrix that maps svec(M) to svec(F M F'), shape (runs, p, p)."""
    rr, cc, rc, cr, weight = _pairs_of_entries(F.shape[-1])
    entries = F.reshape(len(F), -1)
    straight, crossed = entries.take(rr, axis=1), entries.take(rc, axis=1)
    straight *= entries.take(cc, axis=1)
    crossed *= entries.take(cr, axis=1)
    straight += crossed
    straight *= weight
    return np.asarray(straight)


@cache
def _pairs_of_entries(d: int) -> tuple[IntArray, IntArray, IntArray, IntArray, Array]:
    """Return where the factors of the entries of :func:`_congruence` are in F, and what they are multiplied by."""
    rows, columns, on_diagonal = triangle(d)
    weight = np.where(on_diagonal, math.sqrt(0.5), 1.0)
    below, beside = d * rows[:, None], d * columns[:, None]
    return below + rows, beside + columns, below + columns, beside + rows, weight[:, None] * weight


@cache
def _identity(d: int) -> Array:
    """Return the identity matrix, which is not to be changed."""
    return freeze(np.eye(d))
