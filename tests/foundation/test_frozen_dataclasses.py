"""Value equality of dataclasses that hold arrays, their hash and repr, and the fast copy."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from soqo._foundation.frozen_dataclasses import Value, evolve, freeze, set_fields


@dataclass(frozen=True, eq=False, repr=False)
class Point(Value):
    x: Any
    label: str = "origin"
    derived: float = field(init=False)
    hidden: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        set_fields(self, derived=np.random.default_rng().random())


@dataclass(frozen=True, eq=False, repr=False)
class OtherPoint(Point):
    pass


EQUAL: list[tuple[Any, Any]] = [
    (1.0, 1.0),
    (1, 1.0),
    (float("nan"), float("nan")),
    (np.array([1.0, np.nan]), np.array([1.0, np.nan])),
    (np.array([0.0]), np.array([-0.0])),
    (np.float64(3.0), np.array(3.0)),
    ((1, np.eye(2)), (1, np.eye(2))),
    ([np.zeros(0)], [np.zeros(0)]),
    ({"a": np.ones(2)}, {"a": np.ones(2)}),
    (Point(np.eye(2)), Point(np.eye(2))),
    (None, None),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (1.0, 2.0),
    (np.ones(2), np.ones(3)),
    (np.ones(2), np.ones((1, 2))),
    (np.ones(2), np.ones(2, dtype=np.int64)),
    (np.ones(2), [1.0, 1.0]),
    (np.ones(2), None),
    ((1, 2), (1, 2, 3)),
    ((1, 2), [1, 2]),
    ({"a": 1}, {"b": 1}),
    (Point(1.0), OtherPoint(1.0)),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_fields_make_equal_objects_with_equal_hashes(one: Any, other: Any) -> None:
    assert Point(one) == Point(other)
    assert hash(Point(one)) == hash(Point(other))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_fields_make_different_objects(one: Any, other: Any) -> None:
    assert Point(one) != Point(other)
    assert Point(other) != Point(one)


def test_the_class_counts_and_derived_fields_do_not() -> None:
    assert Point(1.0) != OtherPoint(1.0)
    assert Point(1.0).derived != Point(1.0).derived
    assert Point(1.0) != 1.0


def test_an_object_equals_its_copies() -> None:
    point = Point(np.array([1.0, np.nan]), "end", hidden=(np.eye(3),))
    for other in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point)), replace(point)):
        assert other == point
        assert hash(other) == hash(point)


def test_the_repr_leaves_out_defaults_hidden_fields_and_large_arrays() -> None:
    assert repr(Point(np.array([1.0, 2.0]))) == "Point(x=array([1., 2.]))"
    assert repr(Point(np.zeros((5, 5)), "end", hidden=3)) == "Point(x=array(shape=(5, 5)), label='end')"


def test_evolve_copies_without_running_the_constructor() -> None:
    point = Point(1.0, "end")
    moved = evolve(point, x=2.0)
    assert (moved.x, moved.label, moved.derived) == (2.0, "end", point.derived)
    assert point.x == 1.0


def test_a_frozen_array_cannot_be_written_to() -> None:
    array = freeze(np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0


def test_a_plain_frozen_dataclass_compares_arrays_and_keeps_a_repr_of_its_own() -> None:
    @dataclass(frozen=True)
    class Plain(Value):
        weights: Any

    @dataclass(frozen=True)
    class Described(Plain):
        def __repr__(self) -> str:
            return "described"

    @dataclass(frozen=True)
    class Inherited(Described):
        pass

    assert Plain(np.array([1.0, 2.0])) == Plain(np.array([1.0, 2.0]))
    assert hash(Plain(np.array([1.0]))) == hash(Plain(np.array([1.0])))
    assert Plain(np.array([1.0, 2.0])) != Plain(np.array([1.0, 3.0]))
    assert repr(Plain(1.0)).endswith("Plain(weights=1.0)")
    assert repr(Described(1.0)) == repr(Inherited(1.0)) == "described"


def test_a_class_without_the_decorator_compares_its_attributes() -> None:
    class Undecorated(Value):
        def __init__(self, weights: Any) -> None:
            self.weights = weights

    assert Undecorated(np.ones(2)) == Undecorated(np.ones(2))
    assert Undecorated(np.ones(2)) != Undecorated(np.zeros(2))
    assert repr(Undecorated(1.0)).endswith("Undecorated()")
