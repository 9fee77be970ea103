"""Plants and meters with wrong readings, for the tests of GLIDE's beliefs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from soqo import GLIDE, Controller, Environment, PolicyResult, RandomProblem, simulate
from soqo.meters import Meter, Transmission
from soqo.noise import Uniform
from soqo.processes import Cauchy
from soqo.processes import Gaussian as GaussianSteps
from soqo.typing import Array

FULL = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), GaussianSteps(50.0), Uniform(10.0))
QUIET = Environment(RandomProblem(2, 2, min_eigenvalue=0.5, max_eigenvalue=2.0), GaussianSteps(3.0), Uniform(0.1))
JUMPS = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Cauchy(1.0), Uniform(1.0))
CURVATURE = np.diag([2.0, 0.5])


@dataclass(frozen=True)
class Falsified(Meter):
    """A meter that is wrong in some rounds, another case in each run, and so on again.

    A case is the first round, the number of rounds, the factor of the readings in these rounds and what is added.
    """

    cases: tuple[tuple[int, int, float, float], ...]
    missing: bool = False

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Falsify the readings, or drop them."""
        start, length, factor, more = np.resize(np.array(self.cases), (y.size, 4)).T
        wrong = (start <= transmission.t) & (transmission.t < start + length)
        return np.where(wrong, np.nan if self.missing else factor * y + more, y)


def missing_and_wrong(
    environment: Environment, cases: tuple[tuple[int, int, float, float], ...], horizon: int, runs: int
) -> tuple[PolicyResult, PolicyResult]:
    """Return the results without the wrong readings, and with them."""
    missing, wrong = (
        simulate(replace(environment, meters=(meter,)), {"G": GLIDE()}, horizon=horizon, runs=runs, seed=0)["G"]
        for meter in (Falsified(cases, missing=True), Falsified(cases))
    )
    return missing, wrong


def steer(rounds: int, wrong: dict[int, float]) -> Controller:
    """Return the controller of a plant with little noise after some rounds, some of them with wrong readings."""
    rng, v = np.random.default_rng(0), np.zeros(2)
    controller = Controller(GLIDE(), x0=v)
    for t in range(1, rounds + 1):
        v = v + 3.0 * rng.standard_normal(2)
        u = controller.act(v) - v
        noise = rng.uniform(-0.1, 0.1)
        controller.observe(wrong.get(t, float(0.5 * u @ CURVATURE @ u + noise)))
    return controller


def estimates(controller: Controller, falsify: Callable[[float], float], rounds: int) -> list[Array]:
    """Return the estimates after some more rounds, whose readings a function of the hitting cost falsifies."""
    rng, v = np.random.default_rng(1), np.zeros(2)
    found = [controller.diagnostics()["estimate"]]
    for _ in range(rounds):
        v = v + 3.0 * rng.standard_normal(2)
        u = controller.act(v) - v
        controller.observe(falsify(float(0.5 * u @ CURVATURE @ u)))
        found.append(controller.diagnostics()["estimate"])
    return found
