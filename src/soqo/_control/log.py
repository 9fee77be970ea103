"""Logs: the minimizers, actions and readings of a plant, from a journal or from the user's own records."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Self

import numpy as np

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
        table = _tabulate(decode_call(record, d, source) for record in records)
        if not table:
            raise ArgumentError(f"path must be a journal with at least one round, got {source}, which has none")
        v, x, y = (np.array(column) for column in zip(*table, strict=True))
        return cls(
            v,
            x,
            y,
            x0=state.x,
            low=snapshot.low,
            high=snapshot.high,
            switching_weight=snapshot.switching_weight,
            horizon=None if state.horizon is None else state.horizon - state.round,
        )


def _tabulate(calls: Iterable[Call]) -> list[tuple[Array, Array, float]]:
    """Return v, x and y of each round. A reading before the first action belongs to a round of an earlier journal."""
    rounds: list[tuple[Array, Array, float]] = []
    for call in calls:
        if call.v is not None and call.x is not None:
            rounds.append((call.v, call.x, np.nan))
        elif call.y is not None and rounds:
            v, x, _ = rounds[-1]
            rounds[-1] = (v, x if call.x is None else call.x, call.y)
    return rounds
