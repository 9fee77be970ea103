"""The bound on the first rounds: closed forms, and policies that know the prior, which are not below it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

import soqo
from limit_settings import Setting, settings
from soqo.errors import ArgumentError
from soqo.theory import first_rounds_bound
from soqo.typing import Array


def gain(a: float) -> float:
    return 1.0 + a / 2.0 - math.sqrt(a + a * a / 4.0)


def test_rank_one_has_a_closed_form() -> None:
    """The compression shows m = |P q|^2, which has a beta distribution, and the rest of q has a uniform direction."""
    d, c = 4, gain(1.0)

    def loss(m: float, k: int) -> float:
        along, rest = (1.0 - (1.0 - c) * m) - 1.0 / (1.0 + (1.0 / c - 1.0) * m), (1.0 - m) / (d - k)
        return along + (d - k) * (1.0 - (1.0 - c) * rest - 1.0 / (1.0 + (1.0 / c - 1.0) * rest))

    expected = [0.5 * 9.0 * d * (1.0 - (1.0 - c) / d - 1.0 / (1.0 + (1.0 / c - 1.0) / d))]
    for k in range(1, d):
        law = beta(k / 2.0, (d - k) / 2.0)
        expected.append(0.5 * 9.0 * quad(lambda m, k=k, law=law: loss(m, k) * law.pdf(m), 0.0, 1.0)[0])
    found = first_rounds_bound([1.0, 0.0, 0.0, 0.0], 9.0, samples=80_000)
    np.testing.assert_allclose(found.rounds, expected, rtol=0.01)
    assert found.standard_error < 0.005 * found.total


def test_two_dimensions_by_quadrature_over_the_angle() -> None:
    a = np.array([0.5, 4.0])
    c = np.array([gain(each) for each in a])
    first = 0.5 * (2.0 * c.mean() - 2.0 / (1.0 / c).mean())
    # Given A_11 the angle is known up to its sign, and E[C^{-1}] is the diagonal of C^{-1}.
    angle = (np.arange(2000) + 0.5) * math.pi / 2000.0
    one = np.square(np.cos(angle)) / c[0] + np.square(np.sin(angle)) / c[1]
    two = np.square(np.sin(angle)) / c[0] + np.square(np.cos(angle)) / c[1]
    second = 0.5 * (c.sum() - (1.0 / one + 1.0 / two).mean())
    found = first_rounds_bound(a, 1.0, samples=200_000)
    np.testing.assert_allclose(found.rounds, [first, second], rtol=0.01)


def test_the_bound_is_scaled_by_the_variance_and_does_not_increase() -> None:
    one = first_rounds_bound([0.5, 1.0, 2.0, 3.0, 8.0], 1.0, samples=20_000)
    four = first_rounds_bound([0.5, 1.0, 2.0, 3.0, 8.0], 4.0, samples=20_000)
    np.testing.assert_allclose(four.rounds, 4.0 * one.rounds)
    assert np.all(np.diff(one.rounds) <= 0.0)
    # Eigenvalues that are all equal leave nothing to learn.
    assert abs(first_rounds_bound([2.0, 2.0, 2.0], 1.0, samples=4000).total) < 1e-9


def bayes_regret(a: Array, steps: float, rounds: int, runs: int) -> Array:
    """Return the regret of each run and round in two dimensions of the one-step Bayes player with exact readings."""
    rng = np.random.default_rng(3)
    c = np.array([gain(each) for each in a])
    grid = (np.arange(400) + 0.5) * math.pi / 400.0
    axes = np.stack([np.cos(grid), np.sin(grid)], axis=1)
    other = np.stack([-np.sin(grid), np.cos(grid)], axis=1)

    def matrices(values: Array) -> Array:
        return np.asarray(values[0] * axes[:, :, None] * axes[:, None] + values[1] * other[:, :, None] * other[:, None])

    A, C, inverse = matrices(a), matrices(c), matrices(1.0 / c)
    truth = rng.integers(400, size=runs)
    log_weight, u, found = np.zeros((runs, 400)), np.zeros((runs, 2)), np.empty((runs, rounds))
    for t in range(rounds):
        w = u - steps * rng.standard_normal((runs, 2))
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        mean = np.einsum("rk,kij->rij", weight, inverse)
        u = np.linalg.solve(mean, w[..., None])[..., 0]
        error = u - np.einsum("rij,rj->ri", C[truth], w)
        found[:, t] = 0.5 * np.einsum("ri,rij,rj->r", error, inverse[truth], error)
        readings = 0.5 * np.einsum("ri,kij,rj->rk", u, A, u)
        noise = 0.05 * readings.std(axis=1, keepdims=True)  # a little, since the grid is finite
        log_weight = log_weight - 0.5 * np.square((readings - readings[np.arange(runs), truth][:, None]) / noise)
    return found


def test_the_bayes_player_attains_the_first_round_and_is_not_below_the_second() -> None:
    a = np.array([0.2, 9.0])
    regret = bayes_regret(a, 2.0, 2, 5_000)
    mean, error = regret.mean(axis=0), regret.std(axis=0) / math.sqrt(len(regret))
    bound = first_rounds_bound(a, 4.0, samples=100_000).rounds
    assert abs(mean[0] - bound[0]) < 4.0 * error[0]
    assert bound[1] - 4.0 * error[1] < mean[1] < 1.6 * bound[1]


@pytest.mark.parametrize("noise", [soqo.noise.Uniform(1e-6), soqo.noise.Gaussian(10.0)], ids=str)
def test_no_policy_is_below_it(noise: soqo.noise.Noise) -> None:
    spectra = np.array([[1.0, 4.0, 7.0, 10.0], [1.0, 0.0, 0.0, 0.0]])
    bound = first_rounds_bound(spectra, 2500.0, samples=40_000)
    policies = {"GLIDE": soqo.GLIDE(), "RLS": soqo.RLS(5.8), "FTM": soqo.FTM(), "POL": soqo.POL(1e-5)}
    regret: dict[str, list[float]] = {name: [] for name in policies}
    for rank in (4, 1):
        problem = soqo.RandomProblem(4, rank, min_eigenvalue=1.0, max_eigenvalue=10.0 if rank == 4 else None)
        environment = soqo.Environment(problem, soqo.processes.Gaussian(50.0), noise)
        result = soqo.simulate(environment, policies, horizon=12, runs=60, seed=1)
        for name in policies:
            regret[name].extend(result.regret(name, form="low_variance")[:, -1])
    for name, found in regret.items():
        error = np.std(found) / math.sqrt(len(found))
        assert np.mean(found) + 3.0 * error > bound.total, name
        assert error < 0.3 * np.mean(found), name


@pytest.mark.parametrize("setting", list(settings()), ids=lambda setting: setting.name)
def test_no_policy_is_below_it_in_the_settings_of_the_benchmark(setting: Setting) -> None:
    """With uniform eigenvectors, and steps of the same variance in all directions."""
    values, d = np.linalg.eigvalsh(setting.A), len(setting.A)
    bound = first_rounds_bound(values, 100.0, samples=8000)
    Q = np.linalg.qr(np.random.default_rng(8).standard_normal((40, d, d)))[0]
    environment = soqo.Environment(
        soqo.Problem((Q * values) @ Q.mT), soqo.processes.Gaussian(10.0), soqo.noise.Gaussian(setting.deviation)
    )
    policies = {"GLIDE": soqo.GLIDE(), "RLS": soqo.RLS(setting.deviation), "FTM": soqo.FTM()}
    result = soqo.simulate(environment, policies, horizon=25, runs=40, seed=3)
    for name in policies:
        regret = result.regret(name, form="low_variance")[:, -1]
        assert regret.mean() + 2.0 * regret.std() / math.sqrt(40.0) > bound.total, name


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ArgumentError, match="spectra must be eigenvalues"):
        first_rounds_bound([-1.0, 1.0], 1.0)
    with pytest.raises(ArgumentError, match="samples must be"):
        first_rounds_bound([2.0, 1.0], 1.0, samples=10)
