"""Arrays that are one number keep no memory, and have the entries that a copy would have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo._foundation.one_number import are_one_number, concatenate_entries, is_one_number, repeat_entry, take_entries

ZEROS = np.broadcast_to(0.0, (4, 2, 3))


@pytest.mark.parametrize("index", [np.array([3, 1]), np.array([True, False, True, True]), slice(1, 3), np.arange(0)])
def test_entries_that_are_taken_are_those_of_an_index(index: Any) -> None:
    whole = np.arange(24.0).reshape(4, 2, 3)
    np.testing.assert_array_equal(take_entries(whole, index), whole[index])
    taken = take_entries(ZEROS, index)
    assert is_one_number(taken)
    np.testing.assert_array_equal(taken, np.zeros((4, 2, 3))[index])


def test_only_equal_numbers_are_joined_without_memory() -> None:
    ones = np.broadcast_to(1.0, (1, 2, 3))
    for parts, expected in (([ZEROS, ZEROS], True), ([ZEROS, ones], False), ([ZEROS, np.zeros((1, 2, 3))], False)):
        assert are_one_number(parts) == expected
        joined = concatenate_entries(parts)
        assert is_one_number(joined) == expected
        np.testing.assert_array_equal(joined, np.concatenate(parts))


def test_a_repeated_entry_has_no_memory() -> None:
    repeated = repeat_entry(ZEROS, 7)
    assert repeated.shape == (7, 2, 3)
    assert is_one_number(repeated)
