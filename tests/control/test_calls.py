"""Calls are decoded from records as they were encoded, those of earlier versions too; others are refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from soqo._control.calls import ALONE, Call, decode_call, encode_call
from soqo._control.earlier_calls import read_call
from soqo._storage.codec import encode
from soqo._storage.journal_records import Record
from soqo.errors import FileFormatError

V, X = np.array([1.0, 2.0]), np.array([3.0, -0.0])
ROWS = np.array([[1.0, -2.0], [3.0, np.pi]])
PLANTS = np.array([7, 2])

CALLS = {
    "act": Call("act", {"v": V}, x=X),
    "act at a time": Call("act", {"v": V}, x=X, time=-1),
    "act with all": Call(
        "act",
        {"v": V, "forecast": np.arange(6.0).reshape(3, 2), "context": np.array([0.5]), "factor": np.array(2.0)},
        x=X,
    ),
    "act with nothing ahead": Call("act", {"v": V, "forecast": np.zeros((0, 2)), "context": np.zeros(0)}, x=X),
    "act with a mask": Call("act", {"v": V, "active": np.array([True, False])}, x=X),
    "observe": Call("observe", {"y": np.array(0.1)}),
    "nothing observed": Call("observe", {"y": np.array(np.nan)}),
    "observe late": Call("observe", {"y": np.array(-1e300), "applied": X, "round": np.array(2**40)}, time=2**50),
    "observe with all": Call("observe", {"y": np.array(0.1), "at": X, "unit": np.array(0.5), "covariates": np.ones(3)}),
    "several act": Call(
        "act",
        {
            "v": ROWS,
            "forecast": np.arange(12.0).reshape(2, 3, 2),
            "context": np.ones((2, 3)),
            "factor": np.array([0.5, 2.0]),
            "active": np.array([[True, False], [False, True]]),
        },
        PLANTS,
        ROWS + 1.0,
    ),
    "several observe": Call(
        "observe",
        {
            "y": np.array([0.5, np.nan]),
            "applied": ROWS * np.nan,
            "round": np.array([3, 4]),
            "at": ROWS,
            "unit": np.array([2.0, 3.0]),
            "covariates": np.ones((2, 4)),
        },
        PLANTS,
    ),
    "join": Call("join", {"names": ("north", 4), "x0": ROWS}),
    "join within limits": Call("join", {"names": ("east",), "x0": ROWS[:1], "limits": np.ones((1, 3, 2))}),
    "restart": Call("restart", {"names": (4,), "x0": ROWS[:1]}),
    "leave": Call("leave", {"names": ("north", 4)}),
}


def check_same(one: Call, other: Call) -> None:
    """Check that two calls are the same, with the shapes of all arrays."""
    assert (one.kind, one.time, one.plants.shape) == (other.kind, other.time, other.plants.shape)
    assert {name: np.shape(value) for name, value in one.given.items()} == {
        name: np.shape(value) for name, value in other.given.items()
    }
    np.testing.assert_equal((one.given, one.x, one.plants), (other.given, other.x, other.plants))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_is_decoded_as_it_was_encoded(call: Call) -> None:
    kind, payload = encode_call(call, call.x)
    check_same(decode_call(Record(kind, payload, 7, 7, 0), 2, "file"), call)


def part(letter: bytes, data: bytes) -> bytes:
    """Return a part of a record."""
    return letter + struct.pack("<I", len(data)) + data


def test_a_record_has_named_parts() -> None:
    kind, payload = encode_call(CALLS["act with a mask"], X)
    assert kind == b"P"
    parts = {part(b"v", struct.pack("<2d", *V)), part(b"x", struct.pack("<2d", *X)), part(b"m", b"\1\0")}
    assert all(one in payload for one in parts)
    assert len(payload) == sum(map(len, parts))


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (b"P", b""),
        (b"P", part(b"v", bytes(16))),  # without x
        (b"R", part(b"y", bytes(8))[:-1]),  # cut short
        (b"R", part(b"y", bytes(16))),  # two numbers
        (b"R", part(b"?", bytes(8))),
        (b"R", part(b"y", bytes(8)) + part(b"v", bytes(16))),  # a part of the other kind
        (b"R", part(b"y", bytes(8)) + part(b"t", bytes(4))),
        (b"R", b"y\x08"),
        (b"R", part(b"y", bytes(8)) + part(b"m", b"\1\0")),  # a mask belongs to an action
        (b"P", part(b"v", bytes(16)) + part(b"x", bytes(16)) + part(b"m", b"\1\2")),
        (b"P", part(b"v", bytes(16)) + part(b"x", bytes(16)) + part(b"m", b"\1\0\1")),
        (b"P", part(b"n", bytes(8)) + part(b"v", bytes(16)) + part(b"x", bytes(16))),  # two plants, one row
        (b"L", part(b"N", b"no JSON")),
    ],
)
def test_a_record_with_unknown_or_missing_parts_is_refused(kind: bytes, payload: bytes) -> None:
    with pytest.raises(FileFormatError, match="file holds a record with unknown parts at byte 7"):
        decode_call(Record(kind, payload, 7, 7 + len(payload), 0), 2, "file")


def test_a_record_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(FileFormatError, match="file holds a record of an unknown kind at byte 7: b'X'"):
        read_call(Record(b"X", b"", 7, 7, 0), 2, "file", alone=True)


# ---- earlier versions ------------------------------------------------------------------------------------------------

V_AND_X = struct.pack("<4d", *V, *X)
TWO = struct.pack("<2I", 7, 2)
NUMBERS = struct.pack("<8d", *ROWS.ravel(), *(ROWS.ravel() + 1.0))

EARLIER: dict[str, tuple[bool, bytes, bytes, Call]] = {
    "act": (True, b"A", V_AND_X, CALLS["act"]),
    "observe": (True, b"O", struct.pack("<d", 0.1), CALLS["observe"]),
    "applied": (True, b"O", struct.pack("<3d", 0.1, *X), Call("observe", {"y": np.array(0.1), "applied": X})),
    "parts": (True, b"a", encode_call(CALLS["act with all"], X)[1], CALLS["act with all"]),
    "late": (True, b"o", encode_call(CALLS["observe late"])[1], CALLS["observe late"]),
    "several act": (
        False,
        b"a",
        struct.pack("<IIIB", 2, 0, 4, 3) + TWO + NUMBERS + struct.pack("<8d", *np.ones(6), 0.5, 2.0) + b"\1\0\0\1",
        Call(
            "act",
            {
                "v": ROWS,
                "context": np.ones((2, 3)),
                "factor": np.array([0.5, 2.0]),
                "active": np.array([[True, False], [False, True]]),
            },
            PLANTS,
            ROWS + 1.0,
        ),
    ),
    "forecast": (
        False,
        b"a",
        struct.pack("<IIIB", 2, 1, 0, 0) + TWO + NUMBERS,
        Call("act", {"v": ROWS, "forecast": np.zeros((2, 0, 2))}, PLANTS, ROWS + 1.0),
    ),
    "several observe": (
        False,
        b"o",
        struct.pack("<IBBI", 2, 15, 1, 1)
        + TWO
        + struct.pack("<6d2I", 0.5, 1.0, *ROWS.ravel(), 3, 4)
        + struct.pack("<8d", *ROWS.ravel(), 2.0, 3.0, 5.0, 6.0),
        Call(
            "observe",
            {
                "y": np.array([0.5, 1.0]),
                "applied": ROWS,
                "round": np.array([3, 4]),
                "at": ROWS,
                "unit": np.array([2.0, 3.0]),
                "covariates": np.array([[5.0], [6.0]]),
            },
            PLANTS,
        ),
    ),
    "join": (False, b"j", encode({"names": ("north", 4), "x0": ROWS, "limits": None}), CALLS["join"]),
    "leave": (False, b"l", encode({"names": ("north", 4)}), CALLS["leave"]),
}


@pytest.mark.parametrize(("alone", "kind", "payload", "call"), EARLIER.values(), ids=EARLIER)
def test_a_record_of_an_earlier_version_is_read(alone: bool, kind: bytes, payload: bytes, call: Call) -> None:
    check_same(read_call(Record(kind, payload, 9, 0, 0), 2, "a file", alone=alone), call)


@pytest.mark.parametrize(("alone", "kind", "payload", "call"), EARLIER.values(), ids=EARLIER)
def test_a_record_of_an_earlier_version_with_another_length_is_refused(
    alone: bool, kind: bytes, payload: bytes, call: Call
) -> None:
    assert call.kind in ("act", "observe", "join", "leave")
    for wrong in (payload[:-1], payload + b"\0", b""):
        with pytest.raises(FileFormatError, match=r"a file holds a record .*at byte 9"):
            read_call(Record(kind, wrong, 9, 0, 0), 2, "a file", alone=alone)


def test_a_plant_that_is_steered_alone_has_no_axis() -> None:
    assert ALONE.shape == ()
    with pytest.raises(FileFormatError, match="a single plant has no b'j'"):
        read_call(Record(b"j", b"", 9, 0, 0), 2, "a file", alone=True)
    with pytest.raises(FileFormatError, match="a fleet has no b'A'"):
        read_call(Record(b"A", bytes(32), 9, 0, 0), 2, "a file", alone=False)
