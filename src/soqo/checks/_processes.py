"""The contract of a process, one check per promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo.checks._scenario import Scenario, expect, near, run_checks
from soqo.errors import CheckError
from soqo.processes import Process

__all__ = ["PROCESS_CHECKS", "check_process"]


def check_process(process: Process, *, dim: int = 3, seed: int = 0) -> None:
    """Check that a process keeps the contract of :class:`soqo.processes.Process`.

    Parameters as in :func:`check_policy`. A recording needs at least 64 rounds and, if it has
    runs, two of them.
    """
    if not isinstance(process, Process):
        raise CheckError(f"process: must be a soqo.processes.Process, got {type(process).__name__}")
    run_checks(PROCESS_CHECKS, process, Scenario(dim=dim, seed=seed))


def check_shapes(process: Process, bench: Scenario) -> None:
    """Steps have shape (horizon, d) and are finite."""
    steps = process.steps(bench.rng(0), 7, bench.dim)
    expect(
        steps.shape == (7, bench.dim) and bool(np.isfinite(steps).all()),
        "shapes",
        f"steps must be finite and of shape {(7, bench.dim)}, got {steps.shape}",
    )


def check_repeatability(process: Process, bench: Scenario) -> None:
    """The same generator gives the same steps."""
    one, other = (process.steps(bench.rng(0), 20, bench.dim) for _ in range(2))
    expect(np.array_equal(one, other), "repeatability", "two draws of one seed differ")


def check_prefix(process: Process, bench: Scenario) -> None:
    """The first rounds do not depend on the horizon."""
    short = process.steps(bench.rng(0), 10, bench.dim)
    long = process.steps(bench.rng(0), 64, bench.dim)
    expect(np.array_equal(short, long[:10]), "prefix", "the first steps depend on the horizon")


def check_paths(process: Process, bench: Scenario) -> None:
    """A run's path depends on its own generator alone: not on how many runs there are, nor on the horizon."""
    v0 = np.arange(1.0, bench.dim + 1.0)
    whole = process.paths([bench.rng(0, 0), bench.rng(0, 1)], 12, v0)
    expect(
        whole.shape == (2, 12, bench.dim),
        "paths",
        f"paths must have shape {(2, 12, bench.dim)}, got {whole.shape}",
    )
    first = process.paths([bench.rng(0, 0)], 12, v0)
    second = process.paths([bench.rng(0, 1)], 12, v0, first_run=1)
    expect(
        np.array_equal(first[0], whole[0]) and np.array_equal(second[0], whole[1]),
        "paths",
        "a run depends on how many runs there are",
    )
    short = process.paths([bench.rng(0, 0)], 5, v0)
    expect(np.array_equal(short[0], whole[0, :5]), "paths", "the first rounds depend on the horizon")


def check_moments(process: Process, bench: Scenario) -> None:
    """A declared martingale has steps of mean zero, uncorrelated in time; a declared covariance is the sample's.

    The covariance is compared once the process has had 384 rounds to become stationary, and not where single steps make
    up the sample's: then the fourth moment is infinite and the sample says nothing.
    """
    covariance = process.covariance(bench.dim)
    if covariance is None and not process.is_martingale:
        return
    steps = np.stack([process.steps(bench.rng(5, k), 512, bench.dim) for k in range(500)])
    if process.is_martingale:
        expect(near(steps.mean(axis=1), np.zeros(bench.dim)), "moments", "steps have a mean")
        lagged = (steps[:, 1:, :, None] * steps[:, :-1, None, :]).mean(axis=1)
        expect(
            near(lagged, np.zeros((bench.dim, bench.dim))),
            "moments",
            "declared a martingale, but successive steps are correlated",
        )
    if covariance is None:
        return
    expect(
        covariance.shape == (bench.dim, bench.dim),
        "moments",
        f"covariance must have shape {(bench.dim, bench.dim)}, got {covariance.shape}",
    )
    late = steps[:, 384:]
    squares = np.square(late).reshape(-1, bench.dim)
    largest_share = (squares.max(axis=0) / np.maximum(squares.sum(axis=0), 1e-300)).max()
    if largest_share > 5e-3:
        return
    products = late[..., :, None] * late[..., None, :]
    expect(
        near(products.mean(axis=1), covariance),
        "moments",
        "the covariance of drawn steps is not the declared one",
    )


PROCESS_CHECKS: tuple[Callable[[Process, Scenario], None], ...] = (
    check_shapes,
    check_repeatability,
    check_prefix,
    check_paths,
    check_moments,
)
