"""What is known about a round beside v: actuators that cannot move, the unit of a reading, and where it was felt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, OAL, POL, RLS, Guarded, Limited, Periodic, Policy, State, Weighted
from soqo.errors import ArgumentError

A = np.array([[2.0, 0.3], [0.3, 1.0]])
LEARNERS: dict[str, Policy[Any]] = {
    "POL": POL(1e-3),
    "OAL": OAL(1e-3),
    "RLS": RLS(1.0),
    "GLIDE": GLIDE(),
    "Limited": Limited(GLIDE(), low=-1e3, high=1e3),
    "Weighted": Weighted(GLIDE(), 2.0),
    "Guarded": Guarded(GLIDE()),
}


def play(policy: Policy[Any], reading: Any, *, rounds: int = 40, late: int = 0, **act: Any) -> Any:
    """Return the actions, where ``reading(t, x, v)`` returns y and the keywords of observe."""
    rng, v = np.random.default_rng(0), np.zeros(2)
    state, actions, found = policy.start(v, max_delay=late), [], []
    for t in range(rounds):
        v = v + 10.0 * rng.standard_normal(2)
        x, state = policy.act(state, v, **{name: value[t] for name, value in act.items()})
        found.append(reading(t, x, v))
        actions.append(x)
        if t >= late:
            y, keywords = found[t - late]
            number = {"round": t - late + 1} if late else {}
            state = policy.observe(state, y, **keywords, **number)
    return np.array(actions)


# ---- units ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("late", [0, 2])
def test_a_unit_is_a_reading_per_unit_with_the_factor_per_unit(name: str, late: int) -> None:
    policy, rng = LEARNERS[name], np.random.default_rng(1)
    s, r, e = rng.uniform(0.5, 2.0, 40), rng.uniform(0.5, 2.0, 40), rng.uniform(-1.0, 1.0, 40)

    def in_units(t: int, x: Any, v: Any) -> Any:
        return s[t] * 0.5 * (x - v) @ A @ (x - v) + r[t] * e[t], {"unit": r[t]}

    def per_unit(t: int, x: Any, v: Any) -> Any:
        return s[t] / r[t] * 0.5 * (x - v) @ A @ (x - v) + e[t], {}

    # The first action depends on the factor, so the factors must differ in what is learned only.
    ours = play(policy, in_units, late=late, factor=s)
    one = play(policy, lambda t, x, v: (in_units(t, x, v)[0], {"unit": 1.0}), late=late, factor=s)
    none = play(policy, lambda t, x, v: (in_units(t, x, v)[0], {}), late=late, factor=s)
    np.testing.assert_allclose(one, none, rtol=1e-12, atol=1e-9)
    assert np.abs(ours - none).max() > 1e-9
    if name == "POL":  # no other use of the factor: the estimate is that of readings per unit
        state, same = policy.start(np.zeros(2)), policy.start(np.zeros(2))
        for t in range(10):
            v = np.array([1.0 + t, -2.0])
            x, state = policy.act(state, v, factor=s[t])
            _, same = policy.act(same, v, factor=s[t] / r[t])
            state = policy.observe(state, in_units(t, x, v)[0], unit=r[t])
            same = policy.observe(same, per_unit(t, x, v)[0], applied=x)
            np.testing.assert_allclose(
                policy.diagnostics(state)["estimate"], policy.diagnostics(same)["estimate"], rtol=1e-12
            )


def test_units_tell_good_readings_from_bad_ones() -> None:
    """With the right units, GLIDE's estimate is closer than without them."""
    rng = np.random.default_rng(2)
    r = np.where(np.arange(200) % 2, 30.0, 0.1)
    e = rng.standard_normal(200)
    errors = []
    for told in (True, False):
        state, v = GLIDE().start(np.zeros(2)), np.zeros(2)
        walk = np.random.default_rng(3)
        for t in range(200):
            v = v + 10.0 * walk.standard_normal(2)
            x, state = GLIDE().act(state, v)
            y = 0.5 * (x - v) @ A @ (x - v) + r[t] * e[t]
            state = GLIDE().observe(state, y, **({"unit": r[t]} if told else {}))
        errors.append(np.abs(GLIDE().diagnostics(state)["estimate"] - A).max())
    assert errors[0] < 0.1 * errors[1]


