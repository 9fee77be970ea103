"""The checks of policies detect policies that violate one property each."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from soqo import FTM, POL, Policy, State
from soqo.checks import POLICY_CHECKS, check_policy
from soqo.errors import ArgumentError, CheckError
from soqo.policies import draw_per_run


@dataclass(frozen=True, eq=False)
class Correct(Policy[Any]):
    """A correct policy: it moves half of the way, and its memory is the last reading and a random offset."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        return {
            "offset": draw_per_run(rng, x0.shape[:-1], lambda g: g.standard_normal(x0.shape[-1])),
            "reading": np.zeros(x0.shape[:-1]),
        }

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        pull = 1e-3 * np.tanh(state.memory["reading"])[..., None]
        return 0.5 * state.x + 0.5 * v + state.memory["offset"] + pull, state.memory

    def learn(self, state: Any, y: Any) -> Any:
        reading = np.where(np.isnan(y), state.memory["reading"], y)
        return {**state.memory, "reading": reading}


class WrongShape(Correct):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return super().decide(state, v)[0][..., :1], state.memory


class OnlyOneBatch(Correct):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return (v[0] if v.ndim == 3 else v), state.memory


class ChangesV(Correct):
    """A policy that overrides act, and writes into the caller's array."""

    def act(self, state: Any, v: Any, **known: Any) -> tuple[Any, Any]:
        x, state = super().act(state, v, **known)
        v *= 0.5
        return x, state


class OwnAct(Correct):
    """A policy that overrides act only, which a simulation does not call."""

    def act(self, state: Any, v: Any, **known: Any) -> tuple[Any, Any]:
        x, state = super().act(state, v, **known)
        return x + 0.5, replace(state, x=x + 0.5)


class ChangesOldState(Correct):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        state.memory["reading"] += 1.0
        return super().decide(state, v)


class LearnsInPlace(Correct):
    def learn(self, state: Any, y: Any) -> Any:
        state.memory["reading"][~np.isnan(y)] = y[~np.isnan(y)]
        return state.memory


class ReturnsItsState(Correct):
    def act(self, state: Any, v: Any, **known: Any) -> tuple[Any, Any]:
        _, state = super().act(state, v, **known)
        return state.x, state


class AllowsEarlyObserve(Correct):
    def observe(self, state: Any, y: Any, **known: Any) -> Any:
        return super().observe(replace(state, pending=True), y, **known)


class NeverEnds(Correct):
    def act(self, state: Any, v: Any, **known: Any) -> tuple[Any, Any]:
        x, after = super().act(replace(state, horizon=None), v)
        return x, replace(after, horizon=state.horizon)


class TakesAnyV(Correct):
    def act(self, state: Any, v: Any, **known: Any) -> tuple[Any, Any]:
        fixed = np.broadcast_to(np.nan_to_num(v[..., :1]), state.x.shape)
        good = v.shape == state.x.shape and bool(np.isfinite(v).all())
        return super().act(state, v if good else fixed, **known)


class VagueErrors(Correct):
    def act(self, state: Any, v: Any, **known: Any) -> tuple[Any, Any]:
        try:
            return super().act(state, v, **known)
        except ArgumentError:
            raise ArgumentError("something is wrong") from None


class MixesForecasts(Correct):
    """A policy that plays for the mean forecast of all runs."""

    def decide(self, state: State[Any], v: Any) -> Any:
        x, memory = super().decide(state, v)
        if state.forecast is None or not state.forecast.shape[-2]:
            return x, memory
        return x + 0.1 * (state.forecast[..., 0, :].reshape(-1, v.shape[-1]).mean(axis=0) - v), memory


