"""The skeleton in CONTRIBUTING is real code: it runs and keeps the contract."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from soqo.checks import check_policy

ROOT = Path(__file__).parent.parent


def test_the_skeleton_of_a_policy_passes_its_check() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    skeleton = next(block for block in blocks if "class Damped" in block)
    module = ModuleType("skeleton")
    sys.modules["skeleton"] = module  # as an import would, so that its classes can be pickled
    try:
        exec(compile(skeleton, "CONTRIBUTING.md", "exec"), module.__dict__)
        check_policy(module.Damped())
    finally:
        del sys.modules["skeleton"]
