"""The gallery: each program of docs/gallery is run, and its picture is drawn in a light and in a dark theme."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from generated_pages import FOLDER, code, heading, write

SCRIPTS = Path(__file__).parent.parent / "gallery"
ORDER = ("plant", "log", "wind_farm", "data_center", "regret", "change", "shadow", "gains", "recovery", "probes")
"""The order on the page: plants first, then policies and estimates."""

COLORS = {
    "light": ("#D55E00", "#7A1FA2", "#0072B2", "#009E73", "#E69F00"),
    "dark": ("#ff8a4c", "#c89bf2", "#56B4E9", "#2fcf9f", "#E69F00"),
}


def setup(app: Any) -> dict[str, bool]:
    """Draw the pictures and write the page before the sources are read."""
    app.connect("builder-inited", lambda _: write_page())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def scripts() -> list[Path]:
    """Return the programs in the order of the page."""
    found = {path.stem: path for path in SCRIPTS.glob("*.py")}
    return [found.pop(name) for name in ORDER] + sorted(found.values())


def draw(script: Path, folder: Path, themes: Sequence[Literal["light", "dark"]] = ("light", "dark")) -> list[Path]:
    """Run a program, draw its picture in each theme, and return the files.

    A program first computes and then draws: from the line that begins with ``figure`` or ``theme`` on, it is run for
    each theme.
    """
    from matplotlib import pyplot as plt
    from matplotlib.rcsetup import cycler

    from soqo._foundation.figure_style import find_theme, theme_context

    source = script.read_text(encoding="utf-8")
    start = re.search(r"^(figure|theme)\b", source, flags=re.MULTILINE)
    assert start is not None, f"{script.name} draws no figure"
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source[: start.start()], script.name, "exec"), names)  # our own program
    files = []
    for theme in themes:
        drawing = source[start.start() :].replace('theme = "light"', f'theme = "{theme}"')
        with theme_context(find_theme(theme)):
            plt.rcParams["axes.prop_cycle"] = cycler(color=COLORS[theme])
            exec(compile(drawing, script.name, "exec"), names)  # our own program
            path = folder / f"{script.stem}-{theme}.svg"
            names["figure"].savefig(path)
        plt.close("all")
        files.append(path)
    return files


def write_page() -> None:
    """Draw all pictures that are older than their programs, and write the page."""
    os.environ.setdefault("MPLBACKEND", "agg")
    folder = FOLDER / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        heading("Gallery"),
        'Each picture with the program that draws it. With ``pip install ".[lab]"``, a program runs as it is from the '
        'root of the repository; add ``plt.show()``, or ``figure.savefig("picture.svg")``.\n',
    ]
    for script in scripts():
        files = [folder / f"{script.stem}-{theme}.svg" for theme in ("light", "dark")]
        newest = max(script.stat().st_mtime, *(path.stat().st_mtime for path in Path(__file__).parent.glob("*.py")))
        if not all(path.exists() and path.stat().st_mtime > newest for path in files):
            draw(script, folder)
        parts.append(_section(script))
    write("gallery/index", "\n".join(parts))


def _section(script: Path) -> str:
    """Return the picture and the program."""
    source = script.read_text(encoding="utf-8")
    text = (ast.get_docstring(ast.parse(source)) or "").strip()
    body = source.split('"""', 2)[2].lstrip("\n")
    pictures = "\n".join(
        f".. image:: {script.stem}-{theme}.svg\n   :class: only-{theme}\n   :alt: {text}\n"
        for theme in ("light", "dark")
    )
    title = script.stem.replace("_", " ").capitalize()
    return f"{heading(title, '-')}\n{text}\n\n{pictures}\n{code(body, 'python')}"
