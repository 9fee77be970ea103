"""Random instances of the estimation programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo import random_curvature
from soqo.estimators import measure


def instance(seed: int, d: int | None = None, noise: float | None = None) -> tuple[Any, Any, Any, Any]:
    """Return a true matrix, measurements, readings and their noise; some rows are zero or duplicates."""
    rng = np.random.default_rng([17, seed])
    d = int(rng.integers(2, 13)) if d is None else d
    rank = int(rng.integers(0, d + 1))
    m = int(rng.integers(1, 2 * d * (d + 1)))
    A = random_curvature(d, rank, min_eigenvalue=0.1, max_eigenvalue=3.0, rng=rng)
    Z = rng.standard_normal((m, d))
    if m > 2 and seed % 3 == 0:
        Z[0] = Z[1]
        Z[2] = 0.0
    level = float(rng.choice([0.01, 0.1, 1.0])) if noise is None else noise
    shifts = rng.uniform(-level, level, m)
    return A, Z, measure(Z, A) + shifts, shifts
