"""The code in CONTRIBUTING runs, and fulfills the contracts that it describes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.DOTALL)


def test_there_is_a_skeleton_of_a_policy_of_a_process_and_of_a_claim() -> None:
    assert [sum(word in block for block in BLOCKS) for word in ("check_policy", "check_process", "@claim")] == [1, 1, 1]


@pytest.mark.parametrize("block", BLOCKS, ids=["policy", "process", "claim"])
def test_a_skeleton_runs(block: str, tmp_path: Path) -> None:
    script = tmp_path / "skeleton.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "error", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
