"""What a plant did: minimizers, actions and readings of many rounds, from a journal or from anybody's own records."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from soqo._arguments import finite_array, horizon_or_none, numbers
from soqo._controller import ACT, OBSERVE, decoded, numbers_in
from soqo._problem import Coordinates
from soqo._storage.journal import Record, read_all
from soqo._values import freeze
from soqo.errors import ArgumentError
from soqo.typing import Array

__all__ = ["Log"]


@dataclass(frozen=True, eq=False)
class Log:
    """A recorded stretch of a plant's life, in the plant's own units.

    Parameters
    ----------
    v : array_like, shape (T, d)
        The minimizers.
    x : array_like, shape (T, d)
        The actions, as they were really applied.
    y : array_like, shape (T,)
        The measured costs; NaN where there was none.
    x0 : array_like, shape (d,)
        Where the plant stood before.
    low, high, switching_weight
        The plant's limits and the weight of moving, as in :class:`soqo.Controller`.
    horizon : int, optional
        The number of rounds that a player may count on; None for no end in sight.

    Examples
    --------
    >>> log = Log(v=[[1.0], [2.0]], x=[[0.5], [1.25]], y=[0.2, 0.3], x0=[0.0])
    >>> len(log), log.dim
    (2, 1)
    """

    v: Array
    x: Array
    y: Array
    x0: Array
    low: Any = None
    high: Any = None
    switching_weight: Any = None
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
        for name, array in (("v", v), ("x", x), ("x0", x0), ("y", y)):
            object.__setattr__(self, name, freeze(array))

    def __len__(self) -> int:
        return len(self.v)

    @property
    def dim(self) -> int:
        """The number d of actuators."""
        return int(self.v.shape[1])

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """All rounds of a controller's journal, which may be in use; a damaged one is refused."""
        source = Path(path)
        if not source.is_file():
            raise FileNotFoundError(f"there is no journal {source}")
        first, records = read_all(source.read_bytes(), source)
        standing = decoded(first, source)
        rounds = collected(records)
        if not rounds:
            raise ArgumentError(f"path must be a journal with a round in it, got {source}, which has none")
        d, state = standing.state.x.size, standing.state
        table = np.array(rounds)
        left = None if state.horizon is None else state.horizon - state.round
        return cls(
            v=table[:, :d],
            x=table[:, d : 2 * d],
            y=table[:, 2 * d],
            x0=state.x,
            low=standing.low,
            high=standing.high,
            switching_weight=standing.switching_weight,
            horizon=left,
        )


def collected(records: Iterable[Record]) -> list[Array]:
    """One row (v, x, y) for each round. A reading before the first action belongs to a round of an earlier journal."""
    rounds: list[Array] = []
    for record in records:
        values = numbers_in(record)
        if record.kind == ACT:
            rounds.append(np.append(values, np.nan))
        elif record.kind == OBSERVE and rounds:
            row = rounds[-1]
            row[-1] = values[0]
            if values.size > 1:
                d = values.size - 1
                row[d : 2 * d] = values[1:]
    return rounds
