"""What every request passes before it is answered: size, time, rate and token."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from time import monotonic
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from anyio.to_thread import run_sync

from soqo.errors import AccessError
from soqo.service._problems import RequestError
from soqo.service._store import Store

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Headers: TypeAlias = Mapping[bytes, bytes]

COOKIE = "soqo_token"

SCOPES = ("read", "operate", "admin")
"""What a token allows, each including those before it: to look, to play rounds, to create and retire plants."""

_SAFE_METHODS = frozenset({"GET", "HEAD"})

_BODY_SECONDS = 10.0
"""A request must have arrived after this time."""

_PREFIX = "soqo_"
_RELOAD_SECONDS = 2.0
"""Tokens are read from the store again after this time, so that a revoked one is refused by every server."""

_MAX_CLIENTS = 10_000


# ---- who -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Access:
    """What a request may do.

    Attributes
    ----------
    who : str
        The name of the token, or the address of the client.
    scope : {"read", "operate", "admin"}
        The scope.
    plants : tuple of str, or None
        The plants to which it is limited; None for all.
    digest : str
        The hash of the token; empty if none was needed.
    """

    who: str
    scope: str
    plants: tuple[str, ...] | None = None
    digest: str = ""

    def require(self, scope: str, plant: str | None = None) -> None:
        """Refuse what is not allowed.

        Parameters
        ----------
        scope : {"read", "operate", "admin"}
            The scope that is needed.
        plant : str, optional
            The plant that it is needed for; None for something of the whole server.
        """
        if SCOPES.index(self.scope) < SCOPES.index(scope):
            raise AccessError(f"this needs a token of scope {scope}, and {self.who} has {self.scope}")
        if self.plants is not None and plant not in self.plants:
            raise AccessError(f"the token {self.who} is limited to other plants")


def new_secret() -> tuple[str, str]:
    """Return a new secret and its hash."""
    secret = _PREFIX + secrets.token_urlsafe(32)
    return secret, _digest(secret)


def _digest(secret: str) -> str:
    # 256 random bits need no slow hash: they cannot be guessed from it.
    return hashlib.sha256(secret.encode()).hexdigest()


class RateLimit:
    """A limit on the calls of each client: a bucket of tokens for each, which fills at a steady rate.

    Parameters
    ----------
    rate : float
        The calls per second.
    burst : float
        The calls that may come at once.

    Examples
    --------
    >>> limit = RateLimit(rate=1.0, burst=2.0)
    >>> [limit.allow("a", at=0.0), limit.allow("a", at=0.0), limit.allow("a", at=0.0), limit.allow("a", at=1.0)]
    [True, True, False, True]
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def allow(self, client: str, *, at: float | None = None) -> bool:
        """Count a call, and return whether it is within the limit."""
        moment = monotonic() if at is None else at
        left, since = self._left.get(client, (self._burst, moment))
        left = min(self._burst, left + (moment - since) * self._rate)
        if len(self._left) >= _MAX_CLIENTS and client not in self._left:
            self._left.clear()  # bounded memory, whatever addresses come
        self._left[client] = (left - 1.0 if left >= 1.0 else left, moment)
        return left >= 1.0


