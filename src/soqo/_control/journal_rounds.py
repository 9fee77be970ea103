"""The rounds in a journal, as a log holds them: those of the plant of a controller, or of one plant of a fleet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from soqo._control.calls import ALONE, Call, Name
from soqo._control.earlier_calls import read_call
from soqo._control.own_limits import LIMITS
from soqo._control.snapshot import Snapshot, decode_snapshot
from soqo._foundation.angles import unroll_near
from soqo._storage.journal_format import read_all
from soqo.errors import ArgumentError, UnknownNameError
from soqo.typing import Array

_UNTOLD = {"factor": 1.0, "unit": 1.0, "active": True, "at": np.nan, "covariates": np.nan}
"""The columns of a log for what may be told with a round, and what stands where it was not told."""


def read_rounds(source: Path, plant: Name | None = None) -> dict[str, Any]:
    """Return the arguments of the log in a journal, which may be in use; None is the plant of a controller."""
    first, records = read_all(source.read_bytes(), source)
    snapshot = decode_snapshot(first, source, alone=plant is None)
    book = _Book(snapshot, plant)
    for record in records:
        book.add(read_call(record, snapshot.dim, source, alone=plant is None))
    if book.number is None:
        raise UnknownNameError(f"plant must be in the fleet at the end of {source}, got {plant!r}")
    if not book.rounds and plant is None:
        raise ArgumentError(f"path must be a journal with at least one round, got {source}, which has none")
    if not book.rounds:
        raise ArgumentError(f"plant must have played a round, got {plant!r}, which has not in {source}")
    limits = [getattr(snapshot, name) for name in LIMITS] if book.limits is None else book.limits
    return {
        **as_columns(book.rounds),
        **dict(zip(LIMITS, limits, strict=True)),
        "x0": book.x0,
        "period": snapshot.period,
        "switching_weight": snapshot.switching_weight,
        "horizon": None if snapshot.horizon is None else snapshot.horizon - book.played,
        "actuators": snapshot.actuators,
        "units": snapshot.units,
    }


def as_columns(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return rounds as the arrays of a log: None for what was never told, and a default where it was not."""
    time = np.array([one["time"] for one in rounds], dtype="datetime64[us]")
    columns = {name: np.array([one[name] for one in rounds]) for name in ("v", "x", "y")}
    columns |= {name: _column(name, [one.get(name) for one in rounds]) for name in _UNTOLD}
    return {**columns, "time": None if np.isnat(time).all() else time}


def _column(name: str, cells: list[Any]) -> Any:
    """Return one array for all rounds, with a default where nothing was told; None if nothing was ever told."""
    shapes = sorted({cell.shape for cell in cells if cell is not None})
    if len(shapes) > 1:
        sizes = [size for (size,) in shapes]
        raise ArgumentError(f"{name} must have the same number of entries in all rounds, got {sizes}")
    if not shapes or 0 in shapes[0]:
        return None
    return np.array([np.full(shapes[0], _UNTOLD[name]) if cell is None else cell for cell in cells])


class _Book:
    """The rounds of one plant since it began, collected from the calls of a journal."""

    def __init__(self, snapshot: Snapshot, name: Name | None) -> None:
        self._name, self._begun = name, snapshot.begun
        self._period = None if snapshot.period is None else np.asarray(snapshot.period)
        self.number: int | None = None
        self.x0: Array = np.zeros(0)
        self.played, self.rounds = 0, list[dict[str, Any]]()
        self.limits: Array | None = None
        if name is None:
            self._open(snapshot, int(ALONE))
        elif name in snapshot.names:
            place = snapshot.names.index(name)
            self.limits = None if snapshot.limits is None else snapshot.limits[place]
            self._open(snapshot, int(snapshot.numbers[place]))

    def _open(self, snapshot: Snapshot, number: int) -> None:
        """Start where a plant is in a snapshot."""
        self.number = number
        saved = next(one for one in snapshot.batches if number in one.plants)
        (place,) = _places(saved.plants, number)
        if saved.state is None:
            assert saved.x0 is not None
            self.x0 = saved.x0[place]
        else:
            state = saved.state
            self.x0, self.played = state.x[place], state.round - (0 if state.began is None else int(state.began[place]))

    def add(self, call: Call) -> None:
        """Add what a call did to the plant."""
        if "names" in call.given:
            self._change(call)
            return
        for place in _places(call.plants, self.number):
            told = {name: value[place] for name, value in call.given.items()}
            if call.kind == "act":
                assert call.x is not None
                self.rounds.append({**told, "x": call.x[place], "y": np.nan, "time": call.time})
            else:
                self._observe(**told)

    def _observe(self, y: Any, applied: Any = None, round: Any = None, **told: Any) -> None:  # noqa: A002  # as told
        k = len(self.rounds) - 1 if round is None else int(round) - self.played - 1
        if k < 0:  # a reading of a round that is not in this journal
            return
        one = self.rounds[k]
        if np.isfinite(y):
            if "at" in told and np.isnan(told["at"]).any():
                del told["at"]
            one.update(told, y=float(y))
        if applied is not None and np.isfinite(applied).all():
            one["x"] = applied if self._period is None else unroll_near(applied, one["x"], self._period)

    def _change(self, call: Call) -> None:
        """Follow the plant when it joins, begins anew or leaves."""
        names = call.given["names"]
        if self._name in names and call.kind == "leave":
            self.number = None
        elif self._name in names:
            at = names.index(self._name)
            if call.kind == "join":
                limits = call.given.get("limits")
                self.limits = None if limits is None else limits[at]
            self.number, self.x0, self.played, self.rounds = self._begun + at, call.given["x0"][at], 0, []
        if call.kind != "leave":
            self._begun += len(names)


def _places(plants: Any, number: int | None) -> Iterator[tuple[int, ...]]:
    """Yield the places of a plant in an array of numbers of plants."""
    return (tuple(place) for place in np.argwhere(plants == number).tolist())
