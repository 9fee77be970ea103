"""States of runs by NumPy's code, and single rounds from each of them by compiled functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import soqo
from soqo.policies._base import State
from soqo.typing import Array


class Round(NamedTuple):
    """The states before and after a reading, and the reading."""

    acted: State[Any]
    y: Array
    learned: State[Any]


def rounds_of(
    policy: soqo.GLIDE, *, d: int = 2, runs: int = 3, rounds: int = 60, wrong: float = 0.0, load: float = 0.0
) -> Iterator[Round]:
    """Play runs by NumPy's code, with some wrong readings."""
    rng, v = np.random.default_rng(7), np.zeros((runs, d))
    A = np.stack([soqo.random_curvature(d, d, min_eigenvalue=1.0, max_eigenvalue=4.0, rng=k) for k in range(runs)])
    state = policy.start(np.zeros((runs, d)))
    for _ in range(rounds):
        v = v + 20.0 * rng.standard_normal((runs, d))
        x, acted = policy.act(state, v)
        u = x - v
        y = 0.5 * np.vecdot(u, np.matvec(A, u)) + load + rng.uniform(-5.0, 5.0, runs)
        y = np.where(rng.random(runs) < wrong, 20.0 * y, y)
        state = policy.observe(acted, y)
        yield Round(acted, y, state)


def assert_same_memory(found: Any, expected: Any) -> None:
    """Compare all that does not depend on the choice of a square root.

    Round-off may make a grid of the marginal likelihood one step wider, which changes sums over it by about 1e-6.
    """
    ours, theirs = found.beliefs, expected.beliefs
    for name in ("owner", "best", "epoch", "in_a_row", "rejected", "age", "protected", "recent_u", "recent_y"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    np.testing.assert_array_equal(ours.recent_refused, theirs.recent_refused)
    for name in ("log_weight", "surprise", "densities"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-5, atol=1e-5, err_msg=name)
    one, other = ours.posterior, theirs.posterior
    for name in ("noise", "scale", "readings", "total_readings", "level_variance", "level_speed", "log_sizes"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-5, err_msg=name)
    for name in ("log_evidence", "variants", "second_moment"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-5, atol=1e-5, err_msg=name)
    covariance = other.root @ other.root.mT
    size = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)) + 1e-100
    np.testing.assert_allclose(one.mean / size, other.mean / size, rtol=1e-4, atol=1e-4)
    scale = size[:, :, None] * size[:, None, :]
    np.testing.assert_allclose(one.root @ one.root.mT / scale, covariance / scale, atol=1e-4)
    np.testing.assert_allclose(found.spectrum.matrix(), expected.spectrum.matrix(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.shift, expected.shift, rtol=1e-4, atol=1e-6)
