"""The log of one plant, from the journal of a fleet."""

from __future__ import annotations

import os

import numpy as np

from soqo._control.fleets.records import (
    ActCall,
    FleetCall,
    LeaveCall,
    Name,
    ObserveCall,
    decode_fleet_call,
)
from soqo._control.fleets.snapshot import decode_fleet_snapshot
from soqo._control.log import Log
from soqo._foundation.arguments import file_path
from soqo._storage.journal_format import read_all
from soqo.errors import ArgumentError, UnknownNameError
from soqo.typing import Array


def read_fleet_log(path: str | os.PathLike[str], plant: Name) -> Log:
    """Return the rounds of one plant since it began, from a journal that may be in use."""
    source = file_path("path", path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no journal {source}")
    first, records = read_all(source.read_bytes(), source)
    snapshot = decode_fleet_snapshot(first, source)
    book = _Rounds(plant, snapshot.begun)
    for batch in snapshot.batches:
        for number, x0 in zip(batch.plants.tolist(), batch.x0 if batch.x0 is not None else (), strict=False):
            if snapshot.names[snapshot.numbers.tolist().index(number)] == plant:
                book.begin(number, x0)
    for record in records:
        book.add(decode_fleet_call(record, snapshot.dim, source))
    if book.number is None:
        raise UnknownNameError(f"plant must be in the fleet at the end of {source}, got {plant!r}")
    if not book.y:
        raise ArgumentError(f"plant must have played a round, got {plant!r}, which has not in {source}")
    return Log(
        np.array(book.v),
        np.array(book.x),
        np.array(book.y),
        x0=book.x0,
        low=snapshot.low,
        high=snapshot.high,
        switching_weight=snapshot.switching_weight,
        horizon=snapshot.horizon,
    )


class _Rounds:
    """The rounds of one plant, collected from the calls of a fleet."""

    def __init__(self, name: Name, begun: int) -> None:
        self._name, self._begun = name, begun
        self.number: int | None = None
        self.x0: Array = np.zeros(0)
        self.v: list[Array] = []
        self.x: list[Array] = []
        self.y: list[float] = []

    def begin(self, number: int, x0: Array) -> None:
        """Start the log anew, for the number that the plant has now."""
        self.number, self.x0 = number, x0
        self.v, self.x, self.y = [], [], []

    def add(self, call: FleetCall) -> None:
        """Add what a call did to the plant."""
        if isinstance(call, ActCall):
            for place in np.flatnonzero(call.plants == self.number):
                self.v.append(call.v[place])
                self.x.append(call.x[place])
                self.y.append(np.nan)
        elif isinstance(call, ObserveCall):
            for place in np.flatnonzero(call.plants == self.number):
                self._observe(call, int(place))
        elif isinstance(call, LeaveCall):
            if self._name in call.names:
                self.number = None
        else:
            if self._name in call.names:
                at = call.names.index(self._name)
                self.begin(self._begun + at, call.x0[at])
            self._begun += len(call.names)

    def _observe(self, call: ObserveCall, place: int) -> None:
        k = len(self.y) if call.rounds is None else int(call.rounds[place])
        if np.isfinite(call.y[place]):
            self.y[k - 1] = float(call.y[place])
        if call.applied is not None and np.isfinite(call.applied[place]).all():
            self.x[k - 1] = call.applied[place]
