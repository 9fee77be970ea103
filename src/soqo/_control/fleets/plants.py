"""The plants of a fleet: their names, states and counts, without arguments to check and without files.

A call is computed first (``act``, ``observe``) and takes effect later (``store``), so that it can be written to a
journal in between. ``replay`` does both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from soqo._control.fleets.batches import Batches, Part
from soqo._control.fleets.limits import LIMITS, limit, limit_rows
from soqo._control.fleets.records import ActCall, FleetCall, JoinCall, LeaveCall, Name, ObserveCall, RestartCall
from soqo._control.fleets.snapshot import FleetSnapshot, pack_batch
from soqo._foundation.frozen_dataclasses import evolve
from soqo._foundation.random_streams import stream
from soqo.policies import Limited, Policy, State
from soqo.typing import Array, BoolArray, IntArray


class Change(NamedTuple):
    """What a call will change: the numbers of its plants, their new states, and how many readings each has missed."""

    plants: IntArray
    parts: list[Part]
    missed: IntArray


class Status(NamedTuple):
    """Where some plants are: rounds begun, whether the current one waits for its reading, missed rounds, positions."""

    rounds: IntArray
    pending: BoolArray
    missed: IntArray
    x: Array


class Plants:
    """All plants of a fleet.

    Parameters
    ----------
    snapshot : FleetSnapshot
        The state of the fleet.
    """

    def __init__(self, snapshot: FleetSnapshot) -> None:
        self.settings = snapshot
        self.player = snapshot.player()
        self.batches = Batches(self.player)
        self.begun = snapshot.begun
        self.numbers: dict[Name, int] = dict(zip(snapshot.names, snapshot.numbers.tolist(), strict=True))
        self._missed: dict[int, int] = dict(zip(snapshot.numbers.tolist(), snapshot.missed.tolist(), strict=True))
        self._limits: dict[int, Array] | None = None
        if snapshot.limits is not None:
            self._limits = dict(zip(snapshot.numbers.tolist(), snapshot.limits, strict=True))
        for batch in snapshot.batches:
            state = batch.state if batch.x0 is None else self.start(batch.plants.tolist(), batch.x0)
            assert state is not None
            self.batches.put(state, batch.plants)

    def snapshot(self) -> FleetSnapshot:
        """Return the complete state."""
        numbers = list(self.numbers.values())
        return evolve(
            self.settings,
            names=tuple(self.numbers),
            numbers=np.array(numbers, dtype=np.int64),
            missed=np.array([self._missed[number] for number in numbers], dtype=np.int64),
            begun=self.begun,
            batches=tuple(pack_batch(state, plants) for state, plants in self.batches.all()),
            limits=None if self._limits is None else self._limits_of(numbers),
        )

    @property
    def has_own_limits(self) -> bool:
        """Whether the limits of the plants differ."""
        return self._limits is not None

    @property
    def can_be_limited(self) -> bool:
        """Whether plants can have limits of their own."""
        return isinstance(self.player, Limited)

    def _limits_of(self, plants: Sequence[int]) -> Array:
        assert self._limits is not None
        return np.array([self._limits[plant] for plant in plants]).reshape(len(plants), 3, self.settings.dim)

    def own_limits(self, names: Sequence[Name]) -> Array | None:
        """Return the limits of some plants, shape (k, 3, d), if limits differ."""
        return None if self._limits is None else self._limits_of(self.numbers_of(names).tolist())

    def limits_some(self, name: str) -> bool:
        """Return whether a plant has this limit as its own."""
        place = list(LIMITS).index(name)
        return self._limits is not None and any(np.isfinite(rows[place]).any() for rows in self._limits.values())

    def limited_player(self, plants: Sequence[int]) -> Policy[Any]:
        """Return the policy within the limits of some plants, in their order."""
        if self._limits is None:
            return self.player
        assert isinstance(self.player, Limited)
        return limit(self.player.policy, self._limits_of(plants))

    def numbers_of(self, names: Sequence[Name]) -> IntArray:
        """Return the numbers of plants."""
        return np.array([self.numbers[name] for name in names], dtype=np.int64)

    def status(self, names: Sequence[Name]) -> Status:
        """Return where some plants are."""
        plants = self.numbers_of(names)
        rounds, missed = np.zeros(len(plants), dtype=np.int64), [self._missed[plant] for plant in plants.tolist()]
        pending, x = np.zeros(len(plants), dtype=np.bool_), np.zeros((len(plants), self.settings.dim))
        for state, rows, places in self.batches.locate(plants):
            rounds[places] = state.round if state.began is None else state.round - state.began[rows]
            pending[places] = state.pending if state.awaiting is None else state.pending & state.awaiting[rows]
            x[places] = state.x[rows]
        return Status(rounds, pending, np.array(missed, dtype=np.int64), x)

    def is_open(self, names: Sequence[Name], rounds: IntArray) -> BoolArray:
        """Return whether a round of each plant waits for its reading."""
        plants = self.numbers_of(names)
        result = np.zeros(len(plants), dtype=np.bool_)
        for state, rows, places in self.batches.locate(plants):
            when = rounds[places] if state.began is None else rounds[places] + state.began[rows]
            awaiting = state.pending if state.awaiting is None else state.pending & state.awaiting[rows]
            result[places] = (when == state.round) & awaiting
            for one in state.open_rounds:
                result[places] |= (when == one.round) & one.awaiting[rows]
        return result

    # ---- rounds ------------------------------------------------------------------------------------------------------

    def act(self, plants: IntArray, v: Array, given: dict[str, Any]) -> tuple[Array, Change]:
        """Return the actions of some plants, and what they change."""
        missed = self._closing(plants)
        x, parts = np.empty(v.shape), []
        for state, places in self.batches.select(plants, settle=True):
            some = {name: None if value is None else value[places] for name, value in given.items()}
            x[places], after = self.limited_player(plants[places].tolist()).act(state, v[places], **some)
            parts.append(Part(after, places))
        return x, Change(plants, parts, missed)

    def _closing(self, plants: IntArray) -> IntArray:
        """Return how many rounds without a reading close when some plants act."""
        result = np.zeros(len(plants), dtype=np.int64)
        for state, rows, places in self.batches.locate(plants):
            if not state.max_delay:
                result[places] = int(state.pending)
            for one in state.open_rounds:
                if one.round <= state.round - state.max_delay:
                    result[places] += one.awaiting[rows]
        return result

    def observe(self, call: ObserveCall) -> Change:
        """Return what the readings of some plants change."""
        parts = []
        for state, places in self.batches.select(call.plants):
            after = (self._observe_late if state.max_delay else self._observe_now)(state, _rows(call, places))
            parts.append(Part(after, places))
        return Change(call.plants, parts, np.isnan(call.y) * np.int64(not self.settings.max_delay))

    def _observe_now(self, state: State[Any], call: ObserveCall) -> State[Any]:
        """Return the state after readings of the current round."""
        moved = _positions(state.x, call.applied)
        felt = None if call.at is None else _positions(state.x if moved is None else moved, call.at)
        return self.player.observe(state, call.y, applied=moved, at=felt, unit=call.unit, covariates=call.covariates)

    def _observe_late(self, state: State[Any], call: ObserveCall) -> State[Any]:
        """Return the state after readings of several rounds, the earliest first."""
        y, applied, rounds = call.y, call.applied, call.rounds
        when = np.full(len(y), state.round)
        if rounds is not None:
            when = rounds if state.began is None else rounds + state.began
        for number in np.unique(when).tolist():
            of_round = when == number
            known = state.x
            if number != state.round:
                known = next(one.x for one in state.open_rounds if one.round == number)
            moved = _positions(known, None if applied is None else np.where(of_round[:, None], applied, np.nan))
            felt = None if call.at is None else _positions(known if moved is None else moved, call.at)
            told = {"at": felt, "unit": call.unit, "covariates": call.covariates}
            state = self.player.observe(state, np.where(of_round, y, np.nan), applied=moved, round=number, **told)
        return state

    def store(self, change: Change) -> None:
        """Let a call take effect."""
        for state, places in change.parts:
            self.batches.put(state, change.plants[places])
        for place in np.flatnonzero(change.missed).tolist():
            self._missed[int(change.plants[place])] += int(change.missed[place])

    # ---- plants come and go ------------------------------------------------------------------------------------------

    def start(self, plants: Sequence[int], x0: Array) -> State[Any]:
        """Return the state of plants with these numbers before their first round."""
        settings = self.settings
        rng = [stream(settings.seed + number, run=0, purpose="policy") for number in plants]
        return self.player.start(x0, settings.horizon, rng, max_delay=settings.max_delay)

    def begin(self, names: Sequence[Name], x0: Array, limits: Array | None = None) -> None:
        """Let plants begin, new or known; those that are known keep their limits."""
        if not names:
            return
        plants = range(self.begun, self.begun + len(names))
        state = self.start(plants, x0)
        if limits is not None and self._limits is None:
            common = limit_rows({name: getattr(self.settings, name) for name in LIMITS}, 1, self.settings.dim)[0]
            self._limits = dict.fromkeys(self.numbers.values(), common)
        for row, (name, number) in enumerate(zip(names, plants, strict=True)):
            if self._limits is not None:
                self._limits[number] = self._limits[self.numbers[name]] if limits is None else limits[row]
            if name in self.numbers:
                self._forget(self.numbers[name])
            self.numbers[name], self._missed[number] = number, 0
        self.begun += len(names)
        self.batches.put(state, plants)

    def leave(self, names: Sequence[Name]) -> None:
        """Remove plants."""
        for name in names:
            self._forget(self.numbers.pop(name))

    def _forget(self, number: int) -> None:
        self.batches.drop([number])
        del self._missed[number]
        if self._limits is not None:
            del self._limits[number]

    def replay(self, call: FleetCall) -> None:
        """Repeat a recorded call, with the actions that were returned then."""
        if isinstance(call, ActCall):
            given = {name: getattr(call, name) for name in ("forecast", "context", "factor", "active")}
            x, change = self.act(call.plants, call.v, given)
            if not np.array_equal(x, call.x):
                # Another processor or version may compute an action that differs in the last digit.
                parts = [Part(evolve(state, x=call.x[places]), places) for state, places in change.parts]
                change = change._replace(parts=parts)
            self.store(change)
        elif isinstance(call, ObserveCall):
            self.store(self.observe(call))
        elif isinstance(call, LeaveCall):
            self.leave(call.names)
        else:
            assert isinstance(call, JoinCall | RestartCall)
            self.begin(call.names, call.x0, getattr(call, "limits", None))


def _rows(call: ObserveCall, places: IntArray) -> ObserveCall:
    """Return what a call tells some of its plants."""
    parts = {one.name: getattr(call, one.name) for one in fields(call)}
    rows: dict[str, Any] = {name: None if part is None else part[places] for name, part in parts.items()}
    return ObserveCall(**rows)


def _positions(x: Array, applied: Array | None) -> Array | None:
    """Return where the plants are: the applied action, or x for those without one; None if none was given."""
    if applied is None:
        return None
    given = np.asarray(~np.isnan(applied).any(axis=1))
    return np.where(given[:, None], applied, x) if given.any() else None
