"""The command in a real process, for tests of all its commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-W", "error", "-m", "soqo"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command, and return what it printed."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        env={**ENVIRONMENT, **environment},
    )


def complaint(*arguments: str | Path) -> str:
    """Return the one line that a command leaves when it is wrong."""
    done = run(*arguments)
    assert done.returncode == 2, done
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("soqo: ")
    return line.removeprefix("soqo: ")
