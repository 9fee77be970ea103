"""Names that files give to classes: a stable tag and a format version, so that code can move and classes can change.

A class that is written to files is registered under a tag. When its fields change, its version goes up by one, and a
migration says how the fields of the version before become those of the new one. Files of every earlier version then
stay readable, wherever the class is defined and whatever it is called.

>>> from dataclasses import dataclass
>>> @register("example.Point", version=2, migrations={1: compose(rename_fields(a="x"), add_fields(y=0.0))})
... @dataclass(frozen=True)
... class Point:
...     x: float
...     y: float
>>> build("example.Point", 1, {"a": 3.0})
Point(x=3.0, y=0.0)
>>> del _TAGS["example.Point"]
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.field_types import check_field_types
from soqo.errors import ArgumentError, FileFormatError

_Fields = dict[str, Any]
_Migration = Callable[[_Fields], _Fields]
_C = TypeVar("_C", bound=type)


@dataclasses.dataclass(frozen=True)
class _Entry:
    """A registered class, its version, and the migrations from each earlier version to the next."""

    kind: type
    version: int
    migrations: Mapping[int, _Migration]


_TAGS: dict[str, _Entry] = {}
"""The registered classes by tag."""

_TAG_OF: dict[type, str] = {}

_RETIRED: dict[str, Callable[[_Fields], Any]] = {}
"""What becomes of the fields of classes that are no more, by tag."""


def register(tag: str, *, version: int = 1, migrations: Mapping[int, _Migration] | None = None) -> Callable[[_C], _C]:
    """Register a dataclass under the tag that names it in files.

    Parameters
    ----------
    tag : str
        A name that never changes. Tags without a dot are soqo's own; use ``"yours.Name"``.
    version : int
        The version of the fields, from 1; raise it whenever they change.
    migrations : mapping of int to callable, optional
        For each earlier version, a function from a dictionary of its fields to one of the next version's. Version 0
        are the files of soqo 0.1.0, which had no versions.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @register("docs.Slow", version=2, migrations={1: lambda fields: {"rate": 1.0 / fields["period"]}})
    ... @dataclass(frozen=True)
    ... class Slow:
    ...     rate: float                           # version 1 had a period
    """

    def decorate(kind: _C) -> _C:
        if not dataclasses.is_dataclass(kind):
            raise ArgumentError(f"register must decorate a dataclass, got {kind.__name__}")
        if tag in _RETIRED:
            raise ArgumentError(f"tag must be new, got {tag!r}, which is a retired class's")
        known = _TAGS.get(tag)
        if known is not None and known.kind.__qualname__ != kind.__qualname__:
            raise ArgumentError(f"tag must be new, got {tag!r}, which is {known.kind.__qualname__}'s")
        _TAGS[tag] = _Entry(kind, version, dict(migrations or {}))
        _TAG_OF[kind] = tag
        return kind

    return decorate


def retire(*tags: str, convert: Callable[[_Fields], Any] = dict) -> None:
    """Let files still hold classes that are no more; no other class can have their tags.

    Such an object is read as a dictionary of its fields, and a migration of the class that held it decides what becomes
    of them; or it is converted.

    Parameters
    ----------
    tags : str
        The tags of the classes.
    convert : callable
        Returns what takes the place of an object, from its fields.

    Examples
    --------
    >>> retire("docs.Slower")
    >>> build("docs.Slower", 1, {"period": 2.0})
    {'period': 2.0}
    """
    _RETIRED.update(dict.fromkeys(tags, convert))


def tag_of(kind: type) -> tuple[str, int]:
    """Return the tag and version of a class; ``"module:Class"`` and 0 for a class that is not registered.

    Raises
    ------
    ArgumentError
        For a class that is not meant to be in a file: one of soqo's that is not registered, or one that is neither
        registered nor defined beside a policy.
    """
    tag = _TAG_OF.get(kind)
    if tag is not None:
        return tag, _TAGS[tag].version
    if is_own(kind.__module__):
        raise ArgumentError(f"a file cannot hold a {kind.__qualname__}")
    if "<locals>" not in kind.__qualname__ and not _is_record(kind):  # no file can name a class inside of a function
        raise ArgumentError(f"a file cannot hold a {kind.__qualname__}: {_advice(kind)}")
    return f"{kind.__module__}:{kind.__qualname__}", 0


def portability_problem(kind: type) -> str | None:
    """Return why another program could not build a class from a file; None if it can, once it imported its module.

    Examples
    --------
    >>> from soqo import GLIDE
    >>> portability_problem(GLIDE) is None
    True
    """
    name = kind.__qualname__
    if kind.__module__ == "__main__":
        return (
            f"{name} is defined in the script that is run: define it in a module of its own, which both programs import"
        )
    if kind in _TAG_OF:
        return None
    found: Any = sys.modules.get(kind.__module__)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not kind:
        return f"{name} cannot be found in its module {kind.__module__!r}: define it at the top level of that module"
    return None


def build(tag: str, version: int, fields: _Fields) -> Any:
    """Build the object that a file describes, after migrating its fields to the current version."""
    if tag in _RETIRED:
        return _RETIRED[tag](fields)
    entry = _TAGS.get(tag)
    if entry is None:
        return _find_unregistered(tag)(**fields)
    if type(version) is not int or not 0 <= version <= entry.version:
        raise FileFormatError(
            f"{tag!r} has version {version} in the file, and this soqo reads versions up to {entry.version}: "
            "use the soqo that wrote it, or a later one"
        )
    for step in range(version, entry.version):
        migrate = entry.migrations.get(step)
        if migrate is not None:
            fields = migrate(fields)
    if is_own(entry.kind.__module__):
        check_field_types(entry.kind, fields)
    return entry.kind(**fields)


def is_own(module: str) -> bool:
    """Return whether a module is one of soqo's."""
    return module.partition(".")[0] == "soqo"


