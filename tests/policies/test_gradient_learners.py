"""POL and OAL against a plain loop; their gradients, overshoots and divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import OAL, POL, Environment, Problem, random_curvature, simulate
from soqo.errors import ArgumentError
from soqo.noise import Uniform
from soqo.processes import Cauchy, Gaussian

TEXT: Any = "0.1"


def literal_pol(v: Any, A: Any, noise: Any, rate: float) -> Any:
    """Return the path of one run as the paper describes it, with gains by matrix inverses."""
    T, d = v.shape
    M: Any = np.eye(d)
    x, path = np.zeros(d), []
    for t in range(T):
        C = np.eye(d)
        for _ in range(T - t):
            C = np.linalg.inv(2 * np.eye(d) + M - C)
        x = C @ x + (np.eye(d) - C) @ v[t]
        path.append(x)
        u = x - v[t]
        y = 0.5 * u @ A @ u + noise[t]
        M = M - rate * 0.5 * (0.5 * u @ M @ u - y) * np.outer(u, u)
        w, V = np.linalg.eigh(M)
        M = (V * np.maximum(w, 0.0)) @ V.T
    return np.array(path)


def test_pol_equals_a_literal_loop() -> None:
    A = random_curvature(3, 2, min_eigenvalue=0.1, max_eigenvalue=1.0, rng=np.random.default_rng(1))
    environment = Environment(Problem(A), Gaussian(3.0), Uniform(1.0))
    result = simulate(environment, {"POL": POL(2e-4)}, horizon=60, runs=5, seed=2, record=True)
    assert result.actions is not None
    paths = environment.draw(60, 5, seed=2)
    for run in range(5):
        expected = literal_pol(paths.v[run], A, paths.variates[run], 2e-4)
        np.testing.assert_allclose(result.actions["POL"][run], expected, rtol=1e-9, atol=1e-9)


def test_oal_is_pol_without_noise() -> None:
    A = Problem(np.diag([0.3, 2.0]))
    noisy = simulate(Environment(A, Gaussian(3.0), Uniform(5.0)), {"O": OAL(1e-4), "P": POL(1e-4)}, horizon=80, runs=4)
    exact = simulate(Environment(A, Gaussian(3.0), Uniform(0.0)), {"P": POL(1e-4)}, horizon=80, runs=4)
    np.testing.assert_array_equal(noisy.cost("O"), exact.cost("P"))
    assert not np.array_equal(noisy.cost("P"), exact.cost("P"))


def test_oal_has_no_regret_if_A_is_its_initial_estimate() -> None:
    # The setting r = d, sigma = 1 with equal eigenvalues therefore does not test learners.
    environment = Environment(Problem(np.eye(4)), Gaussian(50.0), Uniform(10.0))
    regret = simulate(environment, {"OAL": OAL(1e-8)}, horizon=200, runs=5).regret("OAL")
    assert np.abs(regret).max() < 1e-6


def test_a_learner_becomes_better_than_its_initial_estimate() -> None:
    environment = Environment(Problem(np.diag([0.05, 0.4, 3.0])), Gaussian(5.0), Uniform(1.0))
    result = simulate(environment, {"fixed": POL(1e-12), "learns": POL(3e-5)}, horizon=1500, runs=20)
    late = {name: result.regret(name, per_round=True)[:, -500:].mean(axis=1) for name in result}
    gain = late["fixed"] - late["learns"]
    assert gain.mean() > 4 * gain.std() / np.sqrt(gain.size)


def test_an_estimate_that_would_overflow_stays_finite_and_is_reported() -> None:
    environment = Environment(Problem(2 * np.eye(2)), Cauchy(1e60), Uniform(1.0))
    result = simulate(environment, {"POL": POL(1e-6)}, horizon=50, runs=6)
    assert result["POL"].diverged.all()
    assert result.summary()["POL"].diverged == 6
    assert np.isfinite(result["POL"].diagnostics["estimate"]).all()


def test_overshoots_are_counted_for_each_run() -> None:
    environment = Environment(Problem(0.01 * np.eye(4)), Gaussian(50.0), Uniform(10.0))
    result = simulate(environment, {"fast": POL(1e-6), "slow": POL(1e-10)}, horizon=300, runs=6)
    assert (result["fast"].diagnostics["overshoots"] > 30).all()
    assert (result["slow"].diagnostics["overshoots"] == 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: POL(0.0), "learning_rate must be a finite number above 0, got 0.0"),
        (lambda: POL(TEXT), "learning_rate must be a finite number above 0, got '0.1'"),
        (lambda: POL(0.1, gradient=TEXT), "gradient must be one of 'exact', 'as_printed'"),
        (lambda: POL(0.1, initial=-np.eye(2)), "initial must be positive semi-definite"),
        (
            lambda: POL(0.1, initial=np.eye(2)).start(np.zeros(3)),
            r"initial must be one matrix \(3, 3\) or one per run .* got shape \(2, 2\)",
        ),
    ],
)
def test_invalid_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_factor_counts_as_a_longer_step() -> None:
    """A reading s/2 u'Au at u is one of 1/2 z'Az at z = sqrt(s) u."""
    policy, s = POL(learning_rate=0.1), 2.25
    x, state = policy.act(policy.start([0.0], horizon=1), [4.0], factor=s)
    np.testing.assert_allclose(x, [4.0 * s / (1.0 + s)])
    u = x[0] - 4.0
    state = policy.observe(state, 7.0)
    expected = 1.0 + 0.1 * 0.5 * (7.0 - 0.5 * s * u**2) * s * u**2
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], [[expected]])
