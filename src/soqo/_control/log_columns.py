"""The quantities of each round of a log: one table, from which checks, files, slices and calls of a policy follow.

The value NaN, which is an empty cell in a file, says that nothing was told. A further quantity of a reading is one more
entry of ``COLUMNS``, and a field of ``Log`` with its description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from soqo._control.actuators import check_names
from soqo._control.timestamps import utc_times
from soqo._foundation.angles import unroll, unroll_near
from soqo._foundation.arguments import horizon_or_none, numbers, vector
from soqo._foundation.frozen_dataclasses import freeze
from soqo._model.coordinates import Coordinates
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike, BoolArray

if TYPE_CHECKING:
    from soqo._control.log import Log

Call = Literal["act", "observe"]


class Column(NamedTuple):
    """A quantity of each round.

    Attributes
    ----------
    each : {"round", "actuator", "entry"}
        Whether a round has one value, one for each actuator, or a vector of any length, all of which is told or none.
    expected : str
        What a value must be, for messages; with ``{empty}`` where NaN says that nothing was told.
    allows : callable
        Which values are allowed; it need not know NaN.
    default : float
        The value in place of NaN.
    kind : type
        The type of the values in a log.
    told : {"act", "observe"} or None
        The call in which a policy is told the quantity beside v or y.
    """

    each: Literal["round", "actuator", "entry"]
    expected: str = "a finite number"
    allows: Callable[[Array], BoolArray] = np.isfinite
    default: float = np.nan
    kind: type = float
    told: Call | None = None

    def check(self, values: Array, missing: str, where: Callable[[int, int], str]) -> None:
        """Raise an error for the first value that is not allowed.

        Parameters
        ----------
        values : Array, shape (T, ...)
            The values.
        missing : str
            What messages call NaN.
        where : callable
            It describes the place of a value, by its round and its number in it, for messages.
        """
        nothing = np.isnan(values)
        wrong = ~(self.allows(values) | nothing)
        if "{empty}" not in self.expected:
            wrong |= nothing
        if self.each == "entry":
            wrong |= nothing & ~nothing.all(axis=1, keepdims=True)
        if wrong.any():
            first = np.argwhere(wrong)[0]
            got = f"and is {missing}" if nothing[tuple(first)] else f"got {values[tuple(first)]}"
            place = where(int(first[0]), int(first[-1]))
            raise ArgumentError(f"{place} must be {self.expected.format(empty=missing)}, {got}")


COLUMNS = {
    "v": Column("actuator"),
    "x": Column("actuator"),
    "at": Column("actuator", "finite, or {empty} for the position", told="observe"),
    "active": Column("actuator", "0 or 1, or {empty} for 1", lambda a: (a == 0.0) | (a == 1.0), 1.0, bool, "act"),
    "covariates": Column("entry", "finite, or {empty} in the whole row", told="observe"),
    "factor": Column("round", "at least 0, or {empty} for 1", lambda a: (a >= 0.0) & (a < np.inf), 1.0, told="act"),
    "unit": Column("round", "above 0, or {empty} for 1", lambda a: (a > 0.0) & (a < np.inf), 1.0, told="observe"),
    "y": Column("round", "finite, or {empty} for no reading"),
}
"""What a log may hold for each round beside its time, in the order of a table."""


def told(log: Log, t: int, call: Call, batch: tuple[int, ...] = ()) -> dict[str, Any]:
    """Return what a policy is told in round t of a log beside v or y, as arguments of its ``act`` or ``observe``."""
    found = {name: getattr(log, name) for name, column in COLUMNS.items() if column.told == call}
    rows = {name: values[t] for name, values in found.items() if values is not None}
    return {name: np.broadcast_to(row, (*batch, *row.shape)) for name, row in rows.items() if not np.isnan(row).any()}


def check_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a log as it keeps them: arrays that cannot be changed, at the same turn.

    Raises
    ------
    ArgumentError
        The message names the argument.
    """
    found = _check_rounds(fields)
    rounds, dim = found["v"].shape
    found["x0"] = vector("x0", fields["x0"], (dim,))
    horizon = horizon_or_none(fields["horizon"])
    if horizon is not None and horizon < rounds:
        raise ArgumentError(f"horizon must be at least the {rounds} rounds of the log, got {horizon}")
    weight = fields["switching_weight"]
    if Coordinates(weight).dim not in (None, dim):
        raise ArgumentError(f"switching_weight must be for {dim} actuators, got {weight}")
    found["time"] = None if fields["time"] is None else utc_times("time", fields["time"])
    if found["time"] is not None and found["time"].shape != (rounds,):
        raise ArgumentError(f"time must have shape {(rounds,)}, got {found['time'].shape}")
    found["period"] = None if fields["period"] is None else _check_period(fields["period"], dim)
    _align(found)
    names = check_names(fields["actuators"], fields["units"], dim)
    frozen = {name: None if value is None else freeze(value) for name, value in found.items()}
    return {**frozen, "actuators": names.names, "units": names.units}


def _check_rounds(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the quantities of the rounds that are given, with defaults in place of NaN."""
    v = numbers("v", fields["v"])
    if v.ndim != 2 or not v.size:
        raise ArgumentError(f"v must have shape (T, d), got {v.shape}")
    shapes = {"round": v.shape[:1], "actuator": v.shape}
    found: dict[str, Any] = {}
    for name, column in COLUMNS.items():
        given = fields[name]
        if given is None and name not in ("x", "y"):
            found[name] = None
            continue
        is_flag = column.kind is bool and np.asarray(given).dtype == np.bool_
        values = np.array(given, dtype=np.float64) if is_flag else numbers(name, given)
        shape = shapes.get(column.each, (len(v), *values.shape[-1:]))
        if values.shape != shape or not values.size:
            raise ArgumentError(
                f"{name} must have shape {shapes.get(column.each, f'({len(v)}, k)')}, got {values.shape}"
            )
        column.check(values, "NaN", partial(_place, name, values.ndim))
        found[name] = np.where(np.isnan(values), column.default, values).astype(column.kind)
    return found


def _place(name: str, ndim: int, t: int, k: int) -> str:
    """Return the place of a value in an array, as in ``v[3, 0]``."""
    return f"{name}{[t, k][:ndim]}"


def _check_period(period: ArrayLike, dim: int) -> Array:
    """Return the periods of the actuators, infinite where positions are no angles."""
    periods = numbers("period", period)
    if periods.shape not in ((), (dim,)) or not (periods > 0.0).all():
        raise ArgumentError(f"period must be above 0, a number or one for each of {dim} actuators, got {period!r}")
    return periods


def _align(found: dict[str, Any]) -> None:
    """Count the turns of angles, say where all readings were felt, and replace v of actuators that did not count."""
    x, at, period, active = (found[name] for name in ("x", "at", "period", "active"))
    if at is not None:
        at = np.where(np.isnan(at), x, at)
    if period is not None:
        found["x"] = x = unroll(x, found["x0"], period)
        at = None if at is None else unroll_near(at, x, period)
        found["v"] = unroll_near(found["v"], x if at is None else at, period)
    if active is not None:
        found["v"] = np.where(active, found["v"], x)
        at = None if at is None else np.where(active, at, x)
    found["at"] = at
