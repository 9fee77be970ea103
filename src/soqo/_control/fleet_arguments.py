"""Checks of the arguments of a fleet, with errors that name the plant."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence, Set
from typing import Any

import numpy as np

from soqo._control.calls import FIELDS, Field, Name, Names
from soqo._control.own_limits import LIMITS, limit_rows
from soqo._control.steering import Steering
from soqo._foundation.arguments import finite_array, integer, numbers
from soqo.errors import ArgumentError, ProtocolError, UnknownNameError
from soqo.policies import Limited
from soqo.typing import Array, ArrayLike, BoolArray, IntArray

_SHOWN_NAMES = 5
"""Messages list this many names of plants."""


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
    """Return an array with one row of this shape per plant; whole rows of NaN only where values may be missing."""
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
    absent = np.isnan(rows)
    partly = absent.any(axis=1) & ~absent.all(axis=1)
    if partly.any():
        place = int(np.argmax(partly))
        raise ArgumentError(f"{argument} must be finite or NaN in a whole row, got {rows[place]} for {names[place]!r}")
    return array[None] if single else array


def told_rows(kind: str, arguments: dict[str, Any], names: Sequence[Name], dim: int, *, single: bool) -> dict[str, Any]:
    """Return what a call tells plants, one row for each; for a single plant, the arguments have no axis of plants."""
    fields = {field.name: field for field in FIELDS[kind]}
    told = {name: value for name, value in arguments.items() if value is not None}
    return {name: _rows(fields[name], value, names, dim, single=single) for name, value in told.items()}


def _rows(field: Field, value: Any, names: Sequence[Name], dim: int, *, single: bool) -> Any:
    assert field.dtype is not None
    if field.dtype.kind == "i":
        return _rounds(value, names)
    if field.dtype.kind == "b":
        return _flags(field.name, value, (dim,) if single else (len(names), dim)).reshape(len(names), dim)
    if "k" not in field.axes:
        shape = (dim,) * len(field.axes)
        return plant_values(field.name, value, names, shape, single=single, missing=field.may_be_nan)
    array = finite_array(field.name, value)  # the policy checks the shape of a row
    if single:
        return array[None]
    if not array.ndim or len(array) != len(names):
        raise ArgumentError(f"{field.name} must have one row for each of {len(names)} plants, got shape {array.shape}")
    return array


def _flags(argument: str, value: ArrayLike, expected: tuple[int, ...]) -> BoolArray:
    """Return a mask of this shape."""
    flags = np.asarray(value)
    if flags.dtype != np.bool_ or flags.shape != expected:
        raise ArgumentError(
            f"{argument} must be True or False for each actuator, with shape {expected}, got {flags.dtype} of shape "
            f"{flags.shape}"
        )
    return flags


def _rounds(value: Any, names: Sequence[Name]) -> IntArray:
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


# ---- with the plants of a fleet --------------------------------------------------------------------------------------


def select(fleet: Steering, plants: Names | None) -> tuple[tuple[Name, ...], bool]:
    """Return the names of plants, all by default, and whether a single one was given by its name."""
    known = fleet.numbers
    if plants is None:
        return tuple(known), False
    single = is_name(plants)
    names = check_names([plants] if single else plants)
    for name in names:
        if name not in known:
            shown = ", ".join(repr(one) for one in list(known)[:_SHOWN_NAMES]) or "none"
            more = ", ..." if len(known) > _SHOWN_NAMES else ""
            raise UnknownNameError(f"plants must be in the fleet, got {name!r}; it has {shown}{more}")
    return names, single


def check_horizon(fleet: Steering, names: Sequence[Name], plants: IntArray) -> None:
    """Refuse an action after the last round of a plant."""
    horizon = fleet.settings.horizon
    if horizon is None:
        return
    over = np.flatnonzero(fleet.status(plants).rounds >= horizon)
    if over.size:
        raise ProtocolError(
            f"act was called after the last round of plant {names[over[0]]!r}, horizon = {horizon}; no plant acted"
        )


def check_open(fleet: Steering, names: Sequence[Name], plants: IntArray, rounds: IntArray | None) -> None:
    """Refuse readings of rounds that are not open."""
    current = fleet.status(plants).rounds
    when = current if rounds is None else rounds
    closed = np.flatnonzero(~fleet.plants.is_open(plants, when))
    if not closed.size:
        return
    name, number, played = names[closed[0]], int(when[closed[0]]), int(current[closed[0]])
    if rounds is None and not played:
        raise ProtocolError(f"observe was called before act for plant {name!r}; no reading of this call was used")
    if number > played:
        raise ArgumentError(f"round must have been played, got {number} for plant {name!r}, which is in {played}")
    raise ProtocolError(
        f"round {number} of plant {name!r} is not open: it has had its reading, or is closed; no reading of this "
        "call was used"
    )


def limits_of_new(fleet: Steering, given: dict[str, Any], count: int) -> Array | None:
    """Return the limits of new plants, shape (count, 3, d); None if they are those of all plants."""
    own, settings = fleet.plants.limits, fleet.settings
    if all(value is None for value in given.values()):
        if own is None:
            return None
    elif not isinstance(fleet.player, Limited):
        raise ArgumentError("low, high and rate must be None in a fleet without limits, got one")
    known = {name: getattr(settings, name) if given[name] is None else given[name] for name in LIMITS}
    for place, name in enumerate(LIMITS):
        if known[name] is None and any(np.isfinite(rows[place]).any() for rows in (own or {}).values()):
            raise ArgumentError(f"{name} must be given, since each plant of the fleet has its own, got None")
    return limit_rows(known, count, settings.dim)
