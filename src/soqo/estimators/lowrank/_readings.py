r"""Readings y_i = 1/2 z_i'A z_i + noise, and the posterior mean of A under a normal prior.

Under the prior A ~ N(m S, S x S), which means that the covariance of z'A z and w'A w is (z'S w)^2, the readings have
the mean m/2 z'S z and the covariance 1/4 (z'S w)^2 plus the noise. The posterior mean is computed in one of two forms
that give the same matrix:

- for n readings that are fewer than the unknowns, from the n x n covariance matrix (:class:`Readings`), in
  O(n^2 d + n^3 / 3 + d^3) operations;
- otherwise from sums over all readings (:class:`Moments`), in O(p^3) for p = d(d+1)/2 unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators._measurements import measure, smat, svec, svec_rows, triangle
from soqo.typing import Array

_ROUND_OFF = 1e-11
"""What is added to the diagonal of a covariance matrix, relative to it."""


class Data(Protocol):
    """Readings in a form from which a posterior mean can be computed."""

    def posterior_mean(self, S: Array, m: float, noise2: float) -> Array:
        """Return the posterior mean of A under A ~ N(m S, S x S), which need not be in the cone.

        Parameters
        ----------
        S : Array, shape (d, d)
            A positive definite matrix.
        m : float
            The prior mean, in units of S.
        noise2 : float
            The variance of the noise.
        """
        ...

    def deviations(self, S: Array, noise2: float, W: Array) -> Array:
        """Return the posterior deviations of w'A w under the same prior, shape (k,).

        Parameters
        ----------
        S : Array, shape (d, d)
            A positive definite matrix.
        noise2 : float
            The variance of the noise.
        W : Array, shape (k, d)
            The directions w.
        """
        ...


@dataclass(frozen=True)
class Readings:
    """Readings as they came.

    Attributes
    ----------
    Z : Array, shape (n, d)
        Where they were taken.
    y : Array, shape (n,)
        The readings.

    Examples
    --------
    >>> readings = Readings(np.array([[2.0, 0.0]]), np.array([6.0]))
    >>> readings.posterior_mean(np.eye(2), m=1.0, noise2=0.0).round(3)
    array([[3., 0.],
           [0., 1.]])
    """

    Z: Array
    y: Array

    def posterior_mean(self, S: Array, m: float, noise2: float) -> Array:
        """Return the posterior mean of A under A ~ N(m S, S x S), which need not be in the cone.

        Parameters
        ----------
        S : Array, shape (d, d)
            A positive definite matrix.
        m : float
            The prior mean, in units of S.
        noise2 : float
            The variance of the noise.
        """
        root = np.linalg.cholesky(S)
        V = self.Z @ root
        Q = V @ V.T
        residual = self.y - 0.5 * m * np.diag(Q)
        alpha = cho_solve(covariance_factor(Q, noise2), residual, check_finite=False)
        change = root @ ((V.T * (0.5 * alpha)) @ V) @ root.T
        return m * S + 0.5 * (change + change.T)

    def deviations(self, S: Array, noise2: float, W: Array) -> Array:
        """Return the posterior deviations of w'A w under the same prior, shape (k,).

        Parameters
        ----------
        S : Array, shape (d, d)
            A positive definite matrix.
        noise2 : float
            The variance of the noise.
        W : Array, shape (k, d)
            The directions w.
        """
        root = np.linalg.cholesky(S)
        V, along = self.Z @ root, W @ root
        factor, _ = covariance_factor(V @ V.T, noise2)
        known = solve_triangular(factor, 0.5 * np.square(V @ along.T), lower=True, check_finite=False)
        prior = np.square(np.vecdot(along, along))
        return np.asarray(np.sqrt(np.maximum(prior - np.square(known).sum(axis=0), 0.0)))


def covariance_factor(Q: Array, noise2: float) -> tuple[Array, bool]:
    """Return the Cholesky factor of the covariance of readings, for Q with the entries z_i'S z_j.

    Parameters
    ----------
    Q : Array, shape (n, n)
        The products z_i'S z_j.
    noise2 : float
        The variance of the noise.
    """
    K = Q * Q
    K *= 0.25
    K.flat[:: len(K) + 1] = (1.0 + _ROUND_OFF) * np.diag(K) + max(noise2, 1e-300)
    factor, lower = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
    return factor, bool(lower)


def _with_linear_part(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of sums of the first version, whose other part was a base load."""
    features, total, count = (fields.pop(name) for name in ("features", "total", "count"))
    cross, linear, gram = features[:, None], np.array([total]), np.array([[float(count)]])
    return {**fields, "cross": cross, "linear": linear, "gram": gram, "count": count}


