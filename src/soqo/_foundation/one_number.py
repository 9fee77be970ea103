"""Arrays whose entries all share the memory of one number, as ``np.broadcast_to`` makes them, and what keeps them so.

A field that is zero in most objects then costs no memory, and no time to copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def is_one_number(values: npt.NDArray[Any]) -> bool:
    """Return whether all entries share the memory of one number."""
    return not any(values.strides)


def take_entries(values: Any, index: Any) -> Any:
    """Return some entries of the first axis, by their numbers, by a mask or by a slice.

    Examples
    --------
    >>> zeros = np.broadcast_to(0.0, (3, 2))
    >>> is_one_number(take_entries(zeros, np.array([2, 0]))), take_entries(np.arange(3), np.array([2, 0]))
    (True, array([2, 0]))
    """
    if isinstance(index, slice) or not is_one_number(values):
        if values.ndim > 2 and not isinstance(index, slice) and index.dtype != np.bool_ and values.flags.c_contiguous:
            return values.take(index, axis=0)  # two thirds of the time of an index, if entries are large
        return values[index]
    return repeat_entry(values, int(np.count_nonzero(index)) if index.dtype == np.bool_ else index.size)


def repeat_entry(values: Any, count: int) -> Any:
    """Return the first entry this many times, without memory."""
    return np.broadcast_to(values[:1], (count, *values.shape[1:]))


def are_one_number(parts: Sequence[Any]) -> bool:
    """Return whether all entries of several arrays, none of which is empty, are one number."""
    return all(map(is_one_number, parts)) and all(map(len, parts)) and len({part.item(0) for part in parts}) == 1


def concatenate_entries(parts: Sequence[Any]) -> Any:
    """Return the entries of several arrays in one, which has no memory if they all are the same number.

    Examples
    --------
    >>> zeros = np.broadcast_to(0.0, (3, 2))
    >>> is_one_number(concatenate_entries([zeros, zeros])), is_one_number(concatenate_entries([zeros, np.ones((1, 2))]))
    (True, False)
    """
    return repeat_entry(parts[0], sum(map(len, parts))) if are_one_number(parts) else np.concatenate(parts)
