"""Quick answers about small arrays, for code that runs in every round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import ddot

from soqo.typing import Array


def is_finite_quick(array: Array) -> bool:
    """Return True if one call of BLAS shows that all entries are finite.

    False may also mean that entries exceed 1e154, whose squares overflow.
    """
    flat = array.ravel()
    return flat.size == 0 or math.isfinite(ddot(flat, flat))


def sum_of_squares(array: Array) -> float:
    """Return the sum of squares by one call of BLAS.

    This takes a fifth of the time of NumPy's functions and raises no warning on overflow.
    """
    flat = array.ravel()
    return ddot(flat, flat) if flat.size else 0.0


def any_entry(array: npt.NDArray[Any]) -> bool:
    """Return whether an entry is not zero; for small arrays, in a fifth of the time of ``any``."""
    return bool(np.count_nonzero(array))


def all_entries(array: npt.NDArray[Any]) -> bool:
    """Return whether no entry is zero; for small arrays, in a fifth of the time of ``all``."""
    return bool(np.count_nonzero(array) == array.size)


def max_entry(array: npt.NDArray[Any]) -> Any:
    """Return the largest entry of a nonempty array; for small arrays, in a third of the time of ``max``."""
    return array.item(array.argmax())


def min_entry(array: npt.NDArray[Any]) -> Any:
    """Return the smallest entry of a nonempty array; for small arrays, in a third of the time of ``min``."""
    return array.item(array.argmin())


def numbers_of(*arrays: Array) -> Any:
    """Return arrays of shape (runs,) as they are, or the number that each holds if there is one run.

    NumPy's arithmetic has the same results for both, and takes a quarter of the time for a number.
    """
    return arrays if arrays[0].size > 1 else [array[0] for array in arrays]


def as_array(numbers: Any) -> Array:
    """Return what became of :func:`numbers_of` as an array of shape (runs,)."""
    return numbers if isinstance(numbers, np.ndarray) else np.array([numbers])
