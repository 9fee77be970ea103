"""Angles: positions that are given modulo a period, which is infinite for positions that are no angles."""

from __future__ import annotations

import numpy as np

from soqo.typing import Array


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
