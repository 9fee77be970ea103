"""The server as a program: which address, which store, and who may use it."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from soqo._foundation.arguments import choice, integer
from soqo._foundation.optional_imports import require_extra
from soqo.errors import ArgumentError
from soqo.service._async_client import AsyncClient

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
