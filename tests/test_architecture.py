"""The public line, which private names do not cross and ``__all__`` draws."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
OUTSIDE = sorted(path for folder in ("tests", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.py"))

WHITE_BOX = {
    "tests/foundation",  # validation, fast reductions, random streams
    "tests/storage",  # files and journals, byte by byte
    "tests/model/test_spectrum.py",
    "tests/model/test_gains.py",  # gains in closed form
    "tests/model/test_lagging_gains.py",
    "tests/simulation/test_summary.py",
    "tests/checks/test_scenario.py",  # the functions by which all checks judge
    "tests/control/test_calls.py",
    "tests/control/test_controller_journal.py",
    "tests/control/test_snapshot.py",  # the state of a controller in files
    "tests/control/test_predictions.py",  # what a policy expects, against independent sums
    "tests/control/fleets",  # batches of plants, and the calls and the state of a fleet in files
    "tests/service",  # the parts of a server: tables, batches, decisions, the gate
    "tests/doctor",  # the parts of a self-test, which must notice what is broken
    "tests/estimators/sdp",  # the linear algebra of the interior-point method
    "tests/estimators/bayes",
    "tests/estimators/test_gradient.py",
    "tests/estimators/test_nesterov_todd.py",
    "tests/policies/glide",  # the parts of GLIDE, each against a dense derivation
    "tests/theory/test_gain_sums.py",  # sums in closed form
    "tests/theory/test_estimate_comparison.py",  # parts of the regret, each against dense gains
    "tests/theory/test_instance_constants.py",  # constants of A and Sigma
    "tests/theory/test_step_covariance.py",  # all forms of a covariance
}
"""Tests of numerical kernels and of file layouts, which may use private modules."""


def module_name(path: Path) -> str:
    """``soqo.a._b`` for the file of that module."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Each name that a file imports from soqo, with the module that it is imported from."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "soqo":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.partition(".")[0] == "soqo")


def private_owner(module: str, name: str) -> str | None:
    """The package to which an import is private: that which holds the first part with an underscore."""
    parts = [*module.split("."), name] if name else module.split(".")
    for index, part in enumerate(parts):
        if part.startswith("_") and not part.startswith("__"):
            return ".".join(parts[:index])
    return None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: module_name(path))
def test_a_module_uses_private_names_of_its_own_package_only(path: Path) -> None:
    here = module_name(path)
    for module, name in imports(path):
        owner = private_owner(module, name)
        if owner is not None:
            assert f"{here}.".startswith(f"{owner}."), f"{here} imports {name} from {module}"


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_tests_examples_and_benchmarks_use_public_names(path: Path) -> None:
    where = path.relative_to(ROOT).as_posix()
    if any(where == allowed or where.startswith(f"{allowed}/") for allowed in WHITE_BOX):
        return
    for module, name in imports(path):
        assert private_owner(module, name) is None, f"{where} imports {name or 'itself'} from {module}"


def defined(tree: ast.Module) -> Iterator[str]:
    """The names that a module defines at its top level."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (x.id for target in targets for x in ast.walk(target) if isinstance(x, ast.Name))


def is_private(path: Path) -> bool:
    """Whether a part of a module's name has a leading underscore."""
    return private_owner(module_name(path), "") is not None


def listed_names(tree: ast.Module) -> set[str]:
    """The names in ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return set(ast.literal_eval(node.value))
    return set()


@pytest.mark.parametrize("path", [path for path in MODULES if not is_private(path)], ids=lambda path: module_name(path))
def test_all_lists_what_a_public_module_defines_and_nothing_else(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    listed, own = listed_names(tree), {name for name in defined(tree) if not name.startswith("_")}
    assert own <= listed, f"not in __all__ and without an underscore: {sorted(own - listed)}"
    if path.name != "__init__.py":
        assert listed <= own, f"in __all__ but not defined here: {sorted(listed - own)}"


@pytest.mark.parametrize("path", [path for path in MODULES if is_private(path)], ids=lambda path: module_name(path))
def test_a_private_module_says_by_underscores_alone_what_others_may_import(path: Path) -> None:
    assert not listed_names(ast.parse(path.read_text(encoding="utf-8"))), f"{module_name(path)} needs no __all__"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: module_name(path))
def test_public_names_are_imported_from_the_module_that_defines_them(path: Path) -> None:
    for module, name in imports(path):
        file = SOURCE / f"{module.replace('.', '/')}.py"
        if file.exists() and name and not name.startswith("__"):
            own = set(defined(ast.parse(file.read_text(encoding="utf-8"))))
            assert not name.startswith("_"), f"{module_name(path)} imports the private name {name} of {module}"
            assert name in own, f"{module_name(path)} imports {name} from {module}, which only imports it"
