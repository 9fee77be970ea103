"""Create figures, render them as SVG text, and write figures and tables to files."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from soqo._foundation.figure_style import house_style
from soqo._foundation.optional_imports import require_extra
from soqo._foundation.text import csv_cell
from soqo._storage.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """Create an empty figure (extra ``lab``).

    The figure is independent of pyplot, which would keep it in memory until it is closed.

    Parameters
    ----------
    width, height : float
        In inches.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> new_figure(6.0, 4.0).axes
    []
    """
    module = require_extra("matplotlib.figure", "lab")
    figure: Figure = module.Figure(figsize=(width, height), layout="constrained")
    return figure


def render_svg(figure: Figure) -> str:
    """Render a figure as the text of an SVG file.

    The same figure always gives the same text: it contains no date, and its ids are reproducible. Text in the figure
    remains text.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.

    Returns
    -------
    str
        The text.

    See Also
    --------
    save_figure : Write the figure to a file.

    Examples
    --------
    >>> render_svg(new_figure(6.0, 4.0)).rstrip().endswith("</svg>")
    True
    """
    no_metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    return _truncate_coordinates(_render(figure, "svg", no_metadata).decode())


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure to a file atomically.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : str or path-like
        The suffix selects the format, such as ``.svg`` or ``.png``.

    Returns
    -------
    pathlib.Path
        The file.

    See Also
    --------
    render_svg : Get an SVG as text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(new_figure(6.0, 4.0), f"{folder}/empty.png").name
    'empty.png'
    """
    kind = Path(path).suffix.removeprefix(".")
    return write_atomically(path, render_svg(figure) if kind == "svg" else _render(figure, kind))


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file so that it has either its old or its new content, even after a crash.

    Parameters
    ----------
    path : str or path-like
        The folder must exist.
    content : str or bytes
        A text is encoded as UTF-8, with line ends as they are.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/note.txt", "η = 1").read_text(encoding="utf-8")
    'η = 1'
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)


def write_csv(path: str | os.PathLike[str], rows: Iterable[Iterable[object]]) -> Path:
    r"""Write a table to a CSV file atomically.

    Parameters
    ----------
    path : str or path-like
        The file; its folder must exist.
    rows : iterable of iterables
        The header and the rows.

    Returns
    -------
    pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(f"{folder}/table.csv", [["c1", "regret"], [3.0, 0.1]]).read_text(encoding="utf-8")
    'c1,regret\n3.0,0.1\n'
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([csv_cell(cell) for cell in row] for row in rows)
    return write_atomically(path, text.getvalue())


def _render(figure: Figure, kind: str, metadata: dict[str, None] | None = None) -> bytes:
    """Draw a figure once.

    ``savefig`` would draw it two more times to find its layout and its margins. Here the layout is found once for all
    formats, and the margins are those of the layout.
    """
    backends = require_extra("matplotlib.backend_bases", "lab")
    layouts = require_extra("matplotlib.layout_engine", "lab")
    buffer, dpi = io.BytesIO(), figure.dpi
    with house_style():
        if not isinstance(figure.get_layout_engine(), layouts.PlaceHolderLayoutEngine):
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        canvas = backends.get_registered_canvas_class(kind)(figure)
        getattr(canvas, f"print_{kind}")(buffer, metadata=metadata)
    figure.set_dpi(dpi)  # an SVG has its own
    return buffer.getvalue()


def _truncate_coordinates(svg: str) -> str:
    """Truncate the coordinates of paths to two digits, which makes the file a third smaller.

    Examples
    --------
    >>> _truncate_coordinates('<path d="M 10.123456 2.5 L 3.999 4"/> 1.2345')
    '<path d="M 10.12 2.5 L 3.99 4"/> 1.2345'
    """
    digits = re.compile(r"(\.\d\d)\d+")
    return re.sub(r'\sd="[^"]*"', lambda match: digits.sub(r"\1", match[0]), svg)
