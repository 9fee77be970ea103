"""GLIDE: what it learns, what it promises, and what its options do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
from soqo._planner import contraction
from soqo.checks import POLICY_CHECKS, Scenario
from soqo.errors import ArgumentError
from soqo.estimators.bayes._scales import SCALE_DEVIATION, SCALES
from soqo.noise import Adversarial, Uniform
from soqo.processes import Cauchy, Correlated, Gaussian

TEXT: Any = "yes"
FULL = Environment(RandomProblem(4, 4, 1.0, 4.0), Gaussian(50.0), Uniform(10.0))
RANK_ONE = Environment(RandomProblem(4, 1, 1.0), Gaussian(50.0), Uniform(10.0))


@pytest.mark.parametrize(
    "policy",
    [
        GLIDE(),
        GLIDE(bias="constant", window=20.0),
        GLIDE(bias="none", noise_cap=0.1, drift=False),
        GLIDE(robust=True, probing=False, alarms=False),
    ],
    ids=["default", "memory", "no bias", "robust"],
)
@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_policy_keeps_the_contract(check: Any, policy: Policy[Any]) -> None:
    check(policy, Scenario())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("noise_cap", -1.0),
        ("bias", "some"),
        ("drift", "yes"),
        ("memory", 1.0),
        ("robust", TEXT),
        ("probing", 1),
        ("alarms", None),
    ],
)
def test_a_wrong_option_is_an_error_that_names_it(option: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=option):
        GLIDE(**{option: value})


def test_robust_needs_a_bias_to_bound() -> None:
    with pytest.raises(ArgumentError, match="bias"):
        GLIDE(robust=True, bias="none")


# ---- what it learns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", [FULL, RANK_ONE], ids=["full rank", "rank 1"])
@pytest.mark.parametrize("cap", [None, 10.0])
def test_the_error_of_the_estimate_is_what_the_uncertainty_says(environment: Environment, cap: float | None) -> None:
    policy = GLIDE(noise_cap=cap)
    paths = environment.draw(200, 60, seed=3)
    result = simulate(environment, {"GLIDE": policy}, 200, 60, seed=3)
    found = result.tracks["GLIDE"].diagnostics
    A, Q = paths.problem.A, np.linalg.eigh(found["estimate"])[1]
    error = np.einsum("nik,nij,njk->nk", Q, found["estimate"] - A, Q)
    scores = error / found["uncertainty"]
    # Uniform noise has no tails, and the bias that was allowed for is not there: not more than one deviation, and not
    # so much less that the number says nothing.
    assert 0.05 < np.sqrt(np.mean(np.square(scores))) < 1.5
    np.testing.assert_allclose(np.median(found["noise"]), 10.0 / np.sqrt(3.0), rtol=0.35)


def test_it_plays_lai_with_its_estimate() -> None:
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


def actions(policy: GLIDE, v: Any, readings: Any) -> Any:
    """What it plays on a path, where a function says what it hears at each u."""
    state = policy.start(np.zeros(v.shape[1]), horizon=len(v))
    played: list[Any] = []
    for target in v:
        x, state = policy.act(state, target)
        state = policy.observe(state, readings(x - target, len(played)))
        played.append(x)
    return np.array(played)


@pytest.mark.parametrize("policy", [GLIDE(), GLIDE(robust=True, window=50.0)], ids=["default", "memory"])
def test_it_has_no_units_and_no_axes_of_its_own(policy: GLIDE) -> None:
    rng = np.random.default_rng(5)
    A, noise = np.diag([3.0, 1.0, 0.0]), rng.uniform(-1.0, 1.0, 60)
    v = np.cumsum(5.0 * rng.standard_normal((60, 3)), axis=0)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    plain = actions(policy, v, lambda u, t: 0.5 * u @ A @ u + noise[t])
    # A length 8 times as long costs 64 times as much; powers of two cost no digits.
    scaled = actions(policy, 8.0 * v, lambda u, t: 0.5 * u @ A @ u + 64.0 * noise[t])
    np.testing.assert_allclose(scaled, 8.0 * plain, rtol=1e-6, atol=1e-4)
    turned = actions(policy, v @ Q.T, lambda u, t: 0.5 * u @ Q @ A @ Q.T @ u + noise[t])
    np.testing.assert_allclose(turned, plain @ Q.T, rtol=1e-4, atol=1e-2)


# ---- what it promises ----------------------------------------------------------------------------------------------


def final(environment: Environment, policies: dict[str, Any], horizon: int, runs: int = 12) -> Any:
    """Median expected regret by policy: the sum of what each action costs beyond LAI's from the same place."""
    result = simulate(environment, policies, horizon, runs, seed=0)
    return {name: float(np.median(result.tracks[name].excess.sum(axis=1))) for name in policies}


