"""GLIDE: its estimate, its regret and its options."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats

from soqo import (
    FTM,
    GLIDE,
    LAI,
    POL,
    Change,
    Environment,
    Limited,
    Policy,
    Problem,
    RandomProblem,
    SCaLE,
    simulate,
)
from soqo._model.gains import contraction
from soqo.checks import POLICY_CHECKS, Scenario
from soqo.errors import ArgumentError
from soqo.estimators.bayes._marginal_likelihood import LOG_SCALE_DEVIATION, LOG_SCALES
from soqo.noise import Adversarial, Noise, Uniform
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace
from soqo.typing import Array

TEXT: Any = "yes"
FULL = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Gaussian(50.0), Uniform(10.0))
RANK_ONE = Environment(RandomProblem(4, 1, min_eigenvalue=1.0), Gaussian(50.0), Uniform(10.0))


@pytest.mark.parametrize(
    "policy",
    [
        GLIDE(),
        GLIDE(bias="constant", window=20.0),
        GLIDE(bias="none", noise_cap=0.1, drift=False),
        GLIDE(robust=True, probing=False, alarms=False),
    ],
    ids=["default", "window", "no bias", "robust"],
)
@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_the_policy_fulfils_the_contract(check: Any, policy: Policy[Any]) -> None:
    check(policy, Scenario())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("noise_cap", -1.0),
        ("bias", "some"),
        ("drift", "yes"),
        ("window", 1.0),
        ("robust", TEXT),
        ("probing", 1),
        ("alarms", None),
    ],
)
def test_an_invalid_option_is_named_in_the_error(option: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=option):
        GLIDE(**{option: value})


@dataclass(frozen=True)
class RelativeError(Noise):
    """Errors of a plant whose hitting cost is not quite quadratic: they grow with |u|^2."""

    share: float

    @property
    def is_martingale(self) -> bool:
        """True: the noise is independent of the past and has mean zero."""
        return True

    @property
    def variance(self) -> None:
        """None: it depends on u."""
        return None

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw standard normal numbers."""
        return rng.standard_normal(horizon)

    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        """Scale the variate."""
        return np.asarray(variate * np.hypot(0.1, self.share * np.vecdot(u, u)))


def test_errors_that_grow_with_the_distance_cost_less_and_cause_no_alarms_if_they_are_told() -> None:
    problem = RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=4.0)
    environment = Environment(problem, Laplace(5.0), RelativeError(0.2))
    policies = {"untold": GLIDE(), "told": GLIDE(trusted_distance=math.sqrt(0.5))}
    result = simulate(environment, policies, horizon=200, runs=16, seed=0)
    untold, told = (np.median(result[name].low_variance_regret.sum(axis=1)) for name in policies)
    assert told < 0.75 * untold
    alarms = {name: result[name].diagnostics["alarms"].mean() for name in policies}
    assert alarms["told"] < 0.5 < alarms["untold"]


def test_robust_needs_a_bias_to_bound() -> None:
    with pytest.raises(ArgumentError, match="bias"):
        GLIDE(robust=True, bias="none")


# ---- estimate ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", [FULL, RANK_ONE], ids=["full rank", "rank 1"])
@pytest.mark.parametrize("cap", [None, 10.0])
def test_the_error_of_the_estimate_agrees_with_the_uncertainty(environment: Environment, cap: float | None) -> None:
    policy = GLIDE(noise_cap=cap)
    paths = environment.draw(200, 60, seed=3)
    result = simulate(environment, {"GLIDE": policy}, horizon=200, runs=60, seed=3)
    found = result["GLIDE"].diagnostics
    A, Q = paths.problem.A, np.linalg.eigh(found["estimate"])[1]
    error = np.einsum("nik,nij,njk->nk", Q, found["estimate"] - A, Q)
    scores = error / found["uncertainty"]
    # Uniform noise has no tails and the readings have no bias, so the errors are about one deviation or less.
    assert 0.05 < np.sqrt(np.mean(np.square(scores))) < 1.5
    np.testing.assert_allclose(np.median(found["noise"]), 10.0 / np.sqrt(3.0), rtol=0.35)


def test_glide_plays_lai_for_its_estimate() -> None:
    policy, rng = GLIDE(probing=False, drift=False), np.random.default_rng(0)
    A = np.diag([2.0, 0.3, 1.0])
    state, v = policy.start(np.zeros(3), horizon=30), np.zeros(3)
    for t in range(30):
        v = v + 10.0 * rng.standard_normal(3)
        values, vectors = np.linalg.eigh(policy.diagnostics(state)["estimate"])
        C = (vectors * contraction(np.maximum(values, 0.0), 30 - t)) @ vectors.T
        expected = v + C @ (state.x - v)
        x, state = policy.act(state, v)
        np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-9)
        state = policy.observe(state, 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-1.0, 1.0))


