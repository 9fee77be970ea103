"""TOML with line numbers, so that an error can say where in the file it is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from soqo.errors import FileFormatError

__all__ = ["Document", "Way", "parse"]

Way = tuple[str | int, ...]
"""The way to a value: keys of tables and places in arrays, such as ``("policy", 0, "kind")``."""

NAME = r"""(?:[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
KEY = re.compile(rf"{NAME}(?:[ \t]*\.[ \t]*{NAME})*")
BLANK = re.compile(r"(?:\s|#[^\n]*)*")
EQUALS = re.compile(r"[ \t]*=[ \t]*")
END_OF_HEADER = re.compile(r"[ \t]*\]{1,2}")
STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\]|\\.)*"' r"|'[^']*'", re.DOTALL)
SCALAR = re.compile(r"[^,\]}\n#]+")


@dataclass(frozen=True)
class Document:
    """A parsed file: its name, its tree, and the line of every key, table header and element of an array."""

    source: str
    tree: dict[str, Any]
    lines: dict[Way, int]

    def where(self, path: Way) -> str:
        """The file and the line of a key; else of the first thing in it, or of the table around it."""
        for size in range(len(path), 0, -1):
            inside = [line for way, line in self.lines.items() if way[:size] == path[:size]]
            if inside:
                return f"{self.source}, line {min(inside)}"
        return self.source


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
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FileFormatError(f"{source} is no TOML: {error}") from error
    scanner = Scanner(text)
    scanner.scan()
    return Document(source, tree, scanner.lines)


@dataclass
class Scanner:
    """Goes through a text that is known to be TOML, and notes where things begin."""

    text: str
    at: int = 0
    lines: dict[Way, int] = field(default_factory=dict)
    counts: dict[Way, int] = field(default_factory=dict)

    def scan(self) -> None:
        """Headers and entries, to the end."""
        table: Way = ()
        self.skip(BLANK)
        while self.at < len(self.text):
            if self.sees("["):
                new = self.sees("[[")
                begun = self.at
                self.at += 2 if new else 1
                self.skip(BLANK)
                table = resolved(self.keys(), self.counts, new=new)
                self.note(table, begun)
                self.skip(END_OF_HEADER)
            else:
                self.entry(table)
            self.skip(BLANK)

    def entry(self, table: Way) -> None:
        """A key and its value."""
        begun = self.at
        path = (*table, *self.keys())
        self.note(path, begun)
        self.skip(EQUALS)
        self.value(path)

    def value(self, path: Way) -> None:
        """A value, and whatever is inside of it."""
        if self.sees("["):
            for index, _ in enumerate(self.items("]")):
                self.note((*path, index), self.at)
                self.value((*path, index))
        elif self.sees("{"):
            for _ in self.items("}"):
                self.entry(path)
        else:
            self.skip(STRING if self.sees('"') or self.sees("'") else SCALAR)

    def items(self, end: str) -> Iterator[None]:
        """Stop at each item of an array or an inline table, and behind its end."""
        self.at += 1
        self.skip(BLANK)
        while not self.sees(end):
            yield
            self.skip(BLANK)
            self.at += self.sees(",")
            self.skip(BLANK)
        self.at += 1

    def keys(self) -> tuple[str, ...]:
        """The keys of a dotted name; TOML itself knows best what quotes and escapes in it mean."""
        begun = self.at
        self.skip(KEY)
        tree: Any = tomllib.loads(f"{self.text[begun : self.at]} = 0")
        found: list[str] = []
        while isinstance(tree, dict):
            ((key, tree),) = tree.items()
            found.append(key)
        return tuple(found)

    def note(self, path: Way, at: int) -> None:
        self.lines.setdefault(path, self.text.count("\n", 0, at) + 1)

    def sees(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def skip(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()


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
