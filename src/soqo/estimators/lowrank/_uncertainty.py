r"""The posterior covariance of A, in each of the forms in which A is represented.

A probe is judged by what its reading would say about A: its variance, and its covariance with the entries of A. For
readings as rows and for sums over them, the prior is A ~ N(., t^2 per entry), which means that the covariance of z'A z
and w'A w is t^2 (z'w)^2. It is wide where no reading has been taken, and does not depend on the estimate, which is only
a guess there. A factor has a covariance of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from soqo.estimators._measurements import smat, svec_rows
from soqo.estimators.lowrank._factored import Factored
from soqo.estimators.lowrank._readings import Moments, Readings, covariance_factor
from soqo.typing import Array


@dataclass(frozen=True)
class RowsUncertainty:
    """That of readings as they came.

    Attributes
    ----------
    Z : Array, shape (n, d)
        Where they were taken.
    factor : Array, shape (n, n)
        The lower Cholesky factor of their covariance.
    scale : float
        The prior deviation t of an entry of A.
    noise2 : float
        The variance of the noise.
    """

    Z: Array
    factor: Array
    scale: float
    noise2: float

    @classmethod
    def of(cls, readings: Readings, scale: float, noise2: float) -> RowsUncertainty:
        """Return what some readings leave unknown.

        Parameters
        ----------
        readings : Readings
            The readings.
        scale : float
            The prior deviation t of an entry of A.
        noise2 : float
            The variance of the noise.
        """
        factor, _ = covariance_factor(scale * (readings.Z @ readings.Z.T), noise2)
        return cls(readings.Z, factor, scale, noise2)

    def _with_readings(self, U: Array) -> Array:
        """Return the prior covariances of the readings with 1/2 u'A u, shape (n, k)."""
        return np.asarray((0.5 * self.scale) ** 2 * np.square(self.Z @ U.T))

    def variances(self, U: Array) -> Array:
        """Return the variances of 1/2 u'A u, shape (k,).

        Parameters
        ----------
        U : Array, shape (k, d)
            The places u.
        """
        known = solve_triangular(self.factor, self._with_readings(U), lower=True, check_finite=False)
        prior = np.square(0.5 * self.scale * np.vecdot(U, U))
        return np.asarray(np.maximum(prior - np.square(known).sum(axis=0), 0.0))

    def covariances(self, U: Array) -> Array:
        """Return the covariances of A with 1/2 u'A u, shape (k, d, d).

        Parameters
        ----------
        U : Array, shape (k, d)
            The places u.
        """
        weights = cho_solve((self.factor, True), self._with_readings(U), check_finite=False)
        known = np.matmul(self.Z.T[None] * weights.T[:, None, :], self.Z)
        return np.asarray(0.5 * self.scale**2 * (U[:, :, None] * U[:, None, :] - known))

    def image_covariance(self, w: Array) -> Array:
        """Return the covariance of A w, shape (d, d).

        Parameters
        ----------
        w : Array, shape (d,)
            The vector.
        """
        prior = np.outer(w, w)
        prior.flat[:: len(w) + 1] += float(w @ w)
        with_readings = (0.5 * self.scale**2) * (self.Z * (self.Z @ w)[:, None])
        known = solve_triangular(self.factor, with_readings, lower=True, check_finite=False)
        return np.asarray(0.5 * self.scale**2 * prior - known.T @ known)


@dataclass(frozen=True)
class SumsUncertainty:
    """That of sums over readings.

    Attributes
    ----------
    factor : Array, shape (p, p)
        The lower Cholesky factor of the precision of svec(A), in units of that of the noise.
    noise2 : float
        The variance of the noise.
    """

    factor: Array
    noise2: float

    @classmethod
    def of(cls, moments: Moments, scale: float, noise2: float) -> SumsUncertainty:
        """Return what some readings leave unknown.

        Parameters
        ----------
        moments : Moments
            The sums over them.
        scale : float
            The prior deviation t of an entry of A.
        noise2 : float
            The variance of the noise.
        """
        precision = moments.products.copy()
        precision.flat[:: len(precision) + 1] += noise2 / scale**2
        factor, _ = cho_factor(precision, lower=True, overwrite_a=True, check_finite=False)
        return cls(factor, noise2)

    def variances(self, U: Array) -> Array:
        """Return the variances of 1/2 u'A u, shape (k,).

        Parameters
        ----------
        U : Array, shape (k, d)
            The places u.
        """
        white = solve_triangular(self.factor, svec_rows(U).T, lower=True, check_finite=False)
        return np.asarray(self.noise2 * np.square(white).sum(axis=0))

    def covariances(self, U: Array) -> Array:
        """Return the covariances of A with 1/2 u'A u, shape (k, d, d).

        Parameters
        ----------
        U : Array, shape (k, d)
            The places u.
        """
        solved = cho_solve((self.factor, True), svec_rows(U).T, check_finite=False)
        return np.stack([smat(column) for column in self.noise2 * solved.T])

    def image_covariance(self, w: Array) -> Array:
        """Return the covariance of A w, shape (d, d).

        Parameters
        ----------
        w : Array, shape (d,)
            The vector.
        """
        d = len(w)
        # The symmetric parts of e_i w' are 1/2 (e_i + w)(e_i + w)' minus the halves of the two squares.
        unit = np.eye(d)
        parts = svec_rows(unit + w) - svec_rows(unit) - svec_rows(w[None])
        white = solve_triangular(self.factor, parts.T, lower=True, check_finite=False)
        return np.asarray(self.noise2 * (white.T @ white))


@dataclass(frozen=True)
class FactorUncertainty:
    """That of a factor: A = L L', whose second-order terms matter where L is almost zero.

    Attributes
    ----------
    factored : Factored
        The factor.
    """

    factored: Factored

    @property
    def noise2(self) -> float:
        """The variance of the noise."""
        return self.factored.noise2

    def variances(self, U: Array) -> Array:
        """Return the variances of 1/2 u'A u, shape (k,).

        Parameters
        ----------
        U : Array, shape (k, d)
            The places u.
        """
        return np.array([self.factored.predict(u)[1] for u in U]) - self.noise2

    def covariances(self, U: Array) -> Array:
        """Return the covariances of A with 1/2 u'A u, shape (k, d, d).

        Parameters
        ----------
        U : Array, shape (k, d)
            The places u.
        """
        factored = self.factored
        (d, k), L = factored.L.shape, factored.L
        along = self.noise2 * np.tensordot(U, factored.covariance.reshape(d * k, d, k), axes=(1, 1))
        along = along.reshape(len(U), d, k, k)  # Cov(L_ai, (L'u)_j)
        first = np.matvec(along, (U @ L)[:, None, :])
        linear = first @ L.T
        return np.asarray(linear + linear.swapaxes(1, 2) + np.einsum("uaij,ubij->uab", along, along, optimize=True))

    def image_covariance(self, w: Array) -> Array:
        """Return the covariance of A w, without its second-order terms, shape (d, d).

        Parameters
        ----------
        w : Array, shape (d,)
            The vector.
        """
        (d, k), L = self.factored.L.shape, self.factored.L
        slopes = np.zeros((d, d, k))
        slopes[np.arange(d), np.arange(d)] = w @ L
        slopes += L[:, None, :] * w[None, :, None]
        J = slopes.reshape(d, d * k)
        return np.asarray(self.noise2 * (J @ self.factored.covariance @ J.T))


Uncertainty: TypeAlias = RowsUncertainty | SumsUncertainty | FactorUncertainty
"""What is not known about A."""
