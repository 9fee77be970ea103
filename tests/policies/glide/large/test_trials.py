"""When a factor takes the place of the other estimates."""

from __future__ import annotations

import numpy as np
import pytest
from streams import curvature, taught

from soqo.policies.glide._large._trials import give_up_factor


@pytest.mark.parametrize(("rank", "size"), [(1, 50.0), (2, 50.0), (2, 5.0)])
def test_a_low_rank_becomes_a_factor_of_that_rank(rank: int, size: float) -> None:
    A = curvature(13, rank)
    stream = taught(A, 80 if size > 10.0 else 400, size=size)
    assert stream.factored is not None
    assert stream.factored.L.shape[1] == rank
    assert np.linalg.norm(stream.estimate - A) < (5e-3 if size > 10.0 else 0.1) * np.linalg.norm(A)


@pytest.mark.parametrize("size", [50.0, 5.0, 0.5])
def test_a_full_rank_does_not(size: float) -> None:
    for readings in (60, 300):
        assert taught(curvature(13, 13), readings, size=size).factored is None


def test_a_factor_that_is_given_up_leaves_estimates_from_the_rows() -> None:
    A = curvature(13, 2)
    stream = give_up_factor(taught(A, 120), 6.0)
    assert stream.representation == "sums"
    assert np.linalg.norm(stream.estimate - A) < 0.05 * np.linalg.norm(A)
