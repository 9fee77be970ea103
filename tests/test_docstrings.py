"""Docstrings of everything public follow the numpydoc standard: parameters, returned values and examples are there."""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import soqo

LAYOUT = {
    "GL01",  # the summary starts on the line of the opening quotes
    "GL02",  # the closing quotes of a long docstring have a line of their own
    "GL03",  # one blank line between paragraphs
    "GL06",  # a section that numpydoc does not know would not be rendered
    "GL07",  # sections in the standard order
    "GL10",  # directives with two colons
    "SA02",  # an entry of See Also is a sentence:
    "SA03",
    "SA04",
}
SUMMARY = {
    "GL08",  # there is a docstring
    "SS01",  # it has a summary,
    "SS02",  # with a capital letter,
    "SS03",  # a period,
    "SS04",
    "SS06",  # in one line
}
PARAMETERS = {
    "PR01",  # each parameter is documented,
    "PR02",  # no other,
    "PR03",  # in the order of the signature,
    "PR05",
    "PR07",  # and a description that is a sentence
    "PR08",
    "PR09",
    "PR10",
}
RETURNS = {
    "RT01",  # what a function returns or yields is documented,
    "YD01",
    "RT03",  # with a description that is a sentence
    "RT04",
    "RT05",
}
EXAMPLES = {"EX01"}
EVERY_CHECK = LAYOUT | SUMMARY | PARAMETERS | RETURNS | EXAMPLES
"""Left out: ES01 and SA01, because not everything needs an extended summary or a See Also; SS05, because ruff's D401
tests for an imperative verb with fewer false alarms; PR04, because the signature has the types; PR06 and RT02, which
are matters of taste. Docstrings of modules are left to ruff, because numpydoc expects a module to define a function."""


def public_modules() -> Iterator[ModuleType]:
    """Import soqo and every module below it that has no underscore in its name."""
    yield soqo
    for found in pkgutil.walk_packages(soqo.__path__, prefix="soqo."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield importlib.import_module(found.name)


def is_ours(value: Any) -> bool:
    """Whether soqo defines a class or a function."""
    return str(getattr(value, "__module__", "")).partition(".")[0] == "soqo"


def function_of(member: Any) -> Any:
    """Return the function behind a method, a class method or a property."""
    for attribute in ("__func__", "fget", "func"):  # class or static method, property, cached property
        member = getattr(member, attribute, member)
    return member


def public_objects() -> dict[str, Any]:
    """Map each public class, function and method to its object, under the shortest of its names.

    A method that several classes inherit is listed under the class that defines it, if that class is public.
    """
    found: dict[str, Any] = {}
    for module in public_modules():
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if (inspect.isroutine(value) or inspect.isclass(value)) and is_ours(value):
                found[f"{module.__name__}.{name}"] = value
            if inspect.isclass(value) and is_ours(value):
                for member, method in inspect.getmembers_static(value):
                    function = function_of(method)
                    if not member.startswith("_") and inspect.isroutine(function) and is_ours(function):
                        found[f"{module.__name__}.{name}.{member}"] = function
    by_preference = sorted(
        found, key=lambda name: (not name.endswith(f".{found[name].__qualname__}"), name.count("."), name)
    )
    names: dict[int, str] = {}
    for name in by_preference:
        names.setdefault(id(found[name]), name)
    return {name: found[name] for name in sorted(names.values())}


def has_docstring_of_its_own(value: Any) -> bool:
    return inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value)


def home_of(module: str, name: str) -> str:
    """Follow the imports of a name to the module of soqo, or of another package, that defines it."""
    if not module.startswith("soqo"):
        return module
    for node in ast.parse(inspect.getsource(importlib.import_module(module))).body:
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            return home_of(node.module, name)
    return module


def public_constants() -> dict[str, str]:
    """Map each public constant and type alias of soqo to the module that defines it."""
    homes = {
        f"{module.__name__}.{name}": home_of(module.__name__, name)
        for module in public_modules()
        for name in getattr(module, "__all__", [])
        if not has_docstring_of_its_own(getattr(module, name))
    }
    return {name: home for name, home in homes.items() if home.startswith("soqo") and not name.endswith("__version__")}