@register("lowrank.moments", version=2, migrations={1: _with_linear_part})
@dataclass(frozen=True)
class Moments(Value):
    """Sums over all readings, which contain all that they say about A.

    Attributes
    ----------
    products : Array, shape (p, p)
        The sum of f f' with f = svec(1/2 z z').
    sums : Array, shape (p,)
        The sum of f y.
    cross, linear, gram : Array, shape (p, m), (m,) and (m, m)
        The sums of f x', x y and x x', where x is what multiplies other parts of a reading than A.
    square : float
        The sum of y^2.
    count : int
        The number of readings.

    Examples
    --------
    >>> moments = Moments.of(np.array([[2.0, 0.0]]), np.array([6.0]))
    >>> moments.posterior_mean(np.eye(2), m=1.0, noise2=1e-9).round(3)
    array([[3., 0.],
           [0., 1.]])
    """

    products: Array
    sums: Array
    cross: Array
    linear: Array
    gram: Array
    square: float
    count: int

    @classmethod
    def of(cls, Z: Array, y: Array, X: Array | None = None) -> Moments:
        """Return the sums over some readings.

        Parameters
        ----------
        Z, y : Array, shape (n, d) and (n,)
            The readings.
        X : Array, shape (n, m), optional
            What multiplies other parts of the readings, such as a base load.
        """
        F = svec_rows(Z)
        X = np.zeros((len(y), 0)) if X is None else X
        return cls(F.T @ F, F.T @ y, F.T @ X, X.T @ y, X.T @ X, float(y @ y), len(y))

    def add(self, Z: Array, y: Array, X: Array | None = None) -> Moments:
        """Return the sums with some more readings.

        Parameters
        ----------
        Z, y : Array, shape (n, d) and (n,)
            The readings.
        X : Array, shape (n, m), optional
            What multiplies other parts of the readings.
        """
        more = Moments.of(Z, y, X)
        return Moments(
            self.products + more.products,
            self.sums + more.sums,
            self.cross + more.cross,
            self.linear + more.linear,
            self.gram + more.gram,
            self.square + more.square,
            self.count + more.count,
        )

    def without(self, parts: Array) -> Moments:
        """Return the sums over the readings minus their other parts, x'p for the coefficients p.

        Parameters
        ----------
        parts : Array, shape (m,)
            The coefficients.
        """
        if not parts.any():
            return self
        return evolve(
            self,
            sums=self.sums - self.cross @ parts,
            linear=self.linear - self.gram @ parts,
            square=self.square - 2.0 * float(self.linear @ parts) + float(parts @ self.gram @ parts),
        )

    def posterior_mean(self, S: Array, m: float, noise2: float) -> Array:
        """Return the posterior mean of A under A ~ N(m S, S x S), which need not be in the cone.

        Parameters
        ----------
        S : Array, shape (d, d)
            A positive definite matrix.
        m : float
            The prior mean, in units of S.
        noise2 : float
            The variance of the noise.
        """
        factor, inverse = self._precision_factor(S, noise2)
        prior = (max(noise2, 1e-300) * m) * svec(inverse)
        return smat(np.asarray(cho_solve(factor, self.sums + prior, check_finite=False)))

    def first_part(self, S: Array, m: float, noise2: float) -> tuple[float, float, float]:
        """Return the mean and the deviation of the first of the other parts, such as a base load, with a flat prior.

        The third number is the sum of squared residuals, with the mean of A.

        Parameters
        ----------
        S : Array, shape (d, d)
            A positive definite matrix.
        m : float
            The prior mean of A, in units of S.
        noise2 : float
            The variance of the noise.
        """
        factor, inverse = self._precision_factor(S, noise2)
        noise2 = max(noise2, 1e-300)
        prior = (noise2 * m) * svec(inverse)
        solved = cho_solve(factor, np.stack([self.sums + prior, self.cross[:, 0]], axis=1), check_finite=False)
        left, gram = self.linear[0] - self.cross[:, 0] @ solved[:, 0], self.gram[0, 0] - self.cross[:, 0] @ solved[:, 1]
        gram = max(float(gram), 1e-12 * float(self.gram[0, 0]) + 1e-300)
        part = float(left) / gram
        parts = np.zeros(len(self.gram))
        parts[0] = part
        residual_square = self.without(parts).residual_square(smat(solved[:, 0] - part * solved[:, 1]))
        return part, float(np.sqrt(noise2 / gram)), residual_square

    def deviations(self, S: Array, noise2: float, W: Array) -> Array:
        """Return the posterior deviations of w'A w under the same prior, shape (k,).

        Parameters
        ----------
        S : Array, shape (d, d)
            A positive definite matrix.
        noise2 : float
            The variance of the noise.
        W : Array, shape (k, d)
            The directions w.
        """
        (factor, _), _ = self._precision_factor(S, noise2)
        white = solve_triangular(factor, 2.0 * svec_rows(W).T, lower=True, check_finite=False)
        return np.asarray(np.sqrt(max(noise2, 1e-300) * np.square(white).sum(axis=0)))

    def _precision_factor(self, S: Array, noise2: float) -> tuple[tuple[Array, bool], Array]:
        """Return the Cholesky factor of the precision of svec(A), in units of that of the noise, and S inverted."""
        root = np.linalg.cholesky(S)
        inverse_root = solve_triangular(root, np.eye(len(S)), lower=True, check_finite=False)
        inverse = inverse_root.T @ inverse_root
        precision = self.products + max(noise2, 1e-300) * congruence(inverse)
        precision.flat[:: len(precision) + 1] *= 1.0 + _ROUND_OFF
        factor, lower = cho_factor(precision, lower=True, overwrite_a=True, check_finite=False)
        return (factor, bool(lower)), inverse

    def residual_square(self, A: Array) -> float:
        """Return the sum of squared residuals of an estimate of A.

        Parameters
        ----------
        A : Array, shape (d, d)
            The estimate.
        """
        a = svec(A)
        return max(self.square - 2.0 * float(a @ self.sums) + float(a @ self.products @ a), 0.0)


def congruence(W: Array) -> Array:
    """Return the matrix of X -> W X W for symmetric X as vectors svec(X).

    Parameters
    ----------
    W : Array, shape (d, d)
        A symmetric matrix.

    Examples
    --------
    >>> congruence(np.diag([1.0, 2.0])).diagonal()
    array([1., 2., 4.])
    """
    rows, columns, on_diagonal = triangle(len(W))
    scale = np.where(on_diagonal, np.sqrt(0.5), 1.0)
    at_rows, at_columns = W.take(rows, axis=0), W.take(columns, axis=0)
    result = at_rows.take(rows, axis=1) * at_columns.take(columns, axis=1)
    result += at_rows.take(columns, axis=1) * at_columns.take(rows, axis=1)
    result *= scale
    result *= scale[:, None]
    return np.asarray(result)


def predict(A: Array, z: Array) -> float:
    """Return the reading that is expected at z.

    Parameters
    ----------
    A : Array, shape (d, d)
        The estimate.
    z : Array, shape (d,)
        The place.

    Examples
    --------
    >>> predict(np.eye(2), np.array([1.0, 3.0]))
    5.0
    """
    return float(measure(z[None], A)[0])
