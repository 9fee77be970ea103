"""What a controller reports: to functions of the user, and to the logger ``soqo``."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, get_args

from soqo._foundation.arguments import choice
from soqo.errors import ArgumentError, CallbackWarning
from soqo.typing import Array

EventKind = Literal["act", "observe", "alarm", "guard", "missed"]

LOGGER = logging.getLogger("soqo")
LOGGER.addHandler(logging.NullHandler())  # quiet, unless the program configures logging


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


class Callbacks:
    """Functions of the user that are called with events of some kinds."""

    def __init__(self) -> None:
        self._functions: dict[str, tuple[Callable[[Event], object], ...]] = {}

    def add(self, kind: EventKind, function: Callable[[Event], object]) -> None:
        """Call a function with every event of a kind."""
        choice("event", kind, get_args(EventKind))
        if not callable(function):
            raise ArgumentError(f"function must be callable, got {type(function).__name__}")
        # A new tuple, so that a thread that calls the old ones is not disturbed.
        self._functions[kind] = (*self._functions.get(kind, ()), function)

    def wants(self, kind: EventKind) -> bool:
        """Return whether there is a function for events of a kind."""
        return kind in self._functions

    def call(self, events: Iterable[Event]) -> None:
        """Call the functions; one that raises is reported, and does not stop the others."""
        for event in events:
            for function in self._functions.get(event.kind, ()):
                try:
                    function(event)
                except Exception as error:
                    name = getattr(function, "__qualname__", repr(function))
                    message = f"the callback {name} raised {error!r} for {event.kind!r} in round {event.round}"
                    LOGGER.exception(message)
                    warnings.warn(f"{message}; the call of the controller took effect", CallbackWarning, stacklevel=4)