class RunsInTheSecondAxis(Correct):
    """A policy whose memory has a first axis that is not that of the runs."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        return {**super().begin(x0, horizon, rng), "sums": np.zeros((5, *x0.shape[:-1]))}

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        x, memory = super().decide(state, v)
        return x + memory["sums"][0][..., None], {**memory, "sums": memory["sums"] + 1e-3 * v[..., 0]}


class ForgetsToUseItsOwnRound(Correct):
    """A policy that claims to mix rounds, and plays by the count of the batch."""

    @property
    def mixes_rounds(self) -> bool:
        return True

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        x, memory = super().decide(state, v)
        return x + 1.0 / (1.0 + state.round), memory


class MixesContexts(Correct):
    """A policy that plays for the mean context of all runs."""

    def decide(self, state: State[Any], v: Any) -> Any:
        x, memory = super().decide(state, v)
        return (x if state.context is None else x + 0.1 * state.context.mean()), memory


class LearnsForTheLastAction(Correct):
    """A policy that takes a late reading for one of its last action."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        zeros = np.zeros(x0.shape[:-1])
        return {**super().begin(x0, horizon, rng), "u": zeros, "estimate": zeros}

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        x, memory = super().decide(state, v)
        return x, {**memory, "u": np.vecdot(x - v, x - v)}

    def learn(self, state: Any, y: Any) -> Any:
        memory = super().learn(state, y)
        ratio = memory["reading"] / memory["u"]
        return {**memory, "estimate": np.where(np.isnan(y), memory["estimate"], ratio)}

    def diagnostics(self, state: Any) -> Any:
        return {"estimate": state.memory["estimate"]}


class OverwritesEarlierReadings(Correct):
    """A policy that forgets the reading of a run if the next one of the round is of another run."""

    def learn(self, state: Any, y: Any) -> Any:
        old = np.zeros_like(y) if state.round == state.memory.get("round", 0) else state.memory["reading"]
        memory = super().learn(state, y)
        memory["reading"] = np.where(np.isnan(y), old, y)
        return memory if np.isnan(y).all() else {**memory, "round": state.round}


@dataclass(frozen=True, eq=False)
class GlobalRandomness(Correct):
    """A policy whose actions depend on a counter that no seed controls."""

    counter: Any = field(default_factory=itertools.count)

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return v + next(self.counter), state.memory


class MixesRuns(Correct):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        x, memory = super().decide(state, v)
        return x + 0.1 * (x.mean() if x.ndim > 1 else 0.0), memory


