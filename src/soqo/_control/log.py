"""Logs: the minimizers, actions and readings of a plant, from a journal or from the user's own records."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from soqo._control.actuators import check_names
from soqo._control.snapshot import Call, decode_call, decode_snapshot
from soqo._foundation.arguments import finite_array, horizon_or_none, numbers
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._model.coordinates import Coordinates
from soqo._storage.journal_format import read_all
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike


@dataclass(frozen=True)
class Log(Value):
    """A recorded sequence of rounds of a plant, in the units of the plant.

    Parameters
    ----------
    v : array_like, shape (T, d)
        The minimizers.
    x : array_like, shape (T, d)
        The actions, as they were applied.
    y : array_like, shape (T,)
        The measured costs; NaN where there was no reading.
    x0 : array_like, shape (d,)
        The position before the first round.
    low, high, switching_weight
        The limits of the plant and its switching weight, as in :class:`soqo.Controller`.
    horizon : int, optional
        The number of rounds that a policy may assume; None for an infinite horizon.
    rate
        The largest step of a round, as in :class:`soqo.Controller`.
    time : array_like of datetime64, shape (T,), optional
        The time of each action in UTC, to the millisecond; NaT where it is not known.
    actuators, units
        The names of the actuators and their units, as in :class:`soqo.Controller`.

    Examples
    --------
    >>> log = Log(v=[[1.0], [2.0]], x=[[0.5], [1.25]], y=[0.2, 0.3], x0=[0.0])
    >>> len(log), log.dim
    (2, 1)
    """

    v: Array
    x: Array
    y: Array
    _: KW_ONLY
    x0: Array
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    switching_weight: ArrayLike | None = None
    horizon: int | None = None
    rate: ArrayLike | None = None
    time: Any = None
    actuators: tuple[str, ...] | None = None
    units: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        v = finite_array("v", self.v)
        if v.ndim != 2 or not v.size:
            raise ArgumentError(f"v must have shape (T, d), got {v.shape}")
        x, x0, y = finite_array("x", self.x), finite_array("x0", self.x0), numbers("y", self.y)
        for name, value, shape in (
            ("x", x, v.shape),
            ("x0", x0, v.shape[1:]),
            ("y", y, v.shape[:1]),
        ):
            if value.shape != shape:
                raise ArgumentError(f"{name} must have shape {shape}, got {value.shape}")
        if np.isinf(y).any():
            raise ArgumentError("y must be finite, or NaN for no reading, got an infinite one")
        rounds = horizon_or_none(self.horizon)
        if rounds is not None and rounds < len(v):
            raise ArgumentError(f"horizon must be at least the {len(v)} rounds of the log, got {rounds}")
        if Coordinates(self.switching_weight).dim not in (None, v.shape[1]):
            raise ArgumentError(f"switching_weight must be for {v.shape[1]} actuators, got {self.switching_weight}")
        set_fields(self, v=freeze(v), x=freeze(x), x0=freeze(x0), y=freeze(y))
        names = check_names(self.actuators, self.units, v.shape[1])
        set_fields(self, actuators=names.names, units=names.units, time=_times(self.time, len(v)))

    def __repr__(self) -> str:
        return f"Log({len(self)} rounds, {self.dim} actuators)"

    def __len__(self) -> int:
        return len(self.v)

    @property
    def dim(self) -> int:
        """The number d of actuators."""
        return int(self.v.shape[1])

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read all rounds of a controller's journal, which may be in use.

        Parameters
        ----------
        path : path
            The journal.

        Raises
        ------
        FileFormatError
            If the journal is damaged.
        """
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no journal {source}")
        first, records = read_all(source.read_bytes(), source)
        snapshot = decode_snapshot(first, source)
        state = snapshot.state
        d = state.x.size
        table = _tabulate((decode_call(record, d, source) for record in records), state.round + 1)
        if not table:
            raise ArgumentError(f"path must be a journal with at least one round, got {source}, which has none")
        time = np.array([one.time for one in table], dtype="datetime64[us]").astype("datetime64[ms]")
        return cls(
            np.array([one.v for one in table]),
            np.array([one.x for one in table]),
            np.array([one.y for one in table]),
            x0=state.x,
            low=snapshot.low,
            high=snapshot.high,
            switching_weight=snapshot.switching_weight,
            horizon=None if state.horizon is None else state.horizon - state.round,
            rate=snapshot.rate,
            time=None if np.isnat(time).all() else time,
            actuators=snapshot.actuators,
            units=snapshot.units,
        )


def _times(time: Any, rounds: int) -> Any:
    """Return the times of the rounds, to the millisecond; None if there are none."""
    if time is None:
        return None
    given = np.asarray(time)
    if given.dtype.kind != "M" or given.shape != (rounds,):
        raise ArgumentError(
            f"time must be an array of datetime64 in UTC of shape {(rounds,)}, got {given.dtype} of shape {given.shape}"
        )
    return freeze(given.astype("datetime64[ms]"))


class _Round(NamedTuple):
    """A round of a journal: its minimizer, action, reading, and the time of its action in microseconds since 1970."""

    v: Array
    x: Array
    y: float
    time: int | None


def _tabulate(calls: Iterable[Call], first: int) -> list[_Round]:
    """Return the rounds, of which the first has this number. A reading of an earlier one belongs to another journal."""
    rounds: list[_Round] = []
    for call in calls:
        if call.v is not None and call.x is not None:
            rounds.append(_Round(call.v, call.x, np.nan, call.time))
        elif call.y is not None:
            index = len(rounds) - 1 if call.round is None else call.round - first
            if index >= 0:
                one = rounds[index]
                rounds[index] = one._replace(y=call.y, x=one.x if call.x is None else call.x)
    return rounds
