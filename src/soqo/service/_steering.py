"""Calls of many plants as few calls of policies.

Plants with the same policy, limits and weight are of one kind. The calls that arrive together are computed together,
as in a fleet: one call of the policy for a batch of plants. A batch computes for each plant what it would compute for
that plant alone, bit for bit, so that it does not matter which plants happened to be steered together.

A call is computed first (:func:`compute`) and takes effect later (:meth:`Kind.store`), so that it can be written to
the store in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soqo._control.log_angles import unroll_near
from soqo._control.plants import Part, Plants
from soqo._foundation.frozen_dataclasses import evolve
from soqo._foundation.random_streams import stream
from soqo._model.coordinates import Coordinates
from soqo.errors import SoqoError
from soqo.policies import Policy, State, wrap_for_plant
from soqo.typing import Array

_COUNTED = {"alarms": "alarm", "interventions": "guard"}
"""The counts of a policy, and the events that they count."""


class Kind:
    """Plants that differ only in where they are: one policy within limits and weight, and their batches.

    Parameters
    ----------
    policy : Policy
        The policy.
    horizon, max_delay, low, high, rate, period, switching_weight
        As in :class:`soqo.Controller`.
    """

    def __init__(
        self,
        policy: Policy[Any],
        *,
        horizon: int | None,
        max_delay: int,
        low: Any,
        high: Any,
        rate: Any,
        period: Any,
        switching_weight: Any,
    ) -> None:
        self.horizon, self.max_delay = horizon, max_delay
        self.period = None if period is None else np.asarray(period)
        self.player = wrap_for_plant(
            policy, switching_weight=switching_weight, low=low, high=high, rate=rate, period=period
        )
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

    def store(self, outcomes: Iterable[Outcome]) -> None:
        """Let computed calls take effect."""
        of_part: dict[int, list[Outcome]] = {}
        for one in outcomes:
            of_part.setdefault(id(one.after), []).append(one)
        for group in of_part.values():
            state = group[0].after
            rows = [one.row for one in group]
            if rows != list(range(len(state.x))):
                state = self.player.take(state, rows)
            self.batches.put(self.player, state, np.array([one.call.plant for one in group]))


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a plant with checked arguments: of ``act`` if it has a v, and else of ``observe``.

    Attributes
    ----------
    plant : int
        The number of the plant.
    kind : Kind
        Its kind.
    round : int
        The round that is played, or that the reading belongs to.
    given : mapping of str to Array
        The arguments that were given: v, forecast, context, factor, active; or y, applied, at, unit, covariates.
    played : Array, optional
        The action that was returned, if the call is repeated from the store.
    """

    plant: int
    kind: Kind
    round: int
    given: Mapping[str, Array]
    played: Array | None = None

    @property
    def signature(self) -> tuple[Any, ...]:
        """What calls must have in common to be computed together."""
        shapes = tuple((name, value.shape) for name, value in self.given.items())
        # Plants whose readings may be late are in different rounds at once: each is a batch of its own.
        return id(self.kind), shapes, self.plant if self.kind.max_delay else None


@dataclass(eq=False)
class Outcome:
    """What a call leads to.

    Attributes
    ----------
    call : Call
        The call.
    after : State
        The new state of the plants that were computed together, and ``row`` the place of this one among them.
    x : Array, optional
        The action of a call of ``act``.
    expected : float, optional
        What the policy expected of the reading, if it estimates A.
    counts : dict
        How often each kind of event has happened to this plant so far.
    """

    call: Call
    after: State[Any]
    row: int
    x: Array | None = None
    expected: float | None = None
    counts: dict[str, float] = field(default_factory=dict)


def compute(calls: Sequence[Call]) -> list[Outcome | Exception]:
    """Compute calls of different plants; a call that the policy refuses has its error instead.

    Parameters
    ----------
    calls : sequence of Call
        The calls, at most one for each plant.
    """
    results: list[Outcome | Exception] = [SoqoError("not computed")] * len(calls)
    alike: dict[tuple[Any, ...], list[int]] = {}
    for place, call in enumerate(calls):
        alike.setdefault(call.signature, []).append(place)
    for places in alike.values():
        for place, found in zip(places, _compute_group([calls[place] for place in places]), strict=True):
            results[place] = found
    return results


def _compute_group(calls: Sequence[Call]) -> Sequence[Outcome | Exception]:
    try:
        with np.errstate(all="ignore"):  # of numbers near the limits of floating point: the policy reports it
            return _compute_together(calls)
    except Exception as error:  # what one plant was told must not make the calls of others fail
        if len(calls) == 1:
            return [error]
        return [one for call in calls for one in _compute_group([call])]


def _compute_together(calls: Sequence[Call]) -> list[Outcome]:
    kind, acting = calls[0].kind, "v" in calls[0].given
    outcomes: list[Outcome | None] = [None] * len(calls)
    for part in kind.batches.select(np.array([call.plant for call in calls]), settle=acting):
        places = np.arange(len(calls))[part.places]
        chosen = [calls[place] for place in places]
        given = {name: np.stack([call.given[name] for call in chosen]) for name in chosen[0].given}
        found = _act(kind, part, chosen, given) if acting else _observe(kind, part, chosen, given)
        counts = kind.player.counts(found[0].after)
        for place, one in zip(places, found, strict=True):
            one.counts = {_COUNTED[name]: float(count[one.row]) for name, count in counts.items() if name in _COUNTED}
            outcomes[place] = one
    return [one for one in outcomes if one is not None]


def _act(kind: Kind, part: Part, calls: Sequence[Call], given: dict[str, Array]) -> list[Outcome]:
    x, after = kind.player.act(part.state, **given)
    played = np.stack([row if call.played is None else call.played for call, row in zip(calls, x, strict=True)])
    if not np.array_equal(played, x):
        # Another processor or version may have computed an action that differs in the last digit.
        x, after = played, evolve(after, x=played)
    return [Outcome(call, after, row, x=x[row]) for row, call in enumerate(calls)]


def _observe(kind: Kind, part: Part, calls: Sequence[Call], given: dict[str, Array]) -> list[Outcome]:
    state = part.state
    number = calls[0].round if kind.max_delay else None
    expected = [None] * len(calls) if number not in (None, state.round) else _expected(kind, state, given)
    after = kind.player.observe(state, round=number, **given)
    return [Outcome(call, after, row, expected=expected[row]) for row, call in enumerate(calls)]


def _expected(kind: Kind, state: State[Any], given: Mapping[str, Array]) -> Sequence[float | None]:
    """Return what the policy expects of readings of the current round."""
    known = kind.player.diagnostics(state)
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
