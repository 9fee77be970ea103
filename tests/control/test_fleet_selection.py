"""The plants of a call are named one by one; a plant that cannot take its turn stops the call for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, Fleet
from soqo.errors import ArgumentError, ProtocolError, UnknownNameError

CALLS: dict[str, tuple[Any, type[Exception], str]] = {
    "unknown": (lambda f: f.act([[1.0]], ["x"]), UnknownNameError, "plants must be in the fleet, got 'x'; it has"),
    "twice": (lambda f: f.act([[1.0], [1.0]], ["a", "a"]), ArgumentError, "names of plants must be different"),
    "not played": (lambda f: f.observe([1.0], ["b"]), ProtocolError, "observe was called before act for plant 'b'"),
    "future": (lambda f: f.observe([1.0], ["a"], round=2), ArgumentError, "round must have been played, got 2 for"),
    "over": (lambda f: f.act([[1.0], [1.0]]), ProtocolError, "act was called after the last round of plant 'a'"),
    "mask": (lambda f: f.act([[1.0]], ["b"], active=[[1.0]]), ArgumentError, "active must be True or False for each"),
    "part of a row": (lambda f: f.observe([1.0], ["a"], at=[[np.inf]]), ArgumentError, "at must be finite, or NaN"),
    "covariates": (lambda f: f.observe([1.0], ["a"], covariates=[1.0]), ArgumentError, "covariates must have shape"),
    "covariates of some": (
        lambda f: f.observe([1.0], ["a"], covariates=[[1.0], [2.0]]),
        ArgumentError,
        "covariates must have one row for each of 1 plants",
    ),
    "unit": (lambda f: f.observe([1.0], ["a"], unit=[0.0]), ArgumentError, "unit must be above 0"),
}


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS)
def test_a_wrong_call_changes_nothing(call: Any, error: type[Exception], message: str) -> None:
    fleet = Fleet(FTM(), [[0.0], [0.0]], names=["a", "b"], horizon=1)
    fleet.act([[1.0]], ["a"])
    with pytest.raises(error, match=message):
        call(fleet)
    assert fleet.pending == ("a",)
    assert fleet.round.tolist() == [0, 0]
    fleet.observe(1.0, "a")
