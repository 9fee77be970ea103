"""What the calls of a controller have led to, for the logger ``soqo`` and for functions of the user."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

from soqo._foundation.arguments import choice
from soqo.errors import ArgumentError, CallbackWarning
from soqo.policies import Policy, State
from soqo.typing import Array

EventKind = Literal["act", "observe", "alarm", "guard", "missed"]

LOGGER = logging.getLogger("soqo")
LOGGER.addHandler(logging.NullHandler())  # quiet, unless the program configures logging


_COUNTED: dict[str, EventKind] = {"alarms": "alarm", "interventions": "guard"}
"""The counts of a policy, and the events that they count."""

_MESSAGES = {"act": "the policy acted", "observe": "a reading was observed"}

_LEVELS: dict[EventKind, int] = {
    "act": logging.DEBUG,
    "observe": logging.DEBUG,
    "missed": logging.INFO,
    "alarm": logging.WARNING,
    "guard": logging.WARNING,
}


class Event(NamedTuple):
    """Something that happened in a call of a controller.

    Attributes
    ----------
    kind : {"act", "observe", "alarm", "guard", "missed"}
        An action, a reading, a suspected change of A, a round in which a guard overruled the policy, a missed reading.
    round : int
        The round, counted from 1.
    message : str
        What happened, as a sentence.
    v, x : Array of shape (d,), or None
        The minimizer and the action of an action; the applied action of a reading, if it was reported.
    y : float or None
        The reading.
    """

    kind: EventKind
    round: int
    message: str
    v: Array | None = None
    x: Array | None = None
    y: float | None = None


class Reporter:
    """The events of a controller.

    Parameters
    ----------
    player : Policy
        The policy within limits and weight.
    state : State
        Its state now; what was counted before is not reported.
    """

    def __init__(self, player: Policy[Any], state: State[Any]) -> None:
        self._player = player
        self._functions: dict[str, tuple[Callable[[Event], object], ...]] = {}
        self._last_guarded = -1
        self._counts = player.counts(state)
        # A call without a missed reading has events only if something counts them, or is to be called.
        self._is_needed = bool(self._counts)

    def add(self, kind: EventKind, function: Callable[[Event], object]) -> None:
        """Call a function with every event of a kind."""
        choice("event", kind, get_args(EventKind))
        if not callable(function):
            raise ArgumentError(f"function must be callable, got {type(function).__name__}")
        # A new tuple, so that a thread that calls the old ones is not disturbed.
        self._functions[kind] = (*self._functions.get(kind, ()), function)
        self._is_needed = True

    def events(
        self,
        call: EventKind,
        number: int,
        state: State[Any],
        lost: Sequence[int],
        *,
        v: Array | None = None,
        x: Array | None = None,
        y: float | None = None,
    ) -> Sequence[Event]:
        """Return what a call of a round has led to: missed readings, alarms, the guard, and the call itself."""
        if not (lost or self._is_needed):
            return ()
        events = [Event("missed", one, "the reading was missed") for one in lost]
        before, self._counts = self._counts, self._player.counts(state)
        for name, kind in _COUNTED.items():
            if self._counts.get(name, 0.0) > before.get(name, 0.0):
                events.append(Event(kind, state.round, self._player.explain(state)))
        if call in self._functions:
            v, x = (None if array is None else array.copy() for array in (v, x))
            events.append(Event(call, number, _MESSAGES[call], v=v, x=x, y=y))
        return events

    def report(self, events: Sequence[Event], label: str) -> None:
        """Log events, and call the functions of the user; the call that they are from has taken effect."""
        for event in events:
            level = _LEVELS[event.kind]
            if event.kind == "guard":
                if event.round == self._last_guarded + 1:
                    level = logging.DEBUG  # one warning for a sequence of rounds
                self._last_guarded = event.round
            LOGGER.log(level, "%s: round %d: %s", label, event.round, event.message)
        for event in events:
            for function in self._functions.get(event.kind, ()):
                try:
                    function(event)
                except Exception as error:
                    name = getattr(function, "__qualname__", repr(function))
                    message = f"the callback {name} raised {error!r} for {event.kind!r} in round {event.round}"
                    LOGGER.exception(message)
                    warnings.warn(f"{message}; the call of the controller took effect", CallbackWarning, stacklevel=3)