class Tokens:
    """The tokens of a store.

    Parameters
    ----------
    store : Store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read = -float("inf")
        self._failures = RateLimit(rate=0.2, burst=20.0)  # of wrong secrets, for each address
        # A secret of this process, for its own programs such as a simulated plant.
        self.internal, digest = new_secret()
        self._own = Access("this server", "admin", None, digest)
        self._known = [self._own]

    async def find(self, secret: str, client: str) -> Access:
        """Return what the secret that a client has sent allows."""
        found = await self.with_digest(_digest(secret))
        if found is not None:
            return found  # whatever others at the same address have tried
        if not self._failures.allow(client):
            raise RequestError(429, "rate", "too many wrong tokens: wait a minute", {"Retry-After": "60"})
        raise _unauthorized("the token is not known, or was revoked")

    async def with_digest(self, digest: str) -> Access | None:
        """Return what a token allows; None if it is not known. The time does not tell how much of it is right."""
        if monotonic() - self._read > _RELOAD_SECONDS:
            valid = [(hashed, one) for hashed, one in await run_sync(self._store.tokens) if not one.revoked]
            self._known = [self._own, *(Access(one.name, one.scope, one.plants, hashed) for hashed, one in valid)]
            self._read = monotonic()
        found = None
        for one in self._known:
            if hmac.compare_digest(digest, one.digest):
                found = one
        return found


# ---- the gate --------------------------------------------------------------------------------------------------------


class Gate:
    """What a request must pass.

    Parameters
    ----------
    tokens : Tokens
        The tokens.
    open_on_loopback : bool
        Whether requests without a token are allowed everything. They must then come from this machine, for this
        machine, and not through a proxy.
    max_bytes : int
        The largest size of a request.
    rate : float
        The calls per second of a client; twice as many may come at once.
    """

    def __init__(self, tokens: Tokens, *, open_on_loopback: bool, max_bytes: int, rate: float) -> None:
        self._tokens, self._open, self._max_bytes = tokens, open_on_loopback, max_bytes
        self._rate = RateLimit(rate, 2.0 * rate)

    async def admit(
        self, scope: Scope, headers: Headers, *, is_open: bool = False, content_type: bytes = b"application/json"
    ) -> Access:
        """Return what a request may do, or refuse it.

        Parameters
        ----------
        scope, headers
            The request.
        is_open : bool
            Whether it needs no token.
        content_type : bytes
            What a body must be.
        """
        method, client = scope["method"], client_of(scope)
        if (size := headers.get(b"content-length")) and (not size.isdigit() or int(size) > self._max_bytes):
            raise self._too_large(f", got {_shown(size)}")
        if method not in _SAFE_METHODS:
            _refuse_foreign(headers, content_type)
        access = Access(client, "read") if is_open else await self._access(method, client, headers)
        if not self._rate.allow(access.who):
            raise RequestError(429, "rate", "too many requests: wait a second", {"Retry-After": "1"})
        return access

    async def _access(self, method: str, client: str, headers: Headers) -> Access:
        secret = _secret(method, headers)
        if secret is not None:
            return await self._tokens.find(secret, client)
        if not self._open:
            raise _unauthorized("this server needs a token: Authorization: Bearer ...")
        if b"forwarded" in headers or b"x-forwarded-for" in headers or not _is_here(headers.get(b"host", b"")):
            raise _unauthorized("without a token, only requests for localhost and not through a proxy are allowed")
        return Access(client, "admin")

    async def read(self, receive: Receive) -> bytes:
        """Return the body of a request, which must arrive in time and within the size."""
        body, more = b"", True
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                while more:
                    message = await receive()
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > self._max_bytes:
                        raise self._too_large()
        except TimeoutError:
            raise RequestError(408, "time", "the request did not arrive in time", {"Connection": "close"}) from None
        return body

    def _too_large(self, got: str = "") -> RequestError:
        detail = f"a request must have at most {self._max_bytes} bytes{got}"
        return RequestError(413, "size", detail, {"Connection": "close"})


def client_of(scope: Scope) -> str:
    """Return the address of a client."""
    return str(scope["client"][0]) if scope.get("client") else "local"


def _unauthorized(detail: str) -> RequestError:
    return RequestError(401, "token", detail, {"WWW-Authenticate": "Bearer"})


def _secret(method: str, headers: Headers) -> str | None:
    """Return the secret of a request: of a header, or of the cookie of a page, which only looks."""
    header = headers.get(b"authorization")
    if header is not None:
        kind, _, secret = header.decode("latin-1").partition(" ")
        return secret.strip() if kind.lower() == "bearer" else ""
    if method in _SAFE_METHODS and b"cookie" in headers:
        try:
            cookie = SimpleCookie(headers[b"cookie"].decode("latin-1")).get(COOKIE)
        except CookieError:
            return None
        return None if cookie is None else cookie.value
    return None


@lru_cache(maxsize=1024)
def _is_here(host: bytes) -> bool:
    """Return whether a request is for this machine by name.

    A page of another site can make a browser send requests to this machine; the name tells them apart.
    """
    try:
        return is_loopback(urlsplit(f"//{host.decode('latin-1')}").hostname or "")
    except ValueError:
        return False


def _refuse_foreign(headers: Headers, content_type: bytes) -> None:
    """Refuse a change that a page of another site asks for, and content that is not what it must be."""
    origin = headers.get(b"origin")
    if origin is not None and origin.partition(b"://")[2] != headers.get(b"host", b""):
        raise RequestError(403, "access", "a page of another site cannot change a plant")
    has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if has_body and kind != content_type:
        wanted = content_type.decode()
        raise RequestError(415, "content-type", f"the content type must be {wanted}, got {_shown(kind)}")


def is_loopback(host: str) -> bool:
    """Return whether an address can only be reached from this machine.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _shown(value: bytes) -> str:
    return repr(value[:40].decode("latin-1"))
