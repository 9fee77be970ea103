"""Every example runs, quietly, and opens with what it teaches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


def test_there_are_examples_and_they_are_numbered() -> None:
    assert len(EXAMPLES) >= 5
    assert [path.name[:2] for path in EXAMPLES] == [f"{k + 1:02d}" for k in range(len(EXAMPLES))]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs_without_a_warning(path: Path, tmp_path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith('"""Teaches: ')
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""
    assert not list(tmp_path.iterdir()), "an example left files behind"


def test_the_committed_log_is_what_its_example_writes(tmp_path: Path) -> None:
    (script,) = [path for path in EXAMPLES if path.name.endswith("_plant_log.py")]
    subprocess.run([sys.executable, str(script), str(tmp_path / "log.csv")], check=True, capture_output=True)
    assert (tmp_path / "log.csv").read_text() == script.with_name("plant_log.csv").read_text()
