"""Random curvatures, estimates and covariances for all tests of the theory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from soqo.typing import Array


@dataclass(frozen=True)
class Case:
    """A curvature of some rank, an estimate of it, a covariance and a horizon."""

    A: Array
    A_hat: Array
    covariance: Array
    horizon: int
    rank: int
    sigma_min: float

    @property
    def full_rank(self) -> bool:
        """Whether A has full rank."""
        return self.rank == len(self.A)

    @property
    def operator(self) -> float:
        """The error in the operator norm."""
        return float(np.abs(np.linalg.eigvalsh(self.A_hat - self.A)).max())

    @property
    def nuclear(self) -> float:
        """The error in the nuclear norm."""
        return float(np.abs(np.linalg.eigvalsh(self.A_hat - self.A)).sum())


def random_case(rng: np.random.Generator, longest: int = 300) -> Case:
    """Return a case with d from 2 to 6, full or deficient rank, and sometimes repeated eigenvalues.

    The covariance is isotropic, general or singular. The error is 1e-3 to nearly 1 times the smallest nonzero
    eigenvalue; it is positive, negative or indefinite.
    """
    d = int(rng.integers(2, 7))
    r = d if rng.random() < 0.5 else int(rng.integers(1, d))
    values = np.zeros(d)
    values[:r] = 10.0 ** rng.uniform(-2.0, 1.0, r)
    if rng.random() < 0.3:
        values[:r] = values[0]
    A = random_rotation(rng, values)
    sigma_min = float(values[:r].min())
    error = rng.standard_normal((d, d))
    error = (error + error.T, error @ error.T, -error @ error.T)[rng.integers(3)]
    error *= 10.0 ** rng.uniform(-3.0, -0.01) * sigma_min / np.abs(np.linalg.eigvalsh(error)).sum()
    estimate = A + error
    w, V = np.linalg.eigh(estimate)
    A_hat = (V * np.maximum(w, 0.0)) @ V.T
    factor = rng.standard_normal((d, int(rng.integers(1, d + 1))))
    covariance = factor @ factor.T if rng.random() < 0.5 else np.eye(d) * rng.uniform(0.1, 10.0)
    horizon = int(rng.integers(1, longest + 1))
    return Case(A, 0.5 * (A_hat + A_hat.T), covariance, horizon, r, sigma_min)


def random_cases(count: int, seed: int = 0, longest: int = 300) -> Iterator[Case]:
    """Yield ``count`` random cases."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield random_case(rng, longest)


def random_rotation(rng: np.random.Generator, values: Array) -> Array:
    """Return a matrix with these eigenvalues and random eigenvectors."""
    Q = np.linalg.qr(rng.standard_normal((values.size, values.size)))[0]
    A = (Q * values) @ Q.T
    return np.asarray(0.5 * (A + A.T))


def rotate(A: Array, angle: float) -> Array:
    """Rotate a 2 x 2 matrix by an angle."""
    R = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    rotated = R @ A @ R.T
    return np.asarray(0.5 * (rotated + rotated.T))
