"""Files are replaced atomically: an interrupted write leaves the old file and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from soqo._storage.atomic import replacing


def test_a_file_is_replaced_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with replacing(path) as temporary:
        temporary.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
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


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to write file in"):
        replacing(tmp_path / "nowhere" / "file").__enter__()
