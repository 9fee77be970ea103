"""The contract of a noise, one check per promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo._problem import Problem, random_curvature
from soqo.checks._scenario import Scenario, expect, near, run_checks
from soqo.errors import CheckError
from soqo.noise import Noise
from soqo.typing import Array

__all__ = ["NOISE_CHECKS", "check_noise"]


def check_noise(noise: Noise, *, dim: int = 3, seed: int = 0) -> None:
    """Check that a noise keeps the contract of :class:`soqo.noise.Noise`. Parameters as in :func:`check_policy`."""
    if not isinstance(noise, Noise):
        raise CheckError(f"noise: must be a soqo.noise.Noise, got {type(noise).__name__}")
    run_checks(NOISE_CHECKS, noise, Scenario(dim=dim, seed=seed))


def perturbations(noise: Noise, bench: Scenario) -> Array:
    """The noise of many runs and rounds at random places, shape (runs, rounds)."""
    problem = Problem(random_curvature(bench.dim, bench.dim, 0.5, 2.0, rng=bench.rng(3)))
    variates = np.stack([noise.variates(bench.rng(6, k), 32) for k in range(500)])
    places = bench.rng(7).standard_normal((500, 32, bench.dim))
    rounds = [noise.perturb(variates[:, t], places[:, t], problem) for t in range(32)]
    return np.stack(rounds, axis=1)


def check_cap(noise: Noise, bench: Scenario) -> None:
    """Noise has the shape of its batch, and never exceeds the cap."""
    problem = Problem(np.eye(bench.dim))
    for batch in ((), (4,), (2, 3)):
        drawn = np.asarray(noise.perturb(np.zeros(batch), np.ones((*batch, bench.dim)), problem))
        expect(drawn.shape == batch, "cap", f"noise must have shape {batch}, got {drawn.shape}")
    largest = float(np.abs(perturbations(noise, bench)).max())
    expect(largest <= noise.cap, "cap", f"noise must stay within cap = {noise.cap:g}, got {largest:g}")


def check_draws(noise: Noise, bench: Scenario) -> None:
    """The same generator gives the same variates, and the first do not depend on the horizon."""
    one, other, longer = (noise.variates(bench.rng(0), n) for n in (20, 20, 64))
    expect(one.shape == (20,), "draws", f"variates must have shape (20,), got {one.shape}")
    expect(np.array_equal(one, other), "draws", "two draws of one seed differ")
    expect(np.array_equal(one, longer[:20]), "draws", "the first variates depend on the horizon")


def check_moments(noise: Noise, bench: Scenario) -> None:
    """Noise that is declared a martingale has mean zero; a declared variance is the sample's."""
    drawn = perturbations(noise, bench)
    if noise.is_martingale:
        expect(near(drawn.mean(axis=1), np.zeros(())), "moments", "noise has a mean")
    if noise.variance is not None:
        spread = np.square(drawn - drawn.mean()).mean(axis=1)
        expect(
            near(spread, np.asarray(noise.variance)),
            "moments",
            f"the variance is declared as {noise.variance:g}, got {spread.mean():g}",
        )


NOISE_CHECKS: tuple[Callable[[Noise, Scenario], None], ...] = (
    check_cap,
    check_draws,
    check_moments,
)
