"""Calls of a controller are decoded from records as they were encoded; other records are refused with a reason."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._control.calls import Call, decode_call, encode_call
from soqo._storage.journal_records import Record
from soqo.errors import FileFormatError


@pytest.mark.parametrize(
    "call",
    [
        Call(v=np.array([1.0, 2.0]), x=np.array([3.0, -0.0])),
        Call(y=0.1),
        Call(y=float("nan")),
        Call(y=-1e300, x=np.array([3.0, 4.0])),
        Call(v=np.array([1.0, 2.0]), x=np.array([3.0, -0.0]), time=-1),
        Call(
            v=np.array([1.0, 2.0]),
            x=np.array([3.0, 4.0]),
            forecast=np.arange(6.0).reshape(3, 2),
            context=np.array([0.5]),
            factor=np.array(2.0),
        ),
        Call(v=np.array([1.0, 2.0]), x=np.array([3.0, 4.0]), forecast=np.zeros((0, 2)), context=np.zeros(0)),
        Call(v=np.array([1.0, 2.0]), x=np.array([3.0, 4.0]), active=np.array([True, False])),
        Call(y=0.1, at=np.array([3.0, 4.0]), unit=np.array(0.5)),
        Call(y=0.1, covariates=np.array([3.0, 4.0, 5.0])),
        Call(y=0.1, round=7, time=1_772_366_400_000_001),
        Call(y=float("nan"), x=np.array([3.0, 4.0]), round=2**40),
    ],
)
def test_a_call_is_decoded_as_it_was_encoded(call: Call) -> None:
    kind, payload = encode_call(call)
    found = decode_call(Record(kind, payload, 7, 7, 0), 2, "file")
    for one, other in zip(found, call, strict=True):
        assert type(one) is type(other)
        assert getattr(one, "shape", ()) == getattr(other, "shape", ())
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("kind", "size"), [(b"A", 24), (b"O", 16), (b"X", 8), (b"A", 0)])
def test_a_record_of_an_unknown_kind_or_size_is_refused(kind: bytes, size: int) -> None:
    with pytest.raises(FileFormatError, match="file holds a record of an unknown kind at byte 7"):
        decode_call(Record(kind, bytes(size), 7, 7 + size, 0), 2, "file")


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (b"a", b""),
        (b"a", b"v\x10\0\0\0" + bytes(16)),  # without x
        (b"o", b"y\x08\0\0\0" + bytes(7)),  # cut short
        (b"o", b"y\x10\0\0\0" + bytes(16)),  # two numbers
        (b"o", b"?\x08\0\0\0" + bytes(8)),
        (b"o", b"y\x08\0\0\0" + bytes(8) + b"v\x10\0\0\0" + bytes(16)),  # a part of the other kind
        (b"o", b"y\x08\0\0\0" + bytes(8) + b"t\x04\0\0\0" + bytes(4)),
        (b"o", b"y\x08"),
        (b"o", b"y\x08\0\0\0" + bytes(8) + b"m\x02\0\0\0\1\0"),  # a mask belongs to an action
        (b"a", b"v\x10\0\0\0" + bytes(16) + b"x\x10\0\0\0" + bytes(16) + b"m\x02\0\0\0\1\2"),
        (b"a", b"v\x10\0\0\0" + bytes(16) + b"x\x10\0\0\0" + bytes(16) + b"m\x03\0\0\0\1\0\1"),
    ],
)
def test_a_record_with_unknown_or_missing_parts_is_refused(kind: bytes, payload: bytes) -> None:
    with pytest.raises(FileFormatError, match="file holds a record with unknown parts at byte 7"):
        decode_call(Record(kind, payload, 7, 7 + len(payload), 0), 2, "file")
