"""What the calls of a controller have led to: missed readings, alarms, the guard; for the logger and for callbacks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal

from soqo._control.events import LOGGER, Callbacks, Event, EventKind
from soqo.policies import Policy, State
from soqo.typing import Array

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


class Reporter:
    """The events of a controller.

    Parameters
    ----------
    player : Policy
        The policy within limits and weight.
    state : State
        Its state now; what was counted before is not reported.

    Attributes
    ----------
    is_needed : bool
        Whether a call without a missed reading can have events: if something counts them, or is to be called.
    """

    def __init__(self, player: Policy[Any], state: State[Any]) -> None:
        self._player = player
        self._callbacks = Callbacks()
        self._last_guarded = -1
        self.skip_to(state)
        self.is_needed = bool(self._counts)

    def skip_to(self, state: State[Any]) -> None:
        """Report nothing of what happened until this state."""
        self._counts = {name: float(count) for name, count in self._player.counts(state).items()}

    def add(self, kind: EventKind, function: Callable[[Event], object]) -> None:
        """Call a function with every event of a kind."""
        self._callbacks.add(kind, function)
        self.is_needed = True

    def events(
        self,
        call: Literal["act", "observe"],
        number: int,
        state: State[Any],
        lost: Sequence[int],
        *,
        v: Array | None = None,
        x: Array | None = None,
        y: float | None = None,
    ) -> list[Event]:
        """Return what a call of a round has led to: missed readings, alarms, the guard, and the call itself."""
        events = [Event("missed", one, "the reading was missed") for one in lost]
        before = self._counts
        self.skip_to(state)
        for name, kind in _COUNTED.items():
            if self._counts.get(name, 0.0) > before.get(name, 0.0):
                events.append(Event(kind, state.round, self._player.explain(state)))
        if self._callbacks.wants(call):
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
        self._callbacks.call(events)