@pytest.mark.parametrize(("smallest", "period"), [(0.5, 8), (0.0, 4)], ids=["inside the cone", "at its boundary"])
def test_with_very_many_readings_the_estimate_changes_more_rarely(smallest: float, period: int) -> None:
    policy, rng = GLIDE(), np.random.default_rng(2)
    A, state, v = np.diag([2.0, smallest]), policy.start(np.zeros(2)), np.zeros(2)
    changes = []
    for t in range(1, 121):
        v = v + 10.0 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        before = policy.diagnostics(state)
        state = policy.observe(state, 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-1.0, 1.0))
        after = policy.diagnostics(state)
        # Another belief has another estimate, whenever it becomes the best one.
        if after["outliers"] == before["outliers"] and (after["estimate"] != before["estimate"]).any():
            changes.append(t)
    # With three unknowns, there are very many readings after 48.
    assert [t for t in changes if t > 48] == list(range(48 + period, 121, period))
    assert [t for t in changes if t <= 12] == list(range(1, 13))


def actions(policy: GLIDE, v: Any, readings: Any) -> Any:
    """Return the actions on a path, with the reading at u in round t from a function."""
    state = policy.start(np.zeros(v.shape[1]), horizon=len(v))
    played: list[Any] = []
    for target in v:
        x, state = policy.act(state, target)
        state = policy.observe(state, readings(x - target, len(played)))
        played.append(x)
    return np.array(played)


@pytest.mark.parametrize("policy", [GLIDE(), GLIDE(robust=True, window=50.0)], ids=["default", "window"])
def test_actions_are_equivariant_under_changes_of_units_and_rotations(policy: GLIDE) -> None:
    rng = np.random.default_rng(5)
    A, noise = np.diag([3.0, 1.0, 0.0]), rng.uniform(-1.0, 1.0, 60)
    v = np.cumsum(5.0 * rng.standard_normal((60, 3)), axis=0)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    plain = actions(policy, v, lambda u, t: 0.5 * u @ A @ u + noise[t])
    # Lengths times 8 are costs times 64; powers of two lose no digits.
    scaled = actions(policy, 8.0 * v, lambda u, t: 0.5 * u @ A @ u + 64.0 * noise[t])
    np.testing.assert_allclose(scaled, 8.0 * plain, rtol=1e-6, atol=1e-4)
    rotated = actions(policy, v @ Q.T, lambda u, t: 0.5 * u @ Q @ A @ Q.T @ u + noise[t])
    np.testing.assert_allclose(rotated, plain @ Q.T, rtol=1e-4, atol=1e-2)


# ---- regret --------------------------------------------------------------------------------------------------------


def final(environment: Environment, policies: dict[str, Any], horizon: int, runs: int = 12) -> Any:
    """Return the median expected regret by policy: the sum of the excess costs over LAI's actions."""
    result = simulate(environment, policies, horizon=horizon, runs=runs, seed=0)
    return {name: float(np.median(result[name].low_variance_regret.sum(axis=1))) for name in policies}


@pytest.mark.parametrize("rank", [4, 1])
@pytest.mark.parametrize("process", [Gaussian(50.0), Cauchy(1.0)], ids=["Gaussian", "Cauchy"])
def test_regret_is_a_few_percent_of_that_of_scale(process: Any, rank: int) -> None:
    problem = RandomProblem(4, rank, min_eigenvalue=1.0, max_eigenvalue=10.0 if rank > 1 else None)
    environment = Environment(problem, process, Uniform(1.0))
    scale = SCaLE(1.0, rank, min_eigenvalue=1.0, c1=5.0 if rank > 1 else 10.0)
    regret = final(environment, {"SCaLE": scale, "GLIDE": GLIDE()}, 400)
    assert 0.0 < regret["GLIDE"] < 0.1 * regret["SCaLE"]


def test_regret_hardly_grows_with_the_horizon() -> None:
    short, long = (final(RANK_ONE, {"G": GLIDE()}, horizon)["G"] for horizon in (100, 800))
    assert long < 1.35 * short  # 8^0.15


def test_an_infinite_horizon_costs_hardly_more_than_a_known_one() -> None:
    paths = FULL.draw(150, 8, seed=0)
    known, unknown = GLIDE(), GLIDE()
    ends = []
    for policy, horizon in ((known, 150), (unknown, None)):
        state = policy.start(paths.x0, horizon)
        cost = np.zeros(8)
        for t in range(150):
            before = state.x
            x, state = policy.act(state, paths.v[:, t])
            hitting = paths.problem.hitting_cost(x, paths.v[:, t])
            cost += hitting + 0.5 * np.square(x - before).sum(axis=1)
            state = policy.observe(state, hitting + 10.0 * paths.variates[:, t])
        ends.append(cost)
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.01)


