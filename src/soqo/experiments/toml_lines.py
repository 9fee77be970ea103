"""TOML with line numbers, so that an error can say where in the file it is."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from soqo.errors import FileFormatError

__all__ = ["Document", "parse"]

Way = tuple[str | int, ...]
"""The way to a value: keys of tables and places in arrays of tables, such as ``("policy", 0, "kind")``."""

HEADER = re.compile(r"^\s*(\[{1,2})\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?$")
ENTRY = re.compile(
    r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
)
PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


@dataclass(frozen=True)
class Document:
    """A parsed file: its name, its tree, and the line of every key and table header."""

    source: str
    tree: dict[str, Any]
    lines: dict[Way, int]

    def where(self, path: Way) -> str:
        """The file and line of a key; of the table around it if the key has no line of its own."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.source}, line {self.lines[path]}" if path else self.source


def parse(text: str, source: str) -> Document:
    """Parse a TOML text.

    Examples
    --------
    >>> document = parse('runs = 3\\n[[policy]]\\nkind = "FTM"', "mine.toml")
    >>> document.where(("policy", 0, "kind"))
    'mine.toml, line 3'
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{source} is no TOML: {error}") from error
    lines: dict[Way, int] = {}
    table: Way = ()
    counts: dict[Way, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            table = resolved(keys_in(header[2]), counts, new=header[1] == "[[")
            lines.setdefault(table, number)
        elif entry := ENTRY.match(line):
            lines.setdefault((*table, *keys_in(entry[1])), number)
    return Document(source, tree, lines)


def keys_in(dotted: str) -> tuple[str, ...]:
    """The keys of a dotted name, without quotes."""
    return tuple(part.strip("\"'") for part in PART.findall(dotted))


def resolved(keys: tuple[str, ...], counts: dict[Way, int], *, new: bool) -> Way:
    """The way to a table: names of arrays of tables are followed by the place of their last element."""
    path: Way = ()
    for depth, key in enumerate(keys):
        path = (*path, key)
        if new and depth == len(keys) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
