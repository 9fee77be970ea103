"""`soqo doctor` prints the diagnosis, and its exit code is that of the self-test."""

from __future__ import annotations

import subprocess
import sys

from command_line import run

BROKEN = """
import sys
from soqo._cli import main
from soqo._doctor import self_test
self_test.trace_min = None
sys.argv = ["soqo", "doctor"]
main()
"""


def test_a_healthy_installation_is_described_with_exit_code_zero() -> None:
    done = run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("soqo ")
    assert done.stdout.count(" ok ") == 3


def test_a_broken_one_has_exit_code_one_and_is_described_all_the_same() -> None:
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "estimate    FAILED  TypeError" in done.stdout
    assert done.stdout.count(" ok ") == 2
