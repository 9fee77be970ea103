"""The examples as notebooks: the same statements, cut into cells."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def examples() -> list[Path]:
    """Return the examples in order."""
    return sorted(EXAMPLES.glob("*.py"))


def to_notebook(source: str) -> Any:
    """Return an example as a notebook: what it teaches as text, then its paragraphs as cells.

    A notebook runs in an event loop already, so ``asyncio.run`` becomes ``await``.
    """
    lesson = ast.get_docstring(ast.parse(source)) or ""
    program = source.split('"""', 2)[2].lstrip("\n")
    notebook = jupytext.reads(re.sub(r"\basyncio\.run\(", "await (", program), fmt="py:light")
    teaches, _, rest = lesson.removeprefix("Teaches: ").partition("\n\n")
    title = teaches.replace("\n", " ")
    text = f"# {title[0].upper()}{title[1:].rstrip('.')}\n\n{rest}"
    cell = nbformat.v4.new_markdown_cell(text.rstrip())  # type: ignore[no-untyped-call]  # nbformat has no type hints
    notebook.cells.insert(0, cell)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index}"  # not a random one: the same example gives the same file
        cell.metadata = {}
    return notebook


@contextmanager
def running_kernel(folder: str) -> Iterator[Any]:
    """Start one kernel for several notebooks, which takes a second each otherwise."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=folder, stderr=subprocess.DEVNULL)
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    try:
        yield manager
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def execute(notebook: Any, manager: Any) -> str:
    """Execute a notebook in a kernel, keep its outputs, and return what it prints; an error in a cell is raised."""
    client = NotebookClient(notebook, km=manager, timeout=120)
    client.kc = manager.client()
    client.kc.start_channels()
    client.kc.execute("%reset -f", silent=True)
    try:
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
    finally:
        client.kc.stop_channels()
        client.kc = None
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return "".join(output.get("text", "") for output in outputs)
