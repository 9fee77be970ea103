"""A plant in the memory of a server: how far it is, and what a request means to it.

A request is a new call, repeats one, or contradicts one. The state of the policy is in :mod:`soqo.service._steering`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from soqo._control.actuators import Actuators
from soqo._control.controller import Controller
from soqo._control.descriptions import Limits, describe_round, detach, diagnose
from soqo.errors import ArgumentError, ProtocolError, SoqoError
from soqo.service._json import from_limits, policy_from_table
from soqo.service._schemas import (
    Action,
    EventNote,
    PlantSettings,
    PlantStatus,
    Reading,
    ReadingAccepted,
    RoundRequest,
    iso_time,
)
from soqo.service._steering import Kind, Step, hitting_cost
from soqo.service._store import Record, StoredPlant
from soqo.typing import Array


@dataclass(frozen=True)
class Retire:
    """A request that a plant takes no further calls."""


Change: TypeAlias = RoundRequest | tuple[int, Reading] | Retire | EventNote
"""A round, a reading of a round, to retire, or something to note."""

_MINIMIZERS = frozenset({"v", "forecast"})
_POSITIONS = frozenset({*_MINIMIZERS, "active", "applied", "at"})
"""The arguments of calls with an entry for each actuator."""


def make_arguments(settings: PlantSettings) -> dict[str, Any]:
    """Return the settings of a plant as arguments of :class:`soqo.Controller`, which checks them."""
    arguments: dict[str, Any] = settings.model_dump()
    arguments["policy"] = policy_from_table(settings.policy)
    for name, unlimited in (("low", -math.inf), ("high", math.inf), ("rate", math.inf), ("period", math.inf)):
        arguments[name] = from_limits(arguments[name], unlimited)
    if settings.v_limits is not None:
        low, high = settings.v_limits
        arguments["v_limits"] = (from_limits(low, -math.inf), from_limits(high, math.inf))
    try:
        with np.errstate(all="ignore"):  # of huge numbers
            Controller(**arguments)
    except SoqoError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, MemoryError) as error:
        raise ArgumentError(f"the settings do not fit together: {error}") from error
    return arguments


@dataclass
class Progress:
    """What a plant has done, beside the state of its policy; it is part of a snapshot.

    Attributes
    ----------
    seq : int
        The number of its last record.
    round, missed : int
        The rounds begun, and those without a reading.
    open_rounds : list of int
        The rounds that wait for their reading.
    x, x_prev : list of float
        The position, and that before the action of the current round.
    v : list of float or None
        The last minimizer.
    readings : int
        How many readings there were, and ``measured`` their sum.
    moved, followed : float
        The switching costs of the plant, and of one that follows v.
    counts : dict
        How often each kind of event has happened.
    last_call : int
        The time of the last call.
    held : bool
        Whether a program beside the plant has reported that it is silent and keeps its position.
    """

    seq: int
    round: int
    missed: int
    open_rounds: list[int]
    x: list[float]
    x_prev: list[float]
    v: list[float] | None = None
    readings: int = 0
    measured: float = 0.0
    moved: float = 0.0
    followed: float = 0.0
    counts: dict[str, float] = field(default_factory=dict)
    last_call: int = 0
    held: bool = False


class Plant:
    """A plant in memory.

    Parameters
    ----------
    stored : StoredPlant
        The plant in the store.
    kind : Kind
        The plants of its kind, to which it belongs.
    arguments : dict
        Its settings, as arguments of :class:`soqo.Controller`.
    progress : Progress
        How far it is.
    """

    def __init__(self, stored: StoredPlant, kind: Kind, arguments: dict[str, Any], progress: Progress) -> None:
        self.id, self.name, self.kind, self.progress = stored.id, stored.name, kind, progress
        self.settings: dict[str, Any] = json.loads(stored.settings)
        self.created, self.retired = stored.created, stored.retired is not None
        self.arguments = arguments
        self.actuators = Actuators(len(self.settings["x0"]), self.settings["actuators"], self.settings["units"])
        self.latest: dict[str, Record] = {}  # the last record of each kind, to answer a repeated call without a query
        self.snapshot_seq = progress.seq
        self.checked = -math.inf  # when it was last compared with the store

    # ---- what a request means ----------------------------------------------------------------------------------------

    def decide(self, request: Change, records_of: Callable[[Plant, int], Sequence[Record]]) -> Step | Any:
        """Return the step that a request asks for, or its result if it was carried out before.

        Parameters
        ----------
        request : RoundRequest, pair of a round and a Reading, Retire or EventNote
            The request.
        records_of : callable
            Returns the records of a round of a plant.

        Raises
        ------
        ProtocolError
            If it contradicts an earlier call, or comes at the wrong time.
        ArgumentError
            If an argument does not fit the plant.
        """
        now = self.progress.round
        if isinstance(request, RoundRequest):
            number = now + 1 if request.round is None else request.round
            earlier = [one for one in records_of(self, number) if one.kind == "act"] if number <= now else []
            return self._decide_round(request, number, earlier)
        if isinstance(request, tuple):
            number, reading = request
            # Where readings may be late, a round that is told "no reading yet" stays open.
            is_known = number <= now and (number not in self.progress.open_rounds or self.kind.max_delay)
            earlier = [one for one in records_of(self, number) if one.kind == "reading"] if is_known else []
            return self._decide_reading(number, reading, earlier)
        if isinstance(request, EventNote):
            return Step(self, "note", now, request.model_dump(), events=[(request.kind, now, request.message)])
        if self.retired:
            return self.status()
        return Step(self, "retire", now, {}, events=[("retired", now, "the plant takes no further calls")])

    def _decide_round(self, request: RoundRequest, number: int, earlier: Sequence[Record]) -> Step | Action:
        following = self.progress.round + 1
        body = request.model_dump(exclude_none=True, exclude={"round"})
        for one in earlier:
            played = json.loads(one.body)
            x = played.pop("x")
            if played != body:
                raise ProtocolError(
                    f"round {number} was played with other values, {played}, got {body}; the next round is {following}"
                )
            return Action.model_construct(round=number, x=x)
        self._check_not_retired()
        if number != following:
            raise ProtocolError(f"round must be {following}, the next one, or one that was played, got {number}")
        if self.kind.horizon is not None and number > self.kind.horizon:
            raise ProtocolError(f"act was called after the last round, horizon = {self.kind.horizon}")
        return Step(self, "act", number, body, self._told(body))

    def _decide_reading(self, number: int, reading: Reading, earlier: Sequence[Record]) -> Step | ReadingAccepted:
        now = self.progress
        if number > now.round:
            raise ProtocolError(f"round {number} has not been played: the plant is in round {now.round}")
        body = {"y": reading.y, **reading.model_dump(exclude_none=True, exclude={"y"})}
        known = [json.loads(one.body) for one in earlier]
        for one in known:
            one.pop("expected", None)
        if body in known:
            return ReadingAccepted.model_construct(round=number)
        if number not in now.open_rounds:
            if known:
                raise ProtocolError(f"round {number} has had the reading {known[-1]}, got {body}; it was not used")
            raise ProtocolError(
                f"the reading of round {number} is late: the round is closed, and the plant is in round {now.round}; "
                "it was not used"
            )
        self._check_not_retired()
        return Step(self, "reading", number, body, self._told(body))

    def _check_not_retired(self) -> None:
        if self.retired:
            raise ProtocolError(f"plant {self.name!r} is retired: it takes no further calls")

    def _told(self, body: dict[str, Any]) -> dict[str, Array]:
        """Return what the policy is told, after the checks that do not need the policy."""
        for name in _POSITIONS & body.keys():
            for row in body[name] if name == "forecast" else [body[name]]:
                if len(row) != self.actuators.dim:
                    raise ArgumentError(
                        f"{name} must have an entry for each of the {self.actuators.dim} actuators, got {len(row)}"
                    )
        given = {name: np.array(math.nan if value is None else value) for name, value in body.items()}
        if (limits := self.arguments["v_limits"]) is not None:
            for name in _MINIMIZERS & body.keys():
                self.actuators.check_within(name, given[name], limits, what="v_limits")
        return given

    def repeat(self, record: Record) -> Step:
        """Return the step that a record holds."""
        body = json.loads(record.body)
        if record.kind not in ("act", "reading"):
            return Step(self, record.kind, record.round, body)
        told = {name: value for name, value in body.items() if name not in ("x", "expected")}
        played = np.array(body["x"]) if record.kind == "act" else None
        return Step(self, record.kind, record.round, body, self._told(told), played)

    # ---- what it leads to --------------------------------------------------------------------------------------------

    def complete(self, step: Step) -> None:
        """Add to a step what is written and reported of what it leads to."""
        now, player = self.progress, self.kind.player
        if step.x is not None:
            step.body["x"] = step.x.tolist()
            if not self.kind.max_delay and now.open_rounds:
                step.events.append(("missed", now.round, "the reading was missed"))
        if step.expected is not None:
            step.body["expected"] = step.expected
        for name, count in step.counts.items():
            if step.after is not None and count > now.counts.get(name, 0.0):
                step.events.append((name, step.round, player.explain(player.take(step.after, [step.row]))))

    def advance(self, record: Record, step: Step) -> None:
        """Note that a step has taken effect."""
        now = self.progress
        now.seq, now.last_call = record.seq, record.time
        self.latest[record.kind] = record
        if step.kind == "act":
            now.held = False
            self._advance_round(step.given["v"], np.array(step.body["x"]))
        elif step.kind == "reading":
            self._advance_reading(step.round, float(step.given["y"]), step.given.get("applied"))
        elif step.kind == "retire":
            self.retired = True
        elif step.body["kind"] != "note":
            now.held = step.body["kind"] == "held"
        now.counts = {**now.counts, **step.counts}

    def answer(self, step: Step) -> Any:
        """Return what the request of a step is answered, when it has taken effect."""
        if step.kind == "act":
            return Action.model_construct(round=step.round, x=step.body["x"])
        return ReadingAccepted.model_construct(round=step.round) if step.kind == "reading" else self.status()

    def _advance_round(self, v: Array, x: Array) -> None:
        now, kind = self.progress, self.kind
        now.round += 1
        still_open = [number for number in now.open_rounds if number >= now.round - kind.max_delay]
        now.missed += len(now.open_rounds) - len(still_open)
        now.open_rounds = [*still_open, now.round]
        now.moved += kind.switching_cost(x - np.array(now.x))
        followed = v - np.array(self.settings["x0"] if now.v is None else now.v)
        now.followed += kind.switching_cost(kind.nearest_turn(followed, np.zeros_like(v)))
        now.x_prev, now.x, now.v = now.x, x.tolist(), kind.nearest_turn(v, x).tolist()

    def _advance_reading(self, number: int, y: float, applied: Array | None) -> None:
        now, kind = self.progress, self.kind
        if applied is not None and number == now.round:
            before, applied = np.array(now.x_prev), kind.nearest_turn(applied, np.array(now.x))
            now.moved += kind.switching_cost(applied - before) - kind.switching_cost(np.array(now.x) - before)
            now.x = applied.tolist()
        if not math.isnan(y):
            now.readings += 1
            now.measured += y
        elif kind.max_delay:
            return  # it may still arrive
        else:
            now.missed += 1
        now.open_rounds = [one for one in now.open_rounds if one != number]

    # ---- reports -----------------------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, Any]:
        """Return what :meth:`soqo.Controller.diagnostics` returns."""
        now = self.progress
        own = {"round": now.round - len(now.open_rounds), "missed": now.missed}
        return {**own, **detach(diagnose(self.kind.player, self.kind.state_of(self.id)), row=0)}

    def order(self) -> float | None:
        """Return 1 if the plant is in order, 0.5 if something is to be checked, 0 if it is wrong; None if not known."""
        health = detach(self.kind.player.health(self.kind.state_of(self.id)), row=0)
        return (0.0 if health["wrong"] else 0.5 if health["since"] else 1.0) if health else None

    def explain(self) -> str:
        """Return what :meth:`soqo.Controller.explain` returns."""
        limits = Limits(*(self.arguments[name] for name in Limits._fields))
        state = self.kind.state_of(self.id)
        return describe_round(self.kind.player, state, self.progress.missed, self.actuators, limits)

    @property
    def state(self) -> str:
        """The state of the plant in a word."""
        if self.retired:
            return "retired"
        if self.progress.held:
            return "held"
        if not self.progress.round:
            return "new"
        return "waiting" if self.progress.round in self.progress.open_rounds else "running"

    def status(self) -> PlantStatus:
        """Return where the plant is."""
        now = self.progress
        cost, follow = self._costs()
        return PlantStatus.model_construct(
            name=self.name,
            state=self.state,
            round=now.round,
            completed=now.round - len(now.open_rounds),
            open_rounds=now.open_rounds,
            x=now.x,
            v=now.v,
            missed=now.missed,
            alarms=int(now.counts.get("alarm", 0)),
            cost=cost,
            follow_cost=follow,
            created=iso_time(self.created),
            last_call=iso_time(now.last_call) if now.last_call else None,
            settings=self.settings,
        )

    def _costs(self) -> tuple[float | None, float | None]:
        """Return the measured cost so far, and what following v would have cost.

        A missing reading counts as the mean of the others. A plant that follows v still pays the base load, and the
        cost of the offset of v, which only the policy's estimate tells.
        """
        now = self.progress
        if not now.readings:
            return None, None
        hitting = now.measured / now.readings * now.round
        cost = hitting if self.kind.includes_switching else hitting + now.moved
        follow = now.followed + now.round * self.cost_at_v()
        return (cost, follow) if math.isfinite(cost) and math.isfinite(follow) else (None, None)

    def cost_at_v(self) -> float:
        """Return the reading that the policy expects where x = v; 0 if it does not estimate A."""
        known = detach(self.kind.player.model(self.kind.state_of(self.id)), row=0)
        hitting = hitting_cost(known, np.zeros(self.actuators.dim))
        return 0.0 if hitting is None else float(hitting + known.get("base_load", 0.0))
