"""Three tests of about a second in all: a simulation, an estimate and a journal, each against an independent value."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soqo._control.controller import Controller
from soqo._model.problem import Problem
from soqo._simulation.environment import Environment
from soqo._simulation.simulate import simulate
from soqo.estimators import trace_bound, trace_min
from soqo.noise import Uniform
from soqo.policies import GLIDE, LAI
from soqo.processes import Gaussian


@dataclass(frozen=True)
class Check:
    """The result of one test.

    Attributes
    ----------
    name : str
        What was tested.
    passed : bool
        Whether it works.
    message : str
        The numbers that were compared, or the error.
    seconds : float
        The time that it took.
    """

    name: str
    passed: bool
    message: str
    seconds: float


def run_all_checks() -> list[Check]:
    """Return the results of all tests; an exception is a result, too."""
    tests = {"simulation": check_simulation, "estimate": check_estimate, "journal": check_journal}
    return [run_check(name, test) for name, test in tests.items()]


def run_check(name: str, test: Callable[[], tuple[bool, str]]) -> Check:
    """Run a test, and report an exception as its result.

    Parameters
    ----------
    name : str
        What is tested.
    test : callable
        Returns whether it works, and what was compared.
    """
    start = time.perf_counter()
    try:
        passed, message = test()
    except Exception as error:  # a doctor reports every illness
        passed, message = False, f"{type(error).__name__}: {error}"
    return Check(name, passed, message, time.perf_counter() - start)


def check_simulation() -> tuple[bool, str]:
    """Compare the regret of an estimate in 2,000 simulated runs with a dense sum of squares, which needs no simulation.

    The expected regret of LAI with a wrong A is the sum over rounds of 1/2 |x_t - x*_t|^2 in the norm of C_t^(-1). Here
    it follows from the covariance of x - v, by matrix products.
    """
    A, wrong, horizon, runs = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.5]]), 30, 2000
    environment = Environment(Problem(A), Gaussian(scale=1.0), Uniform(cap=1.0))
    result = simulate(environment, {"wrong": LAI(wrong)}, horizon=horizon, runs=runs, seed=0)
    sample = result.regret("wrong", form="low_variance")[:, -1]
    covariance, expected, gain, following = np.zeros((2, 2)), 0.0, [], [np.eye(2), np.eye(2)]
    for _ in range(horizon):  # the recursion of the paper, from the last round to the first
        following = [np.linalg.inv(2.0 * np.eye(2) + M - C) for M, C in zip((A, wrong), following, strict=True)]
        gain.append(following)
    for true, played in reversed(gain):
        before = covariance + np.eye(2)  # of x_prev - v after a step of v
        difference = played - true
        expected += 0.5 * float(np.trace(np.linalg.inv(true) @ difference @ before @ difference.T))
        covariance = played @ before @ played.T
    error = float(sample.std() / np.sqrt(runs))
    message = f"regret {sample.mean():.4f} +- {error:.4f} in {runs} runs, {expected:.4f} by matrix products"
    return bool(abs(sample.mean() - expected) < 5.0 * error), message


def check_estimate() -> tuple[bool, str]:
    """Recover a matrix of rank 1 from exact readings, and recompute the certificate from the data."""
    rng = np.random.default_rng(0)
    factor = np.array([1.0, -2.0, 0.5, 1.5])
    A, Z = np.outer(factor, factor), rng.standard_normal((20, 4))
    y = 0.5 * (Z @ factor) ** 2
    radius = 1e-3 * float(y.sum())
    estimate = trace_min(Z, y, radius)
    bound = trace_bound(Z, y, radius=radius, multipliers=estimate.multipliers)
    trace, error = float(np.trace(estimate.matrix)), float(np.abs(estimate.matrix - A).max())
    residual = float(np.abs(0.5 * np.einsum("mi,ij,mj->m", Z, estimate.matrix, Z) - y).sum())
    fits = residual <= radius * (1.0 + 1e-9) and bound <= trace <= bound * (1.0 + 1e-5)
    message = f"trace {trace:.6f}, at least {bound:.6f} by its certificate; largest error {error:.1e}"
    return bool(fits and error < 0.05), message


def check_journal() -> tuple[bool, str]:
    """Steer with a journal, restart in the middle of a round, and compare with an undisturbed controller."""
    v = np.cumsum(np.random.default_rng(0).standard_normal((40, 2)), axis=0)

    def play(controller: Controller, first: int, last: int) -> None:
        for target in v[first:last]:
            x = controller.act(target)
            controller.observe(float((x - target) @ (x - target)))

    undisturbed = Controller(GLIDE(), np.zeros(2))
    play(undisturbed, 0, 40)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "doctor.journal")
        controller = Controller(GLIDE(), np.zeros(2), journal=path)
        play(controller, 0, 20)
        pending = controller.act(v[20])
        resumed = Controller.resume(path)  # takes the journal over, as a restart would
        same = resumed.pending is not None and bool((resumed.pending == pending).all())
        resumed.observe(float((pending - v[20]) @ (pending - v[20])))
        play(resumed, 21, 40)
        same = same and bool((resumed.x == undisturbed.x).all())
        resumed.close()
    return same, f"round 40 after a restart in round 21 {'is' if same else 'is not'} that without one, bit for bit"
