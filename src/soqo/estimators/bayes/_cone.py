r"""The most likely positive semi-definite matrix, where a normal distribution is all that readings give.

    minimize  1/2 (M - mean)' P^{-1} (M - mean) + alpha (tr(M) / scale - log det M),    P the covariance of M

The second term is the density of a Wishart distribution around scale I. It keeps M inside of the cone, and is as wide
towards small eigenvalues as a matrix of low rank needs: cutting off the negative eigenvalues of the mean instead would
move what is known well for the sake of what is known badly. Where M is stationary,

    M = mean + alpha P (M^{-1} - I / scale),

and Z = alpha M^{-1} is the dual matrix. M and Z go together to where M Z = alpha I, by primal-dual steps with
Nesterov-Todd scaling (as in `_interior_point`): in coordinates in which both are the same diagonal
matrix. They need P, not its inverse, so nothing is lost where P is nearly singular; and from one reading to the next,
the last M is a good start.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._spectrum import Spectrum
from soqo.estimators._measurements import smat, svec, triangle
from soqo.typing import Array

__all__ = ["most_likely_in_cone"]

ENOUGH = 0.1
"""Where a step changes M by less than this share of itself, what is left is the square of it, and near enough."""

SHARE = 0.3
"""By how much M Z comes nearer to alpha in a step."""

TOWARDS_BOUNDARY = 0.9
"""The share of the way to the cone's boundary that a step may take."""


def most_likely_in_cone(
    mean: Array, covariance: Array, start: Spectrum, alpha: float, scale: Array, steps: Array
) -> Spectrum:
    """The spectrum of M for each run; no eigenvalue is negative.

    Parameters
    ----------
    mean : Array, shape (runs, d, d)
    covariance : Array, shape (runs, p, p)
        Of svec(M).
    start : Spectrum
        Of the matrix to start from, positive definite.
    alpha : float
    scale : Array, shape (runs,)
    steps : Array, shape (runs,)
        At most so many steps.
    """
    # M = G diag(values) G' and Z = inv(G)' diag(values) inv(G), at first with M Z = mu I: where M is far from what is
    # likely, Z must be large from the start, or M runs into the boundary before Z can push it back.
    mu = np.maximum(alpha, misfit(mean, covariance, start, alpha, scale))
    root = mu**0.25
    G = start.vectors * (np.sqrt(start.values) / root[:, None])[:, None, :]
    values = np.tile((root * root)[:, None], start.values.shape[1:])
    active = np.flatnonzero(steps > 0)
    for step in range(int(steps.max(initial=0))):
        G[active], values[active], change = primal_dual_step(
            mean[active], covariance[active], G[active], values[active], alpha, scale[active]
        )
        active = active[(change > ENOUGH) & (step + 1 < steps[active])]
        if not active.size:
            break
    M = Spectrum.of((G * values[:, None, :]) @ G.mT)
    return Spectrum(np.maximum(M.values, 0.0), M.vectors)


def primal_dual_step(
    mean: Array, covariance: Array, G: Array, values: Array, alpha: float, scale: Array
) -> tuple[Array, Array, Array]:
    """G and the diagonal after a step, and how far the point was from a solution, in units of M itself."""
    d = G.shape[-1]
    diagonal = values[:, :, None] * np.eye(d)
    P, off = stationarity(mean, covariance, G, values, alpha, scale)
    aim = np.maximum(alpha, SHARE * np.square(values).mean(axis=1))[:, None]
    target = svec((aim / values - values)[:, :, None] * np.eye(d))
    # Where M is far below its doubt in some direction, round-off takes the place of the one on the diagonal.
    entries = P.reshape(len(G), -1)[:, :: off.shape[-1] + 1]
    entries += 1.0 + 1e-13 * entries.sum(axis=1, keepdims=True)
    change: Array = np.asarray(np.linalg.solve(P, (target - off)[..., None])[..., 0], dtype=np.float64)
    dZ, dM = smat(change), smat(target - change)
    inner = 1.0 / np.sqrt(values[:, :, None] * values[:, None, :])
    # One length for both: M and Z are tied by a linear equation, which two lengths would break anew at each step.
    length = np.minimum(longest(dM * inner), longest(dZ * inner))[:, None, None]
    X, S = diagonal + length * dM, diagonal + length * dZ
    # The next scaling, from factors: with X = R R' and R'S R = V diag(squares) V'.
    R = np.linalg.cholesky(X)
    squares, V = np.linalg.eigh(R.mT @ S @ R)
    values_next = np.sqrt(np.maximum(squares, 1e-300))
    G_next = (G @ (R @ V)) / np.sqrt(values_next)[:, None, :]
    distance = np.sqrt(np.square(dM * inner).sum(axis=(1, 2)))
    distance = np.where(aim[:, 0] > alpha, np.inf, distance)
    return G_next, values_next, distance


def misfit(mean: Array, covariance: Array, start: Spectrum, alpha: float, scale: Array) -> Array:
    """The square of how many deviations the start is off the solution, with Z = alpha M^{-1}."""
    G = start.vectors * (np.sqrt(start.values) / alpha**0.25)[:, None, :]
    values = np.full(start.values.shape, math.sqrt(alpha))
    P, off = stationarity(mean, covariance, G, values, alpha, scale)
    solved = np.linalg.solve(P + alpha * np.eye(off.shape[-1]), off[..., None])[..., 0]
    return np.asarray(np.vecdot(off, solved))


def stationarity(
    mean: Array, covariance: Array, G: Array, values: Array, alpha: float, scale: Array
) -> tuple[Array, Array]:
    """The covariance in the scaled coordinates, and how far M is from mean + P (Z - alpha I / scale) there."""
    inverse = np.linalg.inv(G)
    K = congruence(np.asarray(inverse, dtype=np.float64))
    P = K @ covariance @ K.mT
    diagonal = values[:, :, None] * np.eye(G.shape[-1])
    pull = svec(diagonal - (alpha / scale)[:, None, None] * (G.mT @ G))
    off = svec(inverse @ mean @ inverse.mT - diagonal) + np.matvec(P, pull)
    return np.asarray(P), np.asarray(off)


def longest(direction: Array) -> Array:
    """The length of a step that stays inside of the cone, at most one."""
    lowest = np.linalg.eigvalsh(direction)[:, 0]
    return np.asarray(np.minimum(1.0, TOWARDS_BOUNDARY / np.maximum(-lowest, 1e-300)))


def congruence(F: Array) -> Array:
    """The matrix that takes svec(M) to svec(F M F'), shape (runs, p, p)."""
    rows, columns, on_diagonal = triangle(F.shape[-1])
    straight = F[:, rows[:, None], rows] * F[:, columns[:, None], columns]
    crossed = F[:, rows[:, None], columns] * F[:, columns[:, None], rows]
    weight = np.where(on_diagonal, math.sqrt(0.5), 1.0)
    return np.asarray((straight + crossed) * (weight[:, None] * weight))
