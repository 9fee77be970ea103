"""Keys change with everything that changes the numbers, the code included."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import soqo
from soqo import FTM, GLIDE, LAI, OAL, POL, ROBD, Problem
from soqo.errors import ArgumentError
from soqo.experiments.execution import policy_key


def test_the_key_of_a_policy_changes_with_the_policy_and_not_with_its_name() -> None:
    policies = [FTM(), GLIDE(), POL(1e-4), POL(2e-4), OAL(1e-4), POL(1e-4, gradient="as_printed"), LAI.for_problem]
    keys = [policy_key(policy) for policy in [*policies, ROBD.for_problem]]
    assert len(set(keys)) == len(keys)
    assert policy_key(POL(1e-4)) == policy_key(POL(1e-4))


KEY = """
import dataclasses, sys
import soqo
from soqo.experiments import find
from soqo.experiments.execution import code_version, split_into_cells

if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])
    import own_cell_policy
    policies = {"own": own_cell_policy.Own(), "wrapped": soqo.Limited(own_cell_policy.Own(), low=-1.0, high=1.0)}
else:
    policies = {"FTM": soqo.FTM()}
setting = dataclasses.replace(find("intro")[0], policies=policies)
cell = split_into_cells(setting)[0]
print(soqo.__file__, code_version(), cell.key + "".join(cell.policies))
"""


def key_in_a_new_process(*arguments: str, path: Path | None = None) -> tuple[str, str]:
    """Return the version of the code and the key of a cell in another process, with soqo from the path."""
    environment = {**os.environ, **({"PYTHONPATH": str(path)} if path is not None else {})}
    command = [sys.executable, "-c", KEY, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    file, version, key = done.stdout.split()
    assert path is None or file.startswith(str(path))
    return version, key


def test_the_key_changes_with_the_code_that_computes(tmp_path: Path) -> None:
    package = tmp_path / "soqo"
    shutil.copytree(Path(soqo.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    first = key_in_a_new_process(path=tmp_path)
    with (package / "experiments" / "_tune.py").open("a") as file:
        file.write("# It does not compute cells.\n")
    assert key_in_a_new_process(path=tmp_path) == first
    with (package / "_planner.py").open("a") as file:
        file.write("# A change.\n")
    second = key_in_a_new_process(path=tmp_path)
    (package / "added.py").touch()
    third = key_in_a_new_process(path=tmp_path)
    assert len({version for version, _ in (first, second, third)}) == 3
    assert len({key for _, key in (first, second, third)}) == 3


def test_the_key_changes_with_the_code_of_an_own_policy(tmp_path: Path) -> None:
    keys = set()
    for share in ("0.5", "0.25"):
        (tmp_path / "own_cell_policy.py").write_text(
            "from dataclasses import dataclass\n"
            "import soqo\n"
            "@dataclass(frozen=True)\n"
            "class Own(soqo.Policy[None]):\n"
            "    def decide(self, state, v):\n"
            f"        return {share} * v, None\n"
        )
        keys.add(key_in_a_new_process(str(tmp_path)))
    assert len(keys) == 2


def make_pol(problem: Problem) -> POL:
    return POL(1e-4 / float(np.trace(problem.A)))


@pytest.mark.parametrize("maker", [lambda problem: make_pol(problem), partial(make_pol)])
def test_functions_without_a_name_are_refused(maker: Callable[..., Any]) -> None:
    with pytest.raises(ArgumentError, match=r"policies must be a policy, or a function"):
        policy_key(maker)
    assert policy_key(make_pol)
