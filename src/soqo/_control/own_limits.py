"""Limits that differ between plants that are steered together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from soqo._foundation.arguments import numbers
from soqo.errors import ArgumentError
from soqo.policies import Limited, Policy, Wrapper
from soqo.typing import Array, ArrayLike, Rng

_M = TypeVar("_M")

LIMITS = {"low": -np.inf, "high": np.inf, "rate": np.inf}
"""The limits of a plant, and the value of each that means none."""


@dataclass(frozen=True)
class LimitedRows(Limited[_M]):
    """A policy within limits of shape (n, d), one row for each run of a batch.

    Limits have no part in a state, so that runs may be split and joined, and limited by other rows.
    """

    def __post_init__(self) -> None:
        Wrapper.__post_init__(self)

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> _M:
        return Wrapper.begin(self, x0, horizon, rng)


def limit_rows(given: dict[str, Any], count: int, dim: int) -> Array:
    """Return the limits of some plants, shape (count, 3, d): low, high and rate of each.

    Parameters
    ----------
    given : dict
        ``low``, ``high`` and ``rate``, each None, a number, of shape (d,) for all plants, or of shape (count, d).
    count, dim : int
        The number of plants, and of actuators.
    """
    rows = []
    for name, none in LIMITS.items():
        limit = np.asarray(none) if given[name] is None else numbers(name, given[name])
        if limit.shape not in ((), (dim,), (count, dim)):
            raise ArgumentError(f"{name} must be a number or have shape {(dim,)} or {(count, dim)}, got {limit.shape}")
        wrong = np.isnan(limit) | (limit <= 0.0 if name == "rate" else limit == -none)
        if wrong.any():
            expected = "above 0" if name == "rate" else f"neither NaN nor {-none}"
            raise ArgumentError(f"{name} must be {expected}, got {limit[wrong].flat[0]}")
        rows.append(np.broadcast_to(limit, (count, dim)))
    limits = np.stack(rows, axis=1)
    if (limits[:, 0] > limits[:, 1]).any():
        place = int(np.argmax((limits[:, 0] > limits[:, 1]).any(axis=1)))
        raise ArgumentError(f"low must not exceed high, got {limits[place, 0]} and {limits[place, 1]} in row {place}")
    return limits


def differ(given: dict[str, ArrayLike | None]) -> bool:
    """Return whether limits are given plant by plant."""
    return any(value is not None and np.ndim(value) == 2 for value in given.values())


def limit(policy: Policy[Any], limits: Array) -> Policy[Any]:
    """Return the policy within limits of shape (n, 3, d)."""
    return LimitedRows(policy, low=limits[:, 0], high=limits[:, 1], rate=limits[:, 2])
