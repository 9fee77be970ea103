"""The public surface: its names, what importing it costs, and that every public class keeps its contract."""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import soqo
from soqo import errors, noise, processes, theory
from soqo.checks import check_noise, check_policy, check_process

NAMES = [
    *("FTM", "LAI", "OAL", "POL", "ROBD", "Policy", "State", "Limited", "Weighted"),
    *("Problem", "RandomProblem", "random_curvature", "processes", "noise", "Environment", "Paths"),
    *("Plan", "hindsight_optimum", "simulate", "Result", "checks", "errors", "__version__"),
    *("SCaLE", "HySCaLE", "Estimate", "Status", "trace_min", "psd_least_absolute_deviations", "psd_least_squares"),
    *("GLIDE", "Change", "Controller", "Log", "replay", "Replay", "Information", "theory"),
]


def test_exported_names_are_exactly_these() -> None:
    assert sorted(soqo.__all__) == sorted(NAMES)
    assert all(hasattr(soqo, name) for name in NAMES)


def test_everything_public_has_a_docstring() -> None:
    missing = []
    for owner in (soqo, processes, noise, errors, theory):
        for name in owner.__all__:
            value = getattr(owner, name)
            if isinstance(value, str | ModuleType):
                continue
            if not inspect.getdoc(value):
                missing.append(name)
            if inspect.isclass(value):
                missing += [
                    f"{name}.{member}"
                    for member, method in vars(value).items()
                    if not member.startswith("_")
                    and callable(getattr(value, member))
                    and not inspect.getdoc(getattr(value, member))
                    and method is not None
                ]
    assert not missing


def modules_after(code: str) -> set[str]:
    """Top-level names of the modules that a fresh interpreter holds after running some code."""
    listing = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_importing_soqo_imports_only_numpy_and_scipy() -> None:
    # What the interpreter loads at start-up (site hooks of the environment) is not soqo's doing.
    foreign = modules_after("import soqo") - modules_after("") - set(sys.stdlib_module_names)
    extensions = {"numpy", "scipy", "soqo", "cython_runtime"}
    assert {name for name in foreign if not name.startswith("_")} <= extensions
    assert {"numpy", "scipy", "soqo"} <= foreign


def public_classes(parent: type) -> set[type]:
    """The public classes of a family, without the abstract ones."""
    owners: list[Any] = [soqo, processes, noise]
    found = {getattr(owner, name) for owner in owners for name in owner.__all__}
    return {
        value
        for value in found
        if inspect.isclass(value) and issubclass(value, parent) and not inspect.isabstract(value)
    }


A = np.diag([0.5, 1.0, 2.0])
CHECKED: list[tuple[Any, Any, list[Any]]] = [
    (
        soqo.Policy,
        check_policy,
        [
            *(soqo.FTM(), soqo.LAI(A), soqo.ROBD(A), soqo.POL(0.02), soqo.OAL(0.02)),
            *(soqo.Weighted(soqo.POL(0.02), 2.0), soqo.Limited(soqo.LAI(A), -1.0, 1.0)),
            *(soqo.SCaLE(0.1, 1, 0.5, c1=1.5), soqo.HySCaLE(0.1, 1, 0.5, c1=1.5), soqo.GLIDE()),
        ],
    ),
    (
        processes.Process,
        check_process,
        [
            *(processes.Gaussian(), processes.Correlated(), processes.Laplace()),
            *(processes.Cauchy(), processes.StudentT(), processes.Recorded(np.ones((64, 3)))),
        ],
    ),
    (noise.Noise, check_noise, [noise.Uniform(1.0), noise.Adversarial(1.0)]),
]


@pytest.mark.parametrize(("parent", "check", "instances"), CHECKED)
def test_every_public_class_keeps_its_contract(parent: Any, check: Any, instances: Any) -> None:
    assert {type(instance) for instance in instances} == public_classes(parent)
    for instance in instances:
        check(instance)
