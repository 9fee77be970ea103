"""The public line, which private names do not cross and ``__all__`` draws."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
OUTSIDE = sorted(path for folder in ("tests", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.py"))


@cache
def parse(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    """``soqo.a._b`` for the file of that module."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Each name that a file imports from soqo, with the module that it is imported from."""
    for node in ast.walk(parse(path)):
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


def package_under_test(path: Path) -> str:
    """The package that a folder of tests is named after, for tests/a/b ``soqo.a.b`` or ``soqo._a.b``; "" outside."""
    place, *folders = path.relative_to(ROOT).parts[:-1]
    if place != "tests" or not folders:
        return ""
    here = SOURCE / "soqo"
    for part in folders:
        here = next((here / name for name in (part, f"_{part}") if (here / name).exists()), here)
    return module_name(here / "__init__.py")


def foreign_private_names(path: Path, package: str) -> Iterator[str]:
    """One line for each private name that a file imports from a package to which its own does not belong."""
    for module, name in imports(path):
        owner = private_owner(module, name)
        if owner is not None and not f"{package}.".startswith(f"{owner}."):
            yield f"{path.relative_to(ROOT)} imports {name or 'itself'} from {module}"


def test_a_module_uses_private_names_of_its_own_package_only() -> None:
    wrong = [line for path in MODULES for line in foreign_private_names(path, module_name(path))]
    assert not wrong, "\n".join(wrong)


def test_tests_of_a_package_use_its_private_names_and_other_programs_public_ones_only() -> None:
    wrong = [line for path in OUTSIDE for line in foreign_private_names(path, package_under_test(path))]
    assert not wrong, "\n".join(wrong)


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


def test_all_lists_what_a_public_module_defines_and_private_modules_have_none() -> None:
    wrong = []
    for path in MODULES:
        tree = parse(path)
        listed, own = listed_names(tree), {name for name in defined(tree) if not name.startswith("_")}
        if is_private(path):
            wrong += [f"{module_name(path)} is private and needs no __all__"] if listed else []
            continue
        wrong += [f"{module_name(path)} defines {name}, which is not in __all__" for name in sorted(own - listed)]
        if path.name != "__init__.py":
            wrong += [f"{module_name(path)} lists {name}, and does not define it" for name in sorted(listed - own)]
    assert not wrong, "\n".join(wrong)


def test_names_are_imported_from_the_module_that_defines_them() -> None:
    names = {path: set(defined(parse(path))) for path in MODULES}
    wrong = []
    for path in MODULES:
        for module, name in imports(path):
            own = names.get(SOURCE / f"{module.replace('.', '/')}.py")
            if own is not None and name and not name.startswith("__") and (name.startswith("_") or name not in own):
                wrong.append(f"{module_name(path)} imports {name} of {module}, which is private or only imported there")
    assert not wrong, "\n".join(wrong)
