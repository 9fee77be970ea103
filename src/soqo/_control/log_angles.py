"""Angles in a log: positions that are given modulo a period, counted on from turn to turn."""

from __future__ import annotations

import numpy as np

from soqo._foundation.arguments import numbers
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike


def check_period(period: ArrayLike, dim: int) -> Array:
    """Return the periods of the actuators, infinite where positions are no angles."""
    periods = numbers("period", period)
    if periods.shape not in ((), (dim,)) or not (periods > 0.0).all():
        raise ArgumentError(f"period must be above 0, a number or one for each of {dim} actuators, got {period!r}")
    return periods


def unroll(x: Array, x0: Array, period: Array) -> Array:
    """Return positions of shape (T, d), each at the turn nearest to the one before.

    Examples
    --------
    >>> unroll(np.array([[10.0], [350.0]]), np.array([340.0]), np.array(360.0))
    array([[370.],
           [350.]])
    """
    steps = np.diff(x, axis=0, prepend=x0[None])
    return np.where(np.isfinite(period), x - np.cumsum(_turns(steps, period), axis=0), x)


def unroll_near(angle: Array, x: Array, period: Array) -> Array:
    """Return angles at the turn nearest to x."""
    return np.where(np.isfinite(period), angle - _turns(angle - x, period), angle)


def _turns(difference: Array, period: Array) -> Array:
    whole = np.where(np.isfinite(period), period, 1.0)
    return np.asarray(whole * np.round(difference / whole))
