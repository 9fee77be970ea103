"""Names that users give: what they may consist of, and how figures and tables show them."""

from __future__ import annotations

import re
from typing import Any

from soqo.errors import ArgumentError

MAX_LABEL = 100
"""The largest number of characters of a name; a longer one does not fit into a legend."""


def check_label(name: str, value: Any, *, most: int = MAX_LABEL) -> str:
    """Return a text of one line that a terminal, a figure and a file can show.

    Examples
    --------
    >>> check_label("title", "Price in $")
    'Price in $'
    """
    if not isinstance(value, str) or not value.isprintable():
        raise ArgumentError(f"{name} must be a text of one line without control characters, got {value!r:.200}")
    if len(value) > most:
        raise ArgumentError(f"{name} must have at most {most} characters, got {len(value)}: {value[:40]!r}...")
    return value


def figure_text(text: str) -> str:
    r"""Return a text as Matplotlib shows it literally: a dollar sign does not begin a formula.

    Examples
    --------
    >>> print(figure_text("from $1 to $2"))
    from \$1 to \$2
    """
    return re.sub(r"(?<!\\)\$", r"\\$", text)


def csv_cell(value: Any) -> Any:
    """Return a cell of a CSV file; a text that a spreadsheet would take for a formula begins with an apostrophe.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("SCaLE"), csv_cell(-0.5)
    ("'=1+1", 'SCaLE', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"} else value


def printable(text: str) -> str:
    r"""Return a text for a terminal: control characters, which could move the cursor, as escapes.

    Examples
    --------
    >>> print(printable("red \x1b[31m"))
    red \x1b[31m
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
