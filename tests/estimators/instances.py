"""Random instances of the estimation programs, of every kind that a player can meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo import random_curvature
from soqo.estimators._measurements import measure


def instance(seed: int, d: int | None = None, noise: float | None = None) -> tuple[Any, Any, Any, Any]:
    """A true matrix, measurements, readings and the noise in them; some rows are zero or double."""
    rng = np.random.default_rng([17, seed])
    d = int(rng.integers(2, 13)) if d is None else d
    rank = int(rng.integers(0, d + 1))
    m = int(rng.integers(1, 2 * d * (d + 1)))
    A = random_curvature(d, rank, 0.1, 3.0, rng=rng)
    Z = rng.standard_normal((m, d))
    if m > 2 and seed % 3 == 0:
        Z[0] = Z[1]
        Z[2] = 0.0
    level = float(rng.choice([0.01, 0.1, 1.0])) if noise is None else noise
    shakes = rng.uniform(-level, level, m)
    return A, Z, measure(Z, A) + shakes, shakes
