"""Diagnostics and words."""

from __future__ import annotations

import numpy as np
import pytest
from streams import curvature, taught

import soqo
from soqo.policies.glide._large._reports import deviations, rank


def play(rank: int, rounds: int) -> tuple[soqo.GLIDE, soqo.State[object]]:
    A, rng = curvature(13, rank), np.random.default_rng(0)
    policy, v = soqo.GLIDE(), np.zeros(13)
    state = policy.start(v)
    for _ in range(rounds):
        v = v + 50.0 * rng.standard_normal(13)
        x, state = policy.act(state, v)
        state = policy.observe(state, 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-10.0, 10.0))
    return policy, state


@pytest.mark.parametrize(
    ("rank", "rounds", "words", "representation"),
    [
        (2, 0, "follows v until the first reading", "rows"),
        (2, 12, "fewer readings than unknowns", "rows"),
        (2, 90, "A has rank 2", "factored"),
        (13, 200, "no low rank", "sums"),
    ],
)
def test_it_says_what_it_knows(rank: int, rounds: int, words: str, representation: str) -> None:
    policy, state = play(rank, rounds)
    assert words in policy.explain(state)
    found = policy.diagnostics(state)
    assert found["representation"] == representation
    assert found["uncertainty"].shape == (13,)
    if rounds >= 90:
        assert found["rank"] == rank
        np.testing.assert_allclose(found["estimate"], curvature(13, rank), atol=0.05)


def test_deviations_cover_the_error() -> None:
    A = curvature(13, 2)
    stream = taught(A, 90)
    directions = np.random.default_rng(3).standard_normal((50, 13))
    error = np.einsum("ij,jk,ik->i", directions, stream.estimate - A, directions)
    ratio = np.abs(error) / deviations(stream, None, directions)
    assert 0.1 < np.median(ratio) < 2.0
    assert rank(stream) == 2
