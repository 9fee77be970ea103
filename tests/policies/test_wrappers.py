"""Weighted against a direct solution of the weighted problem; Limited never exceeds its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, OAL, POL, Guarded, Limited, Policy, Problem, State, Weighted, random_curvature
from soqo.checks import POLICY_CHECKS, Scenario
from soqo.errors import ArgumentError
from soqo.policies import match_switching_weight

A = random_curvature(3, 2, min_eigenvalue=0.3, max_eigenvalue=4.0, rng=np.random.default_rng(0))
W = np.array([[3.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]])
WEIGHTS: list[Any] = [None, 2.5, [1.0, 4.0, 0.25], W]


@pytest.mark.parametrize(
    "policy",
    [
        Weighted(POL(0.02), W),
        Weighted(LAI(A), 2.0),
        Limited(POL(0.02), low=-1.0, high=[1.0, 2.0, 0.5]),
        Limited(Weighted(POL(0.02), W), low=-1.0),
        Limited(FTM()),
        Limited(Weighted(POL(0.02), W), low=-1.0, rate=[0.1, 0.2, np.inf]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_policy_passes_the_contract_checks(check: Any, policy: Policy[Any]) -> None:
    check(policy, Scenario())


def direct_gains(full: Any, horizon: int) -> list[Any]:
    """Return the gains by dynamic programming in plant coordinates: the value of s = x_prev - v is 1/2 s'Ps."""
    P, gains = np.zeros((3, 3)), []
    for _ in range(horizon):
        C = np.linalg.solve(A + P + full, full)
        P = full - full @ C
        gains.append(C)
    return gains[::-1]


@pytest.mark.parametrize("weight", WEIGHTS, ids=["none", "scalar", "vector", "matrix"])
def test_weighted_lai_solves_the_weighted_problem(weight: Any) -> None:
    full = np.eye(3) if weight is None else np.asarray(weight)
    full = full if full.ndim == 2 else np.eye(3) * full
    problem = Problem(A, weight)
    policy = Weighted(LAI(problem.plain.A), weight)
    rng = np.random.default_rng(1)
    x = expected = rng.standard_normal(3)
    state = policy.start(x, horizon=20)
    for C in direct_gains(full, 20):
        v = rng.standard_normal(3)
        expected = v + C @ (expected - v)
        x, state = policy.act(state, v)
        np.testing.assert_allclose(x, expected, atol=1e-12)


def test_weighted_without_a_weight_is_bit_identical_to_the_policy() -> None:
    rng = np.random.default_rng(2)
    plain, wrapped = POL(0.05), Weighted(POL(0.05))
    one, other = plain.start(np.zeros(3), 10), wrapped.start(np.zeros(3), 10)
    for _ in range(10):
        v, y = rng.standard_normal(3), rng.uniform()
        x, one = plain.act(one, v)
        z, other = wrapped.act(other, v)
        np.testing.assert_array_equal(x, z)
        one, other = plain.observe(one, y), wrapped.observe(other, y)


def test_the_inner_policy_learns_the_plain_curvature_and_diagnostics_are_in_plant_coordinates() -> None:
    problem = Problem(A, W)
    policy = Weighted(POL(0.02), W)
    rng = np.random.default_rng(3)
    state = policy.start(np.zeros(3))
    for _ in range(6000):
        v = rng.standard_normal(3)
        _, state = policy.act(state, v)
        applied = v + rng.standard_normal(3)
        state = policy.observe(state, problem.hitting_cost(applied, v), applied=applied)
    np.testing.assert_allclose(state.memory.matrix, problem.plain.A, atol=1e-5)
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], A, atol=1e-4)


@dataclass(frozen=True)
class LastSeen(Policy[Any]):
    """Follow v, and remember the position from which a reading came."""

    def decide(self, state: State[Any], v: Any) -> Any:
        return v, state.memory

    def learn(self, state: State[Any], y: Any) -> Any:
        return state.x


def test_no_action_exceeds_its_limits_and_the_inner_policy_learns_from_the_clipped_action() -> None:
    low, high = np.array([-0.1, -0.2, -0.3]), np.array([0.1, 0.2, 0.3])
    policy = Limited(LastSeen(), low=low, high=high)
    rng = np.random.default_rng(4)
    state = policy.start(np.zeros((5, 3)), 40)
    for _ in range(40):
        v = rng.standard_normal((5, 3))
        x, state = policy.act(state, v)
        assert ((low <= x) & (x <= high)).all()
        state = policy.observe(state, rng.uniform(size=5))
        np.testing.assert_array_equal(state.memory, x)


