"""The map to coordinates in which switching is plain l2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import Problem

W = np.array([[3.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 2.0]])


def test_the_root_of_a_weight_squares_to_it() -> None:
    root = Problem(np.eye(3), W).coordinates.root
    np.testing.assert_allclose(root @ root, W, atol=1e-14)


@pytest.mark.parametrize(("weight", "dim"), [(None, None), (2.5, None), ([1.0, 4.0, 0.25], 3), (W, 3)])
def test_the_map_is_inverted_and_knows_its_dimension(weight: Any, dim: int | None) -> None:
    coordinates = Problem(np.eye(3), weight).coordinates
    x = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(coordinates.from_plain(coordinates.to_plain(x)), x, rtol=1e-12)
    assert coordinates.dim == dim


def test_coordinates_are_equal_by_value() -> None:
    assert Problem(np.eye(3), W).coordinates == Problem(2.0 * np.eye(3), W).coordinates
    assert Problem(np.eye(3), W).coordinates != Problem(np.eye(3), 2.0 * W).coordinates
