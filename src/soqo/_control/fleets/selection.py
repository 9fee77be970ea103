"""The plants that a call names: which they are, whether it is their turn, and within which limits they begin."""

from __future__ import annotations

import numpy as np

from soqo._control.fleets.arguments import check_names, is_name
from soqo._control.fleets.limits import LIMITS, limit_rows
from soqo._control.fleets.plants import Plants
from soqo._control.fleets.records import Name, Names
from soqo.errors import ArgumentError, ProtocolError, UnknownNameError
from soqo.typing import Array, ArrayLike, IntArray

_SHOWN_NAMES = 5
"""Messages list this many names of plants."""


def select(fleet: Plants, plants: Names | None) -> tuple[tuple[Name, ...], bool]:
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


def check_horizon(fleet: Plants, names: tuple[Name, ...]) -> None:
    """Refuse an action after the last round of a plant."""
    horizon = fleet.settings.horizon
    if horizon is None:
        return
    over = np.flatnonzero(fleet.status(names).rounds >= horizon)
    if over.size:
        raise ProtocolError(
            f"act was called after the last round of plant {names[over[0]]!r}, horizon = {horizon}; no plant acted"
        )


def check_open(fleet: Plants, names: tuple[Name, ...], rounds: IntArray | None) -> None:
    """Refuse readings of rounds that are not open."""
    current = fleet.status(names).rounds
    when = current if rounds is None else rounds
    closed = np.flatnonzero(~fleet.is_open(names, when))
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


def limits_of_new(fleet: Plants, given: dict[str, ArrayLike | None], count: int) -> Array | None:
    """Return the limits of new plants, shape (count, 3, d); None if they are those of all plants."""
    own = any(value is not None for value in given.values())
    if own and not fleet.can_be_limited:
        raise ArgumentError("low, high and rate must be None in a fleet without limits, got one")
    if not (own or fleet.has_own_limits):
        return None
    known = {name: getattr(fleet.settings, name) if given[name] is None else given[name] for name in LIMITS}
    for name in LIMITS:
        if known[name] is None and fleet.limits_some(name):
            raise ArgumentError(f"{name} must be given, since each plant of the fleet has its own, got None")
    return limit_rows(known, count, fleet.settings.dim)


def bounds(fleet: Plants, limits: Array | None) -> tuple[ArrayLike | None, ArrayLike | None]:
    """Return the lowest and the highest positions of some plants."""
    return (fleet.settings.low, fleet.settings.high) if limits is None else (limits[:, 0], limits[:, 1])
