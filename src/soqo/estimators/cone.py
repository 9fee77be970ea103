r"""The most likely positive semi-definite matrix, where a normal distribution is all that readings give.

    minimize  1/2 (M - mean)' P^{-1} (M - mean) + alpha (tr(M) / scale - log det M),    P the covariance of M

The second term is the density of a Wishart distribution around scale I. It keeps M inside of the cone, and is as wide
towards small eigenvalues as a matrix of low rank needs: cutting off the negative eigenvalues of the mean instead would
move what is known well for the sake of what is known badly. Where M is stationary,

    M = mean + alpha P (M^{-1} - I / scale),

which is solved by Newton's method in coordinates in which M is the identity. It needs P, not its inverse, so nothing is
lost where P is nearly singular; and from one reading to the next, the last M is a good start.
"""

from __future__ import annotations

import math

import numpy as np

from soqo.arguments import Array
from soqo.estimators.measurements import smat, svec
from soqo.spectrum import Spectrum

__all__ = ["most_likely_in_cone"]

ENOUGH = 0.03
"""Where a step changes M by less than this share of itself, it is near enough."""

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
    # Factors M = G G', not M itself, go from step to step: so M cannot leave the cone by round-off.
    G = start.vectors * np.sqrt(start.values)[:, None, :]
    active = np.arange(mean.shape[0])
    for step in range(int(steps.max(initial=0))):
        G[active], change = newton_step(
            mean[active], covariance[active], G[active], alpha, scale[active]
        )
        active = active[(change > ENOUGH) & (step + 1 < steps[active])]
        if not active.size:
            break
    M = Spectrum.of(G @ G.swapaxes(-1, -2))
    return Spectrum(np.maximum(M.values, 0.0), M.vectors)


def newton_step(
    mean: Array, covariance: Array, G: Array, alpha: float, scale: Array
) -> tuple[Array, Array]:
    """The factor G after a step, and how much M = G G' changed relative to itself."""
    identity = np.eye(G.shape[-1])
    inverse = np.linalg.inv(G)
    K = congruence(np.asarray(inverse, dtype=np.float64))
    P = alpha * (K @ covariance @ K.swapaxes(-1, -2))
    # How far M is from mean + alpha P (M^{-1} - I / scale), where M is the identity.
    pull = svec(identity - (G.swapaxes(-1, -2) @ G) / scale[:, None, None])
    off = svec(inverse @ mean @ inverse.swapaxes(-1, -2) - identity) + np.matvec(P, pull)
    # Where M is far below its doubt in some direction, round-off takes the place of the one on the diagonal.
    diagonal = P.reshape(len(G), -1)[:, :: off.shape[-1] + 1]
    diagonal += 1.0 + 1e-13 * diagonal.sum(axis=1, keepdims=True)
    spectrum = Spectrum.of(smat(np.linalg.solve(P, off[..., None])[..., 0]))
    length = np.minimum(1.0, TOWARDS_BOUNDARY / np.maximum(-spectrum.values[:, 0], 1e-300))
    grown = np.sqrt(1.0 + length[:, None] * spectrum.values)
    change = np.sqrt(np.square(spectrum.values).sum(axis=1))
    return G @ (spectrum.vectors * grown[:, None, :]), change


def congruence(F: Array) -> Array:
    """The matrix that takes svec(M) to svec(F M F'), shape (runs, p, p)."""
    rows, columns = np.tril_indices(F.shape[-1])
    straight = F[:, rows[:, None], rows] * F[:, columns[:, None], columns]
    crossed = F[:, rows[:, None], columns] * F[:, columns[:, None], rows]
    weight = np.where(rows == columns, math.sqrt(0.5), 1.0)
    return np.asarray((straight + crossed) * (weight[:, None] * weight))