def test_no_step_exceeds_its_rate_and_the_inner_policy_learns_from_the_clipped_action() -> None:
    rate = np.array([0.1, np.inf, 0.3])
    policy = Limited(LastSeen(), rate=rate, high=[0.2, np.inf, np.inf])
    rng = np.random.default_rng(4)
    state = policy.start(np.zeros((5, 3)), 40)
    clipped = 0
    for t in range(40):
        before = state.x
        x, state = policy.act(state, rng.standard_normal((5, 3)))
        assert ((before - rate <= x) & (x <= before + rate)).all()
        assert (x[:, 0] <= 0.2).all()
        clipped += (np.abs(x - before)[:, 2] > 0.3 * (1 - 1e-12)).sum()
        # Also if there is no reading, or the plant applied something else.
        applied = None if t % 3 else x + 0.01
        state = policy.observe(state, rng.uniform(size=5) if t % 2 else np.full(5, np.nan), applied=applied)
        np.testing.assert_array_equal(state.memory, x if applied is None else applied)
    assert clipped > 50


def test_limits_come_before_the_rate_if_both_cannot_hold() -> None:
    policy = Limited(FTM(), low=-1.0, high=1.0, rate=0.5)
    x, _ = policy.act(policy.start([9.0, -9.0, 0.0]), [9.0, 0.0, 9.0])
    np.testing.assert_array_equal(x, [1.0, -1.0, 0.5])


@pytest.mark.parametrize("action", [np.inf, -np.inf, np.nan])
def test_an_action_that_is_not_finite_is_no_action_at_a_limit(action: float) -> None:
    class Asks(Policy[None]):
        def decide(self, state: State[None], v: Any) -> Any:
            return v * [[1.0], [action]], None

    policy = Limited(Weighted(Asks(), 2.0), low=-1.0, high=1.0, rate=0.5)
    x, state = policy.act(policy.start([[0.25], [0.25]]), [[3.0], [3.0]])
    np.testing.assert_array_equal(x, [[0.75], [0.25]])
    np.testing.assert_array_equal(policy.diverged(state), [False, True])


def test_an_infinite_entry_means_no_limit_for_that_actuator() -> None:
    policy = Limited(FTM(), low=[-np.inf, -1.0], high=[2.0, np.inf])
    x, _ = policy.act(policy.start(np.zeros((2, 2))), [[-50.0, -50.0], [50.0, 50.0]])
    np.testing.assert_array_equal(x, [[-50.0, -1.0], [2.0, 50.0]])


def test_the_inner_policy_continues_from_the_clipped_action_even_if_the_reading_is_missed() -> None:
    policy = Limited(LAI(np.eye(1)), high=1.0)
    state = policy.start(np.zeros(1), 2)
    x, state = policy.act(state, [8.0])
    np.testing.assert_array_equal(x, [1.0])
    x, _ = policy.act(state, [0.0])  # the last round: halfway from 1 to 0
    np.testing.assert_allclose(x, [0.5])


def test_wrappers_have_the_properties_of_the_inner_policy() -> None:
    assert Weighted(OAL(0.1)).exact_feedback is True
    assert Limited(OAL(0.1)).exact_feedback is True
    assert Limited(Weighted(OAL(0.1))).in_plant_coordinates is True
    assert Limited(OAL(0.1)).in_plant_coordinates is True


def test_a_switching_weight_goes_inside_of_limits() -> None:
    policy = match_switching_weight(Limited(FTM(), low=-5.0, high=5.0), 25.0)
    assert isinstance(policy, Limited)
    assert isinstance(policy.policy, Weighted)
    x, _ = policy.act(policy.start(np.zeros(2)), [50.0, -2.0])
    np.testing.assert_allclose(x, [5.0, -2.0])
    assert match_switching_weight(Limited(FTM(), rate=2.0), 25.0) == Limited(Weighted(FTM(), 25.0), rate=2.0)
    already = Weighted(FTM(), 25.0)
    assert match_switching_weight(already, 25.0) is already
    plain = FTM()
    assert match_switching_weight(plain, None) is plain


