"""The arguments of a fleet: the forms that are accepted; test_fleet.py has the ones that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, Fleet
from soqo.errors import ArgumentError


def test_names_may_come_from_anything_with_an_order() -> None:
    fleet = Fleet(FTM(), np.zeros((3, 1)), names=np.array(["a", "b", "c"]))
    assert fleet.names == ("a", "b", "c")
    assert all(type(name) is str for name in fleet.names)
    np.testing.assert_array_equal(fleet.act([[1.0], [2.0]], ("b", "a")), [[1.0], [2.0]])
    fleet.observe([0.5], {"a": "a plant"})
    assert fleet.pending == ("b",)
    with pytest.raises(ArgumentError, match="must be a sequence of strings or integers, got set"):
        fleet.observe([0.5], {"b"})  # which reading belongs to which plant would be left to chance


def test_integers_of_numpy_are_names() -> None:
    fleet = Fleet(FTM(), np.zeros((3, 1)))
    fleet.act([[1.0], [2.0]], np.array([2, 0]))
    assert list(fleet.pending) == [0, 2]
    two: Any = np.int64(2)
    fleet.observe(0.1, two, round=np.int64(1))
    assert list(fleet.pending) == [0]


def test_integers_and_lists_are_numbers() -> None:
    fleet = Fleet(FTM(), [[0], [1]])
    np.testing.assert_array_equal(fleet.act([[3], [4]]), [[3.0], [4.0]])
    fleet.observe([1, 2], applied=[[3], [5]], round=[1, 1])
    np.testing.assert_array_equal(fleet.x, [[3.0], [5.0]])


def test_what_is_returned_belongs_to_the_caller() -> None:
    fleet = Fleet(FTM(), np.zeros((2, 1)))
    v = np.ones((2, 1))
    x = fleet.act(v)
    x += 1.0
    v += 1.0
    fleet.x[:] = 9.0
    np.testing.assert_array_equal(fleet.x, [[1.0], [1.0]])


def test_a_masked_reading_is_a_missing_one() -> None:
    fleet = Fleet(FTM(), np.zeros((2, 1)))
    fleet.act([[1.0], [2.0]])
    fleet.observe(np.ma.masked_array([1.0, 2.0], [False, True]))
    assert fleet.diagnostics()["missed"].tolist() == [0, 1]


def test_limits_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"low must have shape \(2,\) or \(1, 2\), got \(3,\)"):
        Fleet(FTM(), np.zeros((1, 2)), low=[0.0, 0.0, 0.0])


def test_a_forecast_of_the_wrong_shape_is_refused() -> None:
    fleet = Fleet(FTM(), np.zeros((2, 1)))
    with pytest.raises(ArgumentError, match="forecast must have shape"):
        fleet.act([[1.0], [2.0]], forecast=[[1.0], [2.0]])
    with pytest.raises(ArgumentError, match="factor must have shape"):
        fleet.act([[1.0], [2.0]], factor=1.0)
    with pytest.raises(ArgumentError, match="context must have shape"):
        fleet.act([1.0], 0, context=1.0)
