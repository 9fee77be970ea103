"""Formulas as MathML, which browsers draw themselves, without a script and without a network.

A browser needs a font with a table of mathematical dimensions, and few computers have one. The site brings STIX Two
Math (SIL Open Font License), which the package ziamath contains.
"""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, bool]:
    """Add the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("build-finished", _copy_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def _copy_font(app: Any, error: Exception | None) -> None:
    """Put the font beside the style sheet that names it."""
    if error is None:
        with as_file(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf") as font:
            shutil.copyfile(font, Path(app.outdir) / "_static" / font.name)
