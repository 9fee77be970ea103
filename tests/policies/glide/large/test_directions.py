"""In how many directions v moves."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.policies.glide._large._directions import add_steps, are_few
from soqo.typing import Array


def summed(steps: Array) -> Array:
    directions = np.zeros((1, steps.shape[1], steps.shape[1]))
    for step in steps:
        directions = add_steps(directions, step[None])
    return np.asarray(directions[0], dtype=np.float64)


@pytest.mark.parametrize("n", [3, 30, 300])
@pytest.mark.parametrize("d", [13, 100])
def test_steps_in_all_directions_are_never_few_and_those_in_a_subspace_are(n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    normal, cauchy = rng.standard_normal((n, d)), rng.standard_cauchy((n, 1)) * rng.standard_normal((n, d))
    assert not are_few(summed(normal))
    assert not are_few(summed(cauchy))  # however large a jump is
    if n >= 30:
        assert are_few(summed(normal[:, :3] @ rng.standard_normal((3, d))))
    assert are_few(summed(normal[:, :1] @ rng.standard_normal((1, d))))


def test_a_step_of_zero_does_not_count() -> None:
    steps = np.random.default_rng(0).standard_normal((5, 4))
    np.testing.assert_array_equal(summed(np.concatenate([steps, np.zeros((3, 4))])), summed(steps))
    np.testing.assert_allclose(np.trace(summed(steps)), 5.0)
    assert not are_few(np.zeros((4, 4)))
