"""Checks of the arguments of a fleet, with errors that name the plant."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence, Set
from typing import Any

import numpy as np

from soqo._control.fleets.records import Name
from soqo._foundation.arguments import finite_array, integer, numbers
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike, BoolArray, IntArray


def is_name(value: object) -> bool:
    """Return whether a value is the name of one plant, and not several of them."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def check_names(names: Any) -> tuple[Name, ...]:
    """Return names of plants, each of them once."""
    if isinstance(names, np.ndarray):
        names = names.tolist()
    if not isinstance(names, Collection) or isinstance(names, str | bytes | Set):
        raise ArgumentError(f"names of plants must be a sequence of strings or integers, got {type(names).__name__}")
    for name in names:
        if not is_name(name):
            raise ArgumentError(f"the name of a plant must be a string or an integer, got {name!r}")
    found = tuple(name if isinstance(name, str) else int(name) for name in names)
    if len(set(found)) < len(found):
        twice = next(name for k, name in enumerate(found) if name in found[:k])
        raise ArgumentError(f"names of plants must be different, got {twice!r} twice")
    return found


def new_names(names: Any, count: int, taken: Collection[Name], first: int) -> tuple[Name, ...]:
    """Return names for new plants: as given, or integers from ``first`` on."""
    if names is None:
        found: list[Name] = []
        while len(found) < count:
            if first not in taken:
                found.append(first)
            first += 1
        return tuple(found)
    given = check_names(names)
    if len(given) != count:
        raise ArgumentError(f"names must be one for each of the {count} rows of x0, got {len(given)}")
    for name in given:
        if name in taken:
            raise ArgumentError(f"names must be new, got {name!r}, which is in the fleet: restart lets it begin anew")
    return given


def plant_values(
    argument: str,
    value: ArrayLike,
    names: Sequence[Name],
    shape: tuple[int, ...],
    *,
    single: bool,
    missing: bool = False,
) -> Array:
    """Return an array with one row of this shape per plant; NaN is accepted only where values may be missing."""
    array = numbers(argument, value)
    expected = shape if single else (len(names), *shape)
    if array.shape != expected:
        raise ArgumentError(f"{argument} must have shape {expected}, got {array.shape}")
    rows = array.reshape(len(names), math.prod(shape))
    bad = np.isinf(rows).any(axis=1) if missing else ~np.isfinite(rows).all(axis=1)
    if bad.any():
        place = int(np.argmax(bad))
        entry = next(float(entry) for entry in rows[place] if np.isinf(entry) or not (missing or np.isfinite(entry)))
        or_nan = ", or NaN for none" if missing else ""
        raise ArgumentError(f"{argument} must be finite{or_nan}, got {entry} for plant {names[place]!r}")
    return array[None] if single else array


def check_whole_rows(argument: str, values: Array, names: Sequence[Name]) -> None:
    """Refuse a row of which only some entries are NaN."""
    missing = np.isnan(values)
    partly = missing.any(axis=1) & ~missing.all(axis=1)
    if partly.any():
        place = int(np.argmax(partly))
        raise ArgumentError(
            f"{argument} must be finite or NaN in a whole row, got {values[place]} for {names[place]!r}"
        )


def optional_rows(argument: str, value: ArrayLike | None, count: int, *, single: bool) -> Array | None:
    """Return an optional argument with one row per plant; the policy checks the shape of a row."""
    if value is None:
        return None
    array = finite_array(argument, value)
    if single:
        return array[None]
    if not array.ndim or len(array) != count:
        raise ArgumentError(f"{argument} must have one row for each of {count} plants, got shape {array.shape}")
    return array


def optional_flags(argument: str, value: ArrayLike | None, count: int, dim: int, *, single: bool) -> BoolArray | None:
    """Return a mask with one row per plant."""
    if value is None:
        return None
    flags = np.asarray(value)
    expected = (dim,) if single else (count, dim)
    if flags.dtype != np.bool_ or flags.shape != expected:
        raise ArgumentError(
            f"{argument} must be True or False for each actuator, with shape {expected}, got {flags.dtype} of shape "
            f"{flags.shape}"
        )
    return flags.reshape(count, dim)


def plant_rounds(value: Any, names: Sequence[Name]) -> IntArray:
    """Return the number of a round for each plant."""
    rounds = np.asarray(value)
    if rounds.ndim == 0:
        return np.full(len(names), integer("round", value if isinstance(value, int) else rounds.item(), least=1))
    if rounds.dtype.kind not in "iu" or rounds.shape != (len(names),):
        raise ArgumentError(f"round must be an integer or one for each of {len(names)} plants, got {value!r}")
    for number in rounds.tolist():
        integer("round", number, least=1)
    return rounds.astype(np.int64)


def check_limits(x0: Array, names: Sequence[Name], low: ArrayLike | None, high: ArrayLike | None) -> None:
    """Refuse plants that begin outside of the limits."""
    for limit, argument, outside in ((low, "low", np.less), (high, "high", np.greater)):
        if limit is None:
            continue
        if np.shape(limit) not in ((), x0.shape[1:], x0.shape):
            raise ArgumentError(f"{argument} must have shape {x0.shape[1:]} or {x0.shape}, got {np.shape(limit)}")
        bad = outside(x0, limit)
        if bad.any():
            place, k = (int(i) for i in np.argwhere(bad)[0])
            bound = np.broadcast_to(np.asarray(limit), x0.shape)[place, k]
            relation = "at least" if argument == "low" else "at most"
            raise ArgumentError(
                f"x0 must be {relation} {argument}, {bound:g} for actuator {k}, got {x0[place, k]:g} for plant "
                f"{names[place]!r}"
            )
