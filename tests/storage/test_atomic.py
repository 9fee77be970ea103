"""Files are replaced atomically: an interrupted write leaves the old file and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from soqo._storage.atomic import remove_abandoned, replacing


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


def test_files_that_killed_processes_left_are_deleted_when_they_are_old(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    left, young, of_this = (tmp_path / f".file.{number}.tmp" for number in (process.pid, 2**22 + 7, os.getpid()))
    other = tmp_path / f".another.{process.pid}.tmp"
    for path in (left, young, of_this, other):
        path.write_bytes(b"half")
        if path != young:
            os.utime(path, (1.0, 1.0))
    remove_abandoned(tmp_path / "file")
    assert not left.exists()
    assert all(path.exists() for path in (young, of_this, other))
    with replacing(tmp_path / "another") as temporary:
        temporary.write_bytes(b"new")
    assert not other.exists()
