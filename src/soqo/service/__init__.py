"""Plants over the network: a server, ``soqo serve``, and clients for it (extra ``service``)."""

from soqo.service._async_client import AsyncClient, AsyncRemotePlant
from soqo.service._client import Client, RemotePlant
from soqo.service._server import create_app, create_token, list_tokens, revoke_token, serve

__all__ = [
    "AsyncClient",
    "AsyncRemotePlant",
    "Client",
    "RemotePlant",
    "create_app",
    "create_token",
    "list_tokens",
    "revoke_token",
    "serve",
]
