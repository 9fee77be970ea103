"""What GLIDE does not do above 12 dimensions, as its docstring says."""

from __future__ import annotations

from typing import Any

import numpy as np

import soqo
from soqo.typing import Array


def played(
    policy: soqo.GLIDE, rounds: int, *, b: float = 0.0, told: bool = False, far: float = 0.0
) -> tuple[Array, Any]:
    """Return the positions and the diagnostics after a run with 14 dimensions, whose minimizer is v - b."""
    rng = np.random.default_rng(0)
    state = policy.start(np.zeros(14))
    v, path = np.zeros(14), []
    for _ in range(rounds):
        v = v + 5.0 * rng.standard_normal(14)
        x, state = policy.act(state, v, context=[1.0] if told else None)
        u = x - v + b
        cost = 0.75 * u @ u
        state = policy.observe(state, cost + far * (u @ u) ** 2 + rng.uniform(-1.0, 1.0))
        path.append(x)
    return np.array(path), policy.diagnostics(state)


def test_offsets_are_not_learned() -> None:
    path, found = played(soqo.GLIDE(), 80, b=1.0)
    assert not found["offset"].any()
    np.testing.assert_array_equal(path, played(soqo.GLIDE(offset=False), 80, b=1.0)[0])


def test_contexts_are_ignored_and_bias_and_robust_have_no_effect() -> None:
    path = played(soqo.GLIDE(), 40)[0]
    np.testing.assert_array_equal(path, played(soqo.GLIDE(), 40, told=True)[0])
    np.testing.assert_array_equal(path, played(soqo.GLIDE(bias="none"), 40)[0])
    np.testing.assert_array_equal(path, played(soqo.GLIDE(robust=True), 40)[0])


def test_a_trusted_distance_gives_readings_far_away_less_weight() -> None:
    errors = []
    for distance in (None, 8.0):
        estimate = played(soqo.GLIDE(trusted_distance=distance), 120, far=1e-3)[1]["estimate"]
        errors.append(abs(np.trace(estimate) / 14.0 - 1.5))
    assert errors[1] < errors[0]