def _find_unregistered(name: str) -> type:
    """Find a user's own dataclass, which files name by module and class."""
    module, colon, qualified = name.partition(":")
    if not colon or is_own(module):
        raise FileFormatError(f"the file holds a {name!r}, which this soqo does not know")
    found: Any = sys.modules.get(module)
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and dataclasses.is_dataclass(found)):
        advice = f"import the module {module!r} first"
        if module == "__main__":
            advice = "define it in a module of its own, which both programs import, not in the one that is run"
        raise FileFormatError(f"the file holds a {name!r}, which is not a dataclass known here: {advice}")
    if not _is_record(found) or found.__module__ != module:
        raise FileFormatError(f"the file holds a {name!r}, which is not a record: {_advice(found)}")
    return found


def _is_record(kind: type) -> bool:
    """Return whether files may name a class that is not registered.

    It must be a frozen dataclass, and a value of soqo's kinds (a policy, a process) or the neighbor of one in its
    module, such as the memory of a policy. So a file cannot make other libraries build something, such as an object
    that owns a file.
    """
    params: Any = getattr(kind, "__dataclass_params__", None)
    if params is None or not params.frozen:
        return False
    return _extends_soqo(kind) or _has_extension(sys.modules.get(kind.__module__))


def _advice(kind: type) -> str:
    return f'make it a frozen dataclass, and decorate it with soqo.policies.register("yours.{kind.__name__}")'


def _extends_soqo(kind: Any) -> bool:
    """Return whether a class is a policy, a process, or another value of soqo's kinds."""
    return isinstance(kind, type) and issubclass(kind, Value)


def _has_extension(module: Any) -> bool:
    """Return whether a module defines such a class."""
    kinds = [kind for kind in vars(module).values() if _extends_soqo(kind)] if module is not None else []
    return any(kind.__module__ == module.__name__ for kind in kinds)


def compose(*migrations: _Migration) -> _Migration:
    """Return a migration that applies several, one after the other."""

    def migrate(fields: _Fields) -> _Fields:
        for migration in migrations:
            fields = migration(fields)
        return fields

    return migrate


def rename_fields(**names: str) -> _Migration:
    """Return a migration that renames fields: ``rename_fields(old="new")``."""
    return lambda fields: {names.get(name, name): value for name, value in fields.items()}


def add_fields(**values: Any) -> _Migration:
    """Return a migration that adds fields with these values."""
    return lambda fields: {**values, **fields}


def map_field(name: str, function: Callable[[Any], Any]) -> _Migration:
    """Return a migration that replaces the value of a field by a function of it."""
    return lambda fields: {**fields, name: function(fields[name])}
