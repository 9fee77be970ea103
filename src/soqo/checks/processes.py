"""The contract of a process, one check per promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo.checks.bench import Bench, expect, near, run_checks
from soqo.errors import CheckError
from soqo.processes import Process

__all__ = ["PROCESS_CHECKS", "check_process"]


def check_process(process: Process, *, dim: int = 3, seed: int = 0) -> None:
    """Check that a process keeps the contract of :class:`soqo.processes.Process`.

    Parameters as in :func:`check_policy`. A process that reads a recording needs at least 64 rounds of it.
    """
    if not isinstance(process, Process):
        raise CheckError(f"process: must be a soqo.processes.Process, got {type(process).__name__}")
    run_checks(PROCESS_CHECKS, process, Bench(dim=dim, seed=seed))


def check_process_shapes(process: Process, bench: Bench) -> None:
    """Steps have shape (horizon, d), paths (runs, horizon, d), and all numbers are finite."""
    steps = process.steps(bench.rng(0), 7, bench.dim)
    expect(
        steps.shape == (7, bench.dim) and bool(np.isfinite(steps).all()),
        "shapes",
        f"steps must be finite and of shape {(7, bench.dim)}, got {steps.shape}",
    )
    paths = process.paths([bench.rng(0)], 7, np.zeros(bench.dim))
    expect(
        paths.shape == (1, 7, bench.dim),
        "shapes",
        f"paths must have shape {(1, 7, bench.dim)}, got {paths.shape}",
    )


def check_process_repeatability(process: Process, bench: Bench) -> None:
    """The same generator gives the same steps."""
    one, other = (process.steps(bench.rng(0), 20, bench.dim) for _ in range(2))
    expect(np.array_equal(one, other), "repeatability", "two draws of one seed differ")


def check_process_prefix(process: Process, bench: Bench) -> None:
    """The first rounds do not depend on the horizon."""
    short = process.steps(bench.rng(0), 10, bench.dim)
    long = process.steps(bench.rng(0), 64, bench.dim)
    expect(np.array_equal(short, long[:10]), "prefix", "the first steps depend on the horizon")


def check_process_moments(process: Process, bench: Bench) -> None:
    """A declared martingale has steps of mean zero, uncorrelated in time; a declared covariance is the sample's."""
    covariance = process.covariance(bench.dim)
    if covariance is None:
        return  # without second moments there is no standard error to judge a mean by
    expect(
        covariance.shape == (bench.dim, bench.dim),
        "moments",
        f"covariance must have shape {(bench.dim, bench.dim)}, got {covariance.shape}",
    )
    rounds = 64
    steps = np.stack([process.steps(bench.rng(5, k), rounds, bench.dim) for k in range(2000)])
    late = steps[:, rounds // 2 :]  # past the start of a process that has to become stationary
    products = late[..., :, None] * late[..., None, :]
    expect(
        near(products.mean(axis=1), covariance),
        "moments",
        "the covariance of drawn steps is not the declared one",
    )
    if process.is_martingale:
        expect(near(steps.mean(axis=1), np.zeros(bench.dim)), "moments", "steps have a mean")
        lagged = (steps[:, 1:, :, None] * steps[:, :-1, None, :]).mean(axis=1)
        expect(
            near(lagged, np.zeros((bench.dim, bench.dim))),
            "moments",
            "declared a martingale, but successive steps are correlated",
        )


PROCESS_CHECKS: tuple[Callable[[Process, Bench], None], ...] = (
    check_process_shapes,
    check_process_repeatability,
    check_process_prefix,
    check_process_moments,
)
