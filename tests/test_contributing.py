"""The examples in CONTRIBUTING, added to a copy of the project as it says, pass the tests that find them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = dict(
    re.findall(
        r"```(?:python|toml)\n# (?:in )?([^\n]+)\n(.*?)```",
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
)
POLICY, PROCESS, CLAIM = (
    "src/soqo/policies/_damped.py",
    "src/soqo/processes.py",
    "src/soqo/experiments/judgment/claims.toml",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the three examples."""
    copy = tmp_path_factory.mktemp("project")
    for name in ("src", "tests", "docs", "examples", "benchmarks"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [*ROOT.glob("*.md"), ROOT / "pyproject.toml"]:
        shutil.copy(path, copy)
    (copy / POLICY).write_text(BLOCKS[POLICY], encoding="utf-8")
    exports, processes = copy / "src/soqo/policies/__init__.py", copy / PROCESS
    insert(exports, "\n__all__ = [", "from soqo.policies._damped import Damped\n")
    insert(exports, '"FTM",\n', '"Damped",\n')
    insert(processes, '"Gaussian",', '"Sinusoidal", ')
    processes.write_text(f"{processes.read_text(encoding='utf-8')}\n\n{BLOCKS[PROCESS]}", encoding="utf-8")
    claims = copy / CLAIM
    claims.write_text(f"{claims.read_text(encoding='utf-8')}\n{BLOCKS[CLAIM]}", encoding="utf-8")
    run(copy, "-m", "ruff", "check", "--no-cache", "--fix", "--quiet", "--select", "I,RUF022", "src")  # as make format
    run(copy, "-m", "ruff", "format", "--no-cache", "--quiet", "src")
    return copy


def insert(path: Path, before: str, text: str) -> None:
    """Insert text into a file, before some other text that occurs once."""
    old = path.read_text(encoding="utf-8")
    assert old.count(before) == 1, f"{before!r} must occur once in {path}"
    path.write_text(old.replace(before, text + before), encoding="utf-8")


def run(project: Path, *arguments: str) -> str:
    """Run Python in the copy; fail with its output if it fails."""
    # The copy is not measured if this test runs under coverage.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "COV_"))}
    environment = {**inherited, "PYTHONPATH": str(project / "src")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_there_is_an_example_of_a_policy_of_a_process_and_of_a_claim() -> None:
    assert list(BLOCKS) == [POLICY, PROCESS, CLAIM]


def test_the_examples_pass_the_tests_that_find_them(project: Path) -> None:
    names = "Damped or Sinusoidal or constructors or listed or docstrings or module"
    places = [
        *("tests/test_public.py", "tests/test_contracts.py", "tests/test_docstrings.py", "tests/test_architecture.py"),
        *("tests/experiments/settings/test_constructors.py", "tests/control/test_controller.py"),
        *("src/soqo/policies/_damped.py", "src/soqo/processes.py"),
    ]
    found = run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", names, *places)
    assert " passed" in found


def test_the_examples_are_found_by_the_command_line_and_the_judge(project: Path) -> None:
    assert "Damped" in run(project, "-m", "soqo", "policies")
    code = (
        "from soqo.experiments import judge; print(*(claim.text for claim in judge([], {}, {}, []).claims), sep='\\n')"
    )
    assert "SCaLE outperforms the player who follows v" in run(project, "-c", code)


def test_the_examples_follow_the_lint_rules(project: Path) -> None:
    run(project, "-m", "ruff", "check", "--no-cache", "src")
