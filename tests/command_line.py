"""The command, for tests of all its commands: in this process, or as arguments for another one."""

from __future__ import annotations

import io
import os
import runpy
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-W", "error", "-m", "soqo"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, which saves its imports, and return what it printed."""
    command = ["soqo", *map(str, arguments)]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", command)
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            runpy.run_module("soqo", run_name="__main__")
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


def complaint(*arguments: str | Path) -> str:
    """Return the one line that a command leaves when it is wrong."""
    done = run(*arguments)
    assert done.returncode == 2, done
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("soqo: ")
    return line.removeprefix("soqo: ")
