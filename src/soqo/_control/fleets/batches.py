"""Plants in batches: those that act or observe in one call are steered as one batch, whatever they did before.

A batch is a state whose runs are plants. A call takes the plants that it names out of their batches, joins them in the
order of the call, and leaves them together for the next call. If the same plants act again, nothing is moved. A plant
that was taken out stays in the arrays of its old batch until half of them are unused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

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
        self._rows: dict[int, tuple[_Batch, int]] = {}

    def put(self, state: State[Any], plants: Sequence[int]) -> None:
        """Give plants, new or known, the runs of a state in this order."""
        self.drop(plant for plant in plants if plant in self._rows)
        batch = _Batch(state, np.array(plants), len(plants))
        self._rows.update({plant: (batch, row) for row, plant in enumerate(plants)})

    def drop(self, plants: Iterable[int]) -> None:
        """Remove plants."""
        touched = set()
        for plant in plants:
            batch, row = self._rows.pop(plant)
            batch.plants[row] = -1
            batch.left -= 1
            touched.add(batch)
        for batch in touched:
            if 0 < 2 * batch.left <= batch.plants.size:
                self._compact(batch)

    def _compact(self, batch: _Batch) -> None:
        rows = np.flatnonzero(batch.plants >= 0)
        batch.state, batch.plants = self._player.take(batch.state, rows), batch.plants[rows]
        self._rows.update({int(plant): (batch, row) for row, plant in enumerate(batch.plants)})

    def state_of(self, plant: int) -> State[Any]:
        """Return the state of one plant, of the batch (1,)."""
        (part,) = self.select([plant])
        return part.state

    def select(self, plants: Sequence[int], *, settle: bool = False) -> list[Part]:
        """Return the states of some plants, joined as far as they can be.

        Parameters
        ----------
        plants : sequence of int
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

    def locate(self, plants: Sequence[int]) -> list[tuple[State[Any], IntArray, IntArray]]:
        """Return the states that some plants are in, with their rows there and their places among the plants.

        Nothing is copied.
        """
        found: dict[_Batch, tuple[list[int], list[int]]] = {}
        for place, plant in enumerate(plants):
            batch, row = self._rows[plant]
            rows, places = found.setdefault(batch, ([], []))
            rows.append(row)
            places.append(place)
        return [(batch.state, np.array(rows), np.array(places)) for batch, (rows, places) in found.items()]

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
        batches = {id(batch): batch for batch, _ in self._rows.values()}
        for batch in batches.values():
            if batch.left < batch.plants.size:
                self._compact(batch)
        return [(batch.state, batch.plants) for batch in batches.values()]
