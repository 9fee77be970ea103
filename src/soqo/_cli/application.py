"""The command itself: its options, its commands, and what it does about errors."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from soqo._cli import doctor, experiments, plants, service, simulated_plants
from soqo._cli.command_group import CommandGroup
from soqo._cli.terminal import print_error, print_text
from soqo._version import __version__
from soqo.errors import InterruptedRunError, SoqoError

_EXIT_INTERRUPTED = 130
"""The exit code of a command that Ctrl-C interrupted, by the convention of shells."""

app = typer.Typer(
    cls=CommandGroup,
    pretty_exceptions_enable=False,
    help=(
        "Smoothed online quadratic optimization: look at journals and logs of a plant, and reproduce the experiments "
        "of the SCaLE paper or run your own."
    ),
    epilog="Example: soqo replay log.csv --policy GLIDE. To complete commands with Tab: soqo --install-completion",
)
plants.add_commands(app)
simulated_plants.add_commands(app)
service.add_commands(app)
experiments.add_commands(app)
doctor.add_commands(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print_text(f"soqo {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Accept the options of the command itself."""


def run() -> None:
    """Run the command; an error in arguments or files is printed as one line."""
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="soqo", standalone_mode=False)
    except (InterruptedRunError, KeyboardInterrupt, typer.Abort) as error:
        print_error(str(error) or "interrupted")
        sys.exit(_EXIT_INTERRUPTED)
    except SoqoError as error:
        print_error(str(error))
        sys.exit(2)
    except OSError as error:
        named = error.filename is not None and error.strerror is not None
        print_error(f"{error.filename}: {error.strerror}" if named else str(error))
        sys.exit(2)
    except MemoryError:
        print_error("out of memory: fewer or shorter runs need less")
        sys.exit(2)
    except Exception as error:
        # Typer's own errors have no common base class that all its versions export.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        print_error(message())
        sys.exit(2)
    if code == _EXIT_INTERRUPTED:
        print_error("interrupted")
    sys.exit(code if isinstance(code, int) else 0)
