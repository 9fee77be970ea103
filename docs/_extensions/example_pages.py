"""A page for each example: its text, its code and what it prints, and the notebook to download."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat

from generated_pages import FOLDER, code, heading, write
from notebooks import examples, execute, running_kernel, to_notebook


def setup(app: Any) -> dict[str, bool]:
    """Execute the notebooks and write the pages before the sources are read.

    A kernel is a process of its own, which computes while this one draws the gallery.
    """
    pool = ThreadPoolExecutor(max_workers=1)
    work: list[Future[None]] = []
    app.connect("builder-inited", lambda _: work.append(pool.submit(write_pages)), priority=100)
    app.connect("builder-inited", lambda _: work.pop().result(), priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages() -> None:
    """Execute the notebooks that are older than their examples, and write a page for each."""
    folder = FOLDER / "examples"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    old = [path for path in examples() if not _is_current(path, folder / f"{path.stem}.ipynb")]
    if old:
        with tempfile.TemporaryDirectory() as place, running_kernel(place) as kernel:
            for path in old:
                notebook = to_notebook(path.read_text(encoding="utf-8"))
                execute(notebook, kernel)
                nbformat.write(notebook, folder / f"{path.stem}.ipynb")  # type: ignore[no-untyped-call]  # nbformat has no type hints
    titles = [_write_page(path, folder / f"{path.stem}.ipynb") for path in examples()]
    entries = "\n".join(f"   {path.stem}" for path in examples())
    write(
        "examples/index",
        f"{heading('Examples')}\nEach example teaches one thing, and is a program in ``examples/`` and a notebook to "
        f"download from its page.\n\n.. toctree::\n   :maxdepth: 1\n\n{entries}\n",
    )
    assert len(set(titles)) == len(titles), "two examples teach the same"


def _is_current(example: Path, notebook: Path) -> bool:
    """Whether a notebook was made after the example and this program changed."""
    if not notebook.exists():
        return False
    sources = [example, *Path(__file__).parent.glob("*.py")]
    return all(path.stat().st_mtime < notebook.stat().st_mtime for path in sources)


def _write_page(example: Path, notebook: Path) -> str:
    """Write the page of an example, and return its title."""
    text, *cells = nbformat.read(notebook, as_version=4).cells  # type: ignore[no-untyped-call]  # nbformat has no type hints
    title, _, rest = text.source.partition("\n\n")
    number = example.stem[:2]
    name = f"{number}. {title.removeprefix('# ')}"
    parts = [
        heading(name),
        f"{rest}\n",
        f":download:`Notebook <{example.stem}.ipynb>`, or ``python examples/{example.name}``.\n",
    ]
    for cell in cells:
        if cell.cell_type == "code":
            parts.append(code(cell.source, "python"))
            printed = "".join(output.get("text", "") for output in cell.outputs)
            if printed.strip():
                parts.append(code(printed, "text"))
        else:
            parts.append(f"{cell.source}\n")
    write(f"examples/{example.stem}", "\n".join(parts))
    return name
