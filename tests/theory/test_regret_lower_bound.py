"""The lower bound for normal noise: each step of its proof in numbers, and policies, which are not below it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import soqo
from limit_bounds import measure
from limit_settings import Setting, settings
from limit_uniform_noise import play
from soqo.errors import ArgumentError
from soqo.estimators import smat, svec, svec_rows
from soqo.theory import learning_constant, local_prior, regret_lower_bound
from soqo.typing import Array

A0 = np.diag([1.0, 0.3])
STEPS, NOISE, RADIUS = 5.0, 3.0, 0.2
POLICIES = {
    "GLIDE": soqo.GLIDE(),
    "RLS": soqo.RLS(NOISE),
    "RLS that knows the prior": soqo.RLS(NOISE, prior_deviation=0.1),
    "FTM": soqo.FTM(),
    "SCaLE": soqo.SCaLE(3.0 * NOISE, rank=2, min_eigenvalue=0.2),
}


def gain(A: Array) -> Array:
    values, Q = np.linalg.eigh(A)
    c = 1.0 + values / 2.0 - np.sqrt(values + np.square(values) / 4.0)
    return np.asarray((Q * c[..., None, :]) @ Q.mT)


@pytest.fixture(scope="module")
def result() -> soqo.Result:
    """All policies for A from the prior, with the paths."""
    problem = soqo.Problem(local_prior(A0, RADIUS, 60, rng=1))
    environment = soqo.Environment(problem, soqo.processes.Gaussian(STEPS), soqo.noise.Gaussian(NOISE))
    return soqo.simulate(environment, POLICIES, horizon=500, runs=60, seed=2, record=True)


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_is_below_the_bound(result: soqo.Result, name: str) -> None:
    bound = regret_lower_bound(A0, STEPS**2, NOISE, 500, radius=RADIUS)
    regret = result.regret(name, form="low_variance")[:, -1]
    assert 0.4 < bound.value < bound.without_probes
    assert regret.mean() - 3.0 * regret.std() / math.sqrt(len(regret)) > bound.value


@pytest.mark.parametrize("setting", list(settings()), ids=lambda setting: setting.name)
def test_no_policy_is_below_the_bound_in_the_settings_of_the_benchmark(setting: Setting) -> None:
    bound, regret = measure(setting, rounds=80, runs=8, radius=0.15)
    assert bound > 0.0
    for name, found in regret.items():
        assert found.mean() > bound, name


@pytest.mark.parametrize("name", ["RLS", "FTM"])
def test_regret_is_the_cost_of_the_distance_from_lais_path(result: soqo.Result, name: str) -> None:
    """Step 1: regret is the mean of sum 1/2 e'A e + 1/2 |e_t - e_{t-1}|^2, with e the distance from LAI's path."""
    assert result.actions is not None
    A = local_prior(A0, RADIUS, 60, rng=1)
    e = result.actions[name] - result.actions[soqo.Result.BENCHMARK]
    energy = 0.5 * np.einsum("rti,rij,rtj->r", e, A, e)
    energy += 0.5 * np.square(np.diff(e, axis=1, prepend=0.0)).sum(axis=(1, 2))
    difference = energy - result.regret(name, form="low_variance")[:, -1]
    assert abs(difference.mean()) < 4.0 * difference.std() / math.sqrt(len(difference))
    assert difference.std() < 0.5 * energy.mean() * math.sqrt(len(difference))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_prior_has_the_information_of_the_proof(d: int) -> None:
    """Step 2: E[grad log pi grad log pi'] = (2 p + 8) / rho^2, and the draws are in the ball."""
    p, rho = d * (d + 1) // 2, 0.3
    X = svec(local_prior(np.eye(d), rho, 400_000, rng=0) - np.eye(d))
    square = np.square(X).sum(axis=1)
    assert square.max() <= rho**2
    # The square of the score -4 X / (rho^2 - |X|^2) has infinite variance, so its mean is one of the uniform law.
    rng = np.random.default_rng(0)
    s = rng.beta(p / 2.0, 1.0, size=400_000)  # |X|^2 / rho^2 for the uniform law
    information = 16.0 * s.mean() / np.square(1.0 - s).mean() / (p * rho**2)
    assert information == pytest.approx((2.0 * p + 8.0) / rho**2, rel=0.02)
    # and the moments of the draws are those of this density
    assert (square / rho**2).mean() == pytest.approx((s * (1.0 - s) ** 2).mean() / ((1.0 - s) ** 2).mean(), rel=0.01)


def test_the_posterior_information_is_that_of_data_and_prior() -> None:
    """Step 3: given the data, E[psi psi'] = sum phi^2 / s^2 + E[-(log pi)''], in one dimension by quadrature."""
    rho, phi, y = 0.3, np.array([4.0, 9.0, 2.0]), np.array([0.5, -0.4, 1.0])
    x = np.linspace(-rho, rho, 400_001)[1:-1]
    log_density = 2.0 * np.log(1.0 - np.square(x / rho)) - 0.5 * np.square(y[:, None] - phi[:, None] * x).sum(axis=0)
    weight = np.exp(log_density)
    weight /= weight.sum()
    score = -4.0 * x / (rho**2 - x**2) + (phi[:, None] * (y[:, None] - phi[:, None] * x)).sum(axis=0)
    curvature = 4.0 * (rho**2 + x**2) / np.square(rho**2 - x**2)
    assert (weight * score**2).sum() == pytest.approx((weight * curvature).sum() + np.square(phi).sum(), rel=1e-4)


def test_the_cost_of_a_round_is_at_least_the_bound_given_the_data() -> None:
    """Step 4: gamma (1 - lambda)^2 J / K against the exact Bayes cost of one dimension."""
    a0, rho, s2 = 0.5, 0.3, 4.0
    x = np.linspace(-rho, rho, 20_001)[1:-1]
    c, prior = (
        gain((a0 * (1.0 + x))[:, None, None])[:, 0, 0],
        np.square(1.0 - np.square(x / rho)),
    )
    h = 1e-6
    slope = float((gain(np.array([[a0 * (1.0 + h)]])) - gain(np.array([[a0 * (1.0 - h)]]))).item() / (2.0 * h))
    c0 = gain(np.array([[a0]])).item()
    gamma = c0 / c[0]
    slopes = np.gradient(c, x)
    change = np.abs(slopes / slope - 1.0).max()
    for information, center in ((0.0, 0.0), (50.0, 0.1), (2000.0, -0.2), (1e5, 0.05)):
        weight = prior * np.exp(-0.5 * information * np.square(x - center))
        weight /= weight.sum()
        exact = 0.5 * s2 * ((weight * c).sum() - 1.0 / (weight / c).sum())
        K = information + (weight * 4.0 * (rho**2 + x**2) / np.square(rho**2 - x**2)).sum()
        J = 0.5 * slope**2 / c0 * s2
        bound = gamma * (1.0 - change) ** 2 * J / K
        assert bound < exact
        if information > 1e4:
            assert bound > 0.2 * exact


def test_deviations_add_at_most_their_size_to_the_information() -> None:
    """Step 5: the root of sum phi'H phi is at most that of LAI's path plus sqrt(h) (M sqrt(z) + z / 2)."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        n, d = int(rng.integers(1, 30)), int(rng.integers(1, 4))
        star, e = rng.standard_normal((n, d)) * 3.0, rng.standard_normal((n, d)) * rng.exponential(2.0)
        B = rng.standard_normal((d * (d + 1) // 2, d * (d + 1) // 2))
        H = B @ B.T
        phi, phi_star = svec_rows(star + e), svec_rows(star)
        left = math.sqrt(np.einsum("ti,ij,tj->", phi, H, phi))
        z, reach = np.square(e).sum(), np.square(star).sum(axis=1).max()
        root = math.sqrt(np.linalg.eigvalsh(H)[-1])
        right = math.sqrt(np.einsum("ti,ij,tj->", phi_star, H, phi_star)) + root * (math.sqrt(reach * z) + 0.5 * z)
        assert left <= right * (1.0 + 1e-12)


def test_uniform_noise_has_no_such_bound() -> None:
    """A player who keeps the set of possible A learns at the rate 1/t, and pays almost nothing after 300 rounds."""
    A, late = np.array([[0.5]]), {}
    for member in (False, True):
        runs = [play(A, 3000, seed, member=member, checkpoints=[300, 3000])[0] for seed in range(6)]
        late[member] = np.mean([last - first for first, last in runs])
    assert late[True] < 0.1 * late[False]


def test_probes_are_charged_and_worth_something() -> None:
    found = regret_lower_bound(A0, STEPS**2, 20.0, 10**6, radius=RADIUS)
    assert 0.2 * found.without_probes < found.value < 0.95 * found.without_probes


def test_the_bound_grows_as_a_part_of_kappa_log_t() -> None:
    kappa = learning_constant(A0, STEPS**2, NOISE).kappa
    values = [regret_lower_bound(A0, STEPS**2, NOISE, T, radius=0.02).value for T in (10**10, 10**12)]
    slope = (values[1] - values[0]) / math.log(100.0)
    # One step instead of the stationary distance from v, and the size of the prior, lose the rest.
    assert 0.6 * kappa < slope < kappa


def test_the_least_ratio_of_gains_holds_in_the_ball() -> None:
    found = regret_lower_bound(A0, 1.0, 1.0, 10, radius=0.3)
    inverse, root = np.linalg.inv(gain(A0)), np.linalg.cholesky(gain(A0))
    for A in local_prior(A0, 0.3, 500, rng=5):
        assert np.linalg.eigvalsh(root.T @ np.linalg.inv(gain(A)) @ root)[0] >= found.gamma
    assert np.allclose(inverse @ gain(A0), np.eye(2))


def test_the_change_of_the_derivative_is_the_largest_of_the_ball() -> None:
    """lambda against finite differences at points that the search did not use."""
    rho, h = 0.3, 1e-5
    found = regret_lower_bound(A0, 1.0, 1.0, 10, radius=rho)
    root = np.sqrt(A0)
    basis = [root @ smat(row) @ root for row in np.eye(3)]
    inverse = np.linalg.inv(gain(A0))

    def derivative(A: Array) -> Array:
        return np.stack([(gain(A + h * B) - gain(A - h * B)) / (2.0 * h) for B in basis])

    def form(D: Array) -> Array:
        return np.asarray(np.einsum("kab,lab->kl", inverse @ D, D))

    center = derivative(A0)
    largest = 0.0
    for A in local_prior(A0, rho, 300, rng=6):
        ratio = np.linalg.solve(form(center), form(derivative(A) - center))
        largest = max(largest, float(np.linalg.eigvals(ratio).real.max()))
    assert 0.2 * found.curvature_change < math.sqrt(largest) <= found.curvature_change


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((A0, soqo.processes.Laplace(1.0), 1.0, 10), {}, "covariance must be that of Gaussian steps"),
        ((A0, 1.0, soqo.noise.Uniform(1.0), 10), {}, "noise must be normal"),
        ((A0, 1.0, 1.0, 0), {}, "horizon must be"),
        ((A0, 1.0, 1.0, 10), {"radius": 1.0}, "radius must be"),
        ((np.diag([1.0, 0.0]), 1.0, 1.0, 10), {}, "A must be positive definite"),
    ],
)
def test_bad_arguments_are_named(arguments: Any, keywords: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        regret_lower_bound(*arguments, **keywords)
