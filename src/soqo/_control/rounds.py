"""The rounds of one plant: which are open, completed or lost, and how a recorded call is repeated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from soqo._control.calls import Call
from soqo._foundation.arguments import numbers
from soqo._foundation.frozen_dataclasses import evolve
from soqo.errors import ArgumentError, ProtocolError
from soqo.policies import Policy, State
from soqo.typing import ArrayLike


def completed_rounds(state: State[Any]) -> int:
    """Return the number of rounds begun whose reading was observed or missed."""
    return state.round - state.pending - len(state.open_rounds)


def numbers_of_open_rounds(state: State[Any]) -> tuple[int, ...]:
    """Return the numbers of the rounds that wait for their readings, oldest first."""
    return (*(one.round for one in state.open_rounds), *([state.round] if state.pending else []))


def closed_rounds(before: State[Any], after: State[Any]) -> list[int]:
    """Return the rounds whose readings were missed because another round has begun."""
    still_open = {one.round for one in after.open_rounds}
    return [number for number in numbers_of_open_rounds(before) if number not in still_open]


def check_pending_round(state: State[Any], number: int) -> None:
    """Refuse the reading of a round other than the pending one, where readings cannot be late."""
    current = state.round if state.pending else None
    if number == current:
        return
    completed = completed_rounds(state)
    if number <= completed:
        raise ProtocolError(f"the reading of round {number} is late: {completed} rounds are closed; it was not used")
    now = "no round is pending" if current is None else f"round {current} is pending"
    raise ArgumentError(f"round must be the pending round, got {number} while {now}")


def single_number(y: ArrayLike) -> float:
    """Return a reading as a float; the policy refuses infinity."""
    if type(y) is float:
        return y
    try:
        value = numbers("y", y, copy=False)
    except ArgumentError:
        raise ArgumentError(f"y must be a number, or NaN for no reading, got {y!r}") from None
    if value.shape != ():
        raise ArgumentError(f"y must be one number, got an array of shape {value.shape}")
    return value.item()


def repeat_call(player: Policy[Any], before: State[Any], call: Call) -> tuple[State[Any], int]:
    """Return the state after a recorded call, with the action that was returned then, and how many readings it lost."""
    if call.v is not None and call.x is not None:
        given = {"forecast": call.forecast, "context": call.context, "factor": call.factor, "active": call.active}
        x, state = player.act(before, call.v, **given)
        # Another processor or version may compute an action that differs in the last digit.
        if not np.array_equal(x, call.x):
            state = evolve(state, x=call.x)
        return state, len(closed_rounds(before, state))
    assert call.y is not None
    told = {"at": call.at, "unit": call.unit, "covariates": call.covariates}
    state = player.observe(before, call.y, applied=call.x, round=call.round, **told)
    return state, int(math.isnan(call.y) and not before.max_delay)
