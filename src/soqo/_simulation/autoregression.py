"""Stationary autoregressions, for what changes around a plant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soqo.typing import Array


def draw_autoregression(
    rngs: Sequence[np.random.Generator], horizon: int, *, dim: int, scale: float, correlation: float
) -> Array:
    """Draw z_t = c z_{t-1} + noise with standard deviation ``scale`` in every round, shape (runs, horizon, dim).

    The components are independent, and the first rounds do not depend on the horizon.

    Examples
    --------
    >>> draw_autoregression([np.random.default_rng(0)], 2, dim=1, scale=0.0, correlation=0.5).shape
    (1, 2, 1)
    """
    from scipy.signal import lfilter  # imported here because it triples the time of importing soqo

    new = scale * np.stack([rng.standard_normal((horizon, dim)) for rng in rngs])
    new[:, 1:] *= np.sqrt(1.0 - correlation**2)
    return np.asarray(lfilter([1.0], [1.0, -correlation], new, axis=1), dtype=np.float64)
