"""The average over the noise and the scale against quadrature; `test_posterior` tests it against dense algebra."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from soqo.estimators.bayes._marginal_likelihood import (
    KNOWN_NOISE_DEVIATION,
    KNOWN_NOISE_RANGE,
    LOG_SCALE_DEVIATION,
    LOG_SCALES,
    MIN_NOISE,
    NOISE_PRIOR_EXPONENT,
    MarginalLikelihood,
    averages,
)
from soqo.typing import Array


def likelihood(**fields: Any) -> MarginalLikelihood:
    """Return the likelihood of runs with these fields, and without bounds on the noise and the scale."""
    runs = len(fields["D"])
    defaults = {
        "noise_cap": np.full(runs, np.inf),
        "known_noise": np.full(runs, np.nan),
        "scale_deviation": np.full(runs, LOG_SCALE_DEVIATION),
    }
    return MarginalLikelihood(**(defaults | fields))


def one_run(n: int, noise: float, seed: int = 0, p: int = 3, **fields: float) -> MarginalLikelihood:
    """Return the likelihood of one run with n readings of this noise, for s = 1."""
    rng = np.random.default_rng([6, seed, n])
    D, c0 = math.sqrt(n) * rng.uniform(0.3, 3.0, p), rng.standard_normal(p)
    D[n:], c0[n:] = 0.0, 0.0
    c = c0 + D * rng.standard_normal(p) + np.where(D > 0.0, noise, 0.0) * rng.standard_normal(p)
    c *= D > 0.0
    rest = float(np.square(noise * rng.standard_normal(max(n - p, 0))).sum())
    largest = float(np.abs(c).max())
    arrays = {name: np.array([value]) for name, value in fields.items()}
    return likelihood(
        D=D[None],
        c=c[None],
        c0=c0[None],
        rest=np.array([rest]),
        readings=np.array([float(n)]),
        max_abs_reading=np.array([largest]),
        **arrays,
    )


def top_of(run: MarginalLikelihood) -> float:
    """Return the logarithm of the largest noise."""
    known = float(run.known_noise[0])
    largest = 2.0 * float(run.max_abs_reading[0]) if math.isnan(known) else KNOWN_NOISE_RANGE * known
    return math.log(max(min(largest, float(run.noise_cap[0])), MIN_NOISE))


def log_prior(run: MarginalLikelihood, log_noise: Array) -> Array:
    """Return the logarithm of the prior density of log sigma, normalized."""
    known = float(run.known_noise[0])

    def density(x: Array) -> Array:
        if math.isnan(known):
            return NOISE_PRIOR_EXPONENT * x
        return np.asarray(-0.5 * np.square(np.minimum(x - math.log(known), 0.0) / KNOWN_NOISE_DEVIATION))

    fine = top_of(run) + np.linspace(-200.0, 0.0, 200_001)
    return density(log_noise) - math.log(np.trapezoid(np.exp(density(fine)), fine))


def quadrature(run: MarginalLikelihood) -> dict[str, Any]:
    """Return the average of one run over 20,000 values of log sigma and over the scales, from normal densities."""
    x = top_of(run) - math.log(4.0) * np.linspace(20.0, 0.0, 20_001)
    D, c, c0 = run.D[0], run.c[0], run.c0[0]
    sigma = np.exp(x)
    surplus = float(run.readings[0]) - D.size
    residual = -0.5 * run.rest[0] / sigma**2 - surplus * (x + 0.5 * math.log(2.0 * math.pi))
    scale_weights = stats.norm.pdf(LOG_SCALES, scale=run.scale_deviation[0])
    logs, means, variances = [], [], []
    for log_s, weight in zip(LOG_SCALES, scale_weights / scale_weights.sum(), strict=True):
        s = math.exp(log_s)
        prior, noise = (s * D) ** 2, sigma[:, None] ** 2
        explained = stats.norm.logpdf(c, s * c0, np.sqrt(prior + noise)).sum(axis=1)
        logs.append(explained + residual + log_prior(run, x) + math.log(weight))
        means.append(s**2 * D / (prior + noise) * (c - s * c0))
        variances.append(s**2 * noise / (prior + noise))
    log_density = np.array(logs)
    density = np.exp(log_density - log_density.max())

    def integrate(values: Array) -> Any:
        return np.trapezoid((density[..., None] * values).sum(axis=0), x, axis=0) / total

    total = float(np.trapezoid(density.sum(axis=0), x))
    return {
        "mean": integrate(np.array(means)),
        "variance": integrate(np.array(variances)),
        "scale": integrate(np.exp(LOG_SCALES)[:, None, None])[0],
        "noise": math.exp(integrate(np.broadcast_to(x[:, None], (9, x.size, 1)))[0]),
        "log_evidence": math.log(total) + log_density.max(),
    }


def assert_average(run: MarginalLikelihood, guess: float, share: float, spread: float | None = None) -> None:
    """Assert that averages agree with quadrature: logarithms and means up to a share of one and of a deviation.

    Variances, which are proportional to the square of the noise, agree up to their relative error ``spread``.
    """
    exact = quadrature(run)
    found = run.average(np.array([guess]))
    deviations = np.sqrt(exact["variance"])
    np.testing.assert_array_less(np.abs(found.mean[0] - exact["mean"]), share * deviations + 1e-12)
    np.testing.assert_allclose(found.variance[0], exact["variance"], rtol=share if spread is None else spread)
    np.testing.assert_allclose(found.scale[0], exact["scale"], rtol=share)
    assert math.log(found.noise[0]) == pytest.approx(math.log(exact["noise"]), abs=share)
    assert found.log_evidence[0] == pytest.approx(exact["log_evidence"], abs=share)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [10, 20, 40, 100, 300])
def test_with_many_readings_the_average_is_that_of_quadrature(n: int, seed: int) -> None:
    run = one_run(n, 0.3, seed)
    exact = float(quadrature(run)["noise"])
    # The density of log sigma has a deviation of 1 / sqrt(2 n), and sums over a few points per deviation converge
    # exponentially fast. The last estimate is off by up to two deviations.
    for factor in (0.9, 1.0, 1.05):
        assert_average(run, factor * exact, 0.003)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [4, 5, 6])
def test_with_few_readings_the_average_is_that_of_quadrature(n: int, seed: int) -> None:
    # The density has a long tail towards large noise, and a kink at the largest noise.
    assert_average(one_run(n, 0.3, seed), math.nan, 0.02)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [1, 2, 3])
def test_with_fewer_readings_than_unknowns_the_average_is_near_that_of_quadrature(n: int, seed: int) -> None:
    # The density extends over all of the noise, from 1e-12 of the largest reading on, in steps of 0.7. At the largest
    # noise it ends with half a step too much, and this half a step dominates the variance.
    assert_average(one_run(n, 0.3, seed), math.nan, 0.5, spread=0.6)


@pytest.mark.parametrize("noise", [0.01, 0.3, 1.0])
def test_with_known_noise_the_average_is_near_that_of_quadrature(noise: float) -> None:
    # Half a step too much at the largest noise, where the density is largest if the readings have more noise.
    assert_average(one_run(8, noise, known_noise=0.3, scale_deviation=0.5), math.nan, 0.3)


@pytest.mark.parametrize("factor", [1e-9, 1e-2, 0.3, 4.0, 1e9])
def test_a_wrong_guess_of_the_noise_is_corrected(factor: float) -> None:
    run = one_run(60, 0.3)
    # The points of the grid are up to three deviations apart where the guess is off by several steps.
    assert_average(run, factor * float(quadrature(run)["noise"]), 0.2)


@pytest.mark.parametrize("guess", [math.nan, 0.3])
def test_the_noise_is_at_most_its_cap_and_twice_the_known_noise(guess: float) -> None:
    for cap, known in ((0.05, math.nan), (math.inf, 0.025), (0.05, 1.0)):
        for n in (1, 4, 40):
            found = one_run(n, 0.3, noise_cap=cap, known_noise=known).average(np.array([guess]))
            assert found.noise[0] <= 0.05 * (1.0 + 1e-12)
        # Forty readings of larger noise leave no doubt about the bound.
        assert found.noise[0] == pytest.approx(0.05, rel=0.01)


def test_averages_over_many_runs_are_those_of_each_run() -> None:
    rng = np.random.default_rng(6)
    runs, p = 150, 3  # more than two chunks of 64
    together = likelihood(
        D=rng.uniform(0.1, 5.0, (runs, p)),
        c=rng.standard_normal((runs, p)),
        c0=rng.standard_normal((runs, p)),
        rest=rng.uniform(0.0, 2.0, runs),
        readings=np.tile(np.arange(1.0, 11.0), 15),
        max_abs_reading=rng.uniform(0.5, 2.0, runs),
        noise_cap=np.where(rng.random(runs) < 0.3, 0.4, np.inf),
        known_noise=np.where(rng.random(runs) < 0.3, 0.2, np.nan),
        scale_deviation=rng.uniform(0.5, 3.0, runs),
    )
    guess = np.where(rng.random(runs) < 0.5, rng.uniform(0.01, 1.0, runs), np.nan)
    averages = together.average(guess)
    for k in (0, 1, 2, 63, 64, 127, 128, 149):
        fields = {item.name: getattr(together, item.name)[k : k + 1] for item in dataclasses.fields(together)}
        alone = MarginalLikelihood(**fields).average(guess[k : k + 1])
        for ours, single in zip(averages, alone, strict=True):
            np.testing.assert_allclose(ours[k], single[0], rtol=1e-12)


def test_likelihoods_that_are_averaged_together_have_the_averages_of_each_alone() -> None:
    parts = [one_run(n, 0.5, seed=n, p=p) for n, p in ((2, 3), (30, 3), (8, 5), (12, 3))]
    guesses = [np.array([guess]) for guess in (math.nan, 0.5, math.nan, math.nan)]
    for part, guess, found in zip(parts, guesses, averages(parts, guesses), strict=True):
        for value, alone in zip(found, part.average(guess), strict=True):
            np.testing.assert_array_equal(value, alone)
