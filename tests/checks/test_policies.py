"""The checks are themselves checked, with policies that break one promise each."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from soqo import FTM, POL, Policy, Weighted
from soqo._streams import per_run
from soqo.checks import POLICY_CHECKS, Scenario, check_policy
from soqo.errors import CheckError


@dataclass(frozen=True, eq=False)
class Sound(Policy[Any]):
    """Moves a fixed share of the way, remembers the last reading and a random offset: nothing is wrong with it."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        return {
            "offset": per_run(rng, x0.shape[:-1], lambda g: g.standard_normal(x0.shape[-1])),
            "heard": np.zeros(x0.shape[:-1]),
        }

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        pull = 1e-3 * np.tanh(state.memory["heard"])[..., None]
        return 0.5 * state.x + 0.5 * v + state.memory["offset"] + pull, state.memory

    def learn(self, state: Any, y: Any) -> Any:
        heard = np.where(np.isnan(y), state.memory["heard"], y)
        return {**state.memory, "heard": heard}


class WrongShape(Sound):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return super().decide(state, v)[0][..., :1], state.memory


class OnlyOneBatch(Sound):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return (v[0] if v.ndim == 3 else v), state.memory


class ChangesV(Sound):
    """Overrides act itself, and writes into the caller's array."""

    def act(self, state: Any, v: Any) -> tuple[Any, Any]:
        x, state = super().act(state, v)
        v *= 0.5
        return x, state


class ChangesOldState(Sound):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        state.memory["heard"] += 1.0
        return super().decide(state, v)


class LearnsInPlace(Sound):
    def learn(self, state: Any, y: Any) -> Any:
        state.memory["heard"][~np.isnan(y)] = y[~np.isnan(y)]
        return state.memory


class HandsOutItsState(Sound):
    def act(self, state: Any, v: Any) -> tuple[Any, Any]:
        _, state = super().act(state, v)
        return state.x, state


class AllowsEarlyObserve(Sound):
    def observe(self, state: Any, y: Any, applied: Any = None) -> Any:
        return super().observe(replace(state, pending=True), y, applied)


class NeverEnds(Sound):
    def act(self, state: Any, v: Any) -> tuple[Any, Any]:
        x, after = super().act(replace(state, horizon=None), v)
        return x, replace(after, horizon=state.horizon)


class TakesAnyV(Sound):
    def act(self, state: Any, v: Any) -> tuple[Any, Any]:
        fixed = np.broadcast_to(np.nan_to_num(v[..., :1]), state.x.shape)
        good = v.shape == state.x.shape and bool(np.isfinite(v).all())
        return super().act(state, v if good else fixed)


class VagueErrors(Sound):
    def act(self, state: Any, v: Any) -> tuple[Any, Any]:
        from soqo.errors import ArgumentError

        try:
            return super().act(state, v)
        except ArgumentError:
            raise ArgumentError("something is wrong") from None


@dataclass(frozen=True, eq=False)
class GlobalRandomness(Sound):
    """Draws from a counter that no seed controls."""

    counter: Any = field(default_factory=itertools.count)

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return v + next(self.counter), state.memory


class MixesRuns(Sound):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        x, memory = super().decide(state, v)
        return x + 0.1 * (x.mean() if x.ndim > 1 else 0.0), memory


class SharesOneDraw(Sound):
    """Draws one offset for the whole batch, from the first run's generator."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        generator = rng if isinstance(rng, np.random.Generator) else rng[0]
        draw = generator.standard_normal(x0.shape[-1])
        return {"offset": np.broadcast_to(draw, x0.shape).copy(), "heard": np.zeros(x0.shape[:-1])}


@dataclass(frozen=True, eq=False)
class HidesState(Sound):
    """Keeps what it learned in a place that pickling and packing do not see."""

    def __reduce__(self) -> Any:
        return (HidesState, ())

    hidden: Any = field(default_factory=dict)

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return v + self.hidden.setdefault("first", 0.5 if state.round else 0.0), state.memory


class LearnsFromSilence(Sound):
    def learn(self, state: Any, y: Any) -> Any:
        return {**state.memory, "heard": np.nan_to_num(y)}


class OneSilenceForAll(Sound):
    def learn(self, state: Any, y: Any) -> Any:
        return state.memory if np.isnan(y).any() else super().learn(state, y)


class IgnoresApplied(Sound):
    """Keeps its own idea of where the plant is."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        return {**super().begin(x0, horizon, rng), "x": x0}

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        x = 0.5 * state.memory["x"] + 0.5 * v
        return x, {**state.memory, "x": x}


