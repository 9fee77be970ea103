r"""The posterior of A = L L' with a factor L of few columns.

The reading is y = 1/2 |L'z|^2 + noise, whose derivative with respect to L is z (L'z)'. Between two fits, a second-order
Kalman filter updates L and its covariance in O((dk)^2). The second-order terms matter as long as L is not known well: E
1/2 |L'z|^2 is larger than 1/2 |E L'z|^2 by half the trace of the covariance of L'z.

A fit by the method of Levenberg and Marquardt uses all rows. It takes one step at a time, so that its cost can be
spread over several rounds. A step follows the parabola with the curvature of the readings, since the sum of squares has
narrow bent valleys if some readings are far larger than others. For the same reason a fit has two stages. In the first
one a reading leaves open a share of |z|^2, beside the noise: that by which readings miss the factor so far. It becomes
smaller as the fit proceeds, and in the second stage there is none.

The entries of L have a normal prior around zero, a few times as wide as those of the first factor: where readings are
little more than noise, they determine fewer directions than there are rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.typing import Array

_FIRST_DAMPING, _NEAR_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e-6, 1e-12, 1e6
"""Damping relative to the diagonal of J'J: of a first fit, of one that begins near its end, the least and the most."""

_CONVERGED = 1e-5
"""A step that reduces the sum of squares by a smaller share is the last one."""

_FIRST_STEPS, _MAX_STEPS = 40, 70
"""The largest number of steps of the first stage of a fit, and of both stages. After these only the last step is left,
which computes the covariance and the noise."""

_UNEXPLAINED, _MAX_TOLERANCE, _NEGLIGIBLE_TOLERANCE = 4.0, 1e-2, 0.3
"""Noise does not explain residuals of more than this many deviations. The first stage leaves open at most this share of
the scale of A, and ends where it leaves open less than this many deviations of the noise."""

_PRIOR_RATIO = 4.0
"""The variance of the prior of an entry of L, relative to the mean square of those of the first factor."""

_ROUND_OFF = 1e-15
"""The least variance of the noise relative to the mean square of the readings, and of the prior's precision relative to
that of the readings."""

_TRIED_DAMPINGS = 3
"""How many values of the damping a round tries."""


