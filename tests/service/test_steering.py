"""Batches of calls: each plant gets what it would get alone, bit for bit, and a wrong call harms no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import soqo
from service_fixtures import Conditions, undisturbed
from soqo.service._steering import Kind, Step, compute, hitting_cost, take_effect

DIM = 2


def make_kind(policy: soqo.Policy[Any] | None = None, **settings: Any) -> Kind:
    limits = dict.fromkeys(("low", "high", "rate", "period", "switching_weight"))
    return Kind(soqo.GLIDE() if policy is None else policy, **{"horizon": None, "max_delay": 0, **limits, **settings})


def begin(kind: Kind, plants: int) -> None:
    for plant in range(plants):
        kind.batches.put(kind.player, kind.start(np.zeros(DIM), seed=0), np.array([plant]))


class Member:
    """A plant of a kind, as far as steps need it."""

    def __init__(self, number: int, kind: Kind) -> None:
        self.id, self.kind = number, kind


def step(number: int, kind: Kind, round_number: int, given: dict[str, Any], played: Any = None) -> Step:
    plant: Any = Member(number, kind)
    return Step(plant, "act" if "v" in given else "reading", round_number, {}, given, played)


def play(steps: list[Step]) -> list[Step]:
    compute(steps)
    assert [one.error for one in steps] == [None] * len(steps)
    take_effect(steps)
    return steps


def test_any_composition_of_batches_gives_the_actions_of_single_controllers_bit_for_bit() -> None:
    kind, plants, rounds = make_kind(), 5, 14
    begin(kind, plants)
    rng = np.random.default_rng(0)
    conditions = [Conditions(seed) for seed in range(plants)]
    actions: list[list[list[float]]] = [[] for _ in range(plants)]
    acting = [True] * plants
    while min(len(one) for one in actions) < rounds or not all(acting):
        chosen = [int(p) for p in rng.permutation(plants)[: rng.integers(1, plants + 1)]]
        chosen = [p for p in chosen if len(actions[p]) < rounds or not acting[p]]
        calls = []
        for plant in chosen:
            if acting[plant]:
                given = {"v": conditions[plant].draw()}
            else:
                given = {"y": np.array(conditions[plant].reading(actions[plant][-1]))}
            calls.append(step(plant, kind, len(actions[plant]) + acting[plant], given))
        for plant, played in zip(chosen, play(calls), strict=True):
            if played.x is not None:
                actions[plant].append(played.x.tolist())
            acting[plant] = not acting[plant]
    for plant in range(plants):
        assert actions[plant] == undisturbed(rounds, seed=plant)


def test_a_call_that_the_policy_refuses_does_not_disturb_the_others() -> None:
    kind = make_kind()
    begin(kind, 3)
    calls = [step(plant, kind, 1, {"v": np.ones(DIM)}) for plant in range(3)]
    calls[1] = step(1, kind, 1, {"v": np.array([1.0, np.nan])})
    compute(calls)
    first, wrong, last = calls
    assert first.error is last.error is None
    assert isinstance(wrong.error, soqo.errors.ArgumentError)
    np.testing.assert_array_equal(first.x, last.x)


def test_only_stored_calls_take_effect() -> None:
    kind = make_kind(soqo.FTM())
    begin(kind, 2)
    calls = [step(plant, kind, 1, {"v": np.full(DIM, plant + 1.0)}) for plant in range(2)]
    compute(calls)
    take_effect(calls[:1])
    assert kind.state_of(0).x.tolist() == [[1.0, 1.0]]
    assert kind.state_of(1).round == 0


def test_a_recorded_action_is_kept_when_a_call_is_repeated() -> None:
    kind = make_kind(soqo.FTM())
    begin(kind, 1)
    played = np.array([1.0, 1.0 + 1e-12])
    (outcome,) = play([step(0, kind, 1, {"v": np.ones(DIM)}, played)])
    np.testing.assert_array_equal(kind.state_of(0).x, [played])
    np.testing.assert_array_equal(outcome.x, played)


def test_the_expectation_is_the_model_of_a_reading() -> None:
    """y = s 1/2 (u + b)'A(u + b) + r c, and the switching cost where readings contain it."""
    kind = make_kind(soqo.GLIDE(switching_included=True), switching_weight=np.array([1.0, 4.0]))
    begin(kind, 1)
    conditions = Conditions()
    for number in range(1, 12):
        (acted,) = play([step(0, kind, number, {"v": conditions.draw()})])
        assert acted.x is not None
        play([step(0, kind, number, {"y": np.array(conditions.reading(acted.x))})])
    before = kind.state_of(0).x[0]
    (acted,) = play([step(0, kind, 12, {"v": conditions.draw(), "factor": np.array(3.0)})])
    assert acted.x is not None
    known = kind.player.diagnostics(kind.state_of(0))
    given = {"y": np.array(1.0), "unit": np.array(2.0)}
    (seen,) = play([step(0, kind, 12, given)])
    u = acted.x - conditions.v + known["offset"][0]
    moved = acted.x - before
    wanted = (
        3.0 * 0.5 * u @ known["estimate"][0] @ u
        + 2.0 * known["base_load"][0]
        + 0.5 * moved @ np.diag([1.0, 4.0]) @ moved
    )
    assert seen.expected == pytest.approx(wanted, rel=1e-12)


def test_a_policy_that_does_not_estimate_expects_nothing() -> None:
    assert hitting_cost({"diverged": False}, np.zeros(2)) is None
    kind = make_kind(soqo.FTM())
    begin(kind, 1)
    play([step(0, kind, 1, {"v": np.ones(DIM)})])
    (seen,) = play([step(0, kind, 1, {"y": np.array(0.5)})])
    assert seen.expected is None


def test_expectations_are_unbiased_where_v_is_off_and_there_is_a_base_load() -> None:
    kind = make_kind()
    begin(kind, 1)
    rng, offset, v, errors = np.random.default_rng(1), np.array([2.0, -1.0]), np.zeros(DIM), []
    A = np.array([[0.6, 0.15], [0.15, 0.9]])
    for number in range(1, 121):
        v = v + rng.normal(size=DIM)
        (acted,) = play([step(0, kind, number, {"v": v})])
        assert acted.x is not None
        u = acted.x - v + offset
        y = 0.5 * u @ A @ u + 5.0 + 0.05 * rng.normal()
        (seen,) = play([step(0, kind, number, {"y": np.array(y)})])
        assert seen.expected is not None
        errors.append(seen.expected - y)
    late = np.array(errors[60:])
    # The standard error of the mean of 60 readings is 0.05 / sqrt(60) = 0.006; the cost of the offset is 1.35.
    assert abs(late.mean()) < 0.03
    known = kind.player.diagnostics(kind.state_of(0))
    assert known["base_load"][0] == pytest.approx(5.0, abs=0.1)