OBJECTS = public_objects()
CONSTANTS = public_constants()


def owner_of(name: str) -> type | None:
    """Return the public class to which a method belongs, and None for classes and functions."""
    owner = OBJECTS.get(name.rpartition(".")[0])
    return owner if inspect.isclass(owner) else None


def overrides(owner: type, member: str) -> bool:
    """Whether a method overrides one of another class of soqo that has a docstring."""
    definitions = [vars(parent)[member] for parent in owner.__mro__ if is_ours(parent) and member in vars(parent)]
    return any(function_of(definition).__doc__ for definition in definitions[1:])


def is_result(value: Any) -> bool:
    """Whether a class is a dataclass that soqo hands out: it documents attributes in place of parameters."""
    sections = NumpyDocString(inspect.getdoc(value) or "")
    return dataclasses.is_dataclass(value) and not sections["Parameters"] and bool(sections["Attributes"])


def required_checks(name: str) -> set[str]:
    """Return the checks that apply to a public object."""
    return _checks_by_kind(name) - ({"RT01"} if summary_says_what_is_returned(OBJECTS[name]) else set())


def summary_says_what_is_returned(value: Any) -> bool:
    """Whether a summary starts with "Return": a Returns section would repeat it."""
    return (inspect.getdoc(value) or "").startswith("Return ")


def _checks_by_kind(name: str) -> set[str]:
    value, owner = OBJECTS[name], owner_of(name)
    if owner is not None:
        # The class has the example. The summary of a method without parameters says what the method returns.
        plain = not set(inspect.signature(value).parameters) - {"self", "cls"}
        checks = EVERY_CHECK - EXAMPLES - ({"RT01"} if plain else set())
        # An override says what differs from the method that it overrides, which documents the parameters.
        return checks - {"PR01", "RT01"} if overrides(owner, value.__name__) else checks
    if inspect.isclass(value) and issubclass(value, enum.Enum | BaseException):
        return EVERY_CHECK - PARAMETERS - EXAMPLES  # users do not call these constructors
    if is_result(value):
        return EVERY_CHECK - {"PR01"} - EXAMPLES  # the function that returns it has the example
    return EVERY_CHECK


def problems(name: str) -> list[str]:
    """Return one line for each check that the docstring of a public object fails."""
    value, owner = OBJECTS[name], owner_of(name)
    if owner is not None and not value.__doc__ and overrides(owner, value.__name__):
        return []  # the docstring is inherited
    try:
        errors = validate(name)["errors"]
        required = required_checks(name)
    except (ValueError, UserWarning) as error:  # numpydoc cannot parse a section
        return [f"{name}: {error}"]
    found = [f"{name}: {code} {message}" for code, message in errors if code in required]
    if is_result(value):
        entries = NumpyDocString(inspect.getdoc(value))["Attributes"]
        documented = {each for entry in entries for each in entry.name.split(", ")}
        missing = sorted({field.name for field in dataclasses.fields(value) if field.init} - documented)
        found += [f"{name}: PR01 Attributes {missing} not documented"] if missing else []
    return found


def test_public_docstrings_are_valid() -> None:
    found = [line for name in OBJECTS for line in problems(name)]
    assert not found, "\n".join(found)


def test_a_string_follows_the_assignment_of_every_public_constant() -> None:
    documented = {home: documented_constants(importlib.import_module(home)) for home in set(CONSTANTS.values())}
    missing = [name for name, home in CONSTANTS.items() if name.rpartition(".")[2] not in documented[home]]
    assert not missing


def documented_constants(module: ModuleType) -> set[str]:
    """Return the names whose assignment is followed by a string."""
    body = ast.parse(inspect.getsource(module)).body
    return {
        target.id
        for node, following in itertools.pairwise(body)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
