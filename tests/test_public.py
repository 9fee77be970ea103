"""The public surface: its names, what importing it costs, and that every public class fulfills its contract."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import soqo
from public_classes import concrete_classes, example
from soqo import meters, noise, policies, processes
from soqo.checks import check_meter, check_noise, check_policy, check_process

NAMES = [
    *(
        "FTM",
        "LAI",
        "OAL",
        "POL",
        "RLS",
        "ROBD",
        "SCaLE",
        "HySCaLE",
        "GLIDE",
        "Policy",
        "State",
        "Limited",
        "Periodic",
        "Weighted",
        "Guarded",
    ),
    *(
        "Problem",
        "RandomProblem",
        "random_curvature",
        "Actuation",
        "Change",
        "Environment",
        "Paths",
        "Offset",
        "Outages",
        "Delay",
        "Context",
        "Covariates",
        "Factor",
        "processes",
        "noise",
        "meters",
    ),
    *(
        "Plan",
        "contraction",
        "hindsight_optimum",
        "simulate",
        "play",
        "Trajectory",
        "Result",
        "PolicyResult",
        "Summary",
        "PolicySummary",
    ),
    *("Estimate", "Status", "trace_min", "psd_least_absolute_deviations", "psd_least_squares"),
    *("Controller", "Fleet", "Log", "replay", "Replay", "Information", "Client", "AsyncClient", "service"),
    *("check_log", "LogCheck", "Finding"),
    *("doctor", "Diagnosis"),
    *("checks", "errors", "estimators", "policies", "theory", "typing", "__version__"),
]
PACKAGES = [
    "checks",
    "errors",
    "estimators",
    "experiments",
    "meters",
    "noise",
    "plants",
    "plants.environments",
    "policies",
    "processes",
    "service",
    "theory",
    "typing",
]


def test_exported_names_are_exactly_these() -> None:
    assert sorted(soqo.__all__) == sorted(NAMES)


@pytest.mark.parametrize("name", ["", *PACKAGES])
def test_every_listed_name_exists(name: str) -> None:
    module = importlib.import_module(f"soqo.{name}".rstrip("."))
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter holds after running some code."""
    listing = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_soqo_imports_only_numpy_and_scipy() -> None:
    # The interpreter loads modules at start-up too (site hooks of the environment), and NumPy's f2py the last one here.
    after, before = modules_after("import soqo"), modules_after("")
    top = {name.split(".")[0] for name in after} - {name.split(".")[0] for name in before}
    foreign = top - set(sys.stdlib_module_names)
    assert {name for name in foreign if not name.startswith("_")} <= {
        "numpy",
        "scipy",
        "soqo",
        "cython_runtime",
        "charset_normalizer",
    }
    assert {"numpy", "scipy", "soqo"} <= foreign
    assert "soqo.experiments" not in after
    assert "soqo.plants" not in after


# ---- contracts, over every public class ------------------------------------------------------------------------------

FAMILIES: list[tuple[Any, type, Callable[[Any], None]]] = [
    (policies, soqo.Policy, check_policy),
    (processes, processes.Process, check_process),
    (noise, noise.Noise, check_noise),
    (meters, meters.Meter, check_meter),
]
CLASSES = [
    pytest.param(kind, check, id=kind.__name__)
    for module, parent, check in FAMILIES
    for kind in concrete_classes(module, parent)
]


def test_the_families_are_not_empty() -> None:
    counts = {parent.__name__: len(concrete_classes(module, parent)) for module, parent, _ in FAMILIES}
    assert counts["Policy"] >= 10
    assert counts["Process"] >= 6
    assert counts["Noise"] >= 4
    assert counts["Meter"] >= 7


@pytest.mark.parametrize(("kind", "check"), CLASSES)
def test_every_public_class_fulfills_its_contract(kind: type, check: Callable[[Any], None]) -> None:
    check(example(kind))


@pytest.mark.parametrize("kind", [case.values[0] for case in CLASSES])
def test_configuration_has_value_equality_and_a_short_repr(kind: Any) -> None:
    one, other = example(kind), example(kind)
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
    assert repr(one).startswith(f"{kind.__name__}(")
    assert len(repr(one)) < 200
    assert one != object()
