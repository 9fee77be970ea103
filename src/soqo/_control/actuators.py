"""The names and units of a plant's actuators, and the checks of positions against its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from soqo._foundation.arguments import numbers
from soqo._foundation.frozen_dataclasses import freeze
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike, BoolArray

Limits = tuple[Array, Array]
"""The lowest and the highest value of each actuator, or of all."""


class Actuators(NamedTuple):
    """What the actuators of a plant are called, and in which units their positions are.

    Attributes
    ----------
    dim : int
        The number of actuators.
    names : tuple of str, or None
        A name for each; None for "actuator 1", "actuator 2", ...
    units : str, tuple of str, or None
        The unit of all positions, or one for each actuator.

    Examples
    --------
    >>> Actuators(2, ("zone 1", "zone 2"), "degC").describe([20.0, 21.5])
    'zone 1 20 degC, zone 2 21.5 degC'
    """

    dim: int
    names: tuple[str, ...] | None = None
    units: str | tuple[str, ...] | None = None

    def name(self, index: int) -> str:
        """Return the name of an actuator."""
        return f"actuator {index + 1}" if self.names is None else self.names[index]

    def unit(self, index: int) -> str:
        """Return the unit of an actuator; an empty text if it is not known."""
        if self.units is None:
            return ""
        return self.units if isinstance(self.units, str) else self.units[index]

    def value(self, index: int, number: float) -> str:
        """Return a position of an actuator with its unit."""
        return f"{number:g} {self.unit(index)}".rstrip()

    def describe(self, position: ArrayLike) -> str:
        """Return a position, actuator by actuator."""
        entries = np.asarray(position).tolist()
        return ", ".join(f"{self.name(k)} {self.value(k, entry)}" for k, entry in enumerate(entries))

    def check_finite(self, name: str, position: ArrayLike) -> None:
        """Refuse a position that is not finite with the name of its actuator; other mistakes are left to others."""
        try:
            given = numbers(name, position, copy=False)
        except ArgumentError:
            return
        if given.shape == (self.dim,) and not np.isfinite(given).all():
            index = int(np.argmin(np.isfinite(given)))
            raise ArgumentError(f"{name} must be finite, got {given[index]} for {self.name(index)} at [{index}]")

    def check_within(self, name: str, positions: Array, limits: Limits, *, what: str) -> None:
        """Refuse positions, of shape (..., d), out of limits, with the name of the actuator."""
        low, high = limits
        outside = (positions < low) | (positions > high)
        if outside.any():
            where = tuple(int(k) for k in np.argwhere(outside)[0])
            index, value = where[-1], float(positions[where])
            lowest, highest = (float(np.broadcast_to(limit, self.dim)[index]) for limit in limits)
            raise ArgumentError(
                f"{name} must be within {what}, got {self.value(index, value)} for {self.name(index)}, "
                f"which has {self.value(index, lowest)} to {self.value(index, highest)}"
            )

    def reached_limits(
        self, x: Array, x_prev: Array | None, low: ArrayLike | None, high: ArrayLike | None, rate: ArrayLike | None
    ) -> str:
        """Return which actuators are at a limit, as a sentence; an empty text if none is."""
        found = []
        for word, limit, reached in (
            ("low", low, None if low is None else np.less_equal(x, low)),
            ("high", high, None if high is None else np.greater_equal(x, high)),
            ("rate", rate, None if rate is None or x_prev is None else _is_step(x, x_prev, rate)),
        ):
            if limit is None or reached is None:
                continue
            values = np.broadcast_to(np.asarray(limit), x.shape)
            found += [f"{self.name(k)} ({word} {self.value(k, values[k])})" for k in np.flatnonzero(reached).tolist()]
        return f"At a limit: {', '.join(found)}." if found else ""

    def outside_limits(self, v: Array, low: ArrayLike | None, high: ArrayLike | None) -> str:
        """Return where the minimizer is out of the limits, as a sentence; an empty text if nowhere."""
        found = []
        for word, limit, sign in (("low", low, -1.0), ("high", high, 1.0)):
            values = np.broadcast_to(sign * np.inf if limit is None else np.asarray(limit), v.shape)
            beyond = np.flatnonzero(sign * v > sign * values).tolist()
            found += [f"{self.name(k)} ({self.value(k, v[k])}, {word} {self.value(k, values[k])})" for k in beyond]
        return f"v is out of the limits: {', '.join(found)}." if found else ""

    def offsets(self, offset: Array, deviation: Array) -> str:
        """Return the offsets that are larger than their deviations, as a sentence; an empty text if there are none."""
        found = [
            f"{self.name(k)} {-offset[k]:+.3g} ± {deviation[k]:.2g} {self.unit(k)}".rstrip()
            for k in np.flatnonzero(np.abs(offset) > deviation).tolist()
        ]
        return f"The best position is taken to be v plus: {', '.join(found)}." if found else ""


def _is_step(x: Array, x_prev: Array, rate: ArrayLike) -> BoolArray:
    """Return which actuators made the largest step, which `Limited` computes in this way."""
    return np.asarray((x == np.add(x_prev, rate)) | (x == np.subtract(x_prev, rate)))


def check_names(actuators: Any, units: Any, dim: int) -> Actuators:
    """Return the names and units of d actuators, after checks that there is one for each."""
    names = None if actuators is None else _texts("actuators", actuators, dim)
    if names is not None and len(set(names)) < dim:
        raise ArgumentError(f"actuators must have different names, got {list(names)}")
    if units is not None and not isinstance(units, str):
        units = _texts("units", units, dim)
    return Actuators(dim, names, units)


def _texts(name: str, values: Any, dim: int) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not all(isinstance(v, str) for v in values):
        raise ArgumentError(f"{name} must be a list of texts, one for each actuator, got {values!r}")
    if len(values) != dim:
        raise ArgumentError(f"{name} must have one entry for each of the {dim} actuators, got {len(values)}")
    return tuple(values)


def check_limits(name: str, limits: Any, dim: int) -> Limits:
    """Return a pair of limits, each a number or a vector with an entry for each actuator."""
    if not isinstance(limits, tuple | list) or len(limits) != 2:
        raise ArgumentError(f"{name} must be a lowest and a highest value, got {limits!r}")
    low, high = (freeze(numbers(name, limit)) for limit in limits)
    for limit in (low, high):
        if limit.shape not in ((), (dim,)):
            raise ArgumentError(f"{name} must be numbers or vectors of shape {(dim,)}, got shape {limit.shape}")
    if not (low < high).all():
        raise ArgumentError(f"{name} must be increasing, got {low} and {high}")
    return low, high
