"""The log of one plant, from the journal of a fleet."""

from __future__ import annotations

import os

import numpy as np

from soqo._control.fleets.records import (
    ActCall,
    FleetCall,
    JoinCall,
    LeaveCall,
    Name,
    ObserveCall,
    decode_fleet_call,
)
from soqo._control.fleets.snapshot import FleetSnapshot, decode_fleet_snapshot
from soqo._control.journal_rounds import Round, as_columns
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
    if plant in snapshot.names:
        number = int(snapshot.numbers[snapshot.names.index(plant)])
        book.begin(number, *_start_of(snapshot, number))
    for record in records:
        book.add(decode_fleet_call(record, snapshot.dim, source))
    if book.number is None:
        raise UnknownNameError(f"plant must be in the fleet at the end of {source}, got {plant!r}")
    if not book.rounds:
        raise ArgumentError(f"plant must have played a round, got {plant!r}, which has not in {source}")
    low, high, rate = (snapshot.low, snapshot.high, snapshot.rate) if book.limits is None else book.limits
    horizon = None if snapshot.horizon is None else snapshot.horizon - book.played
    return Log(
        **as_columns(book.rounds, snapshot.dim),
        x0=book.x0,
        low=low,
        high=high,
        rate=rate,
        period=snapshot.period,
        switching_weight=snapshot.switching_weight,
        horizon=horizon,
    )


def _start_of(snapshot: FleetSnapshot, number: int) -> tuple[Array, int, Array | None]:
    """Return the position of a plant in a snapshot, the number of its rounds so far, and its limits if it has own."""
    limits = None if snapshot.limits is None else snapshot.limits[snapshot.numbers.tolist().index(number)]
    batch = next(batch for batch in snapshot.batches if number in batch.plants)
    row = batch.plants.tolist().index(number)
    if batch.state is None:
        assert batch.x0 is not None
        return batch.x0[row], 0, limits
    state = batch.state
    return state.x[row], state.round - (0 if state.began is None else int(state.began[row])), limits


class _Rounds:
    """The rounds of one plant, collected from the calls of a fleet."""

    def __init__(self, name: Name, begun: int) -> None:
        self._name, self._begun = name, begun
        self.number: int | None = None
        self.x0: Array = np.zeros(0)
        self.played = 0
        self.limits: Array | None = None
        self.rounds: list[Round] = []

    def begin(self, number: int, x0: Array, played: int, limits: Array | None) -> None:
        """Start the log anew, for the number that the plant has now, which has played some rounds before."""
        self.number, self.x0, self.played, self.limits, self.rounds = number, x0, played, limits, []

    def add(self, call: FleetCall) -> None:
        """Add what a call did to the plant."""
        if isinstance(call, ActCall):
            for place in np.flatnonzero(call.plants == self.number):
                factor, active = (None if part is None else part[place] for part in (call.factor, call.active))
                self.rounds.append(Round(call.v[place], call.x[place], np.nan, None, factor, active))
        elif isinstance(call, ObserveCall):
            for place in np.flatnonzero(call.plants == self.number):
                self._observe(call, int(place))
        elif isinstance(call, LeaveCall):
            if self._name in call.names:
                self.number = None
        else:
            if self._name in call.names:
                at = call.names.index(self._name)
                own = self.limits
                if isinstance(call, JoinCall):
                    own = None if call.limits is None else call.limits[at]
                self.begin(self._begun + at, call.x0[at], 0, own)
            self._begun += len(call.names)

    def _observe(self, call: ObserveCall, place: int) -> None:
        k = len(self.rounds) - 1 if call.rounds is None else int(call.rounds[place]) - self.played - 1
        if k < 0:  # a reading of a round that is not in this journal
            return
        one = self.rounds[k]
        if np.isfinite(call.y[place]):
            unit, covariates = (None if part is None else part[place] for part in (call.unit, call.covariates))
            felt = None if call.at is None or np.isnan(call.at[place]).any() else call.at[place]
            one = one._replace(y=float(call.y[place]), unit=unit, at=felt, covariates=covariates)
        if call.applied is not None and np.isfinite(call.applied[place]).all():
            one = one._replace(x=call.applied[place])
        self.rounds[k] = one
