"""What all generated pages share: a folder that git ignores, headings, and files that change only with their text."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "generated"


def heading(text: str, sign: str = "=") -> str:
    """Return a heading of reStructuredText."""
    return f"{text}\n{sign * len(text)}\n"


def write(name: str, text: str) -> None:
    """Write a page below docs/generated, unless it is the same already."""
    path = FOLDER / f"{name}.rst"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def code(text: str, language: str) -> str:
    """Return a block of code."""
    lines = "\n".join(f"   {line}".rstrip() for line in text.rstrip("\n").split("\n"))
    return f".. code-block:: {language}\n\n{lines}\n"


def escape(text: str) -> str:
    """Return text without markup."""
    for sign in "\\`*|":
        text = text.replace(sign, f"\\{sign}")
    return text
