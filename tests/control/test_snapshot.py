"""Snapshots and calls of a controller are decoded as they were encoded; other files are refused with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from soqo import FTM, LAI, Controller, Limited, Weighted
from soqo._control.snapshot import Call, decode_call, decode_snapshot, encode_call
from soqo._foundation.frozen_dataclasses import evolve
from soqo._storage.checksummed import seal
from soqo._storage.codec import encode
from soqo._storage.journal_records import Record
from soqo._storage.plain_data import pack, unpack
from soqo.errors import FileFormatError

MAGIC = b"soqo-controller 1\n"


@dataclass(frozen=True)
class UserPolicy(FTM):
    """A policy of a user."""


def test_other_files_are_refused_with_a_reason(tmp_path: Path) -> None:
    good = encode(Controller(UserPolicy(), [1.0])._snapshot)
    name = f"{__name__}:UserPolicy".encode()
    assert name in good
    unknown = good.replace(name, name.replace(b"UserPolicy", b"LostPolicy"))
    newer = MAGIC.replace(b"1", b"2")
    for contents, reason in (
        (b"", "is not a file of this kind"),
        (b"PK\3\4 something else", "is not a file of this kind: it does not begin with"),
        (seal(newer, good), "has layout b'2', and soqo .* reads layout b'1'"),
        (seal(MAGIC, unknown), "LostPolicy', which is not a dataclass known here"),
        (seal(MAGIC, encode(FTM())), "must hold the state of a controller, got a FTM"),
        (seal(MAGIC, b"short"), "cannot be read by soqo"),
    ):
        (tmp_path / "file").write_bytes(contents)
        with pytest.raises(FileFormatError, match=reason) as caught:
            Controller.load(tmp_path / "file")
        assert str(tmp_path / "file") in str(caught.value)
    with pytest.raises(FileNotFoundError, match=r"there is no saved controller .*missing"):
        Controller.load(tmp_path / "missing")


def test_a_snapshot_is_decoded_as_it_was_encoded() -> None:
    snapshot = Controller(FTM(), [1.0, 2.0], horizon=9, low=-3.0, switching_weight=[1.0, 4.0])._snapshot
    assert decode_snapshot(encode(snapshot), "file") == snapshot


def test_a_snapshot_of_the_version_before_is_decoded_with_the_defaults_of_new_settings() -> None:
    """Also with an A in plain coordinates, of which that version did not say for which switching weight it is."""
    plain = LAI(np.eye(2))
    snapshot = Controller(plain, [1.0, 2.0], low=-3.0)._snapshot
    tree, arrays = pack(evolve(snapshot, switching_weight=np.array([1.0, 4.0])))
    for record, fields in (
        (tree, ("rate", "v_limits", "actuators", "units", "timestamps", "seed")),
        (tree["fields"]["policy"], ("plain_for",)),
    ):
        assert record["version"] == 2
        record["version"] = 1
        for name in fields:
            del record["fields"][name]
    found = unpack(tree, arrays)
    assert (found.rate, found.v_limits, found.actuators, found.units) == (None, None, None, None)
    assert (found.timestamps, found.seed, found.policy) == (False, None, plain)
    assert found.player() == Limited(Weighted(plain, [1.0, 4.0]), low=-3.0)


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
    ],
)
def test_a_record_with_unknown_or_missing_parts_is_refused(kind: bytes, payload: bytes) -> None:
    with pytest.raises(FileFormatError, match="file holds a record with unknown parts at byte 7"):
        decode_call(Record(kind, payload, 7, 7 + len(payload), 0), 2, "file")
