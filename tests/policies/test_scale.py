"""SCaLE against a transcription of Algorithm 1 with CVXPY; its variants, limits and fallbacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import soqo
from soqo import (
    FTM,
    POL,
    Environment,
    HySCaLE,
    Problem,
    RandomProblem,
    SCaLE,
    play,
    psd_least_absolute_deviations,
    random_curvature,
    simulate,
)
from soqo.errors import ArgumentError
from soqo.estimators import reference
from soqo.noise import Uniform
from soqo.policies import Phase
from soqo.processes import Gaussian

UNKNOWN: Any = "x"


def literal_gain(M: Any, n: int) -> Any:
    """Return the gain with n rounds to go, by matrix inverses."""
    identity, C = np.eye(len(M)), np.eye(len(M))
    for _ in range(n):
        C = np.linalg.inv(2 * identity + M - C)
    return C


def literal_scale(policy: Any, v: Any, A: Any, noise: Any, z: Any) -> Any:
    """Return the path of Algorithm 1, with CVXPY for the estimate and matrix inverses for the gains."""
    (T, d), m = v.shape, policy.exploration_rounds(v.shape[1])
    gamma = np.sqrt(policy.probe_variance(d, T))
    path = [v[t] + gamma * z[t] for t in range(m)]
    U = gamma * z[:m]
    y = 0.5 * np.einsum("mi,ij,mj->m", U, A, U) + noise[:m]
    M = reference.trace_min(U, y, policy.recovery.radii(U, y)).matrix
    x = path[-1]
    if policy.handover == "virtual":
        x = np.zeros(d)
        for t in range(m):
            C = literal_gain(M, T - t)
            x = C @ x + (np.eye(d) - C) @ v[t]
    for t in range(m, T):
        C = literal_gain(M, T - t)
        x = C @ x + (np.eye(d) - C) @ v[t]
        path.append(x)
    return np.array(path)


@pytest.mark.parametrize("handover", ["direct", "virtual"])
@pytest.mark.parametrize("radius", ["residual", "cap"])
def test_scale_equals_the_algorithm_of_the_paper(handover: Any, radius: Any) -> None:
    policy = SCaLE(1.0, 3, min_eigenvalue=0.2, handover=handover, radius=radius)
    A = random_curvature(3, 3, min_eigenvalue=0.2, max_eigenvalue=2.0, rng=np.random.default_rng(0))
    paths = Environment(Problem(A), Gaussian(5.0), Uniform(1.0)).draw(60, 3, seed=1)
    played = play(policy, paths)
    for run, rng in enumerate(paths.policy_generators()):
        z = rng.standard_normal((27, 3))
        expected = literal_scale(policy, paths.v[run], A, paths.variates[run], z)
        # Traces are exact to 2e-7, and near zero a gain depends on the square root of an eigenvalue.
        np.testing.assert_allclose(played.x[run], expected, atol=1e-3)
    assert (played.diagnostics["phase"] == Phase.SOLVED).all()


def test_probe_variance_of_each_variant() -> None:
    common: dict[str, Any] = {"noise_cap": 9.0, "rank": 2, "min_eigenvalue": 0.01}
    for rule, expected in (
        ("algorithm", 3 * max(1000 ** (2 / 3), 100)),
        ("appendix", 3 * max((1000 - 24) ** (2 / 3), 200)),
        ("guarantee", 9 * max(1000 ** (2 / 3), 200)),
        (7.5, 7.5),
    ):
        assert SCaLE(**{**common, "gamma2": rule}).probe_variance(4, 1000) == pytest.approx(expected)
    full = SCaLE(9.0, 4, min_eigenvalue=1.0)
    assert full.probe_variance(4, 1000) == pytest.approx(3 * np.sqrt(1000))
    assert full.exploration_rounds(4) == 48
    assert SCaLE(9.0, 1, min_eigenvalue=1.0, c1=2.6).exploration_rounds(4) == 11


def test_radius_of_each_variant() -> None:
    rng = np.random.default_rng(1)
    Z, y = rng.standard_normal((40, 3)), rng.uniform(1, 2, 40)
    assert SCaLE(2.0, 1, min_eigenvalue=1.0, radius="cap").recovery.radii(Z, y) == 80.0
    assert SCaLE(2.0, 1, min_eigenvalue=1.0, radius=5.0).recovery.radii(Z, y) == 5.0
    assert SCaLE(2.0, 1, min_eigenvalue=1.0).recovery.radii(Z, y) == pytest.approx(
        1.05 * psd_least_absolute_deviations(Z, y).residual
    )
    # With nine readings of six unknowns, the residual carries no information about the noise.
    assert SCaLE(2.0, 1, min_eigenvalue=1.0).recovery.radii(Z[:9], y[:9]) == 9.0


def test_probes_stay_within_their_limit_and_the_estimator_uses_the_applied_ones() -> None:
    A = random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(2))
    paths = Environment(Problem(A), Gaussian(1.0), Uniform(0.1)).draw(200, 4, seed=0)
    limit = np.array([1.0, 2.0, 3.0])
    played = play(SCaLE(0.1, 3, min_eigenvalue=0.5, gamma2=25.0, probe_limit=limit), paths)
    off = np.abs(played.x - paths.v)[:, :27]
    assert (off <= limit + 1e-12).all()
    assert (off.max(axis=(0, 1)) > 0.99 * limit).all()
    assert np.abs(played.diagnostics["estimate"] - A).max() < 0.2


def test_an_estimate_that_is_consistent_with_zero_is_reported_and_replaced() -> None:
    # In this setting of the paper, sigma_r = 0.01 and eta = 10, M = 0 fits within the radius eta m.
    environment = Environment(RandomProblem(4, 1, min_eigenvalue=0.01), Gaussian(50.0), Uniform(10.0))
    entries = {
        "printed": SCaLE.as_printed(10.0, 1, min_eigenvalue=0.01, c1=10.0),
        "cap": SCaLE(10.0, 1, min_eigenvalue=0.01, c1=10.0, radius="cap"),
        "default": SCaLE(10.0, 1, min_eigenvalue=0.01, c1=10.0),
    }
    result = simulate(environment, entries, horizon=600, runs=12)
    zero = result["printed"].diagnostics["phase"] == Phase.CONSISTENT_WITH_ZERO
    assert zero.sum() >= 6
    np.testing.assert_array_equal(result["printed"].diagnostics["estimate"][zero], 0.0)
    assert (np.abs(result["cap"].diagnostics["estimate"][zero]).max(axis=(1, 2)) > 0).all()
    medians = {name: np.median(result.regret(name)[:, -1]) for name in result}
    assert medians["default"] < 0.5 * medians["printed"]
    assert medians["cap"] < medians["printed"]


def test_an_infeasible_radius_is_reported_and_the_best_fit_is_used() -> None:
    A = random_curvature(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=np.random.default_rng(3))
    paths = Environment(Problem(A), Gaussian(5.0), Uniform(2.0)).draw(100, 3, seed=0)
    played = play(SCaLE(2.0, 3, min_eigenvalue=0.5, radius=1e-3), paths)
    assert (played.diagnostics["phase"] == Phase.INFEASIBLE).all()
    assert np.abs(played.diagnostics["estimate"] - A).max() < 1.0


def test_a_horizon_too_short_for_probing_means_following_v() -> None:
    paths = Environment(Problem(np.eye(3)), Gaussian(5.0), Uniform(1.0)).draw(27, 2, seed=0)
    played = play(SCaLE(1.0, 3, min_eigenvalue=1.0), paths)
    np.testing.assert_array_equal(played.x, paths.v)
    assert (played.diagnostics["phase"] == Phase.NO_ROOM).all()


def test_missing_readings_are_left_out_and_without_any_the_policy_follows_v() -> None:
    policy = SCaLE(0.1, 1, min_eigenvalue=0.5, c1=4.0, gamma2=4.0)
    A = random_curvature(3, 1, min_eigenvalue=1.0, rng=np.random.default_rng(4))
    rng = np.random.default_rng(5)
    state = policy.start(np.zeros((2, 3)), 40, rng)
    for t in range(20):
        v = rng.standard_normal((2, 3))
        x, state = policy.act(state, v)
        y = Problem(A).hitting_cost(x, v)
        y[0] = np.nan if t % 3 == 0 else y[0]
        y[1] = np.nan
        state = policy.observe(state, y)
        if t >= 12:
            np.testing.assert_array_equal(x[1], v[1])
    np.testing.assert_array_equal(policy.diagnostics(state)["phase"], [Phase.SOLVED, Phase.NO_READINGS])
    assert np.abs(policy.diagnostics(state)["estimate"][0] - A).max() < 0.05


def test_scale_and_hyscale_have_less_regret_than_the_baselines() -> None:
    environment = Environment(
        RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=10.0), Gaussian(50.0), Uniform(10.0)
    )
    entries = {
        "FTM": FTM(),
        "POL": POL(1e-8),
        "SCaLE": SCaLE(10.0, 4, min_eigenvalue=1.0),
        "HySCaLE": HySCaLE(10.0, 4, min_eigenvalue=1.0, learning_rate=1e-9),
    }
    result = simulate(environment, entries, horizon=1000, runs=12)
    medians = {name: np.median(result.regret(name)[:, -1]) for name in result}
    assert max(medians["SCaLE"], medians["HySCaLE"]) < 0.3 * min(medians["FTM"], medians["POL"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SCaLE(-1.0, 1, min_eigenvalue=1.0), "noise_cap must be a finite number at least 0, got -1.0"),
        (lambda: SCaLE(1.0, 1, min_eigenvalue=0.0), "min_eigenvalue must be a finite number above 0, got 0.0"),
        (lambda: SCaLE(1.0, 1, min_eigenvalue=1.0, gamma2=UNKNOWN), "gamma2 must be one of 'algorithm', "),
        (lambda: SCaLE(1.0, 1, min_eigenvalue=1.0, radius=-1.0), "radius must be a finite number at least 0"),
        (lambda: SCaLE(1.0, 1, min_eigenvalue=1.0, handover=UNKNOWN), "handover must be one of 'direct', 'virtual'"),
        (lambda: SCaLE(1.0, 1, min_eigenvalue=1.0, probe_limit=0.0), "probe_limit must be a positive number"),
        (
            lambda: SCaLE(1.0, 3, min_eigenvalue=1.0).start(np.zeros(2), 50, np.random.default_rng(0)),
            "rank must be at most the dimension 2 of x0, got 3",
        ),
        (
            lambda: SCaLE(1.0, 1, min_eigenvalue=1.0).start(np.zeros(2), None, np.random.default_rng(0)),
            "horizon must be given for gamma2 = 'algorithm', got None",
        ),
        (lambda: SCaLE(1.0, 1, min_eigenvalue=1.0).start(np.zeros(2), 50), "rng must be an int, a numpy"),
        (
            lambda: SCaLE(1.0, 1, min_eigenvalue=1.0, probe_limit=[1.0, 2.0]).start(np.zeros(3), 50),
            r"probe_limit must have shape \(3,\), got \(2,\)",
        ),
    ],
)
def test_invalid_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_with_factors_the_estimate_is_that_of_the_curvature() -> None:
    A = np.diag([2.0, 0.0])
    policy, rng = SCaLE(1e-6, 1, min_eigenvalue=0.5, c1=3.0, gamma2=4.0), np.random.default_rng(0)
    state = policy.start(np.zeros(2), 20, rng=1)
    for _ in range(8):
        v, s = rng.standard_normal(2), float(rng.uniform(0.5, 2.0))
        x, state = policy.act(state, v, factor=s)
        state = policy.observe(state, s * 0.5 * (x - v) @ A @ (x - v))
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], A, atol=1e-4)


def test_a_simulation_tells_scale_the_norm_of_the_noise() -> None:
    """With radius "exact", the estimate is that of the radius |eta|_1 of each run, which the player cannot know."""
    problem = soqo.RandomProblem(2, 2, min_eigenvalue=0.5, max_eigenvalue=2.0)
    environment = soqo.Environment(problem, soqo.processes.Gaussian(5.0), soqo.noise.Uniform(1.0))
    policy = SCaLE(1.0, 2, min_eigenvalue=0.5, radius="exact")
    found = soqo.simulate(environment, {"SCaLE": policy}, horizon=40, runs=3, seed=0)["SCaLE"]
    paths = environment.draw(40, 3, seed=0)
    probes = policy.for_simulation(paths.problem).start(paths.x0, 40, paths.policy_generators()).memory.probes
    for run in range(3):
        u, A = probes[run], paths.problem.A[run]
        noise = paths.variates[run, : len(u)]
        y = 0.5 * np.einsum("mi,ij,mj->m", u, A, u) + noise
        expected = soqo.trace_min(u, y, float(np.abs(noise).sum()))
        np.testing.assert_allclose(found.diagnostics["estimate"][run], expected.matrix, atol=1e-4)
    with pytest.raises(ArgumentError, match="radius must not be 'exact' outside of a simulation"):
        policy.start(np.zeros(2), 40, 0)
    # It is told through wrappers too, in the coordinates in which it plays.
    wrapped = soqo.Weighted(policy, 2.0).for_simulation(soqo.Problem(np.diag([1.0, 4.0]), switching_weight=2.0))
    assert isinstance(wrapped, soqo.Weighted)
    assert isinstance(wrapped.policy, SCaLE)
    np.testing.assert_allclose(np.asarray(wrapped.policy.oracle_A, dtype=float), np.diag([0.5, 2.0]))
