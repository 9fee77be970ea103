"""Sealed files return their data, and any change to their bytes is detected."""

from __future__ import annotations

from pathlib import Path

import pytest

from soqo._storage.checksummed import seal, starts_with, unseal
from soqo.errors import FileFormatError

MAGIC = b"soqo-test 3\n"


@pytest.mark.parametrize("data", [b"", b"data", bytes(1000)])
def test_unseal_returns_the_sealed_data(data: bytes) -> None:
    assert unseal(MAGIC, seal(MAGIC, data), "file") == data


def test_every_truncation_and_every_flipped_bit_is_refused() -> None:
    good = seal(MAGIC, b"some data")
    for length in range(len(good)):
        with pytest.raises(FileFormatError, match="file"):
            unseal(MAGIC, good[:length], "file")
    for bit in range(8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FileFormatError, match="file"):
            unseal(MAGIC, bytes(bad), "file")
    with pytest.raises(FileFormatError, match="is damaged: expected"):
        unseal(MAGIC, good + b"\0", "file")


def test_a_file_of_another_kind_is_distinguished_from_one_of_another_layout() -> None:
    with pytest.raises(FileFormatError, match="file is not a file of this kind"):
        unseal(MAGIC, seal(b"soqo-other 3\n", b"data"), "file")
    with pytest.raises(FileFormatError, match=r"file has layout b'4', .* reads layout b'3'"):
        unseal(MAGIC, seal(b"soqo-test 4\n", b"data"), "file")


def test_starts_with_compares_the_first_bytes_of_a_file_that_may_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert not starts_with(path, b"soqo")
    assert not starts_with(tmp_path, b"soqo")
    path.write_bytes(seal(MAGIC, b"data"))
    assert starts_with(path, b"soqo-test")
    assert not starts_with(path, b"soqo-other")
