"""The server as a program: which address, which store, and the tokens of those who may use it."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soqo._control.timestamps import now
from soqo._foundation.arguments import choice, integer
from soqo._foundation.optional_imports import require_extra
from soqo.errors import ArgumentError
from soqo.service._async_client import AsyncClient

if TYPE_CHECKING:
    from soqo.service._store import Store

_LOGGER = logging.getLogger("soqo.service")


def create_app(
    store: str | os.PathLike[str],
    *,
    require_token: bool = True,
    max_bytes: int = 1_000_000,
    requests_per_second: float = 5000.0,
    companions: Sequence[Callable[[AsyncClient], Awaitable[None]]] = (),
) -> Any:
    """Return the application of a server (ASGI), for an ASGI server of your choice (extra ``service``).

    Parameters
    ----------
    store : str or path
        The file of an SQLite database, which is created if it is not there, or the URL of a PostgreSQL database.
    require_token : bool
        Whether every request needs a token. Without, requests for localhost are allowed everything: listen to the
        loopback address only.
    max_bytes : int
        The largest size of a request.
    requests_per_second : float
        The limit for each token, or for each address.
    companions : sequence of callable
        Programs that run beside the server: coroutines of a client of it, which are started again if they fail.

    Returns
    -------
    callable
        The application.

    Examples
    --------
    >>> import soqo, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:                                # doctest: +SKIP
    ...     app = soqo.service.create_app(f"{folder}/plants.sqlite")
    """
    for module in ("starlette", "prometheus_client", "httpx"):
        require_extra(module, "service")
    from soqo.service._app import App

    size = integer("max_bytes", max_bytes, least=1)
    return App(
        os.fspath(store), require_token=require_token, max_bytes=size, rate=requests_per_second, companions=companions
    )


def serve(
    store: str | os.PathLike[str] = "soqo.sqlite",
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    require_token: bool | None = None,
    demo: bool = False,
    opcua: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    max_bytes: int = 1_000_000,
    requests_per_second: float = 5000.0,
    log_level: str = "warning",
) -> None:
    """Serve plants until the program is told to stop (extra ``service``).

    Parameters
    ----------
    store : str or path
        The file of an SQLite database, which is created if it is not there, or the URL of a PostgreSQL database.
    host : str
        The address to listen to.
    port : int
        The port.
    require_token : bool, optional
        Whether every request needs a token; by default, unless the address is a loopback address.
    demo : bool
        Whether to steer a simulated plant beside it.
    opcua : path, optional
        A TOML file that says which nodes of an OPC UA server are which plants (extra ``opcua``).
    certificate, key : path, optional
        The files of a TLS certificate and of its key.
    max_bytes : int
        The largest size of a request.
    requests_per_second : float
        The limit for each token, or for each address.
    log_level : {"debug", "info", "warning", "error"}
        What is logged.

    Examples
    --------
    >>> import soqo
    >>> soqo.service.serve("plants.sqlite", port=8000)                               # doctest: +SKIP
    """
    uvicorn = require_extra("uvicorn", "service")
    choice("log_level", log_level, ("debug", "info", "warning", "error"))
    from soqo.service._gate import is_loopback

    if require_token is None:
        require_token = not is_loopback(host)
    if not require_token and not is_loopback(host):
        raise ArgumentError(f"host must be a loopback address where no token is needed, got {host!r}")
    if (certificate is None) != (key is None):
        raise ArgumentError("certificate and key must be given together")
    companions: list[Callable[[AsyncClient], Awaitable[None]]] = []
    if demo:
        from soqo.service._demo import run_demo

        companions.append(run_demo)
    if opcua is not None:
        from soqo.service._opcua import Bridge, read_config

        companions.append(Bridge(read_config(Path(opcua))).run)
    app = create_app(
        store,
        require_token=require_token,
        max_bytes=max_bytes,
        requests_per_second=requests_per_second,
        companions=companions,
    )
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    uvicorn.run(
        app,
        host=host,
        port=integer("port", port, least=0),
        log_level=log_level,
        access_log=False,  # paths are in the metrics; a log of every call would cost more than the call
        proxy_headers=False,
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=3,
        limit_concurrency=2000,
        h11_max_incomplete_event_size=32_768,
    )


# ---- tokens ----------------------------------------------------------------------------------------------------------


def create_token(
    store: str | os.PathLike[str], name: str, *, scope: str = "read", plants: Sequence[str] | None = None
) -> str:
    """Create a token, and return its secret, of which the store keeps only a hash (extra ``service``).

    Parameters
    ----------
    store : str or path
        The file or the URL of the store.
    name : str
        The name by which it is listed and revoked.
    scope : {"read", "operate", "admin"}
        What it allows, each including those before it: to look, to play rounds, to create and retire plants.
    plants : sequence of str, optional
        The plants to which it is limited; all by default.

    Returns
    -------
    str
        The secret, which cannot be shown again.

    Examples
    --------
    >>> import soqo, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     secret = soqo.service.create_token(f"{folder}/plants.sqlite", "roof", scope="operate", plants=["roof"])
    >>> secret[:5]
    'soqo_'
    """
    if isinstance(plants, str):
        raise ArgumentError(f"plants must be a list of names, got {plants!r}")
    if plants is not None and scope == "admin":
        raise ArgumentError("a token of scope admin cannot be limited to plants, since it creates them")
    with _opened(store) as opened:
        from soqo.service._gate import SCOPES, new_secret
        from soqo.service._schemas import NAME
        from soqo.service._store import Token

        if not NAME.fullmatch(name):
            raise ArgumentError(f"name must be up to 64 letters, digits and . _ -, got {name!r}")
        choice("scope", scope, SCOPES)
        secret, digest = new_secret()
        opened.add_token(Token(name, scope, None if plants is None else tuple(plants), now(), revoked=False), digest)
        return secret


def list_tokens(store: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the name, scope, plants, time of creation and state of each token (extra ``service``).

    Parameters
    ----------
    store : str or path
        The file or the URL of the store.

    Examples
    --------
    >>> import soqo, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soqo.service.list_tokens(f"{folder}/plants.sqlite")
    []
    """
    with _opened(store) as opened:
        from soqo.service._schemas import iso_time

        return [{**token._asdict(), "created": iso_time(token.created)} for _, token in opened.tokens()]


def revoke_token(store: str | os.PathLike[str], name: str) -> None:
    """Let servers refuse a token, within seconds (extra ``service``).

    Parameters
    ----------
    store : str or path
        The file or the URL of the store.
    name : str
        The name of the token.

    Examples
    --------
    >>> import soqo, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     secret = soqo.service.create_token(f"{folder}/plants.sqlite", "roof")
    ...     soqo.service.revoke_token(f"{folder}/plants.sqlite", "roof")
    """
    with _opened(store) as opened:
        opened.revoke_token(name)


@contextmanager
def _opened(store: str | os.PathLike[str]) -> Iterator[Store]:
    require_extra("starlette", "service")
    from soqo.service._store import Store

    opened = Store(os.fspath(store))
    try:
        yield opened
    finally:
        opened.close()