@pytest.mark.parametrize("rank", [4, 1])
@pytest.mark.parametrize("process", [Gaussian(50.0), Cauchy(1.0)], ids=["Gaussian", "Cauchy"])
def test_its_regret_is_a_few_percent_of_scales(process: Any, rank: int) -> None:
    problem = RandomProblem(4, rank, 1.0, 10.0 if rank > 1 else None)
    environment = Environment(problem, process, Uniform(1.0))
    told = SCaLE(1.0, rank, 1.0, c1=5.0 if rank > 1 else 10.0)
    regret = final(environment, {"SCaLE": told, "GLIDE": GLIDE()}, 400)
    assert 0.0 < regret["GLIDE"] < 0.1 * regret["SCaLE"]


def test_its_regret_hardly_grows_with_the_horizon() -> None:
    short, long = (final(RANK_ONE, {"G": GLIDE()}, horizon)["G"] for horizon in (100, 800))
    assert long < 1.35 * short  # 8^0.15


def test_it_needs_no_horizon() -> None:
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
def test_false_readings_do_not_make_it_worse_than_knowing_nothing(aim: str) -> None:
    """Noise ten times as large as what it hides, always in one direction; POL at this rate learns nothing at all."""
    environment = Environment(RandomProblem(4, 4, 1.0, 4.0), Gaussian(1.0), Adversarial(10.0, aim))
    regret = final(environment, {"FTM": FTM(), "I": POL(1e-12), "GLIDE": GLIDE()}, 500)
    assert regret["GLIDE"] < 1.5 * min(regret["FTM"], regret["I"])


def test_without_a_model_of_bias_false_readings_mislead_it() -> None:
    noise = Adversarial(10.0, "understate")
    environment = Environment(RandomProblem(4, 4, 1.0, 4.0), Gaussian(1.0), noise)
    trusting = GLIDE(bias="none")
    regret = final(environment, {"GLIDE": GLIDE(), "trusting": trusting, "robust": GLIDE(robust=True)}, 400)
    assert regret["robust"] < regret["GLIDE"] < 0.5 * regret["trusting"]


def test_a_prior_of_the_wrong_scale_is_soon_corrected() -> None:
    environment = Environment(RandomProblem(4, 4, 10.0, 100.0), Gaussian(1.0), Uniform(10.0))
    policies = {"FTM": FTM(), "I": LAI(np.eye(4)), "GLIDE": GLIDE()}
    regret = final(environment, policies, 1000, runs=100)
    assert regret["GLIDE"] < 1.5 * regret["FTM"] < 0.1 * regret["I"]


def test_the_first_action_is_for_the_mean_of_the_prior() -> None:
    """No action costs less in expectation where E[C^{-1}] is nearly linear in A, as it is for a large one."""
    weights = stats.norm.pdf(SCALES, scale=SCALE_DEVIATION)
    s = np.exp(SCALES)
    v = np.array([3.0, -1.0])
    x, _ = GLIDE().act(GLIDE().start(np.zeros(2)), v)
    share = np.linspace(0.01, 0.99, 99)[:, None]
    C = contraction(s, np.inf)
    cost = np.average(np.square(share - C) / C, axis=1, weights=weights)
    best = share[np.argmin(cost), 0]
    np.testing.assert_allclose(x, (1.0 - best) * v, rtol=0.01)


def test_many_unknowns_and_low_rank() -> None:
    environment = Environment(RandomProblem(10, 2, 1.0, 4.0), Gaussian(50.0), Uniform(10.0))
    told, plain = GLIDE(noise_cap=10.0), GLIDE()
    regret = final(environment, {"told": told, "plain": plain, "POL": POL(1e-8)}, 120, runs=6)
    assert regret["told"] < regret["plain"] < regret["POL"]


# ---- what its options do -------------------------------------------------------------------------------------------


