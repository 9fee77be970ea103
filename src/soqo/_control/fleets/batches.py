"""Plants in batches: those that act or observe in one call are steered as one batch, whatever they did before.

A batch is a state whose runs are plants. A call takes the plants that it names out of their batches, joins them in the
order of the call, and leaves them together for the next call. If the same plants act again, nothing is moved. A plant
that was taken out stays in the arrays of its old batch until half of them are unused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from soqo.policies import Policy, State
from soqo.typing import IntArray


@dataclass(eq=False)
class _Batch:
    """A state, the plant of each of its runs (-1 for one that was taken out), and the number of plants left."""

    state: State[Any]
    plants: IntArray
    left: int


class Part(NamedTuple):
    """Plants that one call steers as one batch: their state, and their places among the plants of the call."""

    state: State[Any]
    places: IntArray


class Batches:
    """The states of all plants, each of which has a number.

    Parameters
    ----------
    player : Policy
        The policy, within limits and weight.
    """

    def __init__(self, player: Policy[Any]) -> None:
        self._player = player
        self._batches: dict[int, _Batch] = {}
        self._begun = 0
        # The batch of each plant, -1 for none, and its row there: a call of many plants must not be a loop over them.
        self._batch_of = np.empty(0, dtype=np.int64)
        self._row_of = np.empty(0, dtype=np.int64)

    def put(self, state: State[Any], plants: ArrayLike) -> None:
        """Give plants, new or known, the runs of a state in this order."""
        numbers = np.array(plants, dtype=np.int64)
        missing = int(numbers.max()) + 1 - self._batch_of.size
        if missing > 0:
            missing = max(missing, self._batch_of.size)  # so that many calls take linear time
            self._batch_of = np.concatenate([self._batch_of, np.full(missing, -1)])
            self._row_of = np.concatenate([self._row_of, np.zeros(missing, dtype=np.int64)])
        known = self._batch_of[numbers]
        last = self._batches.get(int(known[0]))
        if last is not None and np.array_equal(last.plants, numbers):
            last.state = state
            return
        self.drop(numbers[known >= 0])
        self._batches[self._begun] = _Batch(state, numbers, numbers.size)
        self._batch_of[numbers], self._row_of[numbers] = self._begun, np.arange(numbers.size)
        self._begun += 1

    def drop(self, plants: ArrayLike) -> None:
        """Remove plants."""
        numbers = np.asarray(plants, dtype=np.int64)
        owners = self._batch_of[numbers]
        self._batch_of[numbers] = -1
        for owner in np.unique(owners).tolist():
            batch, mine = self._batches[owner], numbers[owners == owner]
            batch.plants[self._row_of[mine]] = -1
            batch.left -= mine.size
            if not batch.left:
                del self._batches[owner]
            elif 2 * batch.left <= batch.plants.size:
                self._compact(batch)

    def _compact(self, batch: _Batch) -> None:
        rows = np.flatnonzero(batch.plants >= 0)
        batch.state, batch.plants = self._player.take(batch.state, rows), batch.plants[rows]
        self._row_of[batch.plants] = np.arange(rows.size)

    def state_of(self, plant: int) -> State[Any]:
        """Return the state of one plant, of the batch (1,)."""
        (part,) = self.select([plant])
        return part.state

    def select(self, plants: ArrayLike, *, settle: bool = False) -> list[Part]:
        """Return the states of some plants, joined as far as they can be.

        Parameters
        ----------
        plants : array_like of int
            The numbers of the plants.
        settle : bool
            Whether the pending reading of a plant counts as missed, if it cannot be late.
        """
        pieces = []
        for state, rows, places in self.locate(plants):
            whole = np.array_equal(rows, np.arange(len(state.x)))
            piece = state if whole else self._player.take(state, rows)
            if settle and piece.pending and not piece.max_delay:
                piece = self._player.observe_unchecked(piece, np.full(len(rows), np.nan))
            pieces.append(Part(piece, places))
        return pieces if len(pieces) == 1 else self._join(pieces)

    def locate(self, plants: ArrayLike) -> list[tuple[State[Any], IntArray, IntArray]]:
        """Return the states that some plants are in, with their rows there and their places among the plants.

        Nothing is copied.
        """
        numbers = np.asarray(plants, dtype=np.int64)
        owners, rows = self._batch_of[numbers], self._row_of[numbers]
        if numbers.size and (owners == owners[0]).all():
            return [(self._batches[int(owners[0])].state, rows, np.arange(rows.size))]
        _, first = np.unique(owners, return_index=True)
        found: list[tuple[State[Any], IntArray, IntArray]] = []
        for owner in owners[np.sort(first)].tolist():
            places = np.flatnonzero(owners == owner)
            found.append((self._batches[owner].state, rows[places], places))
        return found

    def _join(self, pieces: list[Part]) -> list[Part]:
        alike: dict[Any, list[Part]] = {}
        for piece in pieces:
            alike.setdefault(self._player.batch_key(piece.state), []).append(piece)
        parts = []
        for group in alike.values():
            state, places = group[0]
            if len(group) > 1:
                state = self._player.join([piece.state for piece in group])
                places = np.concatenate([piece.places for piece in group])
                order = np.argsort(places)
                if (order[1:] < order[:-1]).any():
                    state, places = self._player.take(state, order), places[order]
            parts.append(Part(state, places))
        return parts

    def all(self) -> list[tuple[State[Any], IntArray]]:
        """Return every batch without unused runs, with the numbers of its plants."""
        for batch in self._batches.values():
            if batch.left < batch.plants.size:
                self._compact(batch)
        return [(batch.state, batch.plants) for batch in self._batches.values()]
