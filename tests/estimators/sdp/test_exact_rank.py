"""The exact rank: dependent columns are told from nearly dependent ones, at every scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.estimators.sdp._exact_rank import has_rank_at_most


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
def test_products_of_integers_have_the_rank_of_their_factors(rank: int) -> None:
    rng = np.random.default_rng([61, rank])
    Z = (rng.integers(-9, 10, (12, rank)) @ rng.integers(-9, 10, (rank, 5))).astype(float)
    assert np.linalg.matrix_rank(Z) == rank
    assert has_rank_at_most(Z, rank)
    assert not rank or not has_rank_at_most(Z, rank - 1)


@pytest.mark.parametrize("scale", [1.0, 2.0**-1000, 2.0**900])
def test_a_change_of_one_bit_is_noticed_at_every_scale(scale: float) -> None:
    Z = scale * np.array([[1.0, 3.0], [0.5, 1.5], [0.25, 0.75]])
    assert has_rank_at_most(Z, 1)
    Z[2, 1] = np.nextafter(Z[2, 1], np.inf)
    assert not has_rank_at_most(Z, 1)


@pytest.mark.parametrize("Z", [np.zeros((3, 2)), np.eye(3)[:, :2], np.array([[1e-300, 1e300]])])
def test_zeros_and_extremes(Z: Any) -> None:
    assert has_rank_at_most(Z, min(Z.shape))
    assert has_rank_at_most(Z, 0) is not Z.any()
