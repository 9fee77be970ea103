"""The settings of live plants: their validation, their comparison with those of a journal, and whether they travel."""

from __future__ import annotations

import os
import warnings
from typing import Any, TypedDict

import numpy as np

from soqo._control.actuators import check_limits, check_names
from soqo._control.snapshot import Snapshot
from soqo._foundation.arguments import horizon_or_none, integer, numbers
from soqo._storage.plain_data import portability_problems
from soqo.errors import ArgumentError, PortabilityWarning
from soqo.policies import Policy, wrap_for_plant
from soqo.typing import ArrayLike, IntArray


class Options(TypedDict, total=False):
    """The settings of plants beside their policy, as :class:`soqo.Controller` and :class:`soqo.Fleet` take them."""

    horizon: int | None
    seed: int
    low: ArrayLike | None
    high: ArrayLike | None
    rate: ArrayLike | None
    period: ArrayLike | None
    switching_weight: ArrayLike | None
    max_delay: int
    v_limits: tuple[ArrayLike, ArrayLike] | None
    actuators: Any
    units: Any
    timestamps: bool


_COMPARED = ("policy", "low", "high", "rate", "period", "switching_weight", "v_limits", "actuators", "units", "seed")


def check_settings(policy: Policy[Any], dim: int, none: IntArray, options: Options) -> Snapshot:
    """Return the settings of plants with so many actuators, as the state of none of them.

    Parameters
    ----------
    policy : Policy
        The policy.
    dim : int
        The number of actuators.
    none : IntArray
        The numbers of no plants: an empty array, or one without an axis for a plant that is steered alone.
    options : dict
        The settings.
    """
    names = check_names(options.get("actuators"), options.get("units"), dim)
    given: Any = options
    plant = {name: None if given.get(name) is None else numbers(name, given[name]) for name in _PLANT}
    v_limits = given.get("v_limits")
    wrap_for_plant(policy, **plant)
    return Snapshot(
        policy=policy,
        dim=dim,
        horizon=horizon_or_none(given.get("horizon")),
        seed=integer("seed", given.get("seed", 0), least=0),
        max_delay=integer("max_delay", given.get("max_delay", 0), least=0),
        **plant,
        names=(),
        numbers=none,
        missed=np.zeros_like(none),
        begun=0,
        batches=(),
        v_limits=None if v_limits is None else check_limits("v_limits", v_limits, dim),
        actuators=names.names,
        units=names.units,
        timestamps=bool(given.get("timestamps", False)),
    )


_PLANT = ("low", "high", "rate", "period", "switching_weight")


def check_same_settings(given: Snapshot, found: Snapshot, source: str | os.PathLike[str]) -> None:
    """Refuse to continue a journal with other settings than its own; x0 is only where a new journal would start."""
    if given.dim != found.dim:
        raise ArgumentError(f"x0 must have the {found.dim} actuators of the journal {source}, got {given.dim}")
    for name in (*_COMPARED, "horizon", "max_delay"):
        asked, there = getattr(given, name), getattr(found, name)
        if name == "seed" and there is None:  # a journal of an earlier version
            continue
        if not _equal(asked, there):
            owner = "Controller" if found.is_alone else "Fleet"
            raise ArgumentError(
                f"{name} must be as in the journal {source}, {there!r}, got {asked!r}: {owner}.resume continues the "
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
