r"""A = L L' with few columns: least squares, and the posterior of L around the fit.

The readings are y = 1/2 |L'z|^2 + h l + noise, with theta = (vec L, l) a priori N(0, Lambda^{-1}). The fit minimizes

    F(theta) = sum_i (y_i - 1/2 |L'z_i|^2 - h_i l)^2 + s^2 theta'Lambda theta

by Levenberg's and Marquardt's steps (Marquardt, SIAM J. Appl. Math. 11, 1963): with the rows j_i = (z_i x L'z_i, h_i)
of the Jacobian J, the residuals e and H = J'J + s^2 Lambda,

    theta <- theta + (H + mu diag H)^{-1} (J'e - s^2 Lambda theta).

Around the fit the posterior of theta is N(theta, s^2 H^{-1}) (Laplace), where directions that no reading has seen
keep their prior. A further reading updates it as a second-order extended Kalman filter does (Bar-Shalom, Li and
Kirubarajan, "Estimation with Applications to Tracking and Navigation", 2001, section 10.3.2): with P the covariance and
G_kl = z'P_kl z for the blocks of two columns,

    E[y] = 1/2 |L'z|^2 + 1/2 tr G + h l,    var y = j'P j + 1/2 |G|^2 + s^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators.factored._dual import Readings
from soqo.typing import Array

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


@register("FactorFit")
@dataclass(frozen=True)
class Fit(Value):
    """A fit in progress: L (d, k), the load, Lambda (one number for L, one for the load), s^2, mu, and steps done."""

    L: Array
    load: float
    precision: tuple[float, float]
    s2: float
    mu: float = 1e-3
    steps: int = 0

    @classmethod
    def start(cls, L: Array, load: float, tau: float, s2: float) -> Fit:
        """Begin at a factor; tau is the prior's deviation of the load, 0 if there is none."""
        entry = 1.0 / (_WIDE * float(np.square(L).mean()) + 1e-300)
        return cls(L, load, (entry, 1.0 / tau**2 if tau else math.inf), s2)

    @property
    def done(self) -> bool:
        """Whether the fit has ended."""
        return self.steps >= _MAX_STEPS

    @property
    def unknowns(self) -> int:
        """The number of unknowns: L and L times a rotation are the same A."""
        d, k = self.L.shape
        return int(d * k - k * (k - 1) // 2) + math.isfinite(self.precision[1])

    def operations(self, count: int) -> float:
        """Return about how many operations a step takes."""
        return self.L.size**2 * (count + self.L.size)

    def residuals(self, readings: Readings) -> Array:
        """Return y - 1/2 |L'z|^2 - h l."""
        return np.asarray(readings.y - 0.5 * np.square(readings.Z @ self.L).sum(axis=1) - readings.h * self.load)

    def noise2(self, readings: Readings) -> float:
        """Return the sum of squares over the degrees of freedom."""
        error = self.residuals(readings)
        return float(error @ error) / max(len(error) - self.unknowns, 1)

    def system(self, readings: Readings) -> tuple[Array, Array]:
        """Return H = J'J + s^2 Lambda and -1/2 the gradient of F, J'e - s^2 Lambda theta."""
        J, theta, weight = jacobian(self.L, readings), self.theta(), self.s2 * self.weights()
        H = J.T @ J
        H.flat[:: len(H) + 1] += weight
        return H, J.T @ self.residuals(readings) - weight * theta

    def theta(self) -> Array:
        """Return (vec L, l)."""
        return np.append(self.L.ravel(), self.load)

    def weights(self) -> Array:
        """Return the diagonal of Lambda."""
        load = min(self.precision[1], 1e100)
        return np.append(np.full(self.L.size, self.precision[0]), load)

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
            X.flat[:: len(X) + 1] += mu * diagonal + 1e-13 * diagonal[:-1].max()
            try:
                found = self._moved(cho_solve(cho_factor(X, overwrite_a=True, check_finite=False), g))
                new = found.objective(readings)
            except LinAlgError:
                new = math.inf
            if new < old:
                steps = self.steps + 1 if new < (1.0 - _CONVERGED) * old else _MAX_STEPS
                return evolve(found, mu=max(mu / 10.0, 1e-9), steps=steps)
            mu *= 8.0
        return evolve(self, steps=_MAX_STEPS)

    def _moved(self, change: Array) -> Fit:
        load = self.load + float(change[-1]) if math.isfinite(self.precision[1]) else 0.0
        return evolve(self, L=self.L + change[:-1].reshape(self.L.shape), load=load)


def jacobian(L: Array, readings: Readings) -> Array:
    """Return J with the rows (z_i x L'z_i, h_i), shape (n, d k + 1)."""
    Z = readings.Z
    J = (Z[:, :, None] * (Z @ L)[:, None, :]).reshape(len(Z), -1)
    return np.concatenate([J, readings.h[:, None]], axis=1)


def rotations(L: Array) -> Array:
    """Return the directions vec(L S) with S' = -S, in which L turns and A stays, shape (d k + 1, k (k - 1) / 2).

    They are known, in the sense that P has nothing there: the expansion of second order would take a turn for a change.
    """
    d, k = L.shape
    one, other = np.triu_indices(k, 1)
    turns, index = np.zeros((d, k, len(one))), np.arange(len(one))
    turns[:, one, index], turns[:, other, index] = L[:, other], -L[:, one]
    return np.concatenate([turns.reshape(d * k, -1), np.zeros((1, len(one)))])


class Moments(NamedTuple):
    """Mean of a reading, its variance without noise, its gradient j, and P j."""

    mean: float
    variance: float
    j: Array
    Pj: Array


@register("FactorPosterior")
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
        s2 = max(fit.noise2(readings), 1e-300)
        H, _ = evolve(fit, s2=s2).system(readings)
        turns = rotations(fit.L)
        H += (turns * (np.trace(H[:-1, :-1]) / np.square(fit.L).sum())) @ turns.T
        unit = 1.0 / np.sqrt(np.diag(H))
        try:
            P = np.linalg.inv(H * unit * unit[:, None] + _ROUND_OFF * np.eye(len(H)))
        except LinAlgError:
            P = np.eye(len(H))
        freedom = max(len(readings.y) - fit.unknowns, 1)
        return cls(evolve(fit, s2=s2), s2 * P * unit * unit[:, None], s2 * freedom, float(freedom))

    @property
    def noise2(self) -> float:
        """The estimate of the variance of the noise."""
        return self.squares / self.freedom

    def moments(self, z: Array, h: float) -> Moments:
        """Return what is known of a reading, by the second-order expansion."""
        L, P = self.fit.L, self.P
        d, k = L.shape
        a = L.T @ z
        j = np.append(np.outer(z, a).ravel(), h)
        Pj = P @ j
        G = (z @ P[:-1, :-1].reshape(d, -1)).reshape(k, d, k).transpose(0, 2, 1) @ z
        mean = 0.5 * float(a @ a + np.trace(G)) + h * self.fit.load
        return Moments(mean, max(float(j @ Pj), 0.0) + 0.5 * float(np.square(G).sum()), j, Pj)

    def covariances(self, U: Array) -> tuple[Array, Array]:
        """Return var(1/2 u'Au) and Cov(A, 1/2 u'Au), to first order in L, for u of shape (m, d)."""
        L, count = self.fit.L, len(U)
        J = (U[:, :, None] * (U @ L)[:, None, :]).reshape(count, -1)
        JP = J @ self.P[:-1, :-1]
        X = JP.reshape(count, *L.shape) @ L.T
        return np.maximum(np.vecdot(JP, J), 0.0), X + X.transpose(0, 2, 1)

    def image(self, w: Array) -> Array:
        """Return the covariance of A w = L L'w, to first order in L."""
        L, d = self.fit.L, len(w)
        B = (np.eye(d)[:, :, None] * (w @ L) + w[:, None] * L[:, None, :]).reshape(d, -1)
        return np.asarray(B @ self.P[:-1, :-1] @ B.T)

    def learn(self, z: Array, y: float, h: float) -> Factor:
        """Return the posterior after a further reading."""
        mean, variance, _, Pj = self.moments(z, h)
        total = variance + self.noise2
        error = y - mean
        fit = self.fit._moved(Pj * (error / total))
        expected = error * error * self.noise2 / total  # what of the error is noise
        squares = self.squares + min(expected, SURPRISE**2 * self.noise2)
        return evolve(self, fit=fit, P=self.P - np.outer(Pj, Pj / total), squares=squares, freedom=self.freedom + 1.0)
