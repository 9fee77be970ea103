"""Calls of many plants as few calls of policies.

Plants with the same policy, limits and weight are of one kind. The calls that arrive together are computed together,
as in a fleet: one call of the policy for a batch of plants. A batch computes for each plant what it would compute for
that plant alone, bit for bit, so that it does not matter which plants happened to be steered together.

A call is computed first (:func:`compute`) and takes effect later (:func:`take_effect`), so that it can be written to
the store in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._control.plants import Plants
from soqo._foundation.angles import unroll_near
from soqo._foundation.frozen_dataclasses import evolve
from soqo._foundation.random_streams import stream
from soqo._model.coordinates import Coordinates
from soqo.policies import Policy, State, wrap_for_plant
from soqo.typing import Array

if TYPE_CHECKING:
    from soqo.service._plants import Plant

SETTINGS_OF_KIND = ("policy", "horizon", "max_delay", "low", "high", "rate", "period", "switching_weight")
"""The settings that plants of one kind share, beside the number of entries of x0."""

_COUNTED = {"alarms": "alarm", "interventions": "guard"}
"""The counts of a policy, and the events that they count."""


class Kind:
    """Plants that differ only in where they are: one policy within limits and weight, and their batches.

    Parameters
    ----------
    policy : Policy
        The policy.
    horizon, max_delay, period, switching_weight, **limits
        As in :class:`soqo.Controller`.
    """

    def __init__(
        self,
        policy: Policy[Any],
        *,
        horizon: int | None,
        max_delay: int,
        period: Any,
        switching_weight: Any,
        **limits: Any,
    ) -> None:
        self.horizon, self.max_delay = horizon, max_delay
        self.period = None if period is None else np.asarray(period)
        self.player = wrap_for_plant(policy, switching_weight=switching_weight, period=period, **limits)
        self.coordinates = Coordinates(switching_weight)
        self.includes_switching = _includes_switching(self.player)
        self.batches = Plants()

    def start(self, x0: Array, seed: int) -> State[Any]:
        """Return the state of one plant before its first round, of the batch (1,)."""
        rng = [stream(seed, run=0, purpose="policy")]
        return self.player.start(x0[None], self.horizon, rng, max_delay=self.max_delay)

    def state_of(self, plant: int) -> State[Any]:
        """Return the state of one plant, of the batch (1,)."""
        return self.batches.part_of(np.array([plant])).state

    def nearest_turn(self, angle: Array, x: Array) -> Array:
        """Return positions that may be given modulo a period at the turn nearest to x."""
        return angle if self.period is None else unroll_near(angle, x, self.period)

    def switching_cost(self, step: Array) -> float:
        """Return the switching cost of a step."""
        with np.errstate(over="ignore", invalid="ignore"):  # then the cost is reported as unknown
            plain = self.coordinates.to_plain(step)
            return 0.5 * float(plain @ plain)


@dataclass(eq=False)
class Step:
    """A request that changes a plant, from what it says to what it leads to.

    Attributes
    ----------
    plant : Plant
        The plant.
    kind : {"act", "reading", "note", "retire"}
        The kind of its record.
    round : int
        The round that is played, or that the reading belongs to.
    body : dict
        The contents of its record.
    given : mapping of str to Array
        What the policy is told: v, forecast, context, factor, active; or y, applied, at, unit, covariates; nothing in
        a note.
    played : Array, optional
        The action that was returned, if the step is repeated from the store.
    after : State, optional
        The new state of the plants that were computed together, and ``row`` the place of this one among them.
    x : Array, optional
        The action.
    expected : float, optional
        What the policy expected of the reading, if it estimates A.
    counts : dict
        How often each kind of event has happened to the plant so far.
    events : list of tuple
        What an operator should know: kind, round and message.
    error : Exception, optional
        Why the policy refused what it was told.
    """

    plant: Plant
    kind: str
    round: int
    body: dict[str, Any]
    given: Mapping[str, Array] = field(default_factory=dict)
    played: Array | None = None
    after: State[Any] | None = None
    row: int = 0
    x: Array | None = None
    expected: float | None = None
    counts: dict[str, float] = field(default_factory=dict)
    events: list[tuple[str, int, str]] = field(default_factory=list)
    error: Exception | None = None

    @property
    def signature(self) -> tuple[Any, ...]:
        """What steps must have in common to be computed together."""
        kind, shapes = self.plant.kind, tuple((name, value.shape) for name, value in self.given.items())
        # Plants whose readings may be late are in different rounds at once: each is a batch of its own.
        return id(kind), shapes, self.plant.id if kind.max_delay else None


def compute(steps: Iterable[Step]) -> None:
    """Compute what steps of different plants lead to."""
    alike: dict[tuple[Any, ...], list[Step]] = {}
    for step in steps:
        if step.given:
            alike.setdefault(step.signature, []).append(step)
    for group in alike.values():
        _compute_group(group)


def _compute_group(steps: Sequence[Step]) -> None:
    try:
        with np.errstate(all="ignore"):  # of numbers near the limits of floating point: the policy reports it
            _compute_together(steps)
    except Exception as error:  # what one plant was told must not make the calls of others fail
        if len(steps) == 1:
            steps[0].error = error
            return
        for one in steps:
            _compute_group([one])


def _compute_together(steps: Sequence[Step]) -> None:
    kind, acting = steps[0].plant.kind, steps[0].kind == "act"
    for part in kind.batches.select(np.array([step.plant.id for step in steps]), settle=acting):
        state, chosen = part.state, [steps[place] for place in np.arange(len(steps))[part.places]]
        given = {name: np.stack([step.given[name] for step in chosen]) for name in chosen[0].given}
        after = _act(kind, state, chosen, given) if acting else _observe(kind, state, chosen, given)
        counts = kind.player.counts(after)
        for row, step in enumerate(chosen):
            step.after, step.row = after, row
            step.counts = {_COUNTED[name]: float(count[row]) for name, count in counts.items() if name in _COUNTED}


def _act(kind: Kind, state: State[Any], steps: Sequence[Step], given: dict[str, Array]) -> State[Any]:
    x, after = kind.player.act(state, **given)
    played = np.stack([row if step.played is None else step.played for step, row in zip(steps, x, strict=True)])
    if not np.array_equal(played, x):
        # Another processor or version may have computed an action that differs in the last digit.
        after = evolve(after, x=played)
    for step, position in zip(steps, played, strict=True):
        step.x = position
    return after


def _observe(kind: Kind, state: State[Any], steps: Sequence[Step], given: dict[str, Array]) -> State[Any]:
    number = steps[0].round if kind.max_delay else None
    if number in (None, state.round):
        for step, value in zip(steps, _expected(kind, state, given), strict=True):
            step.expected = value
    return kind.player.observe(state, round=number, **given)


def take_effect(steps: Iterable[Step]) -> None:
    """Let computed steps take effect."""
    together: dict[int, list[Step]] = {}
    for step in steps:
        if step.after is not None:
            together.setdefault(id(step.after), []).append(step)
    for group in together.values():
        kind, state, rows = group[0].plant.kind, group[0].after, [step.row for step in group]
        assert state is not None
        if rows != list(range(len(state.x))):
            state = kind.player.take(state, rows)
        kind.batches.put(kind.player, state, np.array([step.plant.id for step in group]))


def _expected(kind: Kind, state: State[Any], given: Mapping[str, Array]) -> Sequence[float | None]:
    """Return what the policy expects of readings of the current round."""
    known = kind.player.model(state)
    x = kind.nearest_turn(given.get("applied", state.x), state.x)
    u = given.get("at", x) - state.v
    hitting = hitting_cost(known, kind.nearest_turn(u, np.zeros_like(u)))
    if hitting is None:
        return [None] * len(x)
    values = hitting * (1.0 if state.factor is None else state.factor) + known.get("base_load", 0.0) * given.get(
        "unit", 1.0
    )
    if kind.includes_switching and state.x_prev is not None:
        plain = kind.coordinates.to_plain(x - state.x_prev)
        values = values + 0.5 * np.vecdot(plain, plain)
    return [float(value) if np.isfinite(value) else None for value in values]


def _includes_switching(policy: Any) -> bool:
    """Return whether readings contain the switching cost, as a policy inside of wrappers was told."""
    inner = getattr(policy, "policy", None)
    return getattr(policy, "switching_included", False) or (inner is not None and _includes_switching(inner))


def hitting_cost(known: Mapping[str, Any], u: Array) -> Array | None:
    """Return the hitting costs at displacements u = x - v by the diagnostics of a policy; None if it has no A."""
    if "estimate" not in known:
        return None
    error = u + known["offset"] if "offset" in known else u
    return np.asarray(0.5 * np.vecdot(error, np.matvec(known["estimate"], error)))
