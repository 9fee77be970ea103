"""The settings of a controller: their validation, their comparison with those of a journal, and whether they travel."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from soqo._control.actuators import check_limits, check_names
from soqo._control.snapshot import Snapshot
from soqo._foundation.arguments import finite_array, horizon_or_none, integer, numbers
from soqo._foundation.random_streams import stream
from soqo._storage.plain_data import portability_problems
from soqo.errors import ArgumentError, PortabilityWarning
from soqo.policies import Policy, wrap_for_plant
from soqo.typing import ArrayLike


def first_snapshot(
    policy: Policy[Any],
    x0: ArrayLike,
    *,
    horizon: int | None,
    seed: int,
    low: ArrayLike | None,
    high: ArrayLike | None,
    rate: ArrayLike | None,
    period: ArrayLike | None,
    switching_weight: ArrayLike | None,
    max_delay: int,
    v_limits: tuple[ArrayLike, ArrayLike] | None,
    actuators: Any,
    units: Any,
    timestamps: bool,
) -> tuple[Snapshot, Policy[Any]]:
    """Return the state of a controller before the first round, and its policy within limits and weight."""
    start = finite_array("x0", x0)
    if start.ndim != 1 or not start.size:
        raise ArgumentError(f"x0 must have shape (d,), one plant, got {start.shape}")
    names = check_names(actuators, units, start.size)
    rounds = horizon_or_none(horizon)
    low, high, rate, period, switching_weight = (
        None if value is None else numbers(name, value)
        for name, value in (
            ("low", low),
            ("high", high),
            ("rate", rate),
            ("period", period),
            ("switching_weight", switching_weight),
        )
    )
    limits = None if v_limits is None else check_limits("v_limits", v_limits, start.size)
    player = wrap_for_plant(policy, switching_weight=switching_weight, low=low, high=high, rate=rate, period=period)
    number = integer("seed", seed, least=0)
    state = player.start(start, rounds, stream(number, run=0, purpose="policy"), max_delay=max_delay)
    within = (np.asarray(-np.inf if low is None else low), np.asarray(np.inf if high is None else high))
    names.check_within("x0", start, within, what="low and high")
    snapshot = Snapshot(
        policy,
        low,
        high,
        switching_weight,
        state,
        0,
        rate=rate,
        v_limits=limits,
        actuators=names.names,
        units=names.units,
        timestamps=bool(timestamps),
        seed=number,
        period=period,
    )
    return snapshot, player


def check_same_settings(given: Snapshot, found: Snapshot, source: str | os.PathLike[str]) -> None:
    """Refuse to continue a journal with other settings than its own; x0 is only where a new journal would start."""
    if given.state.x.size != found.state.x.size:
        raise ArgumentError(
            f"x0 must have the {found.state.x.size} actuators of the journal {source}, got {given.state.x.size}"
        )
    names = ("policy", "low", "high", "rate", "period", "switching_weight", "v_limits", "actuators", "units", "seed")
    pairs = [(name, getattr(given, name), getattr(found, name)) for name in names]
    pairs += [(name, getattr(given.state, name), getattr(found.state, name)) for name in ("horizon", "max_delay")]
    for name, asked, there in pairs:
        if name == "seed" and there is None:  # a journal of an earlier version
            continue
        if not _equal(asked, there):
            raise ArgumentError(
                f"{name} must be as in the journal {source}, {there!r}, got {asked!r}: Controller.resume continues the "
                "journal with its own settings"
            )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(one, other)
    return bool(one == other)


def warn_if_not_portable(snapshot: object, *, stacklevel: int) -> None:
    """Warn at once if another program could not resume a journal, since it would be noticed only after a crash."""
    problems = list(dict.fromkeys(portability_problems(snapshot)))
    if problems:
        warnings.warn(
            f"another program could not resume the journal: {'; '.join(problems)}",
            PortabilityWarning,
            stacklevel=stacklevel + 1,
        )
