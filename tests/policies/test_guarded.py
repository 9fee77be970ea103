"""The guarantee of the guard against adversarial policies and plants, and what it does with bad meters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soqo import (
    FTM,
    GLIDE,
    LAI,
    POL,
    Controller,
    Delay,
    Environment,
    Factor,
    Guarded,
    Limited,
    Policy,
    Problem,
    RandomProblem,
    State,
    Weighted,
    random_curvature,
    simulate,
)
from soqo.checks import POLICY_CHECKS, Scenario
from soqo.errors import ArgumentError
from soqo.meters import BaseLoad, Saturation
from soqo.noise import Uniform
from soqo.policies import draw_per_run
from soqo.processes import Cauchy, Gaussian


@pytest.mark.parametrize(
    "policy",
    [
        Guarded(POL(0.02)),
        Guarded(GLIDE(), 1.05, budget=1e3),
        Guarded(LAI(np.zeros((3, 3))), max_curvature=3.0, budget=1e9),
        Guarded(POL(0.02), max_distance=[0.1, 1.0, 2.0], base_load=0.1, y_limits=(-1.0, 9.0)),
        Guarded(POL(0.02), v_limits=(-2.0, [2.0, 3.0, 4.0])),
    ],
    ids=repr,
)
@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_policy_passes_the_contract_checks(check: Any, policy: Policy[Any]) -> None:
    check(policy, Scenario())


# ---- the guarantee ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wild(Policy[Any]):
    """Jumps at random, sometimes far."""

    size: float = 3.0

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        return draw_per_run(rng, x0.shape[:-1], lambda one: one.standard_t(1.5, (200, x0.shape[-1])))

    def decide(self, state: State[Any], v: Any) -> Any:
        return v + self.size * state.memory[..., state.round % 200, :], state.memory


@dataclass(frozen=True)
class Flee(Policy[None]):
    """Goes away from v, the further the longer."""

    def decide(self, state: State[None], v: Any) -> Any:
        return state.x - 0.3 * (v - state.x) - 0.01 * state.round, None


ADVERSARIES = {"stay": LAI(np.zeros((3, 3))), "wild": Wild(), "wild, small": Wild(0.2), "flee": Flee()}


@pytest.mark.parametrize("process", [Gaussian(1.0), Cauchy(0.3)], ids=["Gaussian", "Cauchy"])
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_the_cost_stays_within_the_guarantee_after_every_round(adversary: str, bounded: bool, process: Any) -> None:
    ratio, budget = 1.3, 2.0
    rng = np.random.default_rng(8)
    matrices = np.stack([random_curvature(3, 3, min_eigenvalue=0.1, max_eigenvalue=6.0, rng=rng) for _ in range(30)])
    guarded = Guarded(ADVERSARIES[adversary], ratio, budget=budget, max_curvature=6.0 if bounded else None)
    environment = Environment(Problem(matrices), process, Uniform(0.0))
    result = simulate(environment, {"guarded": guarded, "FTM": FTM()}, horizon=150, runs=30, seed=2)
    cost = np.cumsum(result.cost("guarded"), axis=1)
    followed = result["FTM"].switching
    allowed = ratio * np.cumsum(followed, axis=1) + budget * np.maximum.accumulate(followed, axis=1)
    if not bounded:
        allowed = allowed + np.maximum.accumulate(result["guarded"].hitting, axis=1)
    assert (cost <= allowed * (1.0 + 1e-12)).all()
    assert (result["guarded"].diagnostics["interventions"] > 0).any()  # so that the guarantee was needed
    np.testing.assert_allclose(result["guarded"].diagnostics["measured"], cost[:, -1], rtol=1e-9)
    np.testing.assert_allclose(result["guarded"].diagnostics["followed"], followed.sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("delay", [Delay(1), Delay(3), Delay(0, jitter=4)], ids=repr)
@pytest.mark.parametrize("factor", [None, Factor(0.6, deviation=0.3)], ids=["plain", "factor"])
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_with_late_readings_the_guarantee_has_one_hitting_cost_more_for_each_round_that_may_be_open(
    adversary: str, bounded: bool, factor: Factor | None, delay: Delay
) -> None:
    ratio, budget = 1.3, 2.0
    rng = np.random.default_rng(8)
    matrices = np.stack([random_curvature(3, 3, min_eigenvalue=0.1, max_eigenvalue=6.0, rng=rng) for _ in range(20)])
    guarded = Guarded(ADVERSARIES[adversary], ratio, budget=budget, max_curvature=6.0 if bounded else None)
    environment = Environment(Problem(matrices), Gaussian(1.0), Uniform(0.0), delay=delay, factor=factor)
    result = simulate(environment, {"guarded": guarded, "FTM": FTM()}, horizon=120, runs=20, seed=2)
    cost = np.cumsum(result.cost("guarded"), axis=1)
    followed = result["FTM"].switching
    allowed = ratio * np.cumsum(followed, axis=1) + budget * np.maximum.accumulate(followed, axis=1)
    if not bounded:
        largest = np.maximum.accumulate(result["guarded"].hitting, axis=1)
        allowed = allowed + (1 + delay.max_rounds) * largest
    assert (cost <= allowed * (1.0 + 1e-12)).all()
    assert (result["guarded"].diagnostics["interventions"] > 0).any()


def test_without_the_guard_the_adversaries_break_it() -> None:
    environment = Environment(RandomProblem(3, 3, min_eigenvalue=0.1, max_eigenvalue=6.0), Gaussian(1.0), Uniform(0.0))
    result = simulate(environment, {**ADVERSARIES, "FTM": FTM()}, horizon=150, runs=8)
    for name in ("stay", "wild", "flee"):
        assert (result.cost(name).sum(axis=1) > 2.0 * result.cost("FTM").sum(axis=1)).all()


def test_a_good_policy_is_left_alone() -> None:
    environment = Environment(RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0), Gaussian(5.0), Uniform(1.0))
    policies = {"GLIDE": GLIDE(), "guarded": Guarded(GLIDE())}
    result = simulate(environment, policies, horizon=200, runs=8)
    np.testing.assert_array_equal(result.regret("guarded"), result.regret("GLIDE"))
    assert not result["guarded"].diagnostics["interventions"].any()


# ---- meters ----------------------------------------------------------------------------------------------------------


def test_behind_a_saturated_meter_it_costs_no_more_than_following_v() -> None:
    """Unguarded, GLIDE strays: being further off is not visible, so its estimate shrinks."""
    environment = Environment(
        RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0),
        Gaussian(1.0),
        Uniform(0.1),
        meters=Saturation(0.4),
    )
    policies = {"GLIDE": GLIDE(), "guarded": Guarded(GLIDE()), "FTM": FTM()}
    result = simulate(environment, policies, horizon=300, runs=16, seed=3)
    cost = {name: result.cost(name).sum(axis=1) for name in result}
    assert np.median(cost["GLIDE"]) > 3.0 * np.median(cost["FTM"])
    assert (cost["guarded"] < 1.2 * cost["FTM"]).all()


def test_a_base_load_is_hitting_cost_unless_it_is_told() -> None:
    environment = Environment(Problem(np.eye(2)), Gaussian(1.0), Uniform(0.1), meters=BaseLoad(5.0))
    policies = {"told": Guarded(LAI(np.eye(2)), base_load=5.0), "not told": Guarded(LAI(np.eye(2)))}
    result = simulate(environment, policies, horizon=100, runs=4)
    assert not result["told"].diagnostics["interventions"].any()
    assert result["not told"].diagnostics["interventions"].all()


def test_after_three_rounds_without_a_reading_it_follows_v_until_one_arrives() -> None:
    policy = Guarded(LAI(np.eye(1)), budget=100.0)
    state = policy.start(np.zeros(1))
    followed = []
    for t, y in enumerate([0.3, np.nan, np.nan, np.nan, np.nan, 0.1, 0.1], start=1):
        v = np.array([float(t % 2)])
        x, state = policy.act(state, v)
        followed.append(bool((x == v).all()))
        state = policy.observe(state, y)
    assert followed == [False, False, False, False, True, True, False]


@pytest.mark.parametrize("max_curvature", [None, 4.0])
@pytest.mark.parametrize("wrap", [lambda policy: policy, lambda policy: Limited(policy, low=-0.5, high=0.5)])
def test_the_measured_cost_is_the_true_one_as_soon_as_all_readings_have_arrived(wrap: Any, max_curvature: Any) -> None:
    guarded: Guarded[Any] = Guarded(LAI(np.eye(2)), budget=1e6, max_curvature=max_curvature)
    policy, A, rng = wrap(guarded), np.diag([1.0, 3.0]), np.random.default_rng(1)
    state, x_prev, true, arrived, unread = policy.start(np.zeros(2), max_delay=3), np.zeros(2), 0.0, 0.0, {}
    for t in range(1, 30):
        v = rng.standard_normal(2)
        x, state = policy.act(state, v)
        unread[t] = 0.5 * (x - v) @ A @ (x - v)
        true, x_prev = true + 0.5 * (x - x_prev) @ (x - x_prev), x
        late = [k for k in unread if k == t - 3 or (k == t and t % 4 == 0) or t == 29]
        for k in late:
            arrived += unread[k]
            state = policy.observe(state, unread.pop(k), round=k)
    assert not unread
    np.testing.assert_allclose(policy.diagnostics(state)["measured"], true + arrived, rtol=1e-12)


def test_until_its_reading_arrives_a_round_counts_as_one_without_a_reading() -> None:
    policy = Guarded(LAI(np.eye(1)), budget=1e6, base_load=0.25)
    state, moves, x_prev = policy.start(np.zeros(1), max_delay=2), 0.0, 0.0
    for t, v in enumerate((1.0, -1.0, 1.0, 2.0), start=1):
        x, state = policy.act(state, [v])
        moves, x_prev = moves + 0.5 * (x.item() - x_prev) ** 2, x.item()
        if t == 1:
            state = policy.observe(state, 0.75)
    np.testing.assert_allclose(policy.diagnostics(state)["measured"], moves + 0.5 + 3 * 0.5)
    state = policy.observe(state, 4.25, round=2)
    np.testing.assert_allclose(policy.diagnostics(state)["measured"], moves + 0.5 + 4.0 + 2 * 0.5)


def test_a_plant_that_did_not_reach_v_counts_as_away_from_it_until_its_reading_arrives() -> None:
    policy = Guarded(FTM(), budget=1e6, max_curvature=4.0)
    _, state = policy.act(policy.start(np.zeros(1), max_delay=2), [1.0])
    state = policy.observe(state, np.nan, applied=[0.5])
    np.testing.assert_allclose(policy.diagnostics(state)["measured"], 0.5 * 0.25 + 4.0 * 0.5 * 0.25)
    _, state = policy.act(state, [0.5])
    state = policy.observe(state, 0.2, round=1)
    np.testing.assert_allclose(policy.diagnostics(state)["measured"], 0.5 * 0.25 + 0.2)


def test_late_readings_do_not_make_it_follow_v_and_lost_ones_do_when_they_can_no_longer_arrive() -> None:
    policy = Guarded(LAI(np.eye(1)), budget=1e6)
    state, followed = policy.start(np.zeros(1), max_delay=4), []
    for t in range(1, 40):
        v = np.array([float(t % 2)])
        x, state = policy.act(state, v)
        followed.append(bool((x == v).all()))
        if 5 <= t <= 20:
            state = policy.observe(state, 0.1 + 0.01 * t, round=t - 4)  # the last one is that of round 16
    # Rounds 17, 18 and 19 are closed in rounds 22, 23 and 24.
    assert followed == [False] * 23 + [True] * 16


def test_an_implausible_minimizer_is_replaced_by_the_last_plausible_one() -> None:
    policy = Guarded(POL(0.1), budget=1e6, v_limits=([-5.0, -5.0], 5.0))
    state = policy.start(np.zeros(2))
    before = None
    for v, plausible in (([3.0, 1.0], True), ([3.0, 999.0], False), ([-6.0, 0.0], False), ([2.0, 1.0], True)):
        x, state = policy.act(state, v)
        found = policy.diagnostics(state)
        assert bool(found["implausible_v"]) != plausible
        assert ("out of v_limits" in policy.explain(state)) != plausible
        if not plausible:
            assert np.abs(x).max() < 5.0
            np.testing.assert_array_equal(state.memory.inner.v, [3.0, 1.0])
        before = found["estimate"]
        state = policy.observe(state, 0.9)
        assert (policy.diagnostics(state)["estimate"] == before).all() != plausible
    assert float(policy.diagnostics(state)["replaced_v"]) == 2.0
    np.testing.assert_allclose(policy.diagnostics(state)["followed"], 0.5 * 10.0 + 0.5 * 1.0)


def test_an_implausible_minimizer_of_one_run_does_not_concern_the_others() -> None:
    policy = Guarded(LAI(np.eye(1)), budget=1e6, v_limits=(-5.0, 5.0))
    state = policy.start(np.zeros((2, 1)), max_delay=2)
    first, state = policy.act(state, [[1.0], [1.0]])
    x, state = policy.act(state, [[9.0], [2.0]])
    np.testing.assert_array_equal(policy.diagnostics(state)["implausible_v"], [True, False])
    share = (first[0, 0] - 0.0) / 1.0  # the gain of an infinite horizon is the same in each round
    np.testing.assert_allclose(x[:, 0], first[:, 0] + share * (np.array([1.0, 2.0]) - first[:, 0]))


def test_implausible_readings_are_missing_for_the_policy_too() -> None:
    policy = Guarded(POL(0.1), y_limits=(-1.0, 50.0))
    state = policy.start(np.zeros(1))
    _, state = policy.act(state, [3.0])
    before = policy.diagnostics(state)["estimate"]
    np.testing.assert_array_equal(policy.diagnostics(policy.observe(state, 999.0))["estimate"], before)
    assert (policy.diagnostics(policy.observe(state, 9.0))["estimate"] != before).any()


def test_actions_stay_within_the_largest_distance() -> None:
    policy = Guarded(LAI(np.zeros((2, 2))), max_distance=[0.5, 2.0], budget=1e9)
    x, _ = policy.act(policy.start(np.zeros(2)), [4.0, -4.0])
    np.testing.assert_allclose(x, [3.5, -2.0])


# ---- plants and reports ----------------------------------------------------------------------------------------------


def test_on_a_plant_with_a_weight_the_cost_of_following_v_is_weighted() -> None:
    problem = Problem(np.diag([1.0, 3.0]), switching_weight=[1.0, 4.0])
    result = simulate(
        Environment(problem, Gaussian(1.0), Uniform(0.0)), {"g": Guarded(Wild()), "FTM": FTM()}, horizon=40, runs=3
    )
    found = result["g"].diagnostics["followed"]
    np.testing.assert_allclose(found, result["FTM"].switching.sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize(("limit", "needed"), [(100.0, False), (0.3, True)])
def test_it_is_never_called_confident_after_the_guard_was_needed(limit: float, needed: bool) -> None:
    A = np.diag([0.5, 1.0])
    controller = Controller(Guarded(GLIDE()), np.zeros(2), switching_weight=[1.0, 2.0])
    rng, v = np.random.default_rng(0), np.zeros(2)
    for _ in range(120):
        v = v + rng.standard_normal(2)
        u = controller.act(v) - v
        controller.observe(float(np.minimum(0.5 * u @ A @ u + rng.uniform(-0.05, 0.05), limit)))
    assert ("confident" in controller.explain()) != needed
    assert (controller.diagnostics()["interventions"] > 0) == needed


def test_explanations_say_why_the_guard_plays() -> None:
    policy = Guarded(LAI(np.zeros((1, 1))), 1.5, budget=0.0)
    state = policy.start(np.zeros(1))
    for v in (1.0, 2.0):
        _, state = policy.act(state, [v])
        state = policy.observe(state, 0.0)
    assert policy.explain(state) == (
        "The guard follows v in place of LAI: measured cost 1, following v would have cost 1."
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Guarded(FTM(), 1.0), "ratio must be a finite number above 1, got 1.0"),
        (lambda: Guarded(FTM(), budget=-1.0), "budget must be"),
        (lambda: Guarded(FTM(), max_curvature=-1.0), "max_curvature must be"),
        (lambda: Guarded(FTM(), max_distance=[-1.0]), "max_distance must be a number or a vector, not negative"),
        (lambda: Guarded(FTM(), y_limits=(2.0, 1.0)), "y_limits must be increasing"),
        (lambda: Guarded(FTM(), v_limits=(2.0, 1.0)), "v_limits must be increasing, got 2.0 and 1.0"),
        (lambda: Guarded(FTM(), v_limits=3.0), "v_limits must be a lowest and a highest minimizer, got 3.0"),  # type: ignore[arg-type]  # on purpose
        (lambda: Guarded(FTM(), v_limits=([1.0], [2.0, 3.0])), "v_limits must be numbers or vectors of one shape"),
        (lambda: Guarded(FTM(), v_limits=(0.0, [1.0, 2.0])).start(np.zeros(3)), r"v_limits must have shape \(3,\)"),
        (lambda: Guarded("FTM"), "policy must be a Policy, got str"),  # type: ignore[arg-type]  # on purpose
        (lambda: Guarded(Weighted(FTM(), 2.0)), "put Guarded inside Weighted"),
        (lambda: Guarded(FTM(), max_distance=[1.0, 2.0]).start(np.zeros(3)), r"max_distance must have shape \(3,\)"),
    ],
)
def test_bad_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
