r"""A = L L' with few columns: least squares, and the posterior of L around the fit.

The readings are y = 1/2 |L'(z + w b)|^2 + h l + x'eta + noise, with theta = (vec L, l, b, eta) a priori
N(0, Lambda^{-1}). What does not exist of base load l, offset b and dependence eta on the regressors x is left out. The
fit minimizes

    F(theta) = e'W e + s^2 theta'Lambda theta,    e_i = y_i - 1/2 |L'(z_i + w_i b)|^2 - h_i l - x_i'eta

by Levenberg's and Marquardt's steps (Marquardt, SIAM J. Appl. Math. 11, 1963), where W is the identity, or whitens the
steps of a base load that walks; l is then that of the last reading. With the Jacobian J and H = J'W J + s^2 Lambda,

    theta <- theta + (H + mu diag H)^{-1} (J'W e - s^2 Lambda theta).

Around the fit the posterior of theta is N(theta, s^2 H^{-1}) (Laplace), where directions that no reading has seen
keep their prior. A further reading updates it as a second-order extended Kalman filter does (Bar-Shalom, Li and
Kirubarajan, "Estimation with Applications to Tracking and Navigation", 2001, section 10.3.2): with P the covariance,
in which the variance of a load that walks has grown by q^2 s^2, and G_kl = z'P_kl z for the blocks of two columns,

    E[y] = 1/2 |L'(z + w b)|^2 + 1/2 tr G + h l + x'eta,    var y = j'P j + 1/2 |G|^2 + s^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky_banded, solve_banded

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators.factored._dual import Extras, Readings
from soqo.typing import Array, BoolArray

_WIDE = 4.0
"""The prior's variance of an entry of L, in units of the mean square of the entries at the start: scarcely a prior."""

_CONVERGED = 1e-5
"""A fit has converged after a step that reduces the sum of squares by less than this share."""

_MAX_STEPS = 40
"""The budget of a fit in steps: with fewer readings than unknowns there may be no end to it."""

_ROUND_OFF = 1e-12
"""What is added to the diagonal of H, in units of its entries, so that its inverse is above round-off."""

SURPRISE = 3.0
"""A reading this many deviations of the noise from a fit is not only noise: it counts as no more of it, and the fit is
renewed. A factor is given up if the noise around it grows by this factor."""