@dataclass(frozen=True, eq=False)
class DropsApplied(Weighted[Any]):
    """A wrapper that does not pass on what the plant did."""

    def learn(self, state: Any, y: Any) -> Any:
        return self.policy.observe(state.memory, y)


class NotFinite(Sound):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return v * np.nan, state.memory


class WrongFlags(Sound):
    def diverged(self, state: Any) -> Any:
        return False


class NoDiagnostics(Sound):
    def diagnostics(self, state: Any) -> Any:
        return None


class OnlyAnAction(Sound):
    def decide(self, state: Any, v: Any) -> Any:
        return v


class NeedsAnEnd(Sound):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return state.x + (v - state.x) / state.horizon, state.memory


class CountsItself(Sound):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        object.__setattr__(self, "rounds", getattr(self, "rounds", 0) + 1)
        return super().decide(state, v)


@dataclass(frozen=True, eq=False)
class HoldsAFunction(Sound):
    """Can be pickled, but is no plain data."""

    function: Any = np.tanh


class CubesEverything(Sound):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return v + v**3, state.memory


class KeepsEverything(Sound):
    def learn(self, state: Any, y: Any) -> Any:
        memory = super().learn(state, y)
        if np.isnan(y).any():
            return memory
        return {**memory, "log": np.append(memory.get("log", np.zeros(0)), y)}


class SaysThatItGrows(KeepsEverything):
    @property
    def state_grows(self) -> bool:
        return True


BROKEN: list[tuple[Policy[Any], str]] = [
    (WrongShape(), "shapes"),
    (OnlyOneBatch(), "shapes"),
    (OnlyAnAction(), "shapes"),
    (NotFinite(), "shapes"),
    (WrongFlags(), "shapes"),
    (NoDiagnostics(), "shapes"),
    (GlobalRandomness(), "repeatability"),
    (ChangesV(), "purity"),
    (ChangesOldState(), "purity"),
    (LearnsInPlace(), "purity"),
    (HandsOutItsState(), "purity"),
    (CountsItself(), "purity"),
    (AllowsEarlyObserve(), "protocol"),
    (NeverEnds(), "protocol"),
    (TakesAnyV(), "bad input"),
    (VagueErrors(), "bad input"),
    (NeedsAnEnd(), "no end"),
    (MixesRuns(), "batch equals loop"),
    (SharesOneDraw(), "batch equals loop"),
    (HidesState(), "round trip"),
    (HoldsAFunction(), "round trip"),
    (LearnsFromSilence(), "missing reading"),
    (OneSilenceForAll(), "missing reading"),
    (IgnoresApplied(), "applied"),
    (DropsApplied(POL(0.02)), "applied"),
    (CubesEverything(), "huge numbers"),
    (KeepsEverything(), "memory"),
]


@pytest.mark.parametrize(
    ("broken", "check"),
    BROKEN,
    ids=lambda value: type(value).__name__ if isinstance(value, Policy) else str(value),
)
def test_a_broken_policy_is_caught_by_the_right_check(broken: Policy[Any], check: str) -> None:
    with pytest.raises(CheckError, match=f"^{check}: "):
        check_policy(broken)


def test_every_check_is_failed_by_a_class_made_for_it() -> None:
    names = {check.__name__.removeprefix("check_").replace("_", " ") for check in POLICY_CHECKS}
    assert {check for _, check in BROKEN} == names


@pytest.mark.parametrize("policy", [Sound(), SaysThatItGrows(), FTM(), POL(0.02)], ids=repr)
def test_a_sound_policy_passes(policy: Policy[Any]) -> None:
    check_policy(policy, dim=2, seed=7)


def test_what_is_no_policy_is_refused() -> None:
    nonsense: Any = 3
    with pytest.raises(CheckError, match=r"must be a soqo\.Policy, got int"):
        check_policy(nonsense)


def test_a_policy_for_one_batch_shape_can_be_checked() -> None:
    check_policy(POL(0.02, initial=np.stack([np.eye(3)] * 2)), batch=(2,))


def test_a_long_check_reaches_late_phases() -> None:
    class FailsLate(Sound):
        def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
            return v * (np.nan if state.round >= 30 else 1.0), state.memory

    check_shapes, *_ = POLICY_CHECKS
    check_shapes(FailsLate(), Scenario(rounds=24))
    with pytest.raises(CheckError, match="not finite"):
        check_shapes(FailsLate(), Scenario(rounds=40))


def test_an_exception_is_placed() -> None:
    class Typo(Sound):
        def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
            return v + state.momentum, state.memory

    with pytest.raises(CheckError, match=r"^shapes: decide \(line \d+ of test_policies.py\) raised "):
        check_policy(Typo())
