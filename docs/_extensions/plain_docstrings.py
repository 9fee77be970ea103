"""Docstrings are plain text with mathematical signs, and signatures have short names of types.

Norms |x| and products must not be read as markup.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.util.inspect import TypeAliasForwardRef

_LITERAL = re.compile(r"``.*?``|`[^`]*`|:\w+:`[^`]*`")
_SIGNS = re.compile(r"\||(?<![*\w])\*(?=\w)|(?<=\w)\*(?![*\w])|(?<=\w)_(?=[\s,.;:)]|$)")


def setup(app: Any) -> dict[str, bool]:
    """Escape the signs before numpydoc reads the sections of a docstring."""
    app.connect("autodoc-process-docstring", _escape, priority=100)
    # A type alias inside of a union is shown by the representation of Sphinx's placeholder for it: show its name.
    setattr(TypeAliasForwardRef, "__repr__", lambda alias: alias.name.rpartition(".")[2])  # noqa: B010  # for mypy
    app.connect("autodoc-process-bases", _drop_private_bases)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _drop_private_bases(*arguments: Any) -> None:
    """Leave out base classes that a reader cannot use."""
    bases: list[type] = arguments[-1]
    bases[:] = [base for base in bases if getattr(base, "__name__", "") not in ("object", "Value", "ABC", "Generic")]


def _escape(*arguments: Any) -> None:
    lines: list[str] = arguments[-1]
    block = False  # inside of an example or of an indented block after "::"
    for index, line in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith(">>>"):
            block = True
        elif not stripped or (block and not line.startswith(" ") and lines[index - 1].strip() == ""):
            block = False
        if not block and not stripped.startswith(("..", "---")):
            lines[index] = escape_text(line)


def escape_text(line: str) -> str:
    """Escape signs outside of literals."""
    end, parts = 0, []
    for literal in _LITERAL.finditer(line):
        parts += [_SIGNS.sub(r"\\\g<0>", line[end : literal.start()]), literal[0]]
        end = literal.end()
    return "".join([*parts, _SIGNS.sub(r"\\\g<0>", line[end:])])
