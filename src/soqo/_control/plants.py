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
    places: Any
    batch: Batch | None = None


class Change(NamedTuple):
    """What a call will change.

    Attributes
    ----------
    call : Call
        The call.
    parts : list of Part
        The new states of its plants.
    missed : IntArray or int
        How many readings each plant, or all of them, has missed.
    x : Array, optional
        The actions.
    """

    call: Call
    parts: list[Part]
    missed: IntArray | int = 0
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
        self._last: Batch | None = None  # that was put last
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
        self._last = self._batches[self._begun] = Batch(player, state, numbers, numbers.size)
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

    def part_of(self, plants: IntArray) -> Part:
        """Return some plants that are one batch, such as a single plant."""
        (part,) = self.select(plants)
        return part

    def _locate(self, plants: IntArray) -> list[tuple[Batch, Any, Any]]:
        """Return the batches of some plants, with their rows there and their places among the plants.

        Both are ``...`` for plants that are one batch, in this order. Nothing is copied.
        """
        if self._last is not None and self._last.plants is plants:  # as in every call of a controller
            return [(self._last, ..., ...)]
        owners = self._batch_of[plants]
        if not owners.size:
            return []
        batch = self._batches[int(owners.flat[0])]
        if np.array_equal(batch.plants, plants):
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
        return _join(self._locate(plants), settle=settle)

    # ---- calls -------------------------------------------------------------------------------------------------------

    def act(self, call: Call) -> Change:
        """Return the actions of some plants, and what they change."""
        located, parts, actions = self._locate(call.plants), [], []
        for player, state, places, batch in _join(located, settle=True):
            if self.limits is not None:
                assert isinstance(player, Limited)
                player = limit(player.policy, self.limits_of(call.plants[places], state.x.shape[-1]))
            x, after = player.act(state, **call.rows(places))
            parts.append(Part(player, after, places, batch))
            actions.append((places, x))
        missed = [(places, _closing(batch.state, rows)) for batch, rows, places in located]
        return Change(call, parts, _arrange(missed, call.plants), _arrange(actions, call.plants))

    def limits_of(self, plants: IntArray, dim: int) -> Array:
        """Return the limits of some plants that have their own, shape (n, 3, d)."""
        assert self.limits is not None
        return np.array([self.limits[number] for number in plants.tolist()]).reshape(len(plants), 3, dim)

    def observe(self, call: Call) -> Change:
        """Return what the readings of some plants change."""
        parts, missed = [], []
        for player, state, places, batch in self.select(call.plants):
            told = call.rows(places)
            parts.append(Part(player, _learn(player, state, **told), places, batch))
            y = told["y"]
            missed.append((places, 0 if state.max_delay else y != y))  # NaN, as a number or an array
        return Change(call, parts, _arrange(missed, call.plants))

    def store(self, change: Change) -> None:
        """Let a call take effect."""
        plants = change.call.plants
        for part in change.parts:
            if part.batch is None:
                self.put(part.player, part.state, plants[part.places])
            else:
                part.batch.state = part.state
        if type(change.missed) is not int or change.missed:
            self.missed[plants] += change.missed

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


def _closing(state: State[Any], rows: Any) -> Any:
    """Return how many rounds without a reading close when some runs act."""
    count: Any = 0 if state.max_delay else int(state.pending)
    for one in state.open_rounds:
        if one.round <= state.round - state.max_delay:
            count = count + one.awaiting[rows]
    return count


def _arrange(found: list[tuple[Any, Any]], plants: IntArray) -> Any:
    """Return values of plants, which belong to some places each, in one array; those of all plants as they are."""
    if len(found) == 1 and found[0][0] is ...:
        return found[0][1]
    first = np.asarray(found[0][1])
    result = np.zeros(plants.shape + first.shape[1:], dtype=first.dtype)
    for places, values in found:
        result[places] = values
    return result


def _join(located: list[tuple[Batch, Any, Any]], *, settle: bool) -> list[Part]:
    """Return the states of some plants, taken out of their batches and joined as far as they can be."""
    if len(located) == 1 and located[0][1] is ...:
        batch = located[0][0]
        return [Part(batch.player, batch.state, ..., batch)]
    alike: dict[Any, list[Part]] = {}
    for batch, rows, places in located:
        player, state = batch.player, batch.player.take(batch.state, rows)
        if settle and state.pending and not state.max_delay and len(located) > 1:
            state = player.observe_unchecked(state, np.full(state.batch_shape, np.nan))
        alike.setdefault((id(player), player.batch_key(state)), []).append(Part(player, state, places))
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


def _learn(player: Policy[Any], state: State[Any], *, round: Any = None, **told: Any) -> State[Any]:  # noqa: A002  # as told
    """Return the state after readings, those of the earliest round first."""
    if round is None or not state.max_delay:
        return _learn_round(player, state, None, **told)
    when = round if state.began is None else round + state.began
    for number in np.unique(when).tolist():
        of_round = np.asarray(when == number)
        some = {"y": np.where(of_round, told["y"], np.nan)}
        if "applied" in told:
            some["applied"] = np.where(of_round[..., None], told["applied"], np.nan)
        state = _learn_round(player, state, number, **(told | some))
    return state


def _learn_round(
    player: Policy[Any],
    state: State[Any],
    number: int | None,
    y: Any,
    applied: Array | None = None,
    at: Array | None = None,
    **told: Any,
) -> State[Any]:
    """Return the state after readings of a round, None for the current one.

    A row of NaN in ``applied`` or ``at`` is for a plant that applied the action it was given, or was felt there.
    """
    if applied is not None or at is not None:
        known = next((one.x for one in state.open_rounds if one.round == number), state.x)
        applied = _positions(known, applied)
        at = _positions(known if applied is None else applied, at)
    return player.observe(state, y, applied=applied, at=at, round=number, **told)


def _positions(x: Array, given: Array | None) -> Array | None:
    """Return where plants are: the position that was given, or x for those without one; None if none was given."""
    if given is None:
        return None
    known = np.asarray(~np.isnan(given).any(axis=-1))
    return np.where(known[..., None], given, x) if known.any() else None
