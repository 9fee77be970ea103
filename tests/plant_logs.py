"""Logs of simulated plants, for tests of predictions, figures and commands."""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo import Log
from soqo.typing import Array


def curvature(dim: int) -> Array:
    """A well-conditioned A with entries off the diagonal."""
    return np.eye(dim) + 0.3 * np.subtract.outer(np.arange(dim), np.arange(dim)).clip(-1, 1) ** 2


def half_steps(dim: int, rounds: int, *, seed: int = 0, noise: float = 0.5, base: float = 0.0, **options: Any) -> Log:
    """Return the log of a plant that moves half of the way to v, with A = ``curvature(dim)`` and Gaussian noise."""
    rng = np.random.default_rng(seed)
    v = np.cumsum(2.0 * rng.standard_normal((rounds, dim)), axis=0)
    x = np.empty_like(v)
    for t in range(rounds):
        x[t] = 0.5 * (v[t] + (x[t - 1] if t else 0.0))
    u = x - v
    y = 0.5 * np.einsum("ti,ij,tj->t", u, curvature(dim), u) + base + noise * rng.standard_normal(rounds)
    return Log(v, x, y, x0=np.zeros(dim), **options)
