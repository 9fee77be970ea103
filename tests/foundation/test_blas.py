"""Quick answers about small arrays are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._foundation.blas import all_entries, any_entry, is_finite_quick, max_entry, min_entry, sum_of_squares


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_entry_that_is_not_finite_is_found(value: float) -> None:
    array = np.ones((3, 4))
    assert is_finite_quick(array)
    assert is_finite_quick(array[:0])
    array[1, 2] = value
    assert not is_finite_quick(array)


def test_numbers_whose_squares_overflow_are_not_called_finite() -> None:
    with np.errstate(all="raise"):
        assert not is_finite_quick(np.array([1e200]))


def test_sums_and_extremes_are_those_of_numpy() -> None:
    array = np.random.default_rng(0).standard_normal((3, 4)).T
    assert sum_of_squares(array) == pytest.approx(np.square(array).sum(), rel=1e-15)
    assert sum_of_squares(array[:0]) == 0.0
    assert (max_entry(array), min_entry(array)) == (array.max(), array.min())


@pytest.mark.parametrize(
    "entries", [[0.0, 0.0], [0.0, -1.0], [0.0, np.nan], [2.0, np.nan], [False, True], [True, True]]
)
def test_any_and_all_are_those_of_numpy(entries: list[float]) -> None:
    array = np.array(entries)
    assert (any_entry(array), all_entries(array)) == (bool(array.any()), bool(array.all()))
    assert (any_entry(array[:0]), all_entries(array[:0])) == (False, True)
