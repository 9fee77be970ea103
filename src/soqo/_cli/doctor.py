"""The command that says what is installed and whether it works."""

from __future__ import annotations

import typer

from soqo._cli.terminal import print_text
from soqo._doctor.diagnosis import doctor


def add_commands(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("doctor", epilog="Example: soqo doctor", rich_help_panel="Installation")(diagnose)


def diagnose() -> None:
    """Show what is installed and test it in about a second; the exit code is 1 if a test fails.

    Add the output to a bug report: it names versions, and neither paths nor users.
    """
    found = doctor()
    print_text(str(found))
    if not found.healthy:
        raise typer.Exit(1)
