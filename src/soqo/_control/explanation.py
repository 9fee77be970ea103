"""What a plant is doing and why, in a sentence or two."""

from __future__ import annotations

from typing import Any

from soqo._control.actuators import Actuators
from soqo.policies import Policy, State
from soqo.typing import ArrayLike


def explain_state(
    player: Policy[Any],
    state: State[Any],
    missed: int,
    actuators: Actuators,
    low: ArrayLike | None,
    high: ArrayLike | None,
    rate: ArrayLike | None,
) -> str:
    """Describe the state of one plant.

    Parameters
    ----------
    player : Policy
        The policy within limits and weight.
    state : State
        The state, of the batch ``()`` or ``(1,)``.
    missed : int
        The number of rounds without a reading.
    actuators : Actuators
        The names and units of the actuators.
    low, high, rate
        The limits of the plant.

    Returns
    -------
    str
        The sentences.
    """
    of = "" if state.horizon is None else f" of {state.horizon}"
    progress = "waits for its reading" if state.pending else "completed"
    begun = f"Round {state.round}{of} {progress}" if state.round else "No round played yet"
    x_prev = None if state.x_prev is None else state.x_prev.reshape(-1)
    limits = actuators.reached_limits(state.x.reshape(-1), x_prev, low, high, rate)
    note = f"{missed} readings were missed so far." if missed else ""
    return " ".join(filter(None, (f"{begun}: {player.explain(state)}", limits, note)))