class SharesOneDraw(Correct):
    """A policy that draws one offset for the whole batch, from the first run's generator."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        generator = rng if isinstance(rng, np.random.Generator) else rng[0]
        draw = generator.standard_normal(x0.shape[-1])
        return {"offset": np.broadcast_to(draw, x0.shape).copy(), "reading": np.zeros(x0.shape[:-1])}


@dataclass(frozen=True, eq=False)
class HidesState(Correct):
    """A policy with state outside of its memory, which is lost in a copy."""

    def __reduce__(self) -> Any:
        return (HidesState, ())

    hidden: Any = field(default_factory=dict)

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return v + self.hidden.setdefault("first", 0.5 if state.round else 0.0), state.memory


class LearnsFromNaN(Correct):
    def learn(self, state: Any, y: Any) -> Any:
        return {**state.memory, "reading": np.nan_to_num(y)}


class OneNaNForAll(Correct):
    def learn(self, state: Any, y: Any) -> Any:
        return state.memory if np.isnan(y).any() else super().learn(state, y)


class IgnoresApplied(Correct):
    """A policy that keeps a position of its own."""

    def begin(self, x0: Any, horizon: Any, rng: Any) -> Any:
        return {**super().begin(x0, horizon, rng), "x": x0}

    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        x = 0.5 * state.memory["x"] + 0.5 * v
        return x, {**state.memory, "x": x}


class MixesCovariates(Correct):
    def learn(self, state: Any, y: Any) -> Any:
        known = 0.0 if state.covariates is None else state.covariates.mean()
        return super().learn(state, y + known)


class NotFinite(Correct):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return v * np.nan, state.memory


class WrongFlags(Correct):
    def diverged(self, state: Any) -> Any:
        return False


class NoDiagnostics(Correct):
    def diagnostics(self, state: Any) -> Any:
        return None


class OnlyAnAction(Correct):
    def decide(self, state: Any, v: Any) -> Any:
        return v


class NeedsAHorizon(Correct):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return state.x + (v - state.x) / state.horizon, state.memory


class ModifiesItself(Correct):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        object.__setattr__(self, "rounds", getattr(self, "rounds", 0) + 1)
        return super().decide(state, v)


@dataclass(frozen=True, eq=False)
class HoldsAFunction(Correct):
    """A policy that can be pickled, but is not plain data."""

    function: Any = np.tanh


class Overflows(Correct):
    def decide(self, state: Any, v: Any) -> tuple[Any, Any]:
        return v + v**3, state.memory


class GrowingMemory(Correct):
    def learn(self, state: Any, y: Any) -> Any:
        memory = super().learn(state, y)
        if np.isnan(y).any():
            return memory
        return {**memory, "log": np.append(memory.get("log", np.zeros(0)), y)}


class DeclaredGrowingMemory(GrowingMemory):
    @property
    def state_grows(self) -> bool:
        return True


BROKEN: list[tuple[Policy[Any], str]] = [
    (WrongShape(), "shapes"),
    (MixesForecasts(), "forecast"),
    (MixesContexts(), "context and factor"),
    (RunsInTheSecondAxis(), "split and join"),
    (ForgetsToUseItsOwnRound(), "mixed rounds"),
    (LearnsForTheLastAction(), "late readings"),
    (OverwritesEarlierReadings(), "late readings"),
    (MixesCovariates(), "covariates"),
    (OnlyOneBatch(), "shapes"),
    (OnlyAnAction(), "shapes"),
    (NotFinite(), "shapes"),
    (WrongFlags(), "shapes"),
    (NoDiagnostics(), "shapes"),
    (GlobalRandomness(), "repeatability"),
    (OwnAct(), "unchecked"),
    (ChangesV(), "purity"),
    (ChangesOldState(), "purity"),
    (LearnsInPlace(), "purity"),
    (ReturnsItsState(), "purity"),
    (ModifiesItself(), "purity"),
    (AllowsEarlyObserve(), "protocol"),
    (NeverEnds(), "protocol"),
    (TakesAnyV(), "bad input"),
    (VagueErrors(), "bad input"),
    (NeedsAHorizon(), "infinite horizon"),
    (MixesRuns(), "batch equals loop"),
    (SharesOneDraw(), "batch equals loop"),
    (HidesState(), "round trip"),
    (HoldsAFunction(), "round trip"),
    (LearnsFromNaN(), "missing reading"),
    (OneNaNForAll(), "missing reading"),
    (IgnoresApplied(), "applied"),
    (Overflows(), "huge numbers"),
    (GrowingMemory(), "memory"),
]


@pytest.mark.parametrize(
    ("broken", "check"),
    BROKEN,
    ids=lambda value: type(value).__name__ if isinstance(value, Policy) else str(value),
)
def test_the_matching_check_detects_a_broken_policy(broken: Policy[Any], check: str) -> None:
    with pytest.raises(CheckError, match=f"^{check}: "):
        check_policy(broken)


def test_there_is_a_broken_policy_for_every_check() -> None:
    names = {check.__name__.lstrip("_").removeprefix("check_").replace("_", " ") for check in POLICY_CHECKS}
    assert {check for _, check in BROKEN} == names


@pytest.mark.parametrize("policy", [Correct(), DeclaredGrowingMemory(), FTM(), POL(0.02)], ids=repr)
def test_a_correct_policy_passes(policy: Policy[Any]) -> None:
    check_policy(policy, dim=2, seed=7)


def test_an_object_that_is_not_a_policy_is_refused() -> None:
    number: Any = 3
    with pytest.raises(CheckError, match=r"must be a soqo\.Policy, got int"):
        check_policy(number)


def test_a_policy_for_one_batch_shape_can_be_checked() -> None:
    check_policy(POL(0.02, initial=np.stack([np.eye(3)] * 2)), batch=(2,))
