"""The ``soqo`` command (extra ``lab``): one module for each group of commands; each command calls public functions."""

from __future__ import annotations


def main() -> None:
    """Run the command."""
    try:
        import rich  # noqa: F401  # only whether it is installed
        import typer  # noqa: F401  # only whether it is installed
    except ImportError as error:
        raise SystemExit(f'the soqo command needs the extra lab: pip install "soqo[lab]" ({error})') from error
    from soqo._cli.application import run

    run()
