"""The names that the glossary gives for its words exist, and the tables are in alphabetical order."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

GLOSSARY = Path(__file__).parent.parent / "docs" / "reference" / "glossary.md"
TABLES = [
    [line for line in table.splitlines()[2:] if line.startswith("|")]
    for table in re.findall(r"(?:^\|.*\n)+", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
]


def find(name: str) -> Any:
    """Return the object of a dotted name; for a field of a dataclass, the field."""
    parts = name.split(".")
    value: Any = importlib.import_module(parts[0])
    for part in parts[1:]:
        if inspect.ismodule(value) and not hasattr(value, part):
            value = importlib.import_module(f"{value.__name__}.{part}")
        else:
            value = getattr(value, part)
    return value


def parts_of(value: Any) -> set[str]:
    """Return the parameters of a function or a class, and the fields of a class."""
    fields = {field.name for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
    return fields | set(inspect.signature(value).parameters)


def test_names_in_the_glossary_exist() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    for name in re.findall(r"`(soqo[\w.]*)`", text):
        find(name)
    for part, owner in re.findall(r"`(\w+)` of `(soqo[\w.]*)`", text):
        assert part in parts_of(find(owner)), f"{owner} has no {part}"


def test_tables_of_the_glossary_are_in_alphabetical_order() -> None:
    assert len(TABLES) == 3
    for table in TABLES:
        words = [row.split("|")[1].strip().lower() for row in table]
        assert words == sorted(words)
