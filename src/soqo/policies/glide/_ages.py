"""Ages at which something is due."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from soqo._foundation.blas import any_entry
from soqo.typing import Array, BoolArray

_FEW_RUNS = 64
"""Up to this number of runs, a set answers faster than a search in an array."""


class Ages:
    """A set of ages that answers quickly for one run and for many.

    Parameters
    ----------
    ages : iterable of float
        The ages.

    Examples
    --------
    >>> ages = Ages([5.0, 8.0])
    >>> ages.contain(np.array([4.0, 5.0, 9.0])), ages.contain_any(np.array([4.0]))
    (array([False,  True, False]), False)
    """

    def __init__(self, ages: Iterable[float]) -> None:
        self._set = frozenset(ages)
        self._sorted = np.array([*sorted(self._set), np.inf])

    def contain(self, ages: Array) -> BoolArray:
        """Return which of these ages are in the set.

        Parameters
        ----------
        ages : Array, shape (runs,)
            The ages.
        """
        if ages.size == 1:
            return np.array([ages.item() in self._set])
        return np.asarray(self._sorted.take(self._sorted.searchsorted(ages), mode="clip") == ages)

    def contain_any(self, ages: Array) -> bool:
        """Return whether one of these ages is in the set.

        Parameters
        ----------
        ages : Array, shape (runs,)
            The ages.
        """
        if ages.size <= _FEW_RUNS:
            return not self._set.isdisjoint(ages.tolist())
        return any_entry(self.contain(ages))
