"""Checks of formulas by simulation: what readings tell of A (Figure 2), and Proposition 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soqo._model.planner import Plan
from soqo.experiments.judgment._random_instances import DIM, near, random_curvature
from soqo.experiments.judgment._verdicts import Case, Number, Status
from soqo.processes import Gaussian, Laplace, Process
from soqo.theory import exact_regret
from soqo.typing import Array

_PATHS, _ROUNDS = 4000, 60
"""The sample paths that the formula of Proposition 1 is compared with, and their length."""


def check_signal() -> Case:
    """Measure the share of the variance of readings that the displacement explains, along both kinds of directions."""
    rng = np.random.default_rng(0)
    distance = rng.uniform(-60.0, 60.0, 2000)
    noise = rng.uniform(-10.0, 10.0, distance.size)
    shares = {
        name: float(np.corrcoef(distance**2, 0.5 * eigenvalue * distance**2 + noise)[0, 1] ** 2)
        for name, eigenvalue in (("along the eigenvector", 0.02), ("along a null direction", 0.0))
    }
    numbers = tuple(Number(f"share of the variance that is signal, {name}", v) for name, v in shares.items())
    seen, unseen = shares.values()
    return Case("r = 1, d = 2", Status.HOLDS if seen > 0.5 and unseen < 0.01 else Status.FAILS, numbers)


def check_formula() -> Iterator[Case]:
    """Compare the formula of Proposition 1 with simulated regret, for light and heavy tails and both ranks."""
    for rank in (DIM, 1):
        for process in (Gaussian(scale=1.0), Laplace(scale=1.0)):
            rng = np.random.default_rng(rank)
            A = random_curvature(rng, rank, 0.1)
            (A_hat,) = near(rng, A, 0.3, 1)
            formula = float(exact_regret(A, A_hat, covariance=process, horizon=_ROUNDS).total)
            regret = _simulate(A, A_hat, process, rng)
            error = float(regret.std(ddof=1) / np.sqrt(regret.size))
            mean = float(regret.mean())
            numbers = (
                Number("simulated regret", mean, mean - 1.96 * error, mean + 1.96 * error),
                Number("formula", formula),
            )
            status = Status.HOLDS if abs(mean - formula) < 3.0 * error else Status.FAILS
            yield Case(f"r = {rank}, d = {DIM}, {type(process).__name__} steps", status, numbers)


def _simulate(A: Array, A_hat: Array, process: Process, rng: np.random.Generator) -> Array:
    """Return the regret of LAI(A_hat) against LAI(A) on many paths."""
    steps = np.stack([process.steps(rng, _ROUNDS, DIM) for _ in range(_PATHS)])
    v = np.cumsum(steps, axis=1)

    def cost(curvature: Array) -> Array:
        x = Plan(curvature, _ROUNDS).path(np.zeros((_PATHS, DIM)), v)
        moves = np.diff(x, axis=1, prepend=0.0)
        return np.asarray(0.5 * (np.einsum("nti,ij,ntj->n", x - v, A, x - v) + (moves**2).sum(axis=(1, 2))))

    return np.asarray(cost(A_hat) - cost(A))
