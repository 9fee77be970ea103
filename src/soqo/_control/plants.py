"""The states of live plants: those that are called together are steered as one batch, whatever they did before.

A batch is a state whose runs are plants. A call takes the plants that it names out of their batches, joins them in the
order of the call, and leaves them together for the next call. If the same plants act again, nothing is moved. A plant
that was taken out stays in the arrays of its old batch until half of them are unused. A plant whose number has no axis
is a batch without an axis, which is never joined: this is how a controller steers its plant.

A call is computed first and takes effect later (:meth:`Plants.store`), so that it can be written to a journal in
between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soqo._control.calls import Call
from soqo._control.own_limits import limit
from soqo.policies import Limited, Policy, State
from soqo.typing import Array, BoolArray, IntArray


@dataclass(eq=False)
class Batch:
    """A state, its policy, the plant of each of its runs (-1 for one that was taken out), and how many are left."""

    player: Policy[Any]
    state: State[Any]
    plants: IntArray
    left: int


class Part(NamedTuple):
    """Plants that one call steers as one batch.

    Attributes
    ----------
    player, state
        Their policy within limits and weight, and their state.
    places : Any
        Their places among the plants of the call; ``...`` for all of them.
    batch : Batch, optional
        The batch that they are, in this order.
    """

    player: Policy[Any]
    state: State[Any]
    places: Any = ...
    batch: Batch | None = None


class Change(NamedTuple):
    """What a call will change.

    Attributes
    ----------
    plants : IntArray
        The numbers of the plants.
    parts : list of Part
        Their new states.
    missed : IntArray
        How many readings each has missed.
    x : Array, optional
        The actions.
    """

    plants: IntArray
    parts: list[Part]
    missed: IntArray
    x: Array | None = None


class Status(NamedTuple):
    """Where some plants are: rounds begun, whether the current one waits for its reading, missed rounds, positions."""

    rounds: IntArray
    pending: BoolArray
    missed: IntArray
    x: Array


class Plants:
    """The states of plants, each of which has a number, and may have a policy, a weight and limits of its own.

    Attributes
    ----------
    missed : IntArray
        How many rounds of each plant had no reading, by the number of the plant.
    limits : dict of int to Array of shape (3, d), or None
        The limits low, high and rate of each plant; None if all plants of a policy have the same.
    """

    def __init__(self) -> None:
        self._batches: dict[int, Batch] = {}
        self._begun = 0
        # The batch of each plant, -1 for none, and its row there: a call of many plants must not be a loop over them.
        self._batch_of = np.empty(0, dtype=np.int64)
        self._row_of = np.empty(0, dtype=np.int64)
        self.missed = np.empty(0, dtype=np.int64)
        self.limits: dict[int, Array] | None = None

    # ---- batches -----------------------------------------------------------------------------------------------------

    def put(self, player: Policy[Any], state: State[Any], plants: IntArray) -> None:
        """Give plants, new or known, the runs of a state in this order."""
        numbers = np.asarray(plants, dtype=np.int64)
        self._make_room(int(numbers.max()) + 1)
        self._remove(numbers[self._batch_of[numbers] >= 0])
        self._batches[self._begun] = Batch(player, state, numbers, numbers.size)
        self._batch_of[numbers], self._row_of[numbers] = self._begun, np.arange(numbers.size).reshape(numbers.shape)
        self._begun += 1

    def _make_room(self, count: int) -> None:
        missing = count - self._batch_of.size
        if missing > 0:
            missing = max(missing, self._batch_of.size)  # so that many calls take linear time
            nothing = np.zeros(missing, dtype=np.int64)
            self._batch_of = np.concatenate([self._batch_of, nothing - 1])
            self._row_of, self.missed = (np.concatenate([one, nothing]) for one in (self._row_of, self.missed))

    def drop(self, plants: IntArray) -> None:
        """Forget plants."""
        self._remove(plants)
        self.missed[plants] = 0
        if self.limits is not None:
            for number in plants.tolist():
                del self.limits[number]

    def _remove(self, plants: IntArray) -> None:
        owners = self._batch_of[plants]
        self._batch_of[plants] = -1
        for owner in np.unique(owners).tolist():
            batch, mine = self._batches[owner], plants[owners == owner]
            batch.plants = batch.plants.copy()
            batch.plants[self._row_of[mine]] = -1
            batch.left -= mine.size
            if not batch.left:
                del self._batches[owner]
            elif 2 * batch.left <= batch.plants.size:
                self._compact(batch)

    def _compact(self, batch: Batch) -> None:
        rows = np.flatnonzero(batch.plants >= 0)
        batch.state, batch.plants = batch.player.take(batch.state, rows), batch.plants[rows]
        self._row_of[batch.plants] = np.arange(rows.size)

    def all(self) -> list[Batch]:
        """Return every batch, without unused runs."""
        for batch in self._batches.values():
            if batch.left < batch.plants.size:
                self._compact(batch)
        return list(self._batches.values())

    def state_of(self, plants: IntArray) -> State[Any]:
        """Return the state of some plants that are one batch, such as a single plant."""
        (part,) = self.select(plants)
        return part.state

    def batch_of(self, plants: IntArray) -> Batch:
        """Return the batch that some plants are, in this order."""
        ((batch, _, _),) = self._locate(plants)
        return batch

    def _locate(self, plants: IntArray) -> list[tuple[Batch, Any, Any]]:
        """Return the batches of some plants, with their rows there and their places among the plants.

        Both are ``...`` for plants that are one batch, in this order. Nothing is copied.
        """
        owners = self._batch_of[plants]
        if not owners.size:
            return []
        batch = self._batches[int(owners.flat[0])]
        if batch.plants is plants or np.array_equal(batch.plants, plants):
            return [(batch, ..., ...)]
        rows, found = self._row_of[plants], []
        _, first = np.unique(owners, return_index=True)
        for owner in owners[np.sort(first)].tolist():
            places = np.flatnonzero(owners == owner)
            found.append((self._batches[owner], rows[places], places))
        return found

    def select(self, plants: IntArray, *, settle: bool = False) -> list[Part]:
        """Return the states of some plants, joined as far as they can be.

        Parameters
        ----------
        plants : IntArray
            The numbers of the plants.
        settle : bool
            Whether plants can be joined where only some wait for a reading, which then counts as missed.
        """
        located = self._locate(plants)
        if len(located) == 1 and located[0][1] is ...:
            batch = located[0][0]
            return [Part(batch.player, batch.state, batch=batch)]
        parts = [Part(batch.player, batch.player.take(batch.state, rows), places) for batch, rows, places in located]
        return _join([_settle(part) for part in parts] if settle else parts)

    # ---- calls -------------------------------------------------------------------------------------------------------

    def act(self, call: Call) -> Change:
        """Return the actions of some plants, and what they change."""
        x, parts = np.empty(call.given["v"].shape), []
        for part in self.select(call.plants, settle=True):
            player = part.player
            if self.limits is not None:
                assert isinstance(player, Limited)
                player = limit(player.policy, self.limits_of(call.plants[part.places], x.shape[-1]))
            x[part.places], state = player.act(part.state, **call.rows(part.places))
            parts.append(part._replace(state=state))
        return Change(call.plants, parts, self._closing(call.plants), x)

    def limits_of(self, plants: IntArray, dim: int) -> Array:
        """Return the limits of some plants that have their own, shape (n, 3, d)."""
        assert self.limits is not None
        return np.array([self.limits[number] for number in plants.tolist()]).reshape(len(plants), 3, dim)

    def _closing(self, plants: IntArray) -> IntArray:
        """Return how many rounds without a reading close when some plants act."""
        result = np.zeros(plants.shape, dtype=np.int64)
        for batch, rows, places in self._locate(plants):
            state = batch.state
            if not state.max_delay:
                result[places] = state.pending
            for one in state.open_rounds:
                if one.round <= state.round - state.max_delay:
                    result[places] += one.awaiting[rows]
        return result

    def observe(self, call: Call) -> Change:
        """Return what the readings of some plants change."""
        parts, missed = [], np.zeros(call.plants.shape, dtype=np.int64)
        for part in self.select(call.plants):
            state = learn(part.player, part.state, **call.rows(part.places))
            parts.append(part._replace(state=state))
            if not state.max_delay:
                missed[part.places] = np.isnan(call.given["y"][part.places])
        return Change(call.plants, parts, missed)

    def store(self, change: Change) -> None:
        """Let a call take effect."""
        for part in change.parts:
            if part.batch is None:
                self.put(part.player, part.state, change.plants[part.places])
            else:
                part.batch.state = part.state
        self.missed[change.plants] += change.missed

    # ---- where plants are --------------------------------------------------------------------------------------------

    def status(self, plants: IntArray, dim: int) -> Status:
        """Return where some plants with so many actuators are."""
        rounds, pending = np.zeros(plants.shape, dtype=np.int64), np.zeros(plants.shape, dtype=np.bool_)
        x = np.zeros((*plants.shape, dim))
        for batch, rows, places in self._locate(plants):
            state = batch.state
            rounds[places] = state.round if state.began is None else state.round - state.began[rows]
            pending[places] = _awaiting(state, rows)
            x[places] = state.x[rows]
        return Status(rounds, pending, self.missed[plants], x)

    def is_open(self, plants: IntArray, rounds: IntArray) -> BoolArray:
        """Return whether a round of each plant waits for its reading."""
        result = np.zeros(len(plants), dtype=np.bool_)
        for batch, rows, places in self._locate(plants):
            state = batch.state
            when = rounds[places] if state.began is None else rounds[places] + state.began[rows]
            result[places] = (when == state.round) & _awaiting(state, rows)
            for one in state.open_rounds:
                result[places] |= (when == one.round) & one.awaiting[rows]
        return result


def _awaiting(state: State[Any], rows: Any) -> Any:
    """Return whether the current round of some runs waits for its reading."""
    return state.pending if state.awaiting is None else state.pending & state.awaiting[rows]


def _settle(part: Part) -> Part:
    """Return plants whose pending reading counts as missed, if it cannot be late."""
    state = part.state
    if state.pending and not state.max_delay:
        state = part.player.observe_unchecked(state, np.full(state.batch_shape, np.nan))
    return part._replace(state=state)


def _join(pieces: list[Part]) -> list[Part]:
    """Return parts that are joined as far as they can be."""
    if len(pieces) == 1:
        return pieces
    alike: dict[Any, list[Part]] = {}
    for piece in pieces:
        alike.setdefault((id(piece.player), piece.player.batch_key(piece.state)), []).append(piece)
    return [_join_alike(group) for group in alike.values()]


def _join_alike(group: Sequence[Part]) -> Part:
    player, state, places, _ = group[0]
    if len(group) > 1:
        state = player.join([piece.state for piece in group])
        places = np.concatenate([piece.places for piece in group])
        order = np.argsort(places)
        if (order[1:] < order[:-1]).any():
            state, places = player.take(state, order), places[order]
    return Part(player, state, places)


def learn(
    player: Policy[Any],
    state: State[Any],
    y: Array,
    *,
    applied: Array | None = None,
    at: Array | None = None,
    round: IntArray | None = None,  # noqa: A002  # the name of the argument in a call
    **told: Array,
) -> State[Any]:
    """Return the state after readings, those of the earliest round first.

    A row of NaN in ``applied`` or ``at`` is for a plant that applied the action it was given, or was felt there.
    """
    rounds: list[int | None] = [None]
    when = round
    if round is not None and state.max_delay:
        when = round if state.began is None else round + state.began
        rounds = [int(number) for number in np.unique(when)]
    for number in rounds:
        reading, given = y, applied
        if len(rounds) > 1:
            of_round = np.asarray(when == number)
            reading = np.where(of_round, y, np.nan)
            given = None if applied is None else np.where(of_round[:, None], applied, np.nan)
        moved = felt = None
        if applied is not None or at is not None:
            known = next((one.x for one in state.open_rounds if one.round == number), state.x)
            moved = _positions(known, given)
            felt = _positions(known if moved is None else moved, at)
        state = player.observe(state, reading, applied=moved, at=felt, round=number, **told)
    return state


def _positions(x: Array, given: Array | None) -> Array | None:
    """Return where plants are: the position that was given, or x for those without one; None if none was given."""
    if given is None:
        return None
    known = np.asarray(~np.isnan(given).any(axis=-1))
    return np.where(known[..., None], given, x) if known.any() else None
