"""Types for annotations: what soqo's functions take, and what they return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

__all__ = ["Array", "ArrayLike", "BoolArray", "IntArray", "Rng", "RngLike"]

Array = npt.NDArray[np.float64]
"""An array of double-precision numbers."""

BoolArray = npt.NDArray[np.bool_]
"""An array of truth values."""

IntArray = npt.NDArray[np.integer[Any]]
"""An array of integers."""

Rng = np.random.Generator | Sequence[np.random.Generator]
"""One random generator, or one for each run of a batch."""

RngLike = int | Rng
"""A seed, a random generator, or one generator for each run of a batch."""
