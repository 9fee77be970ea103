"""The contract of a noise, one check per property."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo._model.problem import Problem, random_curvature
from soqo.checks._scenario import Scenario, expect, near, run_checks
from soqo.noise import Noise
from soqo.typing import Array


def check_noise(noise: Noise, *, dim: int = 3, seed: int = 0) -> None:
    """Check that a noise satisfies the contract of :class:`soqo.noise.Noise`.

    Parameters
    ----------
    noise : Noise
        The noise.
    dim : int
        The dimension in which to check it.
    seed : int
        The seed of the checks.

    Raises
    ------
    CheckError
        If the noise violates the contract; the message names the check.

    Examples
    --------
    >>> from soqo.noise import Uniform
    >>> check_noise(Uniform(cap=2.0))
    """
    expect(isinstance(noise, Noise), f"noise: must be a soqo.noise.Noise, got {type(noise).__name__}")
    run_checks(NOISE_CHECKS, noise, Scenario(dim=dim, seed=seed))


def _perturbations(noise: Noise, scenario: Scenario) -> Array:
    """Return the noise of many runs and rounds at random displacements, shape (runs, rounds)."""
    dim = scenario.dim
    problem = Problem(random_curvature(dim, dim, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=scenario.rng(3)))
    variates = np.stack([noise.variates(scenario.rng(6, k), 32) for k in range(500)])
    u = scenario.rng(7).standard_normal((500, 32, dim))
    return np.stack([noise.perturb(variates[:, t], u[:, t], problem) for t in range(32)], axis=1)


def _check_bound(noise: Noise, scenario: Scenario) -> None:
    """Check that noise has the shape of its batch and does not exceed its bound."""
    problem = Problem(np.eye(scenario.dim))
    for batch in ((), (4,), (2, 3)):
        drawn = np.asarray(noise.perturb(np.zeros(batch), np.ones((*batch, scenario.dim)), problem))
        expect(drawn.shape == batch, f"noise must have shape {batch}, got {drawn.shape}")
    largest = float(np.abs(_perturbations(noise, scenario)).max())
    expect(largest <= noise.bound, f"noise must stay within its bound {noise.bound:g}, got {largest:g}")


def _check_draws(noise: Noise, scenario: Scenario) -> None:
    """Check that the same generator gives the same variates, and that the first do not depend on the horizon."""
    one, other, longer = (noise.variates(scenario.rng(0), n) for n in (20, 20, 64))
    expect(one.shape == (20,), f"variates must have shape (20,), got {one.shape}")
    expect(np.array_equal(one, other), "two draws from the same seed differ")
    expect(np.array_equal(one, longer[:20]), "the first variates depend on the horizon")


def _check_moments(noise: Noise, scenario: Scenario) -> None:
    """Check that a declared martingale has mean zero, and that the declared variance is the sample's."""
    drawn = _perturbations(noise, scenario)
    if noise.is_martingale:
        expect(near(drawn.mean(axis=1), np.zeros(())), "the mean of the noise is not zero")
    if noise.variance is not None:
        spread = np.square(drawn - drawn.mean()).mean(axis=1)
        expect(
            near(spread, np.asarray(noise.variance)),
            f"the variance is declared as {noise.variance:g}, got {spread.mean():g}",
        )


NOISE_CHECKS: tuple[Callable[[Noise, Scenario], None], ...] = (_check_bound, _check_draws, _check_moments)
"""The checks that :func:`check_noise` runs."""
