r"""Gaussian posteriors of A in dual form, where the unknowns are as many as the readings.

A reading with the displacement z is y = 1/2 z'A z + h l + noise with the base load l. Before the readings,

    A ~ N(M, c^2 M x M),    so that    cov(1/2 z_i'A z_i, 1/2 z_j'A z_j) = 1/4 c^2 (z_i'M z_j)^2,

and l ~ N(0, tau^2): the readings are a Gaussian process with the kernel K_ij = 1/4 c^2 (z_i'M z_j)^2 + tau^2 h_i h_j +
sigma^2 delta_ij. With alpha = K^{-1} (y - 1/2 diag(Z M Z')),

    E[A | y] = M + 1/2 c^2 M Z' diag(alpha) Z M,    E[l | y] = tau^2 h'alpha,

and a further reading has the mean and the variance of Gaussian process regression (Rasmussen and Williams, "Gaussian
Processes for Machine Learning", 2006, eq. 2.25 and 2.26). Cost: O(n^2 d + n^3) for n readings, whatever d(d+1)/2 is.

An M of low rank makes estimates of low rank. So the last estimate is a part of M in the next sweep, as in iteratively
reweighted least squares for matrices of low rank (Mohan and Fazel, JMLR 13, 2012): with a share of the identity that
stays, estimates are soft; with one that falls, they are as sharp as the readings permit.

Readings whose noise has the variance r sigma^2 are divided by r^{1/2} at once, so that all have the same noise; this is
what h = r^{-1/2} is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.typing import Array

_JITTER = 1e-11
"""What is added to the diagonal of a kernel, relative to its entries: above round-off, below any noise that counts."""


class Readings(NamedTuple):
    """Readings of one row: displacements (n, d), values (n,), and what multiplies the base load (n,)."""

    Z: Array
    y: Array
    h: Array

    def first(self, count: int) -> Readings:
        """Return the earliest ones."""
        return Readings(self.Z[:count], self.y[:count], self.h[:count])

    def last(self, count: int) -> Readings:
        """Return the latest ones."""
        return Readings(self.Z[-count:], self.y[-count:], self.h[-count:])


@register("DualPrior")
@dataclass(frozen=True)
class Prior(Value):
    """The prior N(M, c^2 M x M) of A, the deviation tau of the base load, and the deviation sigma of the noise."""

    M: Array
    c: float
    tau: float
    sigma: float


@register("DualPosterior")
@dataclass(frozen=True)
class Posterior(Value):
    """The posterior after the readings (Z, h): the prior, alpha, and the lower triangular root of the kernel matrix."""

    prior: Prior
    Z: Array
    h: Array
    alpha: Array
    root: Array

    @classmethod
    def of(cls, prior: Prior, readings: Readings) -> Posterior:
        """Compute alpha = K^{-1} (y - 1/2 diag(Z M Z'))."""
        Z, y, h = readings
        ZM = Z @ prior.M
        K = kernel(prior, ZM @ Z.T, h, h)
        K.flat[:: len(y) + 1] += _JITTER * np.diag(K) + prior.sigma**2
        root = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
        alpha = cho_solve((root, True), y - 0.5 * np.vecdot(ZM, Z), check_finite=False)
        return cls(prior, Z, h, alpha, root)

    def mean(self) -> Array:
        """Return E[A | y] = M + 1/2 c^2 M Z' diag(alpha) Z M."""
        ZM = self.Z @ self.prior.M
        X = (ZM.T * (0.5 * self.prior.c**2 * self.alpha)) @ ZM
        return np.asarray(self.prior.M + 0.5 * (X + X.T))

    def load(self) -> float:
        """Return E[l | y] = tau^2 h'alpha."""
        return self.prior.tau**2 * float(self.h @ self.alpha)

    def predict(self, W: Array, h: Array) -> tuple[Array, Array]:
        """Return mean and variance of readings without noise at W (m, d): 1/2 w'Mw + m'alpha and k - m'K^{-1}m."""
        WM = W @ self.prior.M
        square = np.vecdot(WM, W)
        cross = kernel(self.prior, self.Z @ WM.T, self.h, h)
        known = solve_triangular(self.root, cross, lower=True, check_finite=False)
        own = 0.25 * np.square(self.prior.c * square) + np.square(self.prior.tau * h)
        return 0.5 * square + self.alpha @ cross, np.maximum(own - np.square(known).sum(axis=0), 0.0)

    def covariances(self, U: Array) -> tuple[Array, Array]:
        """Return var(1/2 u'Au) and Cov(A, 1/2 u'Au) = 1/2 c^2 M (u u' - Z' diag(K^{-1} k_u) Z) M for u (m, d)."""
        none = np.zeros(len(U))
        ZM, UM = self.Z @ self.prior.M, U @ self.prior.M
        solved = cho_solve((self.root, True), kernel(self.prior, self.Z @ UM.T, self.h, none), check_finite=False)
        known = np.array([(ZM.T * own) @ ZM for own in solved.T]).reshape(len(U), *self.prior.M.shape)
        return self.predict(U, none)[1], 0.5 * self.prior.c**2 * (UM[:, :, None] * UM[:, None, :] - known)

    def image(self, w: Array) -> Array:
        """Return Cov(A w) = 1/2 c^2 (M w'Mw + Mw w'M) - X'K^{-1}X with X = 1/2 c^2 diag(ZMw) Z M."""
        M, half = self.prior.M, 0.5 * self.prior.c**2
        Mw, ZM = M @ w, self.Z @ M
        known = solve_triangular(self.root, half * (ZM @ w)[:, None] * ZM, lower=True, check_finite=False)
        return np.asarray(half * (M * (w @ Mw) + np.outer(Mw, Mw)) - known.T @ known)


def kernel(prior: Prior, inner: Array, h: Array, other: Array) -> Array:
    """Return the covariances 1/4 c^2 (z_i'M w_j)^2 + tau^2 h_i h_j of readings with the products z_i'M w_j."""
    K = np.square((0.5 * prior.c) * inner)
    return K + np.outer(prior.tau**2 * h, other) if prior.tau else K


def positive_part(A: Array) -> tuple[Array, Array, Array]:
    """Return eigenvalues and eigenvectors of the positive part of A, and A's positive part itself."""
    values, vectors = np.linalg.eigh(A)
    kept = values > 0.0
    values, vectors = values[kept], vectors[:, kept]
    return values, vectors, (vectors * values) @ vectors.T