def test_an_alarm_follows_a_change_at_once_and_none_comes_without() -> None:
    changing = replace(FULL, changes=(Change(150),))
    policies = {"GLIDE": GLIDE(), "deaf": GLIDE(alarms=False)}
    result = simulate(changing, policies, 300, 24, seed=1)
    found = result.tracks["GLIDE"].diagnostics
    assert (found["last_alarm"] >= 150).all()
    assert (found["last_alarm"] <= 154).all()
    assert found["alarms"].mean() < 1.2
    after = {name: np.median(result.tracks[name].excess[:, 150:].sum(axis=1)) for name in policies}
    assert after["GLIDE"] < 0.1 * after["deaf"]
    calm = simulate(FULL, {"GLIDE": GLIDE()}, 300, 100, seed=2).tracks["GLIDE"].diagnostics["alarms"]
    assert calm.mean() < 0.1


def test_a_known_cap_makes_a_small_change_proof() -> None:
    # An offset of five times the cap, in two readings that are otherwise explained.
    policy, rng = GLIDE(noise_cap=0.1), np.random.default_rng(0)
    A = np.diag([1.0, 2.0])
    state, v = policy.start(np.zeros(2)), np.zeros(2)
    for t in range(100):
        v = v + 3.0 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        y = 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-0.1, 0.1) + (0.5 if t >= 98 else 0.0)
        state = policy.observe(state, y)
    assert policy.diagnostics(state)["last_alarm"] == 100
    assert policy.diagnostics(state)["outliers"] == 0


def test_forgetting_follows_what_turns_slowly() -> None:
    turning = replace(FULL, changes=(Change(20, duration=280),))
    deaf, forgetful = GLIDE(alarms=False), GLIDE(alarms=False, window=30.0)
    regret = final(turning, {"deaf": deaf, "forgetful": forgetful}, 300)
    assert regret["forgetful"] < 0.5 * regret["deaf"]


def test_it_uses_what_is_predictable_and_only_that() -> None:
    correlated = Environment(RandomProblem(4, 4, 1.0, 4.0), Correlated(50.0, 0.7), Uniform(10.0))
    policies = {"GLIDE": GLIDE(), "no drift": GLIDE(drift=False)}
    paid = simulate(correlated, policies, 400, 12, seed=0)
    below, above = (np.median(paid.regret(name)[:, -1]) for name in policies)
    assert below < 0.0 < above  # below LAI, who takes v for a martingale
    result = simulate(FULL, policies, 200, 40, seed=0)
    quiet = np.isclose(result.regret("GLIDE")[:, -1], result.regret("no drift")[:, -1])
    assert quiet.mean() > 0.85


def test_limits_are_kept_and_what_was_applied_is_learned_from() -> None:
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


def test_diagnostics_say_what_it_knows_for_each_run() -> None:
    policy = GLIDE()
    state = policy.start(np.zeros((2, 3, 4)))
    found = policy.diagnostics(state)
    assert found["estimate"].shape == (2, 3, 4, 4)
    assert found["uncertainty"].shape == (2, 3, 4)
    for name in ("noise", "probes", "alarms", "last_alarm", "outliers", "drift"):
        assert found[name].shape == (2, 3)


def test_one_matrix_for_all_runs_or_one_plant() -> None:
    result = simulate(Environment(Problem(np.eye(2)), Gaussian(5.0), Uniform(1.0)), {"G": GLIDE()}, 40, 3)
    assert np.isfinite(result.regret("G")).all()


@pytest.mark.parametrize(
    ("noise", "probing", "near"),
    # Where there is no noise but round-off, even a probe of that size is worth its price: it ends farther from v.
    [(0.0, True, 1e-50), (0.0, False, 1e-100), (0.1, True, 1e-100)],
)
def test_a_minimizer_at_rest_is_reached_and_nothing_breaks(noise: float, probing: bool, near: float) -> None:
    """x - v shrinks below the smallest number whose square is one."""
    policy, rng = GLIDE(probing=probing), np.random.default_rng(0)
    state = policy.start(np.ones(2))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for _ in range(900):
            x, state = policy.act(state, np.zeros(2))
            state = policy.observe(state, 0.5 * x @ x + noise * rng.uniform(-1.0, 1.0))
    assert np.abs(x).max() < near
    assert np.isfinite(policy.diagnostics(state)["estimate"]).all()
