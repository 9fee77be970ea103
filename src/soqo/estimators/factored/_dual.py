r"""Gaussian posteriors of A in dual form, where the unknowns are as many as the readings.

A reading with the displacement z is y = 1/2 z'A z + e + noise, with the extras e = h l + w g'z + x'eta: a base load l
that may walk, an offset b with g = A b, and a base load that is linear in the regressors x. Before the readings,

    A ~ N(M, c^2 M x M),    so that    cov(1/2 z_i'A z_i, 1/2 z_j'A z_j) = 1/4 c^2 (z_i'M z_j)^2,

and l ~ N(0, tau^2), with steps of the deviation q sigma from one reading to the next, b ~ N(0, beta^2 I) with g = M b,
and eta ~ N(0, R): the readings are a Gaussian process whose kernel is a sum,

    K_ij = 1/4 c^2 (z_i'M z_j)^2 + h_i h_j (tau^2 + q^2 sigma^2 min(t_i, t_j)) + beta^2 w_i w_j z_i'M M z_j + x_i'R x_j
           + sigma^2 delta_ij.

With alpha = K^{-1} (y - 1/2 diag(Z M Z')),

    E[A | y] = M + 1/2 c^2 M Z' diag(alpha) Z M,    E[g | y] = beta^2 M M Z'diag(w) alpha,

and a further reading has the mean and the variance of Gaussian process regression (Rasmussen and Williams, "Gaussian
Processes for Machine Learning", 2006, eq. 2.25 and 2.26). Cost: O(n^2 d + n^3) for n readings, whatever d(d+1)/2 is.

An M of low rank makes estimates of low rank. So the last estimate is a part of M in the next sweep, as in iteratively
reweighted least squares for matrices of low rank (Mohan and Fazel, JMLR 13, 2012): with a share of the identity that
stays, estimates are soft; with one that falls, they are as sharp as the readings permit.

Readings whose noise has the variance r sigma^2 are divided by r^{1/2} at once, so that all have the same noise; this is
what h = r^{-1/2} is for. With a factor s of the hitting cost, z is w u with w = (s h)^{1/2}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.typing import Array

_JITTER = 1e-11
"""What is added to the diagonal of a kernel, relative to its entries: above round-off, below any noise that counts."""


@register("FactoredReadings")
@dataclass(frozen=True)
class Readings(Value):
    """Readings of one row, divided by the deviation of their noise in units of sigma.

    Attributes
    ----------
    Z : Array, shape (n, d)
        The displacements u, times ``w``.
    y, h : Array, shape (n,)
        The values, and what multiplies the base load.
    w : Array, shape (n,)
        What multiplies a displacement: the root of ``h`` times the factor of the hitting cost.
    X : Array, shape (n, m)
        The regressors of the base load, relative to their first values, times ``h``.
    t : Array, shape (n,)
        The numbers of the readings.
    """

    Z: Array
    y: Array
    h: Array
    w: Array
    X: Array
    t: Array

    @classmethod
    def none(cls, d: int, m: int) -> Readings:
        """Return no readings, with m regressors."""
        none = np.zeros(0)
        return cls(np.zeros((0, d)), none, none, none, np.zeros((0, m)), none)

    @classmethod
    def of_cost(cls, U: Array, m: int) -> Readings:
        """Return the hitting costs at displacements, which contain nothing else."""
        none = np.zeros(len(U))
        return cls(U, none, none, none, np.zeros((len(U), m)), none)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, index: Any) -> Readings:
        """Return some of them."""
        return Readings(*(part[index] for part in self.__dict__.values()))

    def last(self, count: int) -> Readings:
        """Return the latest ones."""
        return self.take(slice(-count, None))

    def followed_by(self, more: Readings) -> Readings:
        """Return these readings and more of them."""
        both = zip(self.__dict__.values(), more.__dict__.values(), strict=True)
        return Readings(*(np.concatenate(parts) for parts in both))


@register("FactoredExtras")
@dataclass(frozen=True)
class Extras(Value):
    """What a reading may contain besides the hitting cost: the prior's deviations, 0 for what does not exist.

    Attributes
    ----------
    load, step : float
        That of the base load, and of its step from one reading to the next in units of the noise.
    offset : float
        That of an entry of the offset b.
    regressors : Array, shape (m,)
        Those of the dependence of the base load on the regressors.
    """

    load: float
    step: float
    offset: float
    regressors: Array

    @classmethod
    def none(cls, m: int) -> Extras:
        """Return nothing, with m regressors."""
        return cls(0.0, 0.0, 0.0, np.zeros(m))

    @property
    def varied(self) -> bool:
        """Whether there is an offset, or a base load that depends on regressors."""
        return self.offset > 0.0 or bool(self.regressors.any())

    def deviations(self, d: int) -> Array:
        """Return those of the base load, the offset of d entries, and the regressors, shape (1 + d + m,)."""
        return np.concatenate([[self.load], np.full(d, self.offset), self.regressors])

    def kernel(self, one: Readings, other: Readings, M: Array) -> Array:
        """Return the covariances of what readings contain besides 1/2 z'A z, but for the steps of the base load."""
        K = np.outer(self.load**2 * one.h, other.h)
        if self.offset:
            left, right = (part.w[:, None] * (part.Z @ M) for part in (one, other))
            K += self.offset**2 * (left @ right.T)
        if self.regressors.any():
            K += (one.X * np.square(self.regressors)) @ other.X.T
        return K

    def walk(self, one: Readings, other: Readings) -> Array:
        """Return the covariances of the steps of the base load so far, in units of sigma^2."""
        if not self.step:
            return np.zeros((len(one), len(other)))
        return np.asarray(self.step**2 * np.minimum.outer(one.t, other.t) * np.outer(one.h, other.h))


