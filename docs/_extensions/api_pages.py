"""The reference of public names: a page for each public module, and one for each name of `soqo` itself."""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import Any

from sphinx.pycode import ModuleAnalyzer

import soqo
from generated_pages import heading, write
from plain_docstrings import escape_text
from public_names import PublicName, public_modules, public_names
from soqo.plants import Plant

_FAMILIES = (BaseException, soqo.Policy, soqo.processes.Process, soqo.noise.Noise, soqo.meters.Meter, Plant)
"""Classes whose subclasses say so: a reader can use what they inherit."""


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before the sources are read."""
    app.connect("builder-inited", lambda _: write_pages())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages() -> None:
    """Write a page for each public module."""
    by_module: dict[str, list[PublicName]] = {}
    for entry in public_names():
        by_module.setdefault(entry.module, []).append(entry)
    for module in public_modules():
        entries = by_module.get(module.__name__, [])
        write(f"api/{module.__name__}", _module_page(module.__name__, entries))
    for entry in by_module["soqo"]:
        write(f"api/{entry.home}", f"{heading(entry.home)}\n{_entry(entry)}")


def _module_page(module: str, entries: list[PublicName]) -> str:
    """Return an overview of a module, and the documentation of what is not documented elsewhere."""
    own = [entry for entry in entries if entry.home == f"{module}.{entry.name}"]
    other = [entry for entry in entries if entry not in own]
    parts = [heading(module), f".. automodule:: {module}\n   :no-members:\n"]
    if own:
        rows = "\n".join(f"   * - :py:obj:`{entry.name} <{entry.home}>`\n     - {_summary(entry)}" for entry in own)
        parts.append(f".. list-table::\n   :widths: 30 70\n\n{rows}\n")
    if other:
        links = ", ".join(f":py:obj:`{entry.name} <{entry.home}>`" for entry in other)
        parts.append(f"Also here, and documented under the shorter name: {links}.\n")
    if module == "soqo":
        pages = "\n".join(f"   {entry.home}" for entry in own)
        parts.append(f".. toctree::\n   :hidden:\n\n{pages}\n")
    else:
        parts += [f"{heading(entry.name, '-')}\n{_entry(entry)}" for entry in own]
    return "\n".join(parts)


def _summary(entry: PublicName) -> str:
    """Return the first sentence of the documentation of an object."""
    text = _constant_text(entry) if entry.kind == "data" else inspect.getdoc(entry.value) or ""
    return _plain(text.partition("\n\n")[0].replace("\n", " ")) or ".."


def _entry(entry: PublicName) -> str:
    """Return the directive that documents an object."""
    if entry.kind == "data":
        text = "\n".join(f"   {_plain(line)}".rstrip() for line in _constant_text(entry).split("\n"))
        return f".. py:data:: {entry.home}\n\n{text}\n"
    options = "   :members:\n" if inspect.isclass(entry.value) else ""
    if inspect.isclass(entry.value) and issubclass(entry.value, _FAMILIES):
        options += "   :show-inheritance:\n"
    return f".. auto{entry.kind}:: {entry.home}\n{options}"


def _plain(text: str) -> str:
    """Return text in which mathematical signs are no markup."""
    return escape_text(text)


def _constant_text(entry: PublicName) -> str:
    """Return the string that follows the assignment of a constant, in the module that defines it."""
    module, name = entry.home.rpartition(".")[0], entry.name
    while True:
        texts = ModuleAnalyzer.for_module(module).find_attr_docs()
        if ("", name) in texts:
            return "\n".join(texts["", name]).strip()
        module = _imported_from(module, name)


def _imported_from(module: str, name: str) -> str:
    """Return the module from which another one imports a name."""
    for node in ast.parse(inspect.getsource(importlib.import_module(module))).body:
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            return node.module
    raise LookupError(f"{name} is neither documented in {module} nor imported there")
