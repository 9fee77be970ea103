"""The command: real processes, real files, errors in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import soqo


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "soqo", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_reproduce_prints_a_table_and_says_where_the_files_are(tmp_path: Path) -> None:
    done = run("reproduce", "primary", "--runs", "2", "--out", str(tmp_path / "here"))
    assert done.returncode == 0, done.stderr
    assert "ROBD (knows A)" in done.stdout
    assert "reading: A drawn anew" in done.stdout
    for suffix in (".png", ".svg", ".csv", ".nc"):
        file = tmp_path / "here" / f"primary{suffix}"
        assert file.stat().st_size > 0
        assert f"wrote {file}" in done.stdout.replace("\n", "")
    assert done.stderr == ""


def test_list_names_every_figure() -> None:
    done = run("list")
    assert done.returncode == 0
    assert "primary" in done.stdout
    assert "Section 4.2" in done.stdout


def test_version_and_help() -> None:
    assert run("--version").stdout.strip() == f"soqo {soqo.__version__}"
    assert "reproduce" in run("--help").stdout


def test_a_wrong_name_or_number_is_one_line_and_no_traceback(tmp_path: Path) -> None:
    unknown = run("reproduce", "nothing", "--out", str(tmp_path))
    assert unknown.returncode == 2
    assert unknown.stderr.strip() == "soqo: figure must be one of 'primary', got 'nothing'"
    (tmp_path / "file").touch()
    blocked = run("reproduce", "--runs", "1", "--out", str(tmp_path / "file"))
    assert blocked.returncode == 2
    assert blocked.stderr.startswith("soqo: ")
    assert "Traceback" not in blocked.stderr
    runs = run("reproduce", "--runs", "0", "--out", str(tmp_path))
    assert runs.returncode == 2
    assert runs.stderr.strip() == "soqo: runs must be a positive integer, got 0"
