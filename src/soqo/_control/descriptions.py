"""A controller in words: what it does and why, for an operator and for a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

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


def describe_round(player: Policy[Any], state: State[Any], missed: int, names: Actuators, plant: HasLimits) -> str:
    """Return what a policy is doing and why, which actuators are at a limit, and how many readings were missed.

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
    missing = f"{missed} readings were missed so far." if missed else ""
    return " ".join(filter(None, (f"{begun}: {player.explain(state)}", limits, missing)))


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
