"""The room: how supply temperatures and the heat of racks make inlet temperatures, and what cooling costs.

The inlet temperatures are T_in = G x + D P (Tang, Gupta and Varsamopoulos, 2008): G says which share of the air at a
rack comes from which cooling unit, x are the supply temperatures, D is the heat that recirculates from the racks, and P
is their power. Removing the heat Q_i costs Q_i / COP(x_i) with the efficiency of a chilled-water unit that Moore,
Chase, Ranganathan and Sharma measured (2005), COP(T) = 0.0068 T^2 + 0.0008 T + 0.458.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.typing import Array

_RACK_SPACING, _ROW_SPACING = 1.2, 3.0
_AIR_REACH, _RECIRCULATION_REACH = 2.0, 1.5
"""In m: how far the air of a unit reaches, and how far the heat of a rack."""

_RECIRCULATION = 1.0
"""The mean over the racks of the rise of an inlet temperature if every rack has 1 kW more, in K."""

_END_OF_ROW = 1.35
"""At the ends of rows more hot air returns to the inlets, by this factor."""


@dataclass(frozen=True)
class Room(Value):
    """The matrices of a room.

    Attributes
    ----------
    air : Array, shape (racks, units)
        G: the share of the air at each rack that comes from each unit; rows sum to 1.
    recirculation : Array, shape (racks, racks)
        D: the rise of each inlet temperature per kW of each rack, in K/kW.
    heat : Array, shape (units, racks)
        The share of the heat of each rack that each unit removes; columns sum to 1.
    racks, units : Array, shape (n, 2)
        The positions in m.
    """

    air: Array
    recirculation: Array
    heat: Array
    racks: Array
    units: Array

    def inlet(self, x: Array, power: Array) -> Array:
        """Return the inlet temperatures, shape (..., racks).

        Parameters
        ----------
        x : Array, shape (..., units)
            The supply temperatures in degrees Celsius.
        power : Array, shape (..., racks)
            The power of the racks in kW.
        """
        return x @ self.air.T + power @ self.recirculation.T


@lru_cache(maxsize=8)
def make_room(units: int, rows: int, racks_per_row: int) -> Room:
    """Return a room with rows of racks, and units along two walls.

    Parameters
    ----------
    units, rows, racks_per_row : int
        The numbers of units, of rows, and of racks in a row.
    """
    along = np.arange(racks_per_row) * _RACK_SPACING
    racks = np.array([(x, _ROW_SPACING * row) for row in range(rows) for x in along])
    length, depth = along[-1], _ROW_SPACING * (rows - 1)
    left = (units + 1) // 2
    places = [(-2.0, depth * (k + 0.5) / left) for k in range(left)]
    places += [(length + 2.0, depth * (k + 0.5) / (units - left)) for k in range(units - left)]
    to_units = np.linalg.norm(racks[:, None] - np.array(places)[None], axis=2)
    near = np.exp(-to_units / _AIR_REACH)
    between = np.linalg.norm(racks[:, None] - racks[None], axis=2)
    spread = np.exp(-between / _RECIRCULATION_REACH)
    ends = np.isin(np.arange(len(racks)) % racks_per_row, (0, racks_per_row - 1))
    spread *= np.where(ends, _END_OF_ROW, 1.0)[:, None]
    return Room(
        air=near / near.sum(axis=1, keepdims=True),
        recirculation=spread * (_RECIRCULATION / spread.sum(axis=1).mean()),
        heat=(near / near.sum(axis=1, keepdims=True)).T,
        racks=racks,
        units=np.array(places),
    )


def efficiency(temperature: Array) -> tuple[Array, Array, Array]:
    """Return COP(T) and its first two derivatives."""
    cop = 0.0068 * temperature**2 + 0.0008 * temperature + 0.458
    return cop, 0.0136 * temperature + 0.0008, np.full_like(temperature, 0.0136)