@register("FactoredFit")
@dataclass(frozen=True)
class Fit(Value):
    """A fit in progress.

    Attributes
    ----------
    L : Array, shape (d, k)
        The factor.
    beta : Array, shape (1 + d + m,)
        Load l, offset b, and the dependence of the load on the regressors; 0 for what does not exist.
    extras : Extras
        The prior of beta.
    precision : float
        That of an entry of L.
    s2, mu : float
        The variance of the noise, and what shortens the steps.
    steps : int
        The number of steps done.
    """

    L: Array
    beta: Array
    extras: Extras
    precision: float
    s2: float
    mu: float = 1e-3
    steps: int = 0

    @classmethod
    def start(cls, L: Array, extras: Extras, s2: float, beta: Array | None = None) -> Fit:
        """Begin at a factor."""
        deviations = extras.deviations(len(L))
        beta = np.zeros(len(deviations)) if beta is None else np.where(deviations > 0.0, beta, 0.0)
        return cls(L, beta, extras, 1.0 / (_WIDE * float(np.square(L).mean()) + 1e-300), s2)

    @property
    def done(self) -> bool:
        """Whether the fit has ended."""
        return self.steps >= _MAX_STEPS

    @property
    def free(self) -> BoolArray:
        """Which entries of beta exist."""
        return self.extras.deviations(len(self.L)) > 0.0

    @property
    def offset(self) -> Array:
        """The offset b, shape (d,)."""
        return self.beta[1 : 1 + len(self.L)]

    @property
    def unknowns(self) -> int:
        """The number of unknowns: L and L times a rotation are the same A, and b counts in the range of A."""
        d, k = self.L.shape
        return int(d * k - k * (k - 1) // 2 + self.free.sum() - (d - k) * (self.extras.offset > 0.0))

    def operations(self, count: int) -> float:
        """Return about how many operations a step takes."""
        size = self.L.size + int(self.free.sum())
        return float(size**2 * (count + size))

    def expected(self, readings: Readings) -> Array:
        """Return the readings without noise, with the base load of the last one of all."""
        cost = 0.5 * np.square(self.moved(readings) @ self.L).sum(axis=1)
        return np.asarray(cost + readings.h * self.beta[0] + readings.X @ self.beta[1 + len(self.L) :])

    def moved(self, readings: Readings) -> Array:
        """Return z + w b, the displacements from the true minimizer."""
        return np.asarray(readings.Z + readings.w[:, None] * self.offset)

    def residuals(self, readings: Readings) -> Array:
        """Return the errors, whose noise is white."""
        return whitened(readings.y - self.expected(readings), readings, self.extras.step)

    def noise2(self, readings: Readings) -> float:
        """Return the sum of squares over the degrees of freedom."""
        error = self.residuals(readings)
        return float(error @ error) / max(len(error) - self.unknowns, 1)

    def system(self, readings: Readings) -> tuple[Array, Array]:
        """Return H = J'J + s^2 Lambda and -1/2 the gradient of F, J'e - s^2 Lambda theta."""
        J = whitened(self.jacobian(readings), readings, self.extras.step)
        theta, weight = self.theta(), self.s2 * self.weights()
        H = J.T @ J
        H.flat[:: len(H) + 1] += weight
        return H, J.T @ self.residuals(readings) - weight * theta

    def jacobian(self, readings: Readings) -> Array:
        """Return J with the rows (z_i x L'z_i, h_i, w_i L L'z_i, x_i) for z_i + w_i b in place of z_i."""
        Z = self.moved(readings)
        ZL = Z @ self.L
        J = (Z[:, :, None] * ZL[:, None, :]).reshape(len(Z), -1)
        linear = [readings.h[:, None], readings.w[:, None] * (ZL @ self.L.T), readings.X]
        return np.concatenate([J, np.concatenate(linear, axis=1)[:, self.free]], axis=1) if self.extras.load else J

    def theta(self) -> Array:
        """Return vec L and what exists of beta."""
        return np.append(self.L.ravel(), self.beta[self.free])

    def weights(self) -> Array:
        """Return the diagonal of Lambda."""
        deviations = self.extras.deviations(len(self.L))
        return np.append(np.full(self.L.size, self.precision), deviations[deviations > 0.0] ** -2.0)

    def objective(self, readings: Readings) -> float:
        """Return F."""
        error, theta = self.residuals(readings), self.theta()
        return float(error @ error + self.s2 * (self.weights() * theta) @ theta)

    def step(self, readings: Readings) -> Fit:
        """Make one step of Levenberg and Marquardt, with mu raised until it reduces F."""
        (H, g), old, mu = self.system(readings), self.objective(readings), self.mu
        diagonal = np.diag(H) + 1e-300
        for _ in range(5):
            X = H.copy()
            X.flat[:: len(X) + 1] += mu * diagonal + 1e-13 * diagonal[: self.L.size].max()
            try:
                found = self.changed(
                    cho_solve(cho_factor(X, overwrite_a=True, check_finite=False), g, check_finite=False)
                )
                new = found.objective(readings)
            except LinAlgError:
                new = math.inf
            if new < old:
                steps = self.steps + 1 if new < (1.0 - _CONVERGED) * old else _MAX_STEPS
                return evolve(found, mu=max(mu / 10.0, 1e-9), steps=steps)
            mu *= 8.0
        return evolve(self, steps=_MAX_STEPS)

    def changed(self, change: Array) -> Fit:
        """Return the fit after a change of theta."""
        beta, size = self.beta.copy(), self.L.size
        beta[self.free] += change[size:]
        return evolve(self, L=self.L + change[:size].reshape(self.L.shape), beta=beta)


def whitened(rows: Array, readings: Readings, step: float) -> Array:
    """Return rows of readings, multiplied so that the noise and the steps of the base load to the last one are white.

    The differences of successive rows have a tridiagonal covariance, and its root has two diagonals.
    """
    if not step or not len(rows):
        return rows
    r = 1.0 / np.square(readings.h)
    level = (rows.T / readings.h).T
    level[:-1] -= level[1:]
    covariance = np.stack([np.append(r[:-1] + r[1:] + step**2 * np.diff(readings.t), r[-1]), np.append(-r[1:], 0.0)])
    root = cholesky_banded(covariance, lower=True, check_finite=False)
    return np.asarray(solve_banded((1, 0), root, level, check_finite=False))


def rotations(L: Array, size: int) -> Array:
    """Return the directions vec(L S) with S' = -S, in which L turns and A stays, shape (size, k (k - 1) / 2).

    They are known, in the sense that P has nothing there: the expansion of second order would take a turn for a change.
    """
    d, k = L.shape
    one, other = np.triu_indices(k, 1)
    turns, index = np.zeros((d, k, len(one))), np.arange(len(one))
    turns[:, one, index], turns[:, other, index] = L[:, other], -L[:, one]
    return np.concatenate([turns.reshape(d * k, -1), np.zeros((size - d * k, len(one)))])


class Moments(NamedTuple):
    """Mean of a reading, its variance without noise, and its covariance P j with theta."""

    mean: float
    variance: float
    Pj: Array


@register("FactoredFactor")
@dataclass(frozen=True)
class Factor(Value):
    """The posterior N(theta, P) after a fit: the fit, P, and the sum of squares and degrees of freedom of the noise."""

    fit: Fit
    P: Array
    squares: float
    freedom: float

    @classmethod
    def of(cls, fit: Fit, readings: Readings) -> Factor:
        """Return Laplace's posterior around a fit: P = s^2 H^{-1}."""
        s2, size = max(fit.noise2(readings), 1e-300), fit.L.size
        H, _ = evolve(fit, s2=s2).system(readings)
        turns = rotations(fit.L, len(H))
        H += (turns * (np.trace(H[:size, :size]) / np.square(fit.L).sum())) @ turns.T
        unit = 1.0 / np.sqrt(np.diag(H))
        try:
            P = np.linalg.inv(H * unit * unit[:, None] + _ROUND_OFF * np.eye(len(H)))
        except LinAlgError:
            P = np.eye(len(H))
        freedom = max(len(readings) - fit.unknowns, 1)
        return cls(evolve(fit, s2=s2), s2 * P * unit * unit[:, None], s2 * freedom, float(freedom))

    @property
    def noise2(self) -> float:
        """The estimate of the variance of the noise."""
        return self.squares / self.freedom

    @property
    def of_cost(self) -> Array:
        """The covariance of vec L."""
        size = self.fit.L.size
        return self.P[:size, :size]

    def moments(self, new: Readings) -> Moments:
        """Return what is known of the next reading, by the second-order expansion."""
        L, P = self.fit.L, self.walked
        d, k = L.shape
        z, j = self.fit.moved(new)[0], self.fit.jacobian(new)[0]
        Pj = P @ j
        G = (z @ self.of_cost.reshape(d, -1)).reshape(k, d, k).transpose(0, 2, 1) @ z
        mean = float(self.fit.expected(new)[0]) + 0.5 * float(np.trace(G))
        return Moments(mean, max(float(j @ Pj), 0.0) + 0.5 * float(np.square(G).sum()), Pj)

    @property
    def walked(self) -> Array:
        """The covariance P after a step of the base load."""
        if not self.fit.extras.step:
            return self.P
        P, load = self.P.copy(), self.fit.L.size
        P[load, load] += self.fit.extras.step**2 * self.noise2
        return P

    def covariances(self, U: Array) -> tuple[Array, Array]:
        """Return var(1/2 u'Au) and Cov(A, 1/2 u'Au), to first order in L, for u of shape (m, d)."""
        L, count = self.fit.L, len(U)
        J = (U[:, :, None] * (U @ L)[:, None, :]).reshape(count, -1)
        JP = J @ self.of_cost
        X = JP.reshape(count, *L.shape) @ L.T
        return np.maximum(np.vecdot(JP, J), 0.0), X + X.transpose(0, 2, 1)

    def image(self, w: Array) -> Array:
        """Return the covariance of A w = L L'w, to first order in L."""
        L, d = self.fit.L, len(w)
        B = (np.eye(d)[:, :, None] * (w @ L) + w[:, None] * L[:, None, :]).reshape(d, -1)
        return np.asarray(B @ self.of_cost @ B.T)

    def learn(self, new: Readings) -> Factor:
        """Return the posterior after a further reading."""
        mean, variance, Pj = self.moments(new)
        total = variance + self.noise2
        error = float(new.y[0]) - mean
        fit = self.fit.changed(Pj * (error / total))
        expected = error * error * self.noise2 / total  # what of the error is noise
        squares = self.squares + min(expected, SURPRISE**2 * self.noise2)
        return evolve(
            self, fit=fit, P=self.walked - np.outer(Pj, Pj / total), squares=squares, freedom=self.freedom + 1.0
        )
