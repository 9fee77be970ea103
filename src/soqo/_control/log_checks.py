"""The arguments of a log: their shapes and values, and positions at the same turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soqo._control.actuators import check_names
from soqo._control.log_angles import check_period, unroll, unroll_near
from soqo._control.timestamps import utc_times
from soqo._foundation.arguments import finite_array, horizon_or_none, numbers
from soqo._foundation.frozen_dataclasses import freeze
from soqo._model.coordinates import Coordinates
from soqo.errors import ArgumentError
from soqo.typing import Array, BoolArray


def check_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a log as it keeps them: arrays that cannot be changed, at the same turn.

    Raises
    ------
    ArgumentError
        The message names the argument.
    """
    v = finite_array("v", fields["v"])
    if v.ndim != 2 or not v.size:
        raise ArgumentError(f"v must have shape (T, d), got {v.shape}")
    rounds, dim = v.shape
    x, x0, y = finite_array("x", fields["x"]), finite_array("x0", fields["x0"]), numbers("y", fields["y"])
    for name, value, shape in (("x", x, v.shape), ("x0", x0, (dim,)), ("y", y, (rounds,))):
        if value.shape != shape:
            raise ArgumentError(f"{name} must have shape {shape}, got {value.shape}")
    if np.isinf(y).any():
        raise ArgumentError("y must be finite, or NaN for no reading, got an infinite one")
    horizon = horizon_or_none(fields["horizon"])
    if horizon is not None and horizon < rounds:
        raise ArgumentError(f"horizon must be at least the {rounds} rounds of the log, got {horizon}")
    weight = fields["switching_weight"]
    if Coordinates(weight).dim not in (None, dim):
        raise ArgumentError(f"switching_weight must be for {dim} actuators, got {weight}")
    names = check_names(fields["actuators"], fields["units"], dim)
    found: dict[str, Any] = {"x0": x0, "y": y, "time": fields["time"]}
    if fields["time"] is not None:
        found["time"] = utc_times("time", fields["time"])
        if found["time"].shape != y.shape:
            raise ArgumentError(f"time must have shape {y.shape}, got {found['time'].shape}")
    found |= {name: _check_sizes(name, fields[name], rounds) for name in ("factor", "unit")}
    found["active"] = active = _check_active(fields["active"], v.shape)
    found["covariates"] = _check_covariates(fields["covariates"], rounds)
    at = _check_at(fields["at"], x)
    found["period"] = period = None if fields["period"] is None else check_period(fields["period"], dim)
    if period is not None:
        x = unroll(x, x0, period)
        at = None if at is None else unroll_near(at, x, period)
        v = unroll_near(v, x if at is None else at, period)
    if active is not None:
        v = np.where(active, v, x)
        at = None if at is None else np.where(active, at, x)
    found |= {"v": v, "x": x, "at": at}
    frozen = {name: None if value is None else freeze(value) for name, value in found.items()}
    return {**frozen, "actuators": names.names, "units": names.units}


def _check_sizes(name: str, given: Any, rounds: int) -> Array | None:
    """Return factors or units, one for each round."""
    if given is None:
        return None
    values = finite_array(name, given)
    if values.shape != (rounds,):
        raise ArgumentError(f"{name} must have shape {(rounds,)}, got {values.shape}")
    if values.min() < 0.0 or (name == "unit" and values.min() == 0.0):
        raise ArgumentError(f"{name} must be {'above' if name == 'unit' else 'at least'} 0, got {values.min()}")
    return values


def _check_active(given: Any, shape: tuple[int, ...]) -> BoolArray | None:
    """Return which actuators could move."""
    if given is None:
        return None
    active = np.array(given)
    if active.dtype != np.bool_ or active.shape != shape:
        raise ArgumentError(f"active must be True or False, with shape {shape}, got {active.dtype} of {active.shape}")
    return active


def _check_covariates(given: Any, rounds: int) -> Array | None:
    """Return the covariates of the readings, with rows of NaN where there were none."""
    if given is None:
        return None
    values = numbers("covariates", given)
    if values.ndim != 2 or len(values) != rounds or not values.size:
        raise ArgumentError(f"covariates must have shape ({rounds}, k), got {values.shape}")
    missing = np.isnan(values)
    bad = np.isinf(values).any(axis=1) | (missing.any(axis=1) & ~missing.all(axis=1))
    if bad.any():
        row = int(np.argmax(bad))
        raise ArgumentError(f"covariates must be finite, or NaN in a whole row, got {values[row]} in round {row + 1}")
    return values


def _check_at(given: Any, x: Array) -> Array | None:
    """Return where readings were felt: x where that is not known."""
    if given is None:
        return None
    at = numbers("at", given)
    if at.shape != x.shape:
        raise ArgumentError(f"at must have shape {x.shape}, got {at.shape}")
    if np.isinf(at).any():
        raise ArgumentError("at must be finite, or NaN for the position, got an infinite one")
    return np.where(np.isnan(at), x, at)