def test_a_base_load_has_no_factor() -> None:
    """y = s 1/2 u'Au + c: GLIDE finds c and A although s varies."""
    rng, v = np.random.default_rng(4), np.zeros(2)
    state = GLIDE().start(v)
    for _ in range(150):
        v = v + 10.0 * rng.standard_normal(2)
        s = rng.uniform(0.2, 3.0)
        x, state = GLIDE().act(state, v, factor=s)
        y = s * 0.5 * (x - v) @ A @ (x - v) + 70.0 + rng.uniform(-1.0, 1.0)
        state = GLIDE().observe(state, y)
    found = GLIDE().diagnostics(state)
    np.testing.assert_allclose(found["estimate"], A, atol=0.02)
    assert found["base_load"] == pytest.approx(70.0, abs=0.5)


def test_an_offset_is_found_under_a_factor() -> None:
    rng, v, b = np.random.default_rng(5), np.zeros(2), np.array([4.0, -3.0])
    state = GLIDE().start(v)
    for _ in range(300):
        v = v + 10.0 * rng.standard_normal(2)
        s = rng.uniform(0.5, 2.0)
        x, state = GLIDE().act(state, v, factor=s)
        u = x - (v - b)
        state = GLIDE().observe(state, s * 0.5 * u @ A @ u + 20.0 + rng.uniform(-1.0, 1.0))
    np.testing.assert_allclose(GLIDE().diagnostics(state)["offset"], b, atol=0.05)


def test_a_factor_of_zero_teaches_the_base_load_only() -> None:
    state, rng = GLIDE().start(np.zeros(2)), np.random.default_rng(6)
    for _ in range(20):
        v = 10.0 * rng.standard_normal(2)
        x, state = GLIDE().act(state, v)
        state = GLIDE().observe(state, 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-0.1, 0.1))
    before = GLIDE().diagnostics(state)["estimate"]
    _, state = GLIDE().act(state, [30.0, 10.0], factor=0.0)
    state = GLIDE().observe(state, 0.05)
    np.testing.assert_allclose(GLIDE().diagnostics(state)["estimate"], before, rtol=1e-3, atol=1e-3)


# ---- where a reading was felt --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("late", [0, 2])
def test_a_reading_felt_elsewhere_teaches_there_and_moves_nothing(name: str, late: int) -> None:
    policy = LEARNERS[name]
    state, felt = policy.start(np.zeros(2), max_delay=late), np.array([3.0, -1.0])
    other = policy.start(np.zeros(2), max_delay=late)
    number = {"round": 1} if late else {}
    for t in range(late + 1):
        _, state = policy.act(state, [5.0 + t, 2.0])
        _, other = policy.act(other, [5.0 + t, 2.0])
    position = state.x
    state = policy.observe(state, 7.0, at=felt, **number)
    other = policy.observe(other, 7.0, applied=felt, **number)
    np.testing.assert_array_equal(state.x, position)
    if name != "Guarded":  # which counts the switching cost of the step that was made
        np.testing.assert_array_equal(
            policy.diagnostics(state)["estimate"] if name != "RLS" else state.memory.mean,
            policy.diagnostics(other)["estimate"] if name != "RLS" else other.memory.mean,
        )
    _, state = policy.act(state, [5.0, 2.0])
    assert state.felt is None
    np.testing.assert_array_equal(state.x_prev, position)


# ---- actuators that cannot move --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*LEARNERS, "LAI"])
def test_an_actuator_that_is_not_active_stays_and_has_no_cost(name: str) -> None:
    policy: Policy[Any] = LEARNERS.get(name, LAI(A))
    state = policy.start(np.array([1.0, 2.0]))
    x, state = policy.act(state, [5.0, 9.0], active=[True, False])
    assert x[1] == 2.0
    assert x[0] != 1.0
    np.testing.assert_array_equal(state.u[1], 0.0)
    state = policy.observe(state, 3.0)
    again, _ = policy.act(state, [5.0, 9.0], active=[False, False])
    np.testing.assert_array_equal(again, x)


