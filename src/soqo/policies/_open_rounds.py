"""The rounds that still wait for a reading."""

from __future__ import annotations

from dataclasses import dataclass, field

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.typing import Array, BoolArray


@register("OpenRound")
@dataclass(frozen=True)
class OpenRound(Value):
    """An earlier round whose reading may still arrive: all that a policy needs to learn from it.

    Attributes
    ----------
    round : int
        The number of the round.
    x, v : Array, shape (*batch, d)
        The action, as it was applied, and the minimizer.
    awaiting : BoolArray, shape (*batch,)
        The runs that wait for the reading.
    context : Array of shape (*batch, k), or None
        What was known about the round beside v.
    factor : Array of shape (*batch,), or None
        What multiplied the hitting cost; None for 1.
    x_prev : Array of shape (*batch, d), or None
        The position before the action.
    """

    round: int
    x: Array = field(repr=False)
    v: Array = field(repr=False)
    awaiting: BoolArray
    context: Array | None = field(default=None, repr=False)
    factor: Array | None = field(default=None, repr=False)
    x_prev: Array | None = field(default=None, repr=False)


def find_open(rounds: tuple[OpenRound, ...], number: int) -> OpenRound:
    """Return the open round with this number, which exists."""
    return next(one for one in rounds if one.round == number)


def replace_open(rounds: tuple[OpenRound, ...], changed: OpenRound) -> tuple[OpenRound, ...]:
    """Return the rounds with another version of one of them, which is closed if no run waits for its reading."""
    return tuple(
        changed if one.round == changed.round else one
        for one in rounds
        if one.round != changed.round or changed.awaiting.any()
    )


def keep_open(rounds: tuple[OpenRound, ...], first: int) -> tuple[OpenRound, ...]:
    """Return the rounds that are open if those before ``first`` are closed."""
    return rounds if not rounds or rounds[0].round >= first else tuple(one for one in rounds if one.round >= first)
