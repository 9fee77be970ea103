"""The values that a file gives to fields have the declared types, or are refused with the name of the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from soqo import FTM
from soqo._storage.field_types import check_field_types
from soqo.errors import FileFormatError
from soqo.policies import Policy
from soqo.typing import Array, ArrayLike, IntArray


@dataclass(frozen=True)
class Example:
    """A record with fields of all kinds."""

    number: float
    count: int
    flag: bool
    text: str | None
    word: Literal["a", "b"]
    array: Array
    numbers: IntArray | None
    limits: ArrayLike | None
    pair: tuple[int, str]
    names: tuple[str | int, ...]
    table: Mapping[str, float]
    policy: Policy[Any]
    anything: Any


GOOD: dict[str, list[Any]] = {
    "number": [1.0, 2, np.array(1.5)],
    "count": [3, np.array(4)],
    "flag": [True, np.array(False)],
    "text": [None, "x"],
    "word": ["a"],
    "array": [np.zeros(2)],
    "numbers": [None, np.arange(3)],
    "limits": [None, 1.0, (1.0, [2]), np.zeros(2)],
    "pair": [(1, "x")],
    "names": [(), ("x", 1)],
    "table": [{"x": 1.0}],
    "policy": [FTM()],
    "anything": [object()],
}
BAD: dict[str, list[Any]] = {
    "number": ["1", None, True, np.zeros(2), [1.0]],
    "count": [1.5, True, "1", np.array(1.5)],
    "flag": [1, None],
    "text": [1, ["x"]],
    "word": ["c", 1],
    "array": [1.0, [1.0], np.array(["x"]), None],
    "numbers": [3, "x"],
    "limits": ["x", ("x",), {}],
    "pair": [(1,), (1, 2), [1, "x"]],
    "names": [(1.5,), ["x"], "xy"],
    "table": [{"x": "1"}, []],
    "policy": [None, 1, Example],
}


@pytest.mark.parametrize("name", GOOD)
def test_values_of_the_declared_type_are_accepted(name: str) -> None:
    for value in GOOD[name]:
        check_field_types(Example, {name: value})


@pytest.mark.parametrize("name", BAD)
def test_other_values_are_refused(name: str) -> None:
    for value in BAD[name]:
        with pytest.raises(FileFormatError, match=rf"Example\.{name} must be .*, got "):
            check_field_types(Example, {name: value})
