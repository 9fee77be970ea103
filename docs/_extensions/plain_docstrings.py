"""Docstrings are plain text with mathematical signs: norms |x| and products must not be read as markup."""

from __future__ import annotations

import re
from typing import Any

_LITERAL = re.compile(r"``.*?``|`[^`]*`|:\w+:`[^`]*`")
_SIGNS = re.compile(r"\||(?<![*\w])\*(?=\w)|(?<=\w)\*(?![*\w])|(?<=\w)_(?=[\s,.;:)]|$)")


def setup(app: Any) -> dict[str, bool]:
    """Escape the signs before numpydoc reads the sections of a docstring."""
    app.connect("autodoc-process-docstring", _escape, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


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
