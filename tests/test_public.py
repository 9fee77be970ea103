"""The public surface: its names, and what importing it costs."""

from __future__ import annotations

import importlib
import subprocess
import sys

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


def test_every_listed_name_exists() -> None:
    for package in ("soqo", *(f"soqo.{name}" for name in PACKAGES)):
        module = importlib.import_module(package)
        assert [name for name in module.__all__ if not hasattr(module, name)] == [], package


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
    # These parts of SciPy take as long to import as all of soqo, and few calls need them.
    assert not {"scipy.stats", "scipy.signal", "scipy.optimize"} & after
