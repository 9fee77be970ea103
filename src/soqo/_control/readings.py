"""The readings of a log as a regression takes them: in plain coordinates, and without spikes."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.ndimage import median_filter

from soqo._control.log import Log
from soqo._model.coordinates import Coordinates
from soqo.errors import ArgumentError
from soqo.estimators import svec_rows
from soqo.typing import Array

_SPIKE = 8.0
"""A reading so many robust deviations away from its neighbors is a spike."""


class PlainReadings(NamedTuple):
    """The readings of a log as those of a plant with a factor and a unit of one, in plain coordinates."""

    u: Array
    y: Array
    drivers: list[Array]


def as_log(log: Log | str | os.PathLike[str]) -> Log:
    """Return a log, or the one in a file."""
    if not isinstance(log, Log | str | os.PathLike):
        raise ArgumentError(
            f"log must be a Log or the path of one, got {type(log).__name__}; Log.from_dataframe makes one of a table"
        )
    return log if isinstance(log, Log) else Log.read(log)


def plain_readings(log: Log) -> PlainReadings:
    """Return the displacements and readings of a log, and v and its products, which may drive the base load.

    With y = s 1/2 u'A u + r (base load + noise), y / r is a reading at (s / r)^{1/2} u.
    """
    u, y = Coordinates(log.switching_weight).to_plain((log.x if log.at is None else log.at) - log.v), log.y
    if log.factor is not None or log.unit is not None:
        unit = np.ones(len(log)) if log.unit is None else log.unit
        factor = np.ones(len(log)) if log.factor is None else log.factor
        u, y = np.sqrt(factor / unit)[:, None] * u, y / unit
    return PlainReadings(u, y, with_squares(log.v))


def with_squares(columns: Array) -> list[Array]:
    """Return standardized columns, and their products."""
    spread = columns.std(axis=0)
    w = (columns - columns.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return [w, svec_rows(w)]


def without_spikes(log: Log) -> tuple[Log, int]:
    """Return the log in which spikes are missing readings, and their number.

    A spike is a reading that is far from its neighbors, given a quadratic fit without them.
    """
    u, y, (v, _) = plain_readings(log)
    columns = np.column_stack([svec_rows(u), u, v, np.ones(len(u))])
    is_spike = np.zeros(len(u), dtype=bool)
    known = np.flatnonzero(~np.isnan(y))
    for _ in range(3):
        used = known[~is_spike[known]]
        if used.size < 2 * columns.shape[1]:
            break
        solution, *_ = np.linalg.lstsq(columns[used], y[used])
        left = (y - columns @ solution)[known]
        left -= median_filter(left, 9, mode="nearest")
        spread = max(1.4826 * float(np.median(np.abs(left))), 0.5 * meter_step(y), 1e-9 * float(np.abs(y[known]).max()))
        is_spike[known] = np.abs(left) > _SPIKE * spread
    return replace(log, y=np.where(is_spike, np.nan, log.y)), int(is_spike.sum())


def meter_step(y: Array) -> float:
    """Return the step between the values of a meter, 0 if most of them are different."""
    known = y[~np.isnan(y)]
    values = np.unique(known)
    if values.size < 2 or values.size > 0.8 * known.size:
        return 0.0
    steps = np.diff(values)
    return float(steps[steps > 1e-9 * np.abs(values).max()].min(initial=np.inf))
