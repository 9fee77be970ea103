"""Types for annotations: what the functions of soqo take and return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "ArrayLike", "BoolArray", "IntArray", "Rng", "RngLike", "Spacing"]

Array = npt.NDArray[np.float64]
"""An array of double-precision numbers."""

ArrayLike = npt.ArrayLike
"""Anything that NumPy converts to an array: numbers, nested sequences, arrays, data frames."""

BoolArray = npt.NDArray[np.bool_]
"""An array of truth values."""

IntArray = npt.NDArray[np.integer[Any]]
"""An array of integers."""

Rng = np.random.Generator | Sequence[np.random.Generator]
"""One random generator, or one for each run of a batch."""

RngLike = int | Rng
"""A seed, a random generator, or one generator for each run of a batch."""

Spacing = Literal["equal", "linear", "geometric"]
"""The spacing of the nonzero eigenvalues of a random A between the smallest and the largest."""
