r"""Some of the runs of a batch, and the runs of several batches as one.

The plants of a fleet act together one time and apart the next. These functions take runs out of a state and join states
to one batch. By default they treat a memory as a tree of dataclasses, tuples and mappings, whose arrays have the runs
as their first axis and whose other values belong to all runs. A dataclass with another layout has the methods
``take_runs(index)`` and ``join_runs(parts)``, and a policy whose memory depends on its configuration overrides
:meth:`soqo.Policy.take_runs` and :meth:`soqo.Policy.join_runs`.

Runs that began at different times share one count of rounds. ``state.began`` has the count before the first round of
each run, and :func:`shift_state` changes the count without changing what the policy does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.policies._open_rounds import OpenRound
from soqo.typing import IntArray

_S = TypeVar("_S")
"""A :class:`soqo.State`, which is defined on top of this module."""


class _Hooks(Protocol):
    """What a policy does with its memory when a batch changes."""

    def take_runs(self, memory: Any, index: IntArray) -> Any: ...

    def join_runs(self, memories: Sequence[Any]) -> Any: ...

    def shift_rounds(self, memory: Any, by: int) -> Any: ...


# ---- values ----------------------------------------------------------------------------------------------------------


def take_rows(value: Any, index: IntArray) -> Any:
    """Return some of the runs of a value of a memory."""
    if isinstance(value, np.ndarray):
        return _take(value, index) if value.ndim else value
    if isinstance(value, tuple | list):
        return type(value)(take_rows(item, index) for item in value)
    if isinstance(value, Mapping):
        return {key: take_rows(item, index) for key, item in value.items()}
    if hasattr(value, "take_runs"):
        return value.take_runs(index)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return evolve(value, **{name: take_rows(item, index) for name, item in value.__dict__.items()})
    return value


def join_rows(values: Sequence[Any]) -> Any:
    """Return one value for the runs of several, whose :func:`rows_key` is the same."""
    first = values[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(values) if first.ndim else first
    if isinstance(first, tuple | list):
        return type(first)(join_rows(items) for items in zip(*values, strict=True))
    if isinstance(first, Mapping):
        return {key: join_rows([value[key] for value in values]) for key in first}
    if hasattr(first, "join_runs"):
        return first.join_runs(values)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        return evolve(first, **{name: join_rows([value.__dict__[name] for value in values]) for name in first.__dict__})
    return first


def rows_key(value: Any) -> Any:
    """Return what values must have in common to be joined: types, shapes behind the first axis, and shared values."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape[1:]) if value.ndim else (value.dtype.str, value.tobytes())
    if isinstance(value, tuple | list):
        return type(value), *map(rows_key, value)
    if isinstance(value, Mapping):
        return tuple((key, rows_key(item)) for key, item in value.items())
    if hasattr(value, "runs_key"):
        return value.runs_key()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value), *map(rows_key, value.__dict__.values())
    return value


def _take(array: np.ndarray[Any, Any], index: IntArray) -> np.ndarray[Any, Any]:
    """Return rows with the same order of the other axes in memory, which decides in which order BLAS adds."""
    if array.ndim < 3 or array.flags.c_contiguous:
        return array.take(index, axis=0)
    axes = [0, *sorted(range(1, array.ndim), key=lambda axis: -abs(array.strides[axis]))]
    return array.transpose(axes).take(index, axis=0).transpose(np.argsort(axes))


# ---- states ----------------------------------------------------------------------------------------------------------


def take_state(policy: _Hooks, state: _S, index: IntArray) -> _S:
    """Return the state of some of the runs, with the same count of rounds."""
    before: Any = state
    awaiting, began = take_rows(before.awaiting, index), take_rows(before.began, index)
    rounds = (take_rows(one, index) for one in before.open_rounds)
    return evolve(
        state,
        x=before.x.take(index, axis=0),
        v=before.v.take(index, axis=0),
        # If readings may be late, a round is pending while any run waits for its reading.
        pending=before.pending and (awaiting is None or bool(awaiting.any())),
        diverged=before.diverged.take(index),
        memory=policy.take_runs(before.memory, index),
        context=take_rows(before.context, index),
        factor=take_rows(before.factor, index),
        x_prev=take_rows(before.x_prev, index),
        awaiting=awaiting,
        open_rounds=tuple(one for one in rounds if one.awaiting.any()),
        began=began if began is not None and began.any() else None,
    )


def shift_state(policy: _Hooks, state: _S, by: int) -> _S:
    """Return the state with a count of rounds that is larger by some number; each run has played as many as before."""
    before: Any = state
    if not by:
        return state
    began = np.full(len(before.x), by) if before.began is None else before.began + by
    return evolve(
        state,
        round=before.round + by,
        memory=policy.shift_rounds(before.memory, by),
        open_rounds=tuple(evolve(one, round=one.round + by) for one in before.open_rounds),
        began=began if began.any() else None,
    )


def join_states(policy: _Hooks, states: Sequence[_S]) -> _S:
    """Return one state for the runs of several that have the same count of rounds and the same key."""
    parts: Sequence[Any] = states
    first = parts[0]
    pending, awaiting = any(state.pending for state in parts), None
    if first.max_delay and any(state.awaiting is not None or state.pending != pending for state in parts):
        awaiting = np.concatenate([_awaiting(state) for state in parts])
    began = None
    if any(state.began is not None for state in parts):
        began = np.concatenate([np.zeros(len(s.x), dtype=np.int64) if s.began is None else s.began for s in parts])
    x_prev = None
    if any(state.x_prev is not None for state in parts):  # None before the first round, where it is not used
        x_prev = np.concatenate([state.x if state.x_prev is None else state.x_prev for state in parts])
    return evolve(
        states[0],
        x=np.concatenate([state.x for state in parts]),
        v=np.concatenate([state.v for state in parts]),
        pending=pending,
        diverged=np.concatenate([state.diverged for state in parts]),
        memory=policy.join_runs([state.memory for state in parts]),
        context=join_rows([state.context for state in parts]),
        factor=join_rows([state.factor for state in parts]),
        x_prev=x_prev,
        awaiting=awaiting,
        open_rounds=_join_open_rounds(parts),
        began=began,
    )


def _awaiting(state: Any) -> Any:
    """Return which runs wait for the reading of the current round."""
    if state.awaiting is not None:
        return state.awaiting & state.pending
    return np.full(len(state.x), state.pending, dtype=np.bool_)


def _join_open_rounds(states: Sequence[Any]) -> tuple[OpenRound, ...]:
    """Return the open rounds of all runs; a run that does not wait for a round has its current position there."""
    numbers = sorted({one.round for state in states for one in state.open_rounds})
    joined = []
    for number in numbers:
        parts = []
        for state in states:
            found = [one for one in state.open_rounds if one.round == number]
            idle = np.zeros(len(state.x), dtype=np.bool_)
            x_prev = state.x if state.x_prev is None else state.x_prev
            parts.append(
                found[0] if found else OpenRound(number, state.x, state.v, idle, state.context, state.factor, x_prev)
            )
        joined.append(evolve(join_rows([evolve(part, round=0) for part in parts]), round=number))
    return tuple(joined)