@pytest.mark.parametrize("aim", ["overstate", "understate", "flatten"])
def test_with_adversarial_noise_glide_is_not_much_worse_than_playing_without_learning(
    aim: Literal["overstate", "understate", "flatten"],
) -> None:
    """The noise is ten times as large as the signal and biased; POL with this rate does not learn."""
    environment = Environment(
        RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Gaussian(1.0), Adversarial(10.0, aim)
    )
    regret = final(environment, {"FTM": FTM(), "I": POL(1e-12), "GLIDE": GLIDE()}, 500)
    assert regret["GLIDE"] < 1.5 * min(regret["FTM"], regret["I"])


def test_without_a_bias_in_the_model_adversarial_noise_costs_more() -> None:
    noise = Adversarial(10.0, "understate")
    environment = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Gaussian(1.0), noise)
    trusting = GLIDE(bias="none", base_load=False)  # a base load explains part of the bias
    regret = final(environment, {"GLIDE": GLIDE(), "trusting": trusting, "robust": GLIDE(robust=True)}, 400)
    assert max(regret["robust"], regret["GLIDE"]) < 0.5 * regret["trusting"]


def test_a_prior_of_the_wrong_scale_is_corrected() -> None:
    environment = Environment(
        RandomProblem(4, 4, min_eigenvalue=10.0, max_eigenvalue=100.0), Gaussian(1.0), Uniform(10.0)
    )
    policies = {"FTM": FTM(), "I": LAI(np.eye(4)), "GLIDE": GLIDE()}
    regret = final(environment, policies, 1000, runs=100)
    assert regret["GLIDE"] < 1.5 * regret["FTM"] < 0.1 * regret["I"]


def test_the_first_action_is_optimal_for_the_prior_mean() -> None:
    """No action has a lower expected cost if C^{-1} is nearly linear in A, as it is for a large A."""
    weights = stats.norm.pdf(LOG_SCALES, scale=LOG_SCALE_DEVIATION)
    s = np.exp(LOG_SCALES)
    v = np.array([3.0, -1.0])
    x, _ = GLIDE().act(GLIDE().start(np.zeros(2)), v)
    share = np.linspace(0.01, 0.99, 99)[:, None]
    C = contraction(s, np.inf)
    cost = np.average(np.square(share - C) / C, axis=1, weights=weights)
    best = share[np.argmin(cost), 0]
    np.testing.assert_allclose(x, (1.0 - best) * v, rtol=0.01)


def test_a_known_noise_cap_helps_with_many_unknowns_and_low_rank() -> None:
    environment = Environment(
        RandomProblem(10, 2, min_eigenvalue=1.0, max_eigenvalue=4.0), Gaussian(50.0), Uniform(10.0)
    )
    capped, plain = GLIDE(noise_cap=10.0), GLIDE()
    regret = final(environment, {"capped": capped, "plain": plain, "POL": POL(1e-8)}, 120, runs=6)
    assert regret["capped"] < regret["plain"] < regret["POL"]


# ---- options -------------------------------------------------------------------------------------------------------


def test_an_alarm_follows_a_change_and_there_is_none_without() -> None:
    changing = replace(FULL, changes=(Change(150),))
    policies = {"GLIDE": GLIDE(), "no alarms": GLIDE(alarms=False)}
    result = simulate(changing, policies, horizon=300, runs=24, seed=1)
    found = result["GLIDE"].diagnostics
    assert (found["last_alarm"] >= 150).all()
    assert np.median(found["last_alarm"]) <= 154
    assert (found["last_alarm"] <= 165).all()
    assert found["alarms"].mean() < 2.0  # a restart may be followed by one with a better start
    after = {name: np.median(result[name].low_variance_regret[:, 150:].sum(axis=1)) for name in policies}
    assert after["GLIDE"] < 0.1 * after["no alarms"]
    without = simulate(FULL, {"GLIDE": GLIDE()}, horizon=300, runs=100, seed=2)["GLIDE"].diagnostics["alarms"]
    assert without.mean() < 0.1


def test_with_a_known_cap_a_small_change_is_detected() -> None:
    # Eight readings are off by five times the cap.
    policy, rng = GLIDE(noise_cap=0.1), np.random.default_rng(0)
    A = np.diag([1.0, 2.0])
    state, v = policy.start(np.zeros(2)), np.zeros(2)
    for t in range(100):
        v = v + 3.0 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        y = 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-0.1, 0.1) + (0.5 if t >= 92 else 0.0)
        state = policy.observe(state, y)
    assert 93 <= policy.diagnostics(state)["last_alarm"] <= 96
    assert policy.diagnostics(state)["outliers"] == 0