def _with_leniency(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a factor whose fits had one stage."""
    return {**fields, "leniency": 0.0}


@register("lowrank.factored", version=2, migrations={1: _with_leniency})
@dataclass(frozen=True)
class Factored(Value):
    """The posterior.

    Attributes
    ----------
    L : Array, shape (d, k)
        The mean of the factor.
    covariance : Array, shape (d k, d k)
        The covariance of its entries in row-major order, in units of the variance of the noise.
    noise2 : float
        The variance of the noise.
    prior2 : float
        The variance of the prior of an entry of L.
    damping : float
        The damping of the fit that is under way; 0 for none.
    steps : int
        The number of steps of that fit; above the largest one, only the last step is left.
    leniency : float
        What the first stage of the fit leaves open, as a share of what noise does not explain; 0 for no such stage.
    """

    L: Array
    covariance: Array
    noise2: float
    prior2: float
    damping: float
    steps: int
    leniency: float

    @classmethod
    def start(cls, L: Array, Z: Array, y: Array, noise2: float) -> Factored:
        """Return the posterior around a factor, at the beginning of a fit.

        Parameters
        ----------
        L : Array, shape (d, k)
            The factor.
        Z, y : Array, shape (n, d) and (n,)
            The readings.
        noise2 : float
            The variance of the noise, as far as it is known.
        """
        prior2 = _PRIOR_RATIO * float(np.square(L).mean()) + 1e-300
        return cls(L, np.zeros((0, 0)), noise2, prior2, _FIRST_DAMPING, 0, 1.0)._settle(Z, y, fitting=True)

    @property
    def unknowns(self) -> int:
        """The number of unknowns: rotations of the columns of L do not change A."""
        d, k = self.L.shape
        return int(d * k - k * (k - 1) // 2)

    @property
    def determined(self) -> float:
        """The number of unknowns that the readings determine, and not the prior."""
        return self.unknowns - self.noise2 / self.prior2 * float(np.trace(self.covariance))

    @property
    def is_fitting(self) -> bool:
        """Whether a fit is under way."""
        return self.damping > 0.0

    @property
    def is_settling(self) -> bool:
        """Whether only the last step of a fit is left."""
        return self.is_fitting and self.steps >= _MAX_STEPS

    def begin_fit(self, leniency: float = 1.0) -> Factored:
        """Return the same at the beginning of another fit.

        Parameters
        ----------
        leniency : float
            What the first stage leaves open, as a share of what noise does not explain.
        """
        return evolve(self, damping=_NEAR_DAMPING, steps=0, leniency=leniency)

    def predict(self, z: Array) -> tuple[float, float]:
        """Return the reading that is expected at z, and its variance.

        Parameters
        ----------
        z : Array, shape (d,)
            The place.
        """
        w, spread = self.L.T @ z, self._spread(z)
        h = np.outer(z, w).ravel()
        variance = float(h @ self.covariance @ h) + 1.0 + 0.5 * self.noise2 * float(np.square(spread).sum())
        return 0.5 * float(w @ w) + 0.5 * self.noise2 * float(np.trace(spread)), self.noise2 * variance

    def _spread(self, z: Array) -> Array:
        """Return the covariance of L'z in units of the variance of the noise, shape (k, k)."""
        d, k = self.L.shape
        half = (z @ self.covariance.reshape(d, -1)).reshape(k, d, k)
        return np.asarray(np.einsum("iaj,a->ij", half, z))

    def deviation(self, w: Array) -> float:
        """Return the standard deviation of w'A w.

        Parameters
        ----------
        w : Array, shape (d,)
            The direction.
        """
        h, spread = np.outer(w, self.L.T @ w).ravel(), self._spread(w)
        variance = float(h @ self.covariance @ h) + 0.5 * self.noise2 * float(np.square(spread).sum())
        return 2.0 * float(np.sqrt(self.noise2 * variance))

    def update(self, z: Array, y: float) -> Factored:
        """Return the posterior after one more reading.

        Parameters
        ----------
        z : Array, shape (d,)
            The place.
        y : float
            The reading.
        """
        w, spread = self.L.T @ z, self._spread(z)
        along = self.covariance @ np.outer(z, w).ravel()
        variance = float(along @ np.outer(z, w).ravel()) + 1.0 + 0.5 * self.noise2 * float(np.square(spread).sum())
        residual = y - 0.5 * float(w @ w) - 0.5 * self.noise2 * float(np.trace(spread))
        L = self.L + (along * (residual / variance)).reshape(self.L.shape)
        return evolve(self, L=L, covariance=self.covariance - np.outer(along, along / variance))

    def fit_step(self, Z: Array, y: Array) -> Factored:
        """Return the posterior after one step of the fit.

        The last step does nothing but compute the covariance and the noise, which takes as long as another one.

        Parameters
        ----------
        Z, y : Array, shape (n, d) and (n,)
            The readings.
        """
        if self.is_settling:
            return self._settle(Z, y, fitting=False)
        is_first, weights = self._weights(Z, y)
        J, residual = self._linearize(Z, y)
        J, residual = weights[:, None] * J, weights * residual
        ridge = self.noise2 / self.prior2
        normal, slope = J.T @ J, J.T @ residual - ridge * self.L.ravel()
        normal.flat[:: len(normal) + 1] += ridge
        before = self._objective(self.L, Z, y, weights)
        units, damping = np.diag(normal) + 1e-300, self.damping
        for _ in range(_TRIED_DAMPINGS):
            damped = normal.copy()
            damped.flat[:: len(damped) + 1] += damping * units
            try:
                root = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                damping *= 100.0
                continue
            step = cho_solve(root, slope)
            bend = cho_solve(root, -J.T @ (weights * np.square(Z @ step.reshape(self.L.shape)).sum(axis=1)))
            steps = [self.L + (step + share * bend).reshape(self.L.shape) for share in (0.0, 0.5)]
            after, L = min(((self._objective(L, Z, y, weights), L) for L in steps), key=lambda found: found[0])
            if after < before:
                moved = evolve(self, L=L, damping=max(0.1 * damping, _LEAST_DAMPING))
                return moved._count_step(is_first, ended=before - after < _CONVERGED * after)
            damping *= 10.0
        return evolve(self, damping=damping)._count_step(is_first, ended=damping > _MOST_DAMPING)

    def _weights(self, Z: Array, y: Array) -> tuple[bool, Array]:
        """Return whether this is the first stage of the fit, and the roots of the weights of the readings."""
        size = 0.5 * float(np.square(self.L).sum()) / len(self.L) * np.square(Z).sum(axis=1) + 1e-300
        if self.leniency and self.steps < _FIRST_STEPS:
            residual2 = np.square(y - 0.5 * np.square(Z @ self.L).sum(axis=1))
            excess2 = np.maximum(residual2 - _UNEXPLAINED**2 * self.noise2, 0.0) / np.square(size)
            tolerance = min(self.leniency * math.sqrt(float(excess2.max(initial=0.0))), _MAX_TOLERANCE)
            if tolerance * float(size.max(initial=0.0)) > _NEGLIGIBLE_TOLERANCE * math.sqrt(self.noise2):
                open2 = self.noise2 + np.square(tolerance * size)
                return True, np.sqrt(open2.min() / open2)
        return False, np.ones(len(y))

    def _count_step(self, is_first: bool, *, ended: bool) -> Factored:
        """Return the same after a step, which may be the last one of its stage."""
        steps, limit = (self.steps, _FIRST_STEPS) if is_first else (max(self.steps, _FIRST_STEPS), _MAX_STEPS)
        if ended or steps + 1 >= limit:
            return evolve(self, steps=limit, damping=_NEAR_DAMPING)
        return evolve(self, steps=steps + 1)

    def _objective(self, L: Array, Z: Array, y: Array, weights: Array) -> float:
        """Return the sum of squares that a fit reduces: those of the residuals, and of L because of its prior."""
        residual = weights * (y - 0.5 * np.square(Z @ L).sum(axis=1))
        return float(residual @ residual) + self.noise2 / self.prior2 * float(np.square(L).sum())

    def _linearize(self, Z: Array, y: Array) -> tuple[Array, Array]:
        """Return the derivatives of the readings with respect to L, shape (n, d k), and the residuals."""
        W = Z @ self.L
        J = (Z[:, :, None] * W[:, None, :]).reshape(len(Z), -1)
        return J, y - 0.5 * np.square(W).sum(axis=1)

    def _settle(self, Z: Array, y: Array, *, fitting: bool) -> Factored:
        """Return the posterior with its covariance and, after a fit, the noise computed from all rows."""
        J, residual = self._linearize(Z, y)
        normal = J.T @ J
        unit, ridge = float(np.diag(normal).mean()) + 1e-300, self.noise2 / self.prior2
        rotations = _rotations(self.L)
        normal += unit * (rotations @ rotations.T)  # readings say nothing about them, and nothing depends on them
        normal.flat[:: len(normal) + 1] += ridge + _ROUND_OFF * unit
        root = solve_triangular(
            np.linalg.cholesky(normal), np.eye(len(normal)), lower=True, overwrite_b=True, check_finite=False
        )
        settled = evolve(self, covariance=root.T @ root)
        if fitting:
            return settled
        # Directions that the prior determines take no degree of freedom from the residuals.
        determined = self.unknowns - ridge * float(np.square(root).sum())
        noise2 = float(residual @ residual) / max(len(y) - determined, 1.0)
        noise2 = max(noise2, _ROUND_OFF * float(np.square(y).mean()), 1e-300)
        return evolve(settled, noise2=noise2, damping=0.0)


def _rotations(L: Array) -> Array:
    """Return the directions in which L changes and L L' does not, as unit vectors, shape (d k, k (k-1) / 2)."""
    d, k = L.shape
    pairs = [(i, j) for j in range(k) for i in range(j)]
    directions = np.zeros((len(pairs), d, k))
    for direction, (i, j) in zip(directions, pairs, strict=True):
        direction[:, i], direction[:, j] = L[:, j], -L[:, i]
    flat = directions.reshape(len(pairs), d * k)
    return np.asarray((flat / (np.linalg.norm(flat, axis=1, keepdims=True) + 1e-300)).T)
