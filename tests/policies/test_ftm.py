"""FTM plays v."""

from __future__ import annotations

import numpy as np

from soqo import FTM


def test_ftm_plays_v() -> None:
    policy = FTM()
    v = np.array([[1.0, 2.0], [3.0, 4.0]])
    x, _ = policy.act(policy.start(np.zeros((2, 2))), v)
    np.testing.assert_array_equal(x, v)