@register("FactoredPrior")
@dataclass(frozen=True)
class Prior(Value):
    """The prior N(M, c^2 M x M) of A, that of the extras, and the deviation sigma of the noise."""

    M: Array
    c: float
    sigma: float
    extras: Extras

    def kernel(self, one: Readings, other: Readings) -> Array:
        """Return the covariances of readings without noise."""
        K = np.square((0.5 * self.c) * (one.Z @ self.M @ other.Z.T))
        return K + self.beside(one, other) if self.extras.load else K

    def beside(self, one: Readings, other: Readings) -> Array:
        """Return the covariances of what readings contain besides hitting cost and noise."""
        return np.asarray(self.extras.kernel(one, other, self.M) + self.sigma**2 * self.extras.walk(one, other))


@register("FactoredDual")
@dataclass(frozen=True)
class Posterior(Value):
    """The posterior after readings: the prior, alpha, and the lower triangular root of the kernel matrix."""

    prior: Prior
    readings: Readings
    alpha: Array
    root: Array

    @classmethod
    def of(cls, prior: Prior, readings: Readings) -> Posterior:
        """Compute alpha = K^{-1} (y - 1/2 diag(Z M Z'))."""
        K = prior.kernel(readings, readings)
        K.flat[:: len(K) + 1] += _JITTER * np.diag(K) + prior.sigma**2
        root = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
        alpha = cho_solve((root, True), readings.y - costs(readings.Z, prior.M), check_finite=False)
        return cls(prior, readings, alpha, root)

    def mean(self) -> Array:
        """Return E[A | y] = M + 1/2 c^2 M Z' diag(alpha) Z M."""
        ZM = self.readings.Z @ self.prior.M
        X = (ZM.T * (0.5 * self.prior.c**2 * self.alpha)) @ ZM
        return np.asarray(self.prior.M + 0.5 * (X + X.T))

    def extras(self, new: Readings) -> Array:
        """Return the mean of what readings contain besides the hitting cost."""
        return np.asarray(self.alpha @ self.prior.beside(self.readings, new))

    def covariance(self, new: Readings) -> Array:
        """Return the covariance of readings without noise."""
        known = self._known(self.prior.kernel(self.readings, new))
        return np.asarray(self.prior.kernel(new, new) - known.T @ known)

    def offset(self, values: Array, vectors: Array) -> Array:
        """Return the offset b for an estimate of A, by a ridge regression of g = A b on it."""
        M, own, readings = self.prior.M, self.prior.extras.offset, self.readings
        if not own:
            return np.zeros(len(M))
        MQ = own * (M @ vectors)
        cross = (readings.w[:, None] * (readings.Z @ M)) @ (own * MQ)
        variance = np.square(MQ).sum(axis=0) - np.square(self._known(cross)).sum(axis=0)
        ratio = np.maximum(variance, 0.0) / own**2
        return np.asarray(vectors @ (values * (self.alpha @ cross) / np.maximum(values**2 + ratio, 1e-300)))

    def covariances(self, U: Array) -> tuple[Array, Array]:
        """Return var(1/2 u'Au) and Cov(A, 1/2 u'Au) = 1/2 c^2 M (u u' - Z' diag(K^{-1} k_u) Z) M for u (m, d)."""
        prior, new = self.prior, Readings.of_cost(U, self.readings.X.shape[1])
        ZM, UM = self.readings.Z @ prior.M, U @ prior.M
        cross = prior.kernel(self.readings, new)
        solved = cho_solve((self.root, True), cross, check_finite=False)
        known = np.array([(ZM.T * own) @ ZM for own in solved.T]).reshape(len(U), *prior.M.shape)
        variance = 0.25 * np.square(prior.c * np.vecdot(UM, U)) - np.vecdot(cross.T, solved.T)
        return np.maximum(variance, 0.0), 0.5 * prior.c**2 * (UM[:, :, None] * UM[:, None, :] - known)

    def image(self, w: Array) -> Array:
        """Return Cov(A w) = 1/2 c^2 (M w'Mw + Mw w'M) - X'K^{-1}X with X = 1/2 c^2 diag(ZMw) Z M."""
        M, half = self.prior.M, 0.5 * self.prior.c**2
        Mw, ZM = M @ w, self.readings.Z @ M
        known = self._known(half * (ZM @ w)[:, None] * ZM)
        return np.asarray(half * (M * (w @ Mw) + np.outer(Mw, Mw)) - known.T @ known)

    def _known(self, cross: Array) -> Array:
        return np.asarray(solve_triangular(self.root, cross, lower=True, check_finite=False))


def costs(Z: Array, M: Array) -> Array:
    """Return 1/2 z'M z for z of shape (n, d)."""
    return np.asarray(0.5 * np.vecdot(Z @ M, Z))


def positive_part(A: Array) -> tuple[Array, Array, Array]:
    """Return eigenvalues and eigenvectors of the positive part of A, and A's positive part itself."""
    values, vectors = np.linalg.eigh(A)
    kept = values > 0.0
    values, vectors = values[kept], vectors[:, kept]
    return values, vectors, (vectors * values) @ vectors.T
