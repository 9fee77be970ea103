"""The contract of a process, one check per property."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo.checks._scenario import Scenario, expect, expect_finite, near, run_checks
from soqo.processes import Process


def check_process(process: Process, *, dim: int = 3, seed: int = 0) -> None:
    """Check that a process satisfies the contract of :class:`soqo.processes.Process`.

    Parameters
    ----------
    process : Process
        The process. A recording needs at least 64 rounds and, if it has one path per run, two runs.
    dim : int
        The dimension in which to check it.
    seed : int
        The seed of the checks.

    Raises
    ------
    CheckError
        If the process violates the contract; the message names the check.

    Examples
    --------
    >>> from soqo.processes import Laplace
    >>> check_process(Laplace(scale=2.0))
    """
    expect(isinstance(process, Process), f"process: must be a soqo.processes.Process, got {type(process).__name__}")
    run_checks(PROCESS_CHECKS, process, Scenario(dim=dim, seed=seed))


def _check_shapes(process: Process, scenario: Scenario) -> None:
    """Check that steps have shape (horizon, d) and are finite."""
    steps = process.steps(scenario.rng(0), 7, scenario.dim)
    expect_finite("steps", steps, (7, scenario.dim))


def _check_repeatability(process: Process, scenario: Scenario) -> None:
    """Check that the same generator gives the same steps."""
    one, other = (process.steps(scenario.rng(0), 20, scenario.dim) for _ in range(2))
    expect(np.array_equal(one, other), "two draws from the same seed differ")


def _check_prefix(process: Process, scenario: Scenario) -> None:
    """Check that the first rounds do not depend on the horizon."""
    short = process.steps(scenario.rng(0), 10, scenario.dim)
    long = process.steps(scenario.rng(0), 64, scenario.dim)
    expect(np.array_equal(short, long[:10]), "the first steps depend on the horizon")


def _check_paths(process: Process, scenario: Scenario) -> None:
    """Check that a run's path depends on its own generator only, not on the number of runs or the horizon."""
    v0 = np.arange(1.0, scenario.dim + 1.0)
    both = process.paths([scenario.rng(0, 0), scenario.rng(0, 1)], 12, v0=v0)
    expected = (2, 12, scenario.dim)
    expect(both.shape == expected, f"paths must have shape {expected}, got {both.shape}")
    first = process.paths([scenario.rng(0, 0)], 12, v0=v0)
    second = process.paths([scenario.rng(0, 1)], 12, v0=v0, first_run=1)
    expect(
        np.array_equal(first[0], both[0]) and np.array_equal(second[0], both[1]), "a run depends on the number of runs"
    )
    short = process.paths([scenario.rng(0, 0)], 5, v0=v0)
    expect(np.array_equal(short[0], both[0, :5]), "the first rounds depend on the horizon")


def _check_moments(process: Process, scenario: Scenario) -> None:
    """Check that martingales have uncorrelated steps of mean zero, and that the declared covariance is the sample's.

    The covariance is compared after 384 rounds, in which a process can become stationary. It is not compared if single
    steps dominate the sample covariance: the fourth moment is infinite then, and the sample is not informative.
    """
    dim = scenario.dim
    covariance = process.covariance(dim)
    if covariance is None and not process.is_martingale:
        return
    steps = np.stack([process.steps(scenario.rng(5, k), 512, dim) for k in range(500)])
    if process.is_martingale:
        expect(near(steps.mean(axis=1), np.zeros(dim)), "the mean of the steps is not zero")
        lagged = (steps[:, 1:, :, None] * steps[:, :-1, None, :]).mean(axis=1)
        expect(near(lagged, np.zeros((dim, dim))), "declared a martingale, but successive steps are correlated")
    if covariance is None:
        return
    expect(covariance.shape == (dim, dim), f"covariance must have shape {(dim, dim)}, got {covariance.shape}")
    late = steps[:, 384:]
    squares = np.square(late).reshape(-1, dim)
    largest_share = (squares.max(axis=0) / np.maximum(squares.sum(axis=0), 1e-300)).max()
    if largest_share > 5e-3:
        return
    products = late[..., :, None] * late[..., None, :]
    expect(near(products.mean(axis=1), covariance), "the covariance of the steps is not the declared one")


PROCESS_CHECKS: tuple[Callable[[Process, Scenario], None], ...] = (
    _check_shapes,
    _check_repeatability,
    _check_prefix,
    _check_paths,
    _check_moments,
)
"""The checks that :func:`check_process` runs."""
