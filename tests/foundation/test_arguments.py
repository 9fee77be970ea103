"""Errors name the argument, what was expected and what was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo._foundation.arguments import choice, finite_array, horizon_or_none, integer, number, numbers, vector
from soqo.errors import ArgumentError


@pytest.mark.parametrize("value", [-3, 0, 2.0, "4", None, True, np.bool_(True)])
def test_integer_refuses_other_values_than_positive_integers(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"runs must be a positive integer, got "):
        integer("runs", value, least=1)


def test_integer_takes_numpy_integers() -> None:
    assert integer("runs", np.int64(7), least=1) == 7
    assert type(integer("runs", np.int64(7), least=1)) is int


def test_a_horizon_may_be_none() -> None:
    assert horizon_or_none(None) is None
    with pytest.raises(ArgumentError, match="horizon must be a positive integer, got -3"):
        horizon_or_none(-3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1, 0.0, 1.5, "x", "0.5", None, [0.5], True, 0.5j, 10**400])
def test_number_refuses_values_out_of_bounds(value: Any) -> None:
    with pytest.raises(ArgumentError, match="rate must be a finite number above 0 and at most 1"):
        number("rate", value, above=0.0, most=1.0)


def test_finite_array_names_the_entry_that_is_not_finite() -> None:
    with pytest.raises(ArgumentError, match=r"v must be finite, got nan at \[1, 0\]"):
        finite_array("v", [[1.0, 2.0], [np.nan, 3.0]])
    with pytest.raises(ArgumentError, match=r"v must be finite, got inf$"):
        finite_array("v", np.inf)
    with pytest.raises(ArgumentError, match="v must be an array of real numbers, got dict"):
        finite_array("v", {})
    for value in ("text", [1.0, 2.0 + 1.0j], [10**400], [[1.0], [1.0, 2.0]], None, [True]):
        with pytest.raises(ArgumentError, match="v must be an array of real numbers, got "):
            finite_array("v", value)


def test_masked_entries_are_missing() -> None:
    masked = np.ma.array([5, 6], mask=[True, False])
    np.testing.assert_array_equal(numbers("y", masked), [np.nan, 6.0])
    np.testing.assert_array_equal(numbers("y", np.ma.masked), np.nan)


def test_finite_array_is_a_copy() -> None:
    given = np.zeros(2)
    taken = finite_array("v", given)
    given[0] = 1.0
    assert taken[0] == 0.0


def test_vector_checks_the_shape() -> None:
    with pytest.raises(ArgumentError, match=r"v must have shape \(3,\), got \(2,\)"):
        vector("v", [1.0, 2.0], (3,))


def test_choice_lists_the_allowed_words() -> None:
    with pytest.raises(ArgumentError, match="form must be one of 'a', 'b', got 'c'"):
        choice("form", "c", ("a", "b"))
