"""Plants and meters with wrong readings, for the tests of GLIDE's beliefs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soqo import GLIDE, Controller, Environment, RandomProblem, simulate
from soqo.meters import Meter, Transmission
from soqo.noise import Uniform
from soqo.processes import Cauchy
from soqo.processes import Gaussian as GaussianSteps
from soqo.typing import Array

FULL = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), GaussianSteps(50.0), Uniform(10.0))
QUIET = Environment(RandomProblem(2, 2, min_eigenvalue=0.5, max_eigenvalue=2.0), GaussianSteps(3.0), Uniform(0.1))
JUMPS = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Cauchy(1.0), Uniform(1.0))


@dataclass(frozen=True)
class WrongReadings(Meter):
    """A meter with wrong readings in some rounds: run k has the rounds and the value of case k, and so on again."""

    cases: tuple[tuple[tuple[int, ...], float], ...]
    missing: bool = False

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Replace the readings, or drop them."""
        cases = [self.cases[run % len(self.cases)] for run in range(y.size)]
        wrong = [transmission.t in rounds for rounds, _ in cases]
        return np.where(wrong, [np.nan if self.missing else value for _, value in cases], y)


def simulate_both(policy: GLIDE, environment: Environment, meters: tuple[Meter, Meter], horizon: int, runs: int) -> Any:
    """Return the results of two meters."""
    return tuple(
        simulate(replace(environment, meters=(meter,)), {"G": policy}, horizon=horizon, runs=runs, seed=0)["G"]
        for meter in meters
    )


def missing_and_wrong(*cases: tuple[tuple[int, ...], float]) -> tuple[Meter, Meter]:
    return WrongReadings(cases, missing=True), WrongReadings(cases)


def steer(rounds: int, wrong: dict[int, float]) -> Controller:
    """Return the controller of a plant with little noise after some rounds, some of them with wrong readings."""
    rng = np.random.default_rng(0)
    A, v = np.diag([2.0, 0.5]), np.zeros(2)
    controller = Controller(GLIDE(), x0=v)
    for t in range(1, rounds + 1):
        v = v + 3.0 * rng.standard_normal(2)
        u = controller.act(v) - v
        noise = rng.uniform(-0.1, 0.1)
        controller.observe(wrong.get(t, float(0.5 * u @ A @ u + noise)))
    return controller


def estimates(controller: Controller, y: Any, rounds: int) -> list[Array]:
    """Return the estimates after some more rounds, whose readings a function of the hitting cost falsifies."""
    rng, A, v = np.random.default_rng(1), np.diag([2.0, 0.5]), np.zeros(2)
    found = [controller.diagnostics()["estimate"]]
    for _ in range(rounds):
        v = v + 3.0 * rng.standard_normal(2)
        u = controller.act(v) - v
        controller.observe(y(float(0.5 * u @ A @ u)))
        found.append(controller.diagnostics()["estimate"])
    return found
