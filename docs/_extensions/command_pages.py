"""The reference of the command line, from the application itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from generated_pages import escape, heading, write
from soqo._cli.application import app as application


def setup(app: Any) -> dict[str, bool]:
    """Write the page before the sources are read."""
    app.connect("builder-inited", lambda _: write_page())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_page() -> None:
    """Write a section for each command."""
    parts = [
        heading("The command line"),
        "The command ``soqo`` comes with the extra ``lab``; ``python -m soqo`` is the same. Results go to stdout, "
        "progress and errors to stderr. The exit code is 0, 1 where a check fails, 2 for an error in arguments or "
        "files, and 130 after Ctrl-C. ``soqo --install-completion`` completes commands with Tab.\n",
    ]
    root = get_command(application)
    for path, command in _commands("soqo", root):
        parts.append(_section(path, command))
    write("cli", "\n".join(parts))


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield every command below a group, with the words that call it."""
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            if not hasattr(inner, "commands"):
                yield f"{path} {name}", inner
            yield from _commands(f"{path} {name}", inner)


def _section(path: str, command: Any) -> str:
    """Return the help of a command, a table of its arguments and options, and its example."""
    help_text = inspect.cleandoc(command.help or "").replace("\x08", "")
    parts = [heading(path, "-"), f"{escape(help_text)}\n"]
    rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
    if rows:
        cells = "\n".join(f"   * - {left}\n     - {right}" for left, right in rows)
        parts.append(f".. list-table::\n   :widths: 30 70\n\n{cells}\n")
    example = (command.epilog or "").removeprefix("Example: ")
    if example:
        parts.append(f".. code-block:: console\n\n   $ {example}\n")
    return "\n".join(parts)


def _row(parameter: Any) -> tuple[str, str]:
    """Return the name of an argument or option, and what it means."""
    is_option = parameter.param_type_name == "option"
    name = ", ".join([*parameter.opts, *parameter.secondary_opts]) if is_option else parameter.metavar or parameter.name
    metavar = f" {parameter.metavar}" if is_option and parameter.metavar else ""
    text = escape(parameter.help or "")
    default = parameter.default
    if default is not None and default is not False and not callable(default):
        shown = getattr(default, "value", default)
        text = f"{text} Default: ``{shown}``."
    if parameter.required and is_option:
        text = f"{text} Required."
    return f"``{name}{metavar}``", text or "\\"
