"""TOML with line numbers, so that error messages can name the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from soqo.errors import ArgumentError, FileFormatError

_Made = TypeVar("_Made")

KeyPath = tuple[str | int, ...]
"""The keys and array indices that lead to a value, such as ``("policy", 0, "kind")``."""

_NAME = r"""(?:[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = re.compile(rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*")
_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_END_OF_HEADER = re.compile(r"[ \t]*\]{1,2}")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\]|\\.)*"' r"|'[^']*'", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}\n#]+")


@dataclass(frozen=True)
class Document:
    """A parsed file, as returned by :func:`parse_toml`.

    Attributes
    ----------
    source : str
        The name of the file in error messages.
    tree : dict
        The contents.
    lines : dict of KeyPath to int
        The line of every key, table header and array element.
    """

    source: str
    tree: dict[str, Any]
    lines: dict[KeyPath, int]

    def locate(self, path: KeyPath) -> str:
        """Return the file and the line of a key, of its first content, or of the table that encloses it.

        Parameters
        ----------
        path : KeyPath
            The path of the key.
        """
        for size in range(len(path), 0, -1):
            inside = [line for known, line in self.lines.items() if known[:size] == path[:size]]
            if inside:
                return f"{self.source}, line {min(inside)}"
        return self.source


@dataclass(frozen=True)
class Node:
    """A value of a file with its place, which errors name; a merged table has values from two places."""

    document: Document
    path: KeyPath
    value: Any
    merged: Mapping[str, Node] | None = None

    @property
    def name(self) -> str:
        """The last key on the path."""
        return next((key for key in reversed(self.path) if isinstance(key, str)), "")

    def fail(self, message: str) -> NoReturn:
        raise FileFormatError(f"{self.document.locate(self.path)}: {message}")

    def attempt(self, make: Callable[[], _Made]) -> _Made:
        """Call a function, and turn an argument error into one that names the line."""
        try:
            return make()
        except ArgumentError as error:
            self.fail(str(error))

    def child(self, key: str, default: Any = None) -> Node:
        """Return the value of a key of a table, or a default in its place."""
        return self.table().get(key, Node(self.document, (*self.path, key), default))

    def table(self) -> Mapping[str, Node]:
        if self.merged is not None:
            return self.merged
        if not isinstance(self.value, dict):
            self.fail(f"{self.name} must be a table, got {self.value!r}")
        return {key: Node(self.document, (*self.path, key), value) for key, value in self.value.items()}

    def items(self) -> list[Node]:
        if not isinstance(self.value, list):
            self.fail(f"{self.name} must be a list, got {self.value!r}")
        return [Node(self.document, (*self.path, index), value) for index, value in enumerate(self.value)]


def parse_toml(text: str, source: str) -> Document:
    r"""Parse a TOML text.

    Parameters
    ----------
    text : str
        The text.
    source : str
        Its name in error messages.

    Returns
    -------
    Document
        The contents and the line of every key.

    Raises
    ------
    FileFormatError
        If the text is not valid TOML.

    Examples
    --------
    >>> document = parse_toml('runs = 3\n[[policy]]\nkind = "FTM"', "mine.toml")
    >>> document.locate(("policy", 0, "kind"))
    'mine.toml, line 3'
    """
    try:
        tree = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits is a ValueError
        raise FileFormatError(f"{source} is not valid TOML: {error}") from error
    return Document(source, tree, _Scanner(text).scan())


@dataclass
class _Scanner:
    """A scanner of valid TOML that records the line on which each key and array element starts."""

    text: str
    at: int = 0
    lines: dict[KeyPath, int] = field(default_factory=dict)
    counts: dict[KeyPath, int] = field(default_factory=dict)

    def scan(self) -> dict[KeyPath, int]:
        """Scan headers and entries up to the end of the text; return the lines."""
        table: KeyPath = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.at_mark("["):
                new = self.at_mark("[[")
                start = self.at
                self.at += 2 if new else 1
                self.skip(_BLANK)
                table = _table_path(self.keys(), self.counts, new=new)
                self.record(table, start)
                self.skip(_END_OF_HEADER)
            else:
                self.entry(table)
            self.skip(_BLANK)
        return self.lines

    def entry(self, table: KeyPath) -> None:
        """Scan a key and its value."""
        start = self.at
        path = (*table, *self.keys())
        self.record(path, start)
        self.skip(_EQUALS)
        self.value(path)

    def value(self, path: KeyPath) -> None:
        """Scan a value and its contents."""
        if self.at_mark("["):
            for index, _ in enumerate(self.items("]")):
                self.record((*path, index), self.at)
                self.value((*path, index))
        elif self.at_mark("{"):
            for _ in self.items("}"):
                self.entry(path)
        else:
            self.skip(_STRING if self.at_mark('"') or self.at_mark("'") else _SCALAR)

    def items(self, end: str) -> Iterator[None]:
        """Yield at the start of each item of an array or inline table, and move past its end."""
        self.at += 1
        self.skip(_BLANK)
        while not self.at_mark(end):
            yield
            self.skip(_BLANK)
            self.at += self.at_mark(",")
            self.skip(_BLANK)
        self.at += 1

    def keys(self) -> tuple[str, ...]:
        """Scan a dotted name and return its keys; tomllib resolves quotes and escapes."""
        start = self.at
        self.skip(_KEY)
        tree: Any = tomllib.loads(f"{self.text[start : self.at]} = 0")
        found: list[str] = []
        while isinstance(tree, dict):
            ((key, tree),) = tree.items()
            found.append(key)
        return tuple(found)

    def record(self, path: KeyPath, at: int) -> None:
        self.lines.setdefault(path, self.text.count("\n", 0, at) + 1)

    def at_mark(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def skip(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()


def _table_path(keys: tuple[str, ...], counts: dict[KeyPath, int], *, new: bool) -> KeyPath:
    """Return the path to a table, in which the name of an array of tables is followed by its last index."""
    path: KeyPath = ()
    for depth, key in enumerate(keys):
        path = (*path, key)
        if new and depth == len(keys) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
