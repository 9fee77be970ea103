"""A controller in words: what it does and why, for an operator and for a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from soqo._control.actuators import Actuators
from soqo.policies import Policy, State
from soqo.typing import ArrayLike


class HasLimits(Protocol):
    """The limits of a plant."""

    @property
    def low(self) -> ArrayLike | None: ...
    @property
    def high(self) -> ArrayLike | None: ...
    @property
    def rate(self) -> ArrayLike | None: ...


class Limits(NamedTuple):
    """The limits of a plant, or of one plant of a fleet."""

    low: ArrayLike | None
    high: ArrayLike | None
    rate: ArrayLike | None


def diagnose(player: Policy[Any], state: State[Any]) -> dict[str, Any]:
    """Return the diagnostics of a policy, with the deviation of its offset, and with its health if it knows that."""
    found, health = player.diagnostics(state), player.health(state)
    covariance = health.pop("offset_covariance", None)
    if covariance is not None:
        found["offset_deviation"] = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    return {**found, "health": health} if health else found


def detach(value: Any, row: int | None = None) -> Any:
    """Return plain numbers and copies of arrays, or those of one row, so that a caller cannot change a state."""
    if isinstance(value, Mapping):
        return {name: detach(one, row) for name, one in value.items()}
    if row is not None:
        return detach(np.asarray(value)[row])
    if isinstance(value, np.ndarray | np.generic):
        return value.copy() if value.ndim else value.item()
    return value


def describe_round(player: Policy[Any], state: State[Any], missed: int, names: Actuators, plant: HasLimits) -> str:
    """Return what a policy is doing and why, which offsets it plays for, where v or x meet limits, and missed readings.

    Parameters
    ----------
    player : Policy
        The policy within limits and weight.
    state : State
        The state of one plant, of the batch ``()`` or ``(1,)``.
    missed : int
        The number of missed readings.
    names : Actuators
        The names of the actuators.
    plant : HasLimits
        The limits.
    """
    of = "" if state.horizon is None else f" of {state.horizon}"
    progress = "waits for its reading" if state.pending else "completed"
    begun = f"Round {state.round}{of} {progress}" if state.round else "No round played yet"
    x_prev = None if state.x_prev is None else state.x_prev.reshape(-1)
    limits = names.reached_limits(state.x.reshape(-1), x_prev, plant.low, plant.high, plant.rate)
    v = player.nearest(state.v, state.x).reshape(-1)
    outside = names.outside_limits(v, plant.low, plant.high) if state.round else ""
    known = detach(diagnose(player, state), row=None if state.x.ndim == 1 else 0)
    offsets = names.offsets(known["offset"], known["offset_deviation"]) if "offset_deviation" in known else ""
    missing = f"{missed} readings were missed so far." if missed else ""
    return " ".join(filter(None, (f"{begun}: {player.explain(state)}", offsets, outside, limits, missing)))


def render_html(rows: Mapping[str, str], names: Actuators, state: State[Any]) -> str:
    """Return tables of some texts, and of the position and the minimizer of each actuator."""
    cells = [f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows.items()]
    positions = [
        f"<tr><th>{html.escape(names.name(k))}</th>"
        + "".join(f"<td>{html.escape(names.value(k, position[k]))}</td>" for position in (state.x, state.v))
        + "</tr>"
        for k in range(names.dim)
    ]
    head = "<tr><th>actuator</th><th>x</th><th>v</th></tr>"
    return f"<table>{''.join(cells)}</table><table>{head}{''.join(positions)}</table>"
