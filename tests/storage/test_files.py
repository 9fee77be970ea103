"""Records as bytes and back, sealed files, and files that are there whole or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo._storage.files import decode, encode, replacing, sealed, unsealed
from soqo._storage.records import same
from soqo._version import __version__
from soqo.errors import FileFormatError
from soqo.processes import Gaussian

MAGIC = b"soqo-test 3\n"


@dataclass(frozen=True, eq=False)
class Kept:
    """A record of anything."""

    array: Any
    other: Any = None


def layouts() -> dict[str, Any]:
    """One array of numbers in every way that memory can hold it."""
    cube = np.random.default_rng(0).standard_normal((2, 3, 4))
    return {
        "rows first": cube,
        "columns first": np.asfortranarray(cube),
        "turned": np.ascontiguousarray(cube.transpose(1, 2, 0)).transpose(2, 0, 1),
        "every other": np.repeat(cube, 2, axis=1)[:, ::2],
        "backwards": cube[:, ::-1, :],
        "repeated": np.broadcast_to(cube[:, :1], (2, 3, 4)),
        "one row": cube[:1, :1],
        "one number": cube[0, 0, 0],
        "none": cube[:, :0],
    }


@pytest.mark.parametrize("array", layouts().values(), ids=layouts())
def test_an_array_comes_back_to_the_bit_and_lies_the_same_way(array: Any) -> None:
    back = decode(encode(Kept(array, (array, "text"))))
    assert same(back, Kept(np.asarray(array), (np.asarray(array), "text")))
    assert back.array.flags.writeable
    if array.size > 1 and 0 not in array.strides:
        steps = [
            [step for step, size in zip(each.strides, each.shape, strict=True) if size > 1]
            for each in (array, back.array)
        ]
        assert np.argsort(np.abs(steps[0])).tolist() == np.argsort(np.abs(steps[1])).tolist()


@pytest.mark.parametrize("kind", ["<f8", "<f4", ">f8", "<i8", "<i2", "<u8", "|b1"])
def test_an_array_keeps_its_kind(kind: str) -> None:
    array = np.array([0, 1, 1, 0, 7]).astype(kind)
    back = decode(encode(array))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_plain_values_come_back_to_the_bit() -> None:
    values = (None, True, 3, -0.0, 0.1, 1e-320, np.inf, -np.inf, np.nan, "ü\n", [2**70], {"a": ()})
    assert same(decode(encode(values)), values)


def test_bytes_that_are_no_record_are_refused() -> None:
    good = encode(Kept(np.arange(3.0), Gaussian(2.0)))
    damaged = [good[:length] for length in range(len(good))]
    damaged += [good + b"\0", good.replace(b"Gaussian", b"Gaussoid"), b"\xff" * 40]
    damaged += [good.replace(b'"<f8"', b'"<q8"'), good.replace(b'"scale"', b'"skale"')]
    for data in damaged:
        with pytest.raises(FileFormatError):
            decode(data)


def test_a_record_that_cannot_be_read_says_who_wrote_it() -> None:
    data = encode(Gaussian(2.0)).replace(__version__.encode(), b"9" * len(__version__))
    reason = rf"written by soqo 9+, cannot be read by soqo {__version__}"
    with pytest.raises(FileFormatError, match=reason):
        decode(data.replace(b"Gaussian", b"Gaussoid"))


# ---- sealed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"data", bytes(1000)])
def test_what_was_sealed_comes_out_again(data: bytes) -> None:
    assert unsealed(MAGIC, sealed(MAGIC, data), "file") == data


def test_a_seal_does_not_survive_any_change() -> None:
    good = sealed(MAGIC, b"some data")
    for length in range(len(good)):
        with pytest.raises(FileFormatError, match="file"):
            unsealed(MAGIC, good[:length], "file")
    for bit in range(8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FileFormatError, match="file"):
            unsealed(MAGIC, bytes(bad), "file")
    with pytest.raises(FileFormatError, match="it should have"):
        unsealed(MAGIC, good + b"\0", "file")


def test_a_foreign_file_and_another_layout_are_told_apart() -> None:
    with pytest.raises(FileFormatError, match="file is not a file of this kind"):
        unsealed(MAGIC, sealed(b"soqo-other 3\n", b"data"), "file")
    with pytest.raises(FileFormatError, match=r"file has layout b'4', .* reads layout b'3'"):
        unsealed(MAGIC, sealed(b"soqo-test 4\n", b"data"), "file")


# ---- whole or not at all ---------------------------------------------------------------------------------------------


def test_a_file_is_replaced_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replacing(path) as temporary:
        temporary.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def write_half(path: Path) -> None:
        with replacing(path) as temporary:
            temporary.write_bytes(b"ne")
            raise KeyboardInterrupt

    path = tmp_path / "file"
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]
