"""The paper's algorithms transcribed literally, as a reference for speed and correctness.

They use explicit inverses, run RecurGen from T down to t in every round, and take one run at a time. They are not
optimized on purpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soqo.typing import Array

__all__ = ["lai", "learn", "pol", "recur_gen"]


def recur_gen(A: Array, t: int, horizon: int) -> dict[int, Array]:
    """Return the matrices C_t..C_T (subroutine RecurGen)."""
    identity = np.eye(A.shape[0])
    C: dict[int, Any] = {horizon + 1: identity}
    for tau in range(horizon, t - 1, -1):
        C[tau] = np.linalg.inv(2 * identity + A - C[tau + 1])
    return C


def lai(A: Array, v: Array, x0: Array) -> Array:
    """Return the actions of LAI on one path v of shape (T, d)."""
    horizon, d = v.shape
    x, path = x0, []
    for t in range(1, horizon + 1):
        C = recur_gen(A, t, horizon)[t]
        x = C @ x + (np.eye(d) - C) @ v[t - 1]
        path.append(x)
    return np.array(path)


def pol(A: Array, v: Array, x0: Array, noise: Array, rate: float) -> Array:
    """Return the actions of POL on one path with the given noise."""
    return learn(A, v, x0, noise, np.eye(v.shape[1]), 0, rate)


def learn(A: Array, v: Array, x0: Array, noise: Array, start: Array, m: int, rate: float) -> Array:
    """Return the actions of a player who plays by an estimate and improves it by gradient steps, from round m + 1 on.

    With m = 0 and the identity this is POL; with SCaLE's estimate and action it is HySCaLE's exploitation.
    """
    horizon, d = v.shape
    estimate: Any = start
    x, path = x0, []
    for t in range(m + 1, horizon + 1):
        C = recur_gen(estimate, t, horizon)[t]
        x = C @ x + (np.eye(d) - C) @ v[t - 1]
        path.append(x)
        u = x - v[t - 1]
        y = 0.5 * u @ A @ u + noise[t - 1]
        moved = estimate - rate * 0.5 * (0.5 * u @ estimate @ u - y) * np.outer(u, u)
        values, vectors = np.linalg.eigh(moved)
        estimate = vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
    return np.array(path)
