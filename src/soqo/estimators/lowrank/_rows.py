r"""The latest readings of one run, as rows.

A state is a value, so a reading may not be written into an array that an earlier state holds. The rows are therefore
kept in blocks, and one more reading copies only the last block. Beyond a limit the oldest block is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.typing import Array

_BLOCK = 64
"""The number of rows of a block."""


@register("lowrank.rows")
@dataclass(frozen=True)
class Rows(Value):
    """Rows of equal length, oldest first.

    Attributes
    ----------
    blocks : tuple of Array, each of shape (64, columns)
        The rows; those of the last block that are not used yet are zero.
    count : int
        The number of rows.
    """

    blocks: tuple[Array, ...]
    count: int

    @classmethod
    def empty(cls, columns: int) -> Rows:
        """Return no rows.

        Parameters
        ----------
        columns : int
            The length of a row.
        """
        return cls((np.zeros((_BLOCK, columns)),), 0)

    @classmethod
    def of(cls, rows: Array) -> Rows:
        """Return these rows.

        Parameters
        ----------
        rows : Array, shape (n, columns)
            The rows.

        Examples
        --------
        >>> Rows.of(np.eye(2)).append(np.array([3.0, 4.0]), limit=1000).latest()[-1]
        array([3., 4.])
        """
        blocks = []
        for begin in range(0, max(len(rows), 1), _BLOCK):
            part = rows[begin : begin + _BLOCK]
            block = np.zeros((_BLOCK, rows.shape[1]))
            block[: len(part)] = part
            blocks.append(block)
        return cls(tuple(blocks), len(rows))

    def append(self, row: Array, *, limit: int) -> Rows:
        """Return the rows with one more, and without the oldest block if there are more than ``limit``.

        Parameters
        ----------
        row : Array, shape (columns,)
            The row.
        limit : int
            The number of rows beyond which the oldest block is dropped.
        """
        used = self.count - _BLOCK * (len(self.blocks) - 1)
        if used == _BLOCK:
            block, before, used = np.zeros_like(self.blocks[0]), self.blocks, 0
        else:
            block, before = self.blocks[-1].copy(), self.blocks[:-1]
        block[used] = row
        count = self.count + 1
        if count - _BLOCK >= limit and before:
            before, count = before[1:], count - _BLOCK
        return Rows((*before, block), count)

    def latest(self, count: int | None = None) -> Array:
        """Return the latest rows, shape (n, columns): all, or at most this many.

        Parameters
        ----------
        count : int, optional
            The largest number of rows.
        """
        wanted = self.count if count is None else min(count, self.count)
        first = (self.count - wanted) // _BLOCK
        rows = np.concatenate(self.blocks[first:]) if len(self.blocks) - first > 1 else self.blocks[first]
        end = self.count - _BLOCK * first
        return rows[end - wanted : end]
