"""The command itself: help with examples, its version, and completion in a real shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import soqo
from command_line import ENVIRONMENT, complaint, run

COMMANDS = [
    "journal",
    "check",
    "replay",
    "plot",
    "reproduce",
    "list",
    "simulate",
    "tune",
    "bounds",
    "estimate",
    "policies",
]
SCRIPT = Path(sys.executable).with_name("soqo")


def test_version_and_bare_command() -> None:
    assert run("--version").stdout.strip() == f"soqo {soqo.__version__}"
    bare = run()
    assert bare.returncode == 0
    assert bare.stdout == run("--help").stdout
    for name in COMMANDS:
        assert f" {name} " in bare.stdout


@pytest.mark.parametrize("name", [*COMMANDS, "journal show", "journal check", "journal export"])
def test_every_help_explains_and_has_an_example(name: str) -> None:
    done = run(*name.split(), "--help", COLUMNS="200")
    assert done.returncode == 0, done.stderr
    assert f"Usage: soqo {name}" in done.stdout
    assert f"Example: soqo {name}" in done.stdout


def test_python_m_soqo_is_the_same_command() -> None:
    script = subprocess.run([SCRIPT, "policies"], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert script.stdout == run("policies").stdout


def test_a_wrong_option_is_one_line() -> None:
    assert "--runz" in complaint("list", "--runz")


def test_a_group_without_a_command_shows_its_help() -> None:
    done = run("journal")
    assert done.returncode == 0
    assert "check" in done.stdout


# ---- completion ----------------------------------------------------------------------------------------------------


def complete(words: str, folder: Path) -> list[str]:
    """Return what bash proposes for a line that ends in the middle of a word, with the installed completion."""
    script = (
        f"source {folder}/.bash_completions/soqo.sh; "
        f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        "_soqo_completion soqo; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    environment = {**ENVIRONMENT, "HOME": str(folder), "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="completion is tested in bash")
def test_completion_is_installed_in_a_shell_and_completes_commands_and_policies(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "HOME": str(tmp_path), "PATH": f"{SCRIPT.parent}:{os.environ['PATH']}"}
    # The second command keeps bash from replacing itself by the first: the shell is found as the parent process.
    done = subprocess.run(
        ["bash", "-c", "soqo --install-completion; echo exit $?"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert "bash completion installed" in done.stdout
    assert done.stdout.rstrip().endswith("exit 0")
    assert "soqo.sh" in (tmp_path / ".bashrc").read_text()
    assert complete("soqo re", tmp_path) == ["replay", "reproduce"]
    assert complete("soqo replay log.csv --policy GL", tmp_path) == ["GLIDE"]
    assert complete("soqo reproduce prim", tmp_path)[0] == "primary"