def test_diagnostics_and_diverged_agree() -> None:
    @dataclass(frozen=True)
    class Overflows(Policy[None]):
        def decide(self, state: Any, v: Any) -> tuple[Any, None]:
            return np.full_like(v, 1e300), None

    policy = Weighted(Overflows(), 1e-40)
    with np.errstate(over="ignore"):
        _, state = policy.act(policy.start(np.zeros(1)), [1.0])
    assert policy.diverged(state)
    assert policy.diagnostics(state)["diverged"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Weighted(FTM(), -1.0), "switching_weight must be positive"),
        (lambda: Limited(FTM(), rate=0.0), "rate must be above 0"),
        (lambda: Limited(FTM(), rate=[1.0, np.nan]), "rate must be above 0"),
        (lambda: Limited(FTM(), rate=[1.0, 2.0]).start(np.zeros(3)), r"rate must have shape \(3,\), got \(2,\)"),
        (lambda: Weighted(Weighted(FTM())), "policy must be for an unweighted switching cost"),
        (lambda: Weighted(Limited(Weighted(FTM()))), "policy must be for an unweighted switching cost"),
        (
            lambda: Weighted(FTM(), W).start(np.zeros(2)),
            "switching_weight must be for as many actuators as x0 has, 2, got one for 3",
        ),
        (lambda: Limited(FTM(), low=2.0, high=1.0), "low must not exceed high"),
        (lambda: Weighted(Limited(FTM(), high=1.0), 9.0), "put Weighted inside"),
        (lambda: Limited(FTM(), low=[0.0] * 2, high=[1.0] * 3), "low and high must have one shape"),
        (lambda: Limited(FTM(), low=np.eye(2)), "low must be a number or a vector"),
        (lambda: Limited(FTM(), low=[0.0, 0.0]).start(np.zeros(3)), r"low must have shape \(3,\)"),
        (lambda: Limited(FTM(), high=np.nan), "high must be neither NaN nor -inf, got nan"),
        (
            lambda: Limited(FTM(), low=[0.0, np.inf]),
            r"low must be neither NaN nor inf, got \[ 0. inf\]",
        ),
        (lambda: Limited(FTM(), high=-np.inf), "high must be neither NaN nor -inf, got -inf"),
    ],
)
def test_invalid_settings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_only_policies_can_be_wrapped() -> None:
    number: Any = 3
    with pytest.raises(ArgumentError, match="policy must be a Policy, got int"):
        Weighted(number)


def test_the_uncertainty_is_of_the_estimate_in_plant_coordinates() -> None:
    """Against plain GLIDE in the coordinates W^{1/2} x, whose deviation of a direction is that of the same cost."""
    weights = np.array([1.0, 4.0, 0.25])
    root = np.sqrt(weights)
    weighted, plain = Weighted(GLIDE(), weights), GLIDE()
    state, inner = weighted.start(np.zeros(3)), plain.start(np.zeros(3))
    rng, v = np.random.default_rng(0), np.zeros(3)
    for _ in range(40):
        v = v + rng.standard_normal(3)
        x, state = weighted.act(state, v)
        _, inner = plain.act(inner, root * v)
        y = 0.5 * np.square(x - v) @ [1.5, 0.8, 0.3] + rng.uniform(-0.1, 0.1)
        state, inner = weighted.observe(state, y), plain.observe(inner, y)
    found = weighted.diagnostics(state)
    _, eigenvectors = np.linalg.eigh(found["estimate"])
    for q, deviation in zip(eigenvectors.T, found["uncertainty"], strict=True):
        length = np.linalg.norm(root * q)
        direction = root * q / length
        expected = plain.uncertainty_of(inner, direction[None])
        # w'Aw is quadratic in w, and so is its deviation.
        assert deviation == pytest.approx(length**2 * float(expected[0]), rel=1e-9)


def test_a_policy_without_an_estimate_has_no_uncertainty() -> None:
    policy = Limited(Weighted(FTM(), 2.0), low=-1.0, high=1.0)
    state = policy.start(np.zeros(2))
    assert policy.uncertainty_of(state, np.eye(2)) is None
    assert "uncertainty" not in policy.diagnostics(state)


def test_a_forecast_reaches_the_policy_inside_in_its_own_coordinates() -> None:
    problem = Problem(np.diag([1.0, 3.0]), switching_weight=[1.0, 4.0])
    v, forecast = np.array([1.0, 2.0]), np.array([[3.0, -1.0], [0.0, 5.0]])
    wrapped = Limited(Weighted(LAI.for_problem(problem), problem.switching_weight), high=100.0)
    x, _ = wrapped.act(wrapped.start(np.zeros(2), 9), v, forecast=forecast)
    root = np.array([1.0, 2.0])  # the square root of the weight
    inner = LAI.for_problem(problem)
    expected, _ = inner.act(inner.start(np.zeros(2), 9), root * v, forecast=root * forecast)
    np.testing.assert_allclose(x, expected / root, atol=1e-13)


@pytest.mark.parametrize("policy", [Limited(Weighted(GLIDE(), [1.0, 4.0]), low=-9.0), Guarded(GLIDE()), FTM()])
def test_the_model_of_readings_is_that_of_the_diagnostics(policy: Policy[Any]) -> None:
    state = policy.start(np.zeros(2))
    rng = np.random.default_rng(0)
    for _ in range(8):
        v = rng.normal(size=2)
        x, state = policy.act(state, v)
        state = policy.observe(state, 0.5 * float((x - v) @ (x - v)) + 1.0)
    known, diagnostics = policy.model(state), policy.diagnostics(state)
    for name in {"estimate", "offset", "base_load"} & diagnostics.keys():
        np.testing.assert_array_equal(known[name], diagnostics[name])
