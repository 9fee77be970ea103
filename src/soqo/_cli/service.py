"""Commands of the service: serve plants over the network, and manage tokens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from soqo import service
from soqo._cli.command_group import CommandGroup
from soqo._cli.terminal import format_table, print_text

_PANEL = "Service"
_Store = Annotated[
    str,
    typer.Option(
        envvar="SOQO_STORE",
        metavar="FILE|URL",
        help="An SQLite file, which is created if it is not there, or postgresql://user@host/database.",
        show_envvar=True,
    ),
]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("serve", epilog="Example: soqo serve --demo, then open http://127.0.0.1:8000", rich_help_panel=_PANEL)(
        serve
    )
    group = typer.Typer(cls=CommandGroup, invoke_without_command=True)
    group.callback()(_show_help)
    group.command("create", epilog="Example: soqo token create roof --scope operate --plant roof")(create)
    group.command("list", epilog="Example: soqo token list")(list_all)
    group.command("revoke", epilog="Example: soqo token revoke roof")(revoke)
    app.add_typer(
        group,
        name="token",
        help="Create, list and revoke the tokens of a server.",
        epilog="Example: soqo token create roof --scope operate",
        rich_help_panel=_PANEL,
    )


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print_text(context.get_help())


def serve(
    store: _Store = "soqo.sqlite",
    host: Annotated[
        str, typer.Option(help="The address to listen to. Every other than a loopback address needs tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port.")] = 8000,
    require_token: Annotated[
        bool, typer.Option("--require-token", help="Refuse requests without a token on a loopback address, too.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Steer a simulated plant beside the server.")] = False,
    opcua: Annotated[
        Path | None, typer.Option(metavar="CONFIG.toml", help="Steer plants of an OPC UA server (extra opcua).")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="The TLS certificate.")] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the TLS certificate.")] = None,
    max_bytes: Annotated[int, typer.Option(min=1, help="The largest size of a request.")] = 1_000_000,
    requests_per_second: Annotated[
        float, typer.Option(min=0.0, help="The limit for each token, or for each address.")
    ] = 5000.0,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
) -> None:
    """Serve plants over HTTP, with a live page for each, until Ctrl-C."""
    scheme = "http" if certificate is None else "https"
    shown = f"[{host}]" if ":" in host else host
    print_text(f"soqo serves {_without_password(store)} on {scheme}://{shown}:{port} (Ctrl-C stops it)")
    if demo:
        print_text(f"the simulated plant: {scheme}://{shown}:{port}/plants/demo-cooling")
    service.serve(
        store,
        host=host,
        port=port,
        require_token=True if require_token else None,
        demo=demo,
        opcua=opcua,
        certificate=certificate,
        key=key,
        max_bytes=max_bytes,
        requests_per_second=requests_per_second,
        log_level=log_level,
    )


def create(
    name: Annotated[str, typer.Argument(help="The name by which the token is listed and revoked.")],
    scope: Annotated[
        str, typer.Option(help="read (look), operate (play rounds), or admin (create and retire plants).")
    ] = "read",
    plant: Annotated[
        list[str] | None, typer.Option(help="A plant to which the token is limited; several can be given.")
    ] = None,
    store: _Store = "soqo.sqlite",
) -> None:
    """Create a token, and print it. It cannot be shown again: the store keeps only a hash."""
    print_text(service.create_token(store, name, scope=scope, plants=plant or None))


def list_all(store: _Store = "soqo.sqlite") -> None:
    """List tokens, without their secrets."""
    rows = [["name", "scope", "plants", "created", "state"]]
    for token in service.list_tokens(store):
        plants = "all" if token["plants"] is None else ", ".join(token["plants"])
        rows.append(
            [token["name"], token["scope"], plants, token["created"], "revoked" if token["revoked"] else "valid"]
        )
    print_text(format_table(rows) if len(rows) > 1 else "there are no tokens; soqo token create NAME makes one")


def revoke(name: Annotated[str, typer.Argument(help="The name of the token.")], store: _Store = "soqo.sqlite") -> None:
    """Revoke a token. Servers refuse it within seconds."""
    service.revoke_token(store, name)
    print_text(f"the token {name} is revoked")


def _without_password(store: str) -> str:
    """Return the address of a store as it can be shown."""
    return re.sub(r"://([^:@/]*):[^@]*@", r"://\1:***@", store)
