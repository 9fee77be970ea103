"""A group of commands that answers a wrong name with the right ones."""

from __future__ import annotations

import difflib
from typing import Any

import typer.core

from soqo.errors import ArgumentError


class CommandGroup(typer.core.TyperGroup):
    """A group of commands whose error for an unknown command suggests similar ones and lists all."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name."""
        known = list(self.commands)
        if args and args[0] not in known:
            matches = difflib.get_close_matches(args[0], known, n=3, cutoff=0.7)
            guess = f"; did you mean {' or '.join(matches)}?" if matches else "."
            command = " ".join(["soqo", *ctx.command_path.split()[1:]])
            raise ArgumentError(
                f"there is no command {args[0]!r}{guess} The commands of {command} are {', '.join(known)}"
            )
        return super().resolve_command(ctx, args)
