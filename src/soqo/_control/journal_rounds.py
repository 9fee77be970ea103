"""The rounds in the journal of a controller, as a log holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from soqo._control.calls import Call, decode_call
from soqo._control.snapshot import decode_snapshot
from soqo._foundation.angles import unroll_near
from soqo._storage.journal_format import read_all
from soqo.errors import ArgumentError
from soqo.typing import Array, BoolArray


def read_rounds(source: Path) -> dict[str, Any]:
    """Return the arguments of the log in a journal."""
    first, records = read_all(source.read_bytes(), source)
    snapshot = decode_snapshot(first, source)
    state, period = snapshot.state, snapshot.period
    calls = (decode_call(record, state.x.size, source) for record in records)
    table = _tabulate(calls, state.round + 1, None if period is None else np.asarray(period))
    if not table:
        raise ArgumentError(f"path must be a journal with at least one round, got {source}, which has none")
    return {
        **as_columns(table, state.x.size),
        "x0": state.x,
        "low": snapshot.low,
        "high": snapshot.high,
        "switching_weight": snapshot.switching_weight,
        "horizon": None if state.horizon is None else state.horizon - state.round,
        "rate": snapshot.rate,
        "actuators": snapshot.actuators,
        "units": snapshot.units,
        "period": period,
    }


def as_columns(table: Sequence[Round], dim: int) -> dict[str, Any]:
    """Return rounds as the arrays of a log: None for what was never told, and a default where it was not."""
    time = np.array([one.time for one in table], dtype="datetime64[us]")
    return {
        "v": np.array([one.v for one in table]),
        "x": np.array([one.x for one in table]),
        "y": np.array([one.y for one in table]),
        "time": None if np.isnat(time).all() else time,
        "factor": _column([one.factor for one in table], np.ones(())),
        "unit": _column([one.unit for one in table], np.ones(())),
        "active": _column([one.active for one in table], np.ones(dim, dtype=np.bool_)),
        "at": _column([one.at for one in table], np.full(dim, np.nan)),
        "covariates": _covariates([one.covariates for one in table]),
    }


def _column(cells: list[Any], default: Any) -> Any:
    """Return one array for all rounds, with a default where nothing was told; None if nothing was ever told."""
    if all(cell is None for cell in cells):
        return None
    return np.array([default if cell is None else cell for cell in cells])


def _covariates(cells: list[Array | None]) -> Array | None:
    """Return the covariates of all rounds, NaN where there were none; None if there were never any."""
    sizes = sorted({len(cell) for cell in cells if cell is not None})
    if len(sizes) > 1:
        raise ArgumentError(f"covariates must have the same number of entries in all rounds, got {sizes}")
    return _column(cells, np.full(sizes[0], np.nan)) if sizes and sizes[0] else None


class Round(NamedTuple):
    """A round of a journal: what was told, and the time of its action in microseconds since 1970."""

    v: Array
    x: Array
    y: float
    time: int | None
    factor: Array | None
    active: BoolArray | None
    at: Array | None = None
    unit: Array | None = None
    covariates: Array | None = None


def _tabulate(calls: Iterable[Call], first: int, period: Array | None) -> list[Round]:
    """Return the rounds, of which the first has this number. A reading of an earlier one belongs to another journal."""
    rounds: list[Round] = []
    for call in calls:
        if call.v is not None and call.x is not None:
            rounds.append(Round(call.v, call.x, np.nan, call.time, call.factor, call.active))
        elif call.y is not None:
            index = len(rounds) - 1 if call.round is None else call.round - first
            if index >= 0:
                one = rounds[index]
                x = one.x if call.x is None else call.x
                if period is not None:
                    x = unroll_near(x, one.x, period)
                rounds[index] = one._replace(y=call.y, x=x, at=call.at, unit=call.unit, covariates=call.covariates)
    return rounds
