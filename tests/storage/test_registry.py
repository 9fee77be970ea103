"""Registered classes are built from files of any earlier version; other classes of soqo are refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import soqo
import soqo.plants
from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.journal import Journal
from soqo._storage.plain_data import pack, unpack
from soqo._storage.registry import (
    add_fields,
    build,
    compose,
    map_field,
    register,
    rename_fields,
    retire,
    tag_of,
)
from soqo.errors import ArgumentError, FileFormatError

SOURCE = Path(soqo.__file__).parent


def tags_in_source() -> Iterator[str]:
    """Yield the tag of every class in the source that is decorated with ``register``."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for call in node.decorator_list if isinstance(node, ast.ClassDef) else ():
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "register":
                    yield ast.literal_eval(call.args[0])


def is_registered(tag: str) -> bool:
    """Return whether there is a class of this tag, which then has no version that high."""
    with pytest.raises(FileFormatError) as caught:
        build(tag, 10**6, {})
    return f"{tag!r} has version 1000000 in the file" in str(caught.value)


def make_point(tag: str, **options: Any) -> Any:
    """Return a new dataclass, registered under this tag."""

    @register(tag, **options)
    @dataclass(frozen=True)
    class Registered:
        x: Any
        y: float = 0.0

    return Registered


@dataclass(frozen=True)
class Point(Value):
    """A dataclass of a user."""

    x: float
    y: float = 0.0


class Outer:
    """A class with a dataclass inside."""

    @dataclass(frozen=True)
    class Inner:
        """A dataclass of a user inside of another class."""

        x: float


# ---- registration ----------------------------------------------------------------------------------------------------


def test_a_class_is_written_with_its_tag_and_version() -> None:
    kind = make_point("tests.written", version=3)
    assert tag_of(kind) == ("tests.written", 3)
    tree, arrays = pack(kind(1.0, 2.0))
    assert tree == {"tag": "tests.written", "version": 3, "fields": {"x": 1.0, "y": 2.0}}
    assert unpack(tree, arrays) == kind(1.0, 2.0)


def test_a_tag_belongs_to_one_class() -> None:
    kind = make_point("tests.unique")
    with pytest.raises(ArgumentError, match=r"tag must be new, got 'tests.unique', which is .*Registered's"):
        register("tests.unique")(Point)
    assert build("tests.unique", 1, {"x": 1.0}) == kind(1.0)
    assert tag_of(Point) == (f"{__name__}:Point", 0)


def test_a_class_that_is_defined_again_replaces_the_old_one() -> None:
    old, new = make_point("tests.again"), make_point("tests.again", version=2)
    assert type(build("tests.again", 2, {"x": 1.0})) is new is not old


def test_only_a_dataclass_can_be_registered() -> None:
    with pytest.raises(ArgumentError, match="register must decorate a dataclass, got Outer"):
        register("tests.Outer")(Outer)


def test_the_tags_of_soqo_are_unique_and_a_user_cannot_take_them() -> None:
    tags = list(tags_in_source())
    assert len(tags) == len(set(tags)) > 20
    for tag in tags:
        assert is_registered(tag)
        with pytest.raises(ArgumentError, match=f"tag must be new, got '{tag}'"):
            register(tag)(Point)


@pytest.mark.parametrize("tag", ["tests.gone", "GLIDE.belief", "GLIDE.many_dimensions"])
def test_a_user_cannot_take_the_tag_of_a_class_that_is_gone(tag: str) -> None:
    if tag.startswith("tests"):
        retire(tag)
        assert build(tag, 1, {"x": 1.0}) == {"x": 1.0}
    with pytest.raises(ArgumentError, match=f"tag must be new, got '{tag}', which is a retired class's"):
        register(tag)(Point)
    assert tag_of(Point) == (f"{__name__}:Point", 0)


# ---- migrations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("migration", "expected"),
    [
        (rename_fields(a="x"), {"x": 1, "b": 2}),
        (rename_fields(a="b", b="a"), {"b": 1, "a": 2}),
        (add_fields(c=3), {"a": 1, "b": 2, "c": 3}),
        (add_fields(a=7), {"a": 1, "b": 2}),
        (map_field("b", str), {"a": 1, "b": "2"}),
        (compose(), {"a": 1, "b": 2}),
        (compose(rename_fields(a="x"), add_fields(y=0), map_field("x", float)), {"x": 1.0, "b": 2, "y": 0}),
    ],
    ids=["rename", "swap", "add", "add keeps a field", "map", "compose nothing", "compose three"],
)
def test_a_migration_changes_the_fields_and_leaves_its_argument(migration: Any, expected: dict[str, Any]) -> None:
    fields = {"a": 1, "b": 2}
    assert migration(fields) == expected
    assert fields == {"a": 1, "b": 2}


def test_fields_pass_through_the_migration_of_every_version_since() -> None:
    def mark(version: int) -> Any:
        return map_field("x", lambda x: [*x, version])

    make_point("tests.steps", version=4, migrations={0: mark(0), 1: mark(1), 3: mark(3)})
    for version, expected in ((0, [0, 1, 3]), (1, [1, 3]), (2, [3]), (3, [3]), (4, [])):
        assert build("tests.steps", version, {"x": []}).x == expected


@pytest.mark.parametrize("version", [3, 99, -1])
def test_a_version_that_is_not_known_yet_is_refused_with_advice(version: int) -> None:
    make_point("tests.newer", version=2)
    with pytest.raises(
        FileFormatError,
        match=rf"'tests.newer' has version {version} in the file, and this soqo reads versions up to 2: "
        "use the soqo that wrote it, or a later one",
    ):
        build("tests.newer", version, {"x": 1.0})


# ---- classes that are not registered ---------------------------------------------------------------------------------


def test_a_dataclass_of_a_user_is_named_by_module_and_class() -> None:
    for value, name in ((Point(1.0, 2.0), "Point"), (Outer.Inner(3.0), "Outer.Inner")):
        tree, arrays = pack(value)
        assert tree["tag"] == f"{__name__}:{name}"
        assert unpack(tree, arrays) == value


def test_a_class_of_soqo_that_is_not_registered_can_neither_be_written_nor_built() -> None:
    with pytest.raises(ArgumentError, match="a file cannot hold a Journal"):
        tag_of(Journal)
    for name in ("soqo._storage.journal:Journal", "soqo:Log", "soqo.policies._ftm:FTM", "soqo._control.log:Log"):
        with pytest.raises(FileFormatError, match=f"the file holds a '{name}', which this soqo does not know"):
            build(name, 0, {})


def test_a_class_that_is_not_imported_is_refused_with_advice() -> None:
    with pytest.raises(FileFormatError, match="not a dataclass known here: import the module 'absent' first"):
        build("absent:Thing", 0, {})
    with pytest.raises(FileFormatError, match="define it in a module of its own, which both programs import"):
        build("__main__:Absent", 0, {})
    with pytest.raises(FileFormatError, match=r"a 'Absent', which this soqo does not know"):
        build("Absent", 0, {})