def test_a_mask_may_be_that_of_each_run() -> None:
    x, _ = FTM().act(FTM().start(np.zeros((2, 2))), np.ones((2, 2)), active=[[True, False], [False, True]])
    np.testing.assert_array_equal(x, [[1.0, 0.0], [0.0, 1.0]])
    x, _ = FTM().act(FTM().start(np.zeros((2, 2))), np.ones((2, 2)), active=[True, False])
    np.testing.assert_array_equal(x, [[1.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"active": [1, 0]}, "active must be True or False"),
        ({"active": [True]}, r"active must have shape \(2,\), got \(1,\)"),
        ({"factor": -1.0}, "factor must be at least 0, got -1.0"),
    ],
)
def test_wrong_arguments_of_act_are_named(keywords: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        FTM().act(FTM().start(np.zeros(2)), np.ones(2), **keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"unit": 0.0}, "unit must be above 0, got 0.0"),
        ({"covariates": [1.0, np.inf]}, "covariates must be finite, got inf"),
        ({"covariates": 1.0}, r"covariates must have shape \(k,\), got \(\)"),
        ({"unit": [1.0, 2.0]}, "unit"),
        ({"at": [1.0]}, "at"),
    ],
)
def test_wrong_arguments_of_observe_are_named(keywords: Any, message: str) -> None:
    _, state = FTM().act(FTM().start(np.zeros(2)), np.ones(2))
    with pytest.raises(ArgumentError, match=message):
        FTM().observe(state, 1.0, **keywords)


# ---- covariates ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Notes(FTM):
    """It writes down the covariates of its readings."""

    found: list[Any] = field(default_factory=list)

    def learn(self, state: Any, y: Any) -> Any:
        self.found.append((state.round, state.covariates))
        return super().learn(state, y)


WRAPPERS: dict[str, Any] = {
    "alone": lambda policy: policy,
    "Limited": lambda policy: Limited(policy, low=-1e3, high=1e3),
    "Weighted": lambda policy: Weighted(policy, 2.0),
    "Periodic": lambda policy: Periodic(policy, 360.0),
    "Guarded": Guarded,
    "all": lambda policy: Limited(Periodic(Weighted(Guarded(policy), 2.0), 360.0), low=-1e3),
}


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("late", [0, 2])
def test_covariates_reach_the_policy_inside_with_their_own_reading_alone(name: str, late: int) -> None:
    inner = Notes()
    policy = WRAPPERS[name](inner)
    rows = [None if t % 3 == 2 else np.array([float(t), -1.0]) for t in range(40)]
    play(policy, lambda t, _x, _v: (1.0, {} if rows[t] is None else {"covariates": rows[t]}), late=late)
    assert [number for number, _ in inner.found] == list(range(1, 41 - late))
    for number, told in inner.found:
        np.testing.assert_array_equal(told, rows[number - 1])
    state = policy.act(policy.start(np.zeros(2)), np.ones(2))[1]
    state = policy.observe(state, 1.0, covariates=[1.0, 2.0])
    while isinstance(state, State):
        assert state.covariates is None
        state = getattr(state.memory, "inner", state.memory)


@pytest.mark.parametrize("name", ["GLIDE", "Weighted", "Guarded"])
def test_the_first_reading_with_covariates_fixes_their_number(name: str) -> None:
    policy = LEARNERS[name]
    state = policy.act(policy.start(np.zeros(2)), np.ones(2))[1]
    state = policy.act(policy.observe(state, 1.0), np.ones(2))[1]
    state = policy.act(policy.observe(state, 1.0, covariates=[1.0, 2.0]), np.ones(2))[1]
    policy.observe(state, 1.0)
    for wrong in ([1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(ArgumentError, match=f"covariates must have 2 entries as .* got {len(wrong)}"):
            policy.observe(state, 1.0, covariates=wrong)
    assert policy.act(policy.observe(state, 1.0, covariates=[1e300, -1e300]), np.ones(2))[1].round == 4
