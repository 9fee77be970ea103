"""Every public name once: the shortest of the names under which an object can be imported."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import soqo


@dataclass(frozen=True)
class PublicName:
    """A name that a public module lists, and the name under which the object is documented."""

    module: str
    name: str
    home: str
    value: Any

    @property
    def kind(self) -> str:
        """The directive of autodoc for the object."""
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        return "function" if inspect.isroutine(self.value) else "data"


def public_modules() -> Iterator[ModuleType]:
    """Import soqo and every module below it that has no underscore in its name."""
    yield soqo
    for found in pkgutil.walk_packages(soqo.__path__, prefix="soqo."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield importlib.import_module(found.name)


def public_names() -> list[PublicName]:
    """Return every name in the `__all__` of a public module, but for modules and the version."""
    found = [
        (module.__name__, name, getattr(module, name))
        for module in public_modules()
        for name in module.__all__
        if not inspect.ismodule(getattr(module, name)) and name != "__version__"
    ]
    homes: dict[object, str] = {}
    for module, name, value in sorted(found, key=lambda entry: (entry[0].count("."), entry[0])):
        homes.setdefault(_identity(name, value), f"{module}.{name}")
    return [PublicName(module, name, homes[_identity(name, value)], value) for module, name, value in found]


def _identity(name: str, value: Any) -> object:
    """Classes and functions are told apart by identity, constants by their name and identity."""
    return (name, id(value))
