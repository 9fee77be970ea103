"""Rows in blocks against a list of rows."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.estimators.lowrank import Rows
from soqo.typing import Array


@pytest.mark.parametrize("limit", [100, 1000])
def test_rows_are_the_latest_ones_in_order(limit: int) -> None:
    rng = np.random.default_rng(0)
    rows = Rows.empty(3)
    expected: list[Array] = []
    for _ in range(300):
        row = rng.standard_normal(3)
        rows, expected = rows.append(row, limit=limit), [*expected, row]
        assert rows.count <= limit + 64
        np.testing.assert_array_equal(rows.latest(), expected[-rows.count :])
    np.testing.assert_array_equal(rows.latest(70), expected[-70:])
    assert rows.count == 300 if limit == 1000 else rows.count >= limit


def test_an_append_leaves_the_earlier_rows_alone() -> None:
    first = Rows.of(np.ones((64, 2)))
    second, other = first.append(np.full(2, 2.0), limit=999), first.append(np.full(2, 3.0), limit=999)
    assert second.latest()[-1, 0] == 2.0
    assert other.latest()[-1, 0] == 3.0
    assert first.count == 64
