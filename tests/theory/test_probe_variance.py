"""The optimal variance of the probes, and the rates at which regret grows: 1/2, 2/3 and 1/3."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import random_rotation

from soqo import Environment, Problem, SCaLE, simulate
from soqo.errors import ArgumentError
from soqo.noise import Adversarial, Uniform
from soqo.processes import Cauchy, Gaussian
from soqo.theory import (
    exact_scale_regret,
    expected_scale_regret,
    growth_exponent,
    optimal_gamma2,
)
from soqo.typing import Array

FULL = np.diag([1.0, 2.0, 3.0])
DEFICIENT = np.diag([1.0, 0.0, 0.0])
HORIZONS = (1_000, 4_000, 16_000, 64_000)
DRAWS = 32


def regrets(A: Array, variances: list[float], covariance: float, noise: float, m: int) -> tuple[Any, Any]:
    """Return the expected regret for each horizon and draw, and its irreducible part."""
    totals, irreducible = [], []
    for horizon, gamma2 in zip(HORIZONS, variances, strict=True):
        found = expected_scale_regret(gamma2, A, covariance=covariance, horizon=horizon, m=m, noise=noise, draws=DRAWS)
        totals.append(found.draws[0])
        irreducible.append(
            exact_scale_regret(A, A, covariance=covariance, horizon=horizon, m=m, gamma2=gamma2).irreducible
        )
    return np.stack(totals), np.array(irreducible)[:, None]


@pytest.mark.parametrize(("covariance", "noise"), [(2500.0, 10.0), (1.0, 1.0)])
def test_the_papers_schedule_grows_as_the_root_of_T_in_full_rank(covariance: float, noise: float) -> None:
    policy = SCaLE(noise, rank=3, min_eigenvalue=1.0)
    variances = [policy.probe_variance(3, T) for T in HORIZONS]
    totals, _ = regrets(FULL, variances, covariance, noise, policy.exploration_rounds(3))
    found = growth_exponent(HORIZONS, totals)
    assert found.high <= 0.505


@pytest.mark.parametrize(("covariance", "noise"), [(2500.0, 10.0), (1.0, 1.0)])
def test_the_papers_schedule_grows_as_T_to_two_thirds_in_deficient_rank(covariance: float, noise: float) -> None:
    policy = SCaLE(noise, rank=1, min_eigenvalue=1.0, c1=10.0)
    variances = [policy.probe_variance(3, T) for T in HORIZONS]
    totals, _ = regrets(DEFICIENT, variances, covariance, noise, policy.exploration_rounds(3))
    found = growth_exponent(HORIZONS, totals)
    assert found.exponent <= 0.67
    assert found.low > 0.4  # regret still grows


def test_the_optimal_variance_grows_as_the_cube_root_of_T_and_so_does_regret() -> None:
    """Regret without its irreducible part, which is a constant: m/2 <Sigma, C>."""
    covariance, noise, m = 2500.0, 10.0, 27
    variances = [optimal_gamma2(FULL, covariance, horizon=T, m=m, noise=noise, draws=DRAWS) for T in HORIZONS]
    totals, irreducible = regrets(FULL, variances, covariance, noise, m)
    assert growth_exponent(HORIZONS, variances).exponent == pytest.approx(1 / 3, abs=0.03)
    found = growth_exponent(HORIZONS, totals - irreducible)
    assert found.exponent == pytest.approx(1 / 3, abs=0.03)
    assert growth_exponent(HORIZONS, totals).exponent < found.exponent
    policy = SCaLE(noise, rank=3, min_eigenvalue=1.0)
    printed, _ = regrets(FULL, [policy.probe_variance(3, T) for T in HORIZONS], covariance, noise, m)
    assert (totals.mean(axis=1) < printed.mean(axis=1)).all()


def test_no_variance_of_a_grid_is_better_than_the_optimal_one() -> None:
    given: dict[str, Any] = {
        "A": FULL,
        "covariance": 25.0,
        "horizon": 2000,
        "m": 27,
        "noise": 3.0,
        "draws": DRAWS,
    }
    best = optimal_gamma2(**given)
    here = expected_scale_regret(best, **given).mean[0]
    grid = expected_scale_regret(best * np.geomspace(0.01, 100.0, 25), **given).mean
    assert here <= grid.min() * 1.001


def test_expected_regret_is_the_mean_over_simulations_of_scale() -> None:
    """The simulation draws paths, probes and noise; the expectation draws probes and noise, and is exact over v."""
    runs, horizon, gamma2 = 600, 150, 6.0
    A = random_rotation(np.random.default_rng(0), np.array([0.5, 2.0]))
    policy = SCaLE(noise_cap=1.0, rank=2, min_eigenvalue=0.5, gamma2=gamma2)
    environment = Environment(Problem(A), Gaussian(1.0), Uniform(1.0))
    regret = simulate(environment, {"SCaLE": policy}, horizon=horizon, runs=runs).regret("SCaLE")[:, -1]
    found = expected_scale_regret(gamma2, A, covariance=1.0, horizon=horizon, m=12, noise=1.0, draws=runs)
    error = math.hypot(regret.std() / math.sqrt(runs), found.standard_error[0])
    assert abs(regret.mean() - found.mean[0]) < 4.0 * error


def test_a_prior_is_the_mean_over_its_matrices() -> None:
    """Draw k uses matrix k modulo the number of matrices, with the same probes and noise as for that matrix alone."""
    prior = np.stack([FULL, 2.0 * FULL])
    given: dict[str, Any] = {"covariance": 4.0, "horizon": 500, "m": 27, "noise": 1.0, "draws": 8}
    both = expected_scale_regret(5.0, prior, **given).draws[0]
    one, other = (expected_scale_regret(5.0, A, **given).draws[0] for A in prior)
    np.testing.assert_allclose(both[::2], one[::2], rtol=1e-9)
    np.testing.assert_allclose(both[1::2], other[1::2], rtol=1e-9)


def test_noise_may_be_a_number_or_a_model() -> None:
    given: dict[str, Any] = {"A": FULL, "covariance": 4.0, "horizon": 500, "m": 27, "draws": 8}
    plain = expected_scale_regret(5.0, noise=1.0, **given)
    same = expected_scale_regret(5.0, noise=Uniform(1.0), **given)
    np.testing.assert_array_equal(plain.draws, same.draws)
    worse = expected_scale_regret(5.0, noise=Adversarial(1.0, "understate"), **given)
    assert worse.mean[0] > plain.mean[0]


def test_another_estimator_may_be_used() -> None:
    def oracle(Z: Array, y: Array) -> tuple[Array, Any]:
        return np.broadcast_to(FULL, (*np.shape(Z)[:-2], 3, 3)), y

    given: dict[str, Any] = {"A": FULL, "covariance": 4.0, "horizon": 500, "m": 27, "noise": 1.0}
    found = expected_scale_regret([1.0, 2.0], **given, estimator=oracle, draws=1500)
    for gamma2, mean, error in zip((1.0, 2.0), found.mean, found.standard_error, strict=True):
        exact = exact_scale_regret(FULL, FULL, covariance=4.0, horizon=500, m=27, gamma2=gamma2).total
        assert abs(mean - exact) < 4.0 * error


def test_scale_uses_the_optimal_variance() -> None:
    policy = SCaLE(10.0, 3, min_eigenvalue=1.0, gamma2="optimal", covariance=2500.0, prior=FULL)
    variance = policy.probe_variance(3, 4000)
    assert variance == policy.probe_variance(3, 4000)
    expected = optimal_gamma2(FULL, 2500.0, horizon=4000, m=27, noise=10.0, draws=32, estimator=policy.recovery)
    assert variance == pytest.approx(expected)
    state = policy.start(np.zeros((50, 3)), 4000, np.random.default_rng(0))
    assert state.memory.probes.var() == pytest.approx(variance, rel=0.1)
    environment = Environment(Problem(FULL), Gaussian(50.0), Uniform(10.0))
    result = simulate(
        environment, {"optimal": policy, "printed": SCaLE(10.0, 3, min_eigenvalue=1.0)}, horizon=4000, runs=30
    )
    optimal, printed = (result.regret(name)[:, -1] for name in ("optimal", "printed"))
    assert optimal.mean() < 0.8 * printed.mean()


def test_without_a_prior_every_nonzero_eigenvalue_is_min_eigenvalue() -> None:
    policy = SCaLE(1.0, 1, min_eigenvalue=0.5, c1=10.0, gamma2="optimal", covariance=Gaussian(5.0))
    explicit = SCaLE(1.0, 1, min_eigenvalue=0.5, c1=10.0, gamma2="optimal", covariance=25.0, prior=np.diag([0.5, 0.0]))
    assert policy.probe_variance(2, 500) == pytest.approx(explicit.probe_variance(2, 500))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise": 0.0}, "noise must be a finite number above 0|noise must be above 0"),
        ({"m": 500}, "m must be below horizon = 500, got 500"),
        ({"A": np.ones(3)}, "A must be square"),
        ({"A": np.ones((2, 2, 3, 3))}, r"A must have shape \(d, d\) or \(k, d, d\)"),
        ({"covariance": Cauchy()}, "covariance must come from a martingale"),
        ({"draws": 1}, "draws must be an integer of at least 2"),
    ],
)
def test_errors_name_the_argument(change: dict[str, Any], message: str) -> None:
    given = {"A": FULL, "covariance": 1.0, "horizon": 500, "m": 27, "noise": 1.0, **change}
    with pytest.raises(ArgumentError, match=message):
        optimal_gamma2(**given)
    with pytest.raises(ArgumentError, match=message):
        expected_scale_regret(1.0, **given)


def test_scale_names_the_arguments_that_the_optimal_variance_needs() -> None:
    with pytest.raises(ArgumentError, match="covariance must be given for gamma2 = 'optimal'"):
        SCaLE(1.0, 1, min_eigenvalue=1.0, gamma2="optimal")
    with pytest.raises(ArgumentError, match="noise_cap must be a finite number above 0"):
        SCaLE(0.0, 1, min_eigenvalue=1.0, gamma2="optimal", covariance=1.0)
    with pytest.raises(ArgumentError, match="prior must be positive semi-definite"):
        SCaLE(1.0, 1, min_eigenvalue=1.0, gamma2="optimal", covariance=1.0, prior=-np.eye(2))
    with pytest.raises(ArgumentError, match="gamma2 must be a finite number above 0"):
        expected_scale_regret([1.0, 0.0], FULL, covariance=1.0, horizon=500, m=27, noise=1.0)