def test_a_window_tracks_a_slow_change() -> None:
    changing = replace(FULL, changes=(Change(20, duration=280),))
    plain, windowed = GLIDE(alarms=False), GLIDE(alarms=False, window=30.0)
    regret = final(changing, {"plain": plain, "windowed": windowed}, 300)
    assert regret["windowed"] < 0.5 * regret["plain"]


def test_correlated_steps_are_used_and_uncorrelated_ones_are_not() -> None:
    correlated = Environment(
        RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Correlated(50.0, 0.7), Uniform(10.0)
    )
    policies = {"GLIDE": GLIDE(), "no drift": GLIDE(drift=False)}
    paid = simulate(correlated, policies, horizon=400, runs=12, seed=0)
    below, above = (np.median(paid.regret(name)[:, -1]) for name in policies)
    assert below < 0.0 < above  # below LAI, which assumes a martingale
    result = simulate(FULL, policies, horizon=200, runs=40, seed=0)
    same = np.isclose(result.regret("GLIDE")[:, -1], result.regret("no drift")[:, -1])
    assert same.mean() > 0.85


def test_limits_hold_and_the_applied_action_is_learned_from() -> None:
    policy: Any = Limited(GLIDE(), low=-2.0, high=2.0)
    rng = np.random.default_rng(0)
    A = np.diag([1.0, 3.0])
    state = policy.start(np.zeros(2))
    for _ in range(60):
        v = 4.0 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        assert (np.abs(x) <= 2.0).all()
        state = policy.observe(state, 0.5 * (x - v) @ A @ (x - v))
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], A, atol=1e-3)


def test_diagnostics_have_the_batch_shape() -> None:
    policy = GLIDE()
    state = policy.start(np.zeros((2, 3, 4)))
    found = policy.diagnostics(state)
    assert found["estimate"].shape == (2, 3, 4, 4)
    assert found["uncertainty"].shape == (2, 3, 4)
    for name in ("noise", "probes", "alarms", "last_alarm", "outliers", "drift"):
        assert found[name].shape == (2, 3)


@pytest.mark.parametrize("batch", [(), (2, 3)], ids=str)
def test_uncertainty_of_eigenvectors_is_the_uncertainty_and_grows_with_the_square_of_the_length(batch: Any) -> None:
    policy, rng = GLIDE(), np.random.default_rng(0)
    v = 5.0 * rng.standard_normal((*batch, 2))
    x, state = policy.act(policy.start(np.zeros((*batch, 2))), v)
    state = policy.observe(state, np.square(x - v).sum(axis=-1))
    found = policy.diagnostics(state)
    vectors = np.linalg.eigh(found["estimate"])[1].mT
    np.testing.assert_allclose(policy.uncertainty_of(state, vectors), found["uncertainty"], rtol=1e-6)
    tripled = policy.uncertainty_of(state, 3.0 * vectors[..., :1, :])
    np.testing.assert_allclose(tripled, 9.0 * found["uncertainty"][..., :1], rtol=1e-6)


def test_equal_options_make_equal_policies() -> None:
    assert GLIDE(noise_cap=1.0) == GLIDE(noise_cap=1.0)
    assert GLIDE() != GLIDE(robust=True)
    assert repr(GLIDE(window=20.0)) == "GLIDE(window=20.0)"


def test_all_runs_may_share_one_matrix() -> None:
    result = simulate(Environment(Problem(np.eye(2)), Gaussian(5.0), Uniform(1.0)), {"G": GLIDE()}, horizon=40, runs=3)
    assert np.isfinite(result.regret("G")).all()


@pytest.mark.parametrize(
    ("noise", "probing", "near"),
    # Even a probe of the size of round-off is worth its cost, and the estimate of an offset has round-off.
    [(0.0, True, 1e-14), (0.0, False, 1e-14), (0.1, True, 1e-14)],
)
def test_a_constant_minimizer_is_reached_without_numerical_errors(noise: float, probing: bool, near: float) -> None:
    """x - v shrinks until its square underflows."""
    policy, rng = GLIDE(probing=probing), np.random.default_rng(0)
    state = policy.start(np.ones(2))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for _ in range(900):
            x, state = policy.act(state, np.zeros(2))
            state = policy.observe(state, 0.5 * x @ x + noise * rng.uniform(-1.0, 1.0))
    assert np.abs(x).max() < near
    assert np.isfinite(policy.diagnostics(state)["estimate"]).all()
