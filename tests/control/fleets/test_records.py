"""The records of a fleet's journal, byte by byte."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from soqo._control.fleets.records import (
    ActCall,
    JoinCall,
    LeaveCall,
    ObserveCall,
    RestartCall,
    decode_fleet_call,
    encode_fleet_call,
)
from soqo._storage.journal_records import Record
from soqo.errors import FileFormatError

PLANTS = np.array([7, 2])
ROWS = np.array([[1.0, -2.0], [3.0, np.pi]])

CALLS: list[Any] = [
    ActCall(PLANTS, ROWS, ROWS + 1.0),
    ActCall(PLANTS, ROWS, ROWS + 1.0, np.zeros((2, 0, 2)), np.ones((2, 3)), np.array([0.5, 2.0])),
    ActCall(PLANTS, ROWS, ROWS + 1.0, np.arange(12.0).reshape(2, 3, 2)),
    ActCall(PLANTS, ROWS, ROWS + 1.0, active=np.array([[True, False], [False, True]])),
    ActCall(PLANTS, ROWS, ROWS + 1.0, factor=np.array([0.5, 2.0]), active=np.array([[True, False], [True, True]])),
    ObserveCall(PLANTS, np.array([0.5, 1.0]), None, None, ROWS, np.array([2.0, 3.0])),
    ObserveCall(PLANTS, np.array([0.5, 1.0]), ROWS, np.array([3, 4]), None, np.array([2.0, 3.0])),
    JoinCall(("east",), ROWS[:1], np.ones((1, 3, 2))),
    ObserveCall(PLANTS, np.array([0.5, np.nan])),
    ObserveCall(PLANTS, np.array([0.5, 1.0]), ROWS * np.nan),
    ObserveCall(PLANTS, np.array([0.5, 1.0]), ROWS, np.array([3, 4])),
    JoinCall(("north", 4), ROWS),
    RestartCall((4,), ROWS[:1]),
    LeaveCall(("north", 4)),
]


def decoded(kind: bytes, payload: bytes) -> Any:
    """The call of a record of plants with two actuators."""
    return decode_fleet_call(Record(kind, payload, 9, 0, 0), 2, "a file")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: type(call).__name__)
def test_a_call_that_was_written_is_read_back(call: Any) -> None:
    back = decoded(*encode_fleet_call(call))
    assert type(back) is type(call)
    np.testing.assert_equal(vars(back), vars(call))


def test_the_layout_is_that_of_the_description() -> None:
    kind, payload = encode_fleet_call(ActCall(PLANTS, ROWS, ROWS + 1.0, None, np.ones((2, 3))))
    assert kind == b"a"
    head = struct.pack("<IIIB", 2, 0, 4, 0) + struct.pack("<2I", 7, 2)
    assert payload == head + struct.pack("<14d", *ROWS.ravel(), *(ROWS.ravel() + 1.0), *np.ones(6))
    kind, payload = encode_fleet_call(ObserveCall(PLANTS, np.array([0.5, 1.0]), None, np.array([3, 4])))
    assert kind == b"o"
    assert payload == struct.pack("<IBB2I2d2I", 2, 0, 1, 7, 2, 0.5, 1.0, 3, 4)
    one = np.array([7])
    felt = ObserveCall(one, np.array([0.5]), None, None, np.array([[1.0, 2.0]]), np.array([4.0]))
    assert encode_fleet_call(felt)[1] == struct.pack("<IBBI4d", 1, 6, 0, 7, 0.5, 1.0, 2.0, 4.0)
    masked = ActCall(one, ROWS[:1], ROWS[:1], active=np.array([[True, False]]))
    assert encode_fleet_call(masked)[1] == struct.pack("<IIIBI4dBB", 1, 0, 0, 2, 7, *ROWS[0], *ROWS[0], 1, 0)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: type(call).__name__)
def test_a_payload_of_another_length_is_refused(call: Any) -> None:
    kind, payload = encode_fleet_call(call)
    for wrong in (payload[:-1], payload + b"\0", b""):
        with pytest.raises(FileFormatError, match="a file holds a record at byte 9 that cannot be read"):
            decoded(kind, wrong)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(FileFormatError, match="unknown kind at byte 9: b'A'"):
        decoded(b"A", b"")
