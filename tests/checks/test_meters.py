"""The checks of a meter detect broken ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from soqo.checks import METER_CHECKS, check_meter
from soqo.errors import CheckError
from soqo.meters import Meter, Quantization


@dataclass(frozen=True)
class Uncontrolled(Meter):
    """Random numbers that no seed controls."""

    def variates(self, rng: Any, horizon: int) -> Any:
        return np.random.default_rng().random(horizon)

    def read(self, y: Any, transmission: Any) -> Any:
        return y


@dataclass(frozen=True)
class Centered(Meter):
    """A reading that depends on the other runs."""

    def read(self, y: Any, transmission: Any) -> Any:
        return y - np.mean(y)


@dataclass(frozen=True)
class InPlace(Meter):
    """A meter that changes the array that it is given."""

    def read(self, y: Any, transmission: Any) -> Any:
        y += 1.0
        return y


@dataclass(frozen=True)
class Infinite(Meter):
    """A meter that shows infinity."""

    def read(self, y: Any, transmission: Any) -> Any:
        return y + np.inf


@dataclass(frozen=True)
class OneForAll(Meter):
    """One reading for the whole batch."""

    def read(self, y: Any, transmission: Any) -> Any:
        return np.sum(y)


@dataclass(frozen=True)
class Inventive(Meter):
    """A meter that shows zero where there is no reading."""

    def read(self, y: Any, transmission: Any) -> Any:
        return np.nan_to_num(y)


BROKEN = [
    (Uncontrolled(), "draws"),
    (Centered(), "batch"),
    (InPlace(), "batch"),
    (Infinite(), "batch"),
    (OneForAll(), "batch"),
    (Inventive(), "missing"),
]


@pytest.mark.parametrize(("meter", "check"), BROKEN, ids=lambda value: type(value).__name__)
def test_a_broken_meter_is_caught(meter: Meter, check: str) -> None:
    with pytest.raises(CheckError, match=f"^{check}: "):
        check_meter(meter)


def test_there_is_a_broken_meter_for_every_check() -> None:
    names = {check.__name__.lstrip("_").removeprefix("check_") for check in METER_CHECKS}
    assert {check for _, check in BROKEN} == names


def test_a_correct_meter_passes_and_others_are_refused() -> None:
    check_meter(Quantization(0.5))
    other: Any = "meter"
    with pytest.raises(CheckError, match=r"must be a soqo\.meters\.Meter, got str"):
        check_meter(other)
