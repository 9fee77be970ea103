"""What every request passes before it is answered: size, time, rate and token; and the headers of every response."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from anyio.to_thread import run_sync
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import RedirectResponse, Response

from soqo.service._limits import RateLimit
from soqo.service._problems import RequestError, problem
from soqo.service._security import Access, Tokens, is_loopback

_Scope: TypeAlias = MutableMapping[str, Any]
_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]
_App: TypeAlias = Callable[[_Scope, _Receive, _Send], Awaitable[None]]

COOKIE = "soqo_token"
_OPEN_PATHS = frozenset({"/healthz", "/readyz", "/login", "/logout"})
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_KINDS = frozenset(
    {"rounds", "reading", "events", "diagnostics", "explain", "stream", "live", "static", "docs", "login", "metrics"}
)
"""The kinds of routes that metrics tell apart."""

_BODY_SECONDS = 10.0
"""A request must have arrived after this time."""

# No style sheet and no script inside of a page is allowed. Plotly makes an empty style element, whose hash this is, and
# adds its rules through the object model; and it sets styles of the elements that it makes.
_POLICY = (
    "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    Attributes
    ----------
    max_bytes : int
        The size of a request.
    rate, burst : float
        The calls per second of a client, and how many may come at once.
    """

    max_bytes: int = 1_000_000
    rate: float = 5000.0
    burst: float = 10_000.0


class Gate:
    """A wall around an application.

    Parameters
    ----------
    app : callable
        The application (ASGI).
    tokens : Tokens
        The tokens.
    open_on_loopback : bool
        Whether requests without a token are allowed everything. They must then come from this machine, for this
        machine, and not through a proxy.
    limits : Limits
        The limits.
    count : callable
        Called with the kind and the status of every response.
    """

    def __init__(
        self,
        app: _App,
        tokens: Tokens,
        *,
        open_on_loopback: bool,
        limits: Limits,
        count: Callable[[str, int], None],
    ) -> None:
        self._app, self._tokens, self._open, self._count = app, tokens, open_on_loopback, count
        self._max_bytes = limits.max_bytes
        self._rate = RateLimit(limits.rate, limits.burst)

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: _Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
                self._count(_kind(scope["path"]), message["status"])
            await send(message)

        headers = dict(scope["headers"])
        refusal = await self._refuse(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, self._limited(receive) if _has_body(headers) else receive, send_with_headers)

    # ---- who ---------------------------------------------------------------------------------------------------------

    async def _refuse(self, scope: _Scope, headers: dict[bytes, bytes]) -> Response | None:
        """Return the answer to a request that is refused; otherwise note in the scope what it may do."""
        client = scope["client"][0] if scope.get("client") else "local"
        path, method = scope["path"], scope["method"]
        if (size := headers.get(b"content-length")) and (not size.isdigit() or int(size) > self._max_bytes):
            return problem(413, f"a request must have at most {self._max_bytes} bytes, got {_shown(size)}", "size")
        if method not in _SAFE_METHODS and (refusal := _refuse_foreign(path, headers)):
            return refusal
        if path in _OPEN_PATHS or path.startswith("/static/"):
            who = client
        else:
            access = await self._access(method, client, headers)
            if isinstance(access, Response):
                return _to_login(scope, access)
            scope.setdefault("state", {})["access"] = access
            who = access.who
        if not self._rate.allow(who):
            return problem(429, "too many requests: wait a second", "rate", {"Retry-After": "1"})
        return None

    async def _access(self, method: str, client: str, headers: dict[bytes, bytes]) -> Access | Response:
        secret = _secret(method, headers)
        if secret is None:
            if not self._open:
                return _unauthorized("this server needs a token: Authorization: Bearer ...")
            if not _is_direct(headers):
                return _unauthorized("without a token, only requests for localhost and not through a proxy are allowed")
            return Access(client, "admin")
        if self._tokens.is_old:
            try:
                await run_sync(self._tokens.reload)
            except SQLAlchemyError:
                return problem(503, "the store does not answer", "unavailable", {"Retry-After": "1"})
        found = self._tokens.find(secret)
        if found is not None:
            return found  # whatever others at the same address have tried
        if not self._tokens.failures.allow(client):
            return problem(429, "too many wrong tokens: wait a minute", "rate", {"Retry-After": "60"})
        return _unauthorized("the token is not known, or was revoked")

    # ---- size and time -----------------------------------------------------------------------------------------------

    def _limited(self, receive: _Receive) -> _Receive:
        """Return a function that receives a request in time and within the size."""
        left = self._max_bytes

        async def receive_limited() -> _Message:
            nonlocal left
            try:
                async with asyncio.timeout(_BODY_SECONDS):
                    message = await receive()
            except TimeoutError:
                raise RequestError(408, "time", "the request did not arrive in time") from None
            left -= len(message.get("body", b""))
            if left < 0:
                raise RequestError(413, "size", f"a request must have at most {self._max_bytes} bytes")
            return message

        return receive_limited


def _kind(path: str) -> str:
    """Return which kind of route a path is, of few kinds.

    Examples
    --------
    >>> _kind("/plants/roof/rounds/7/reading"), _kind("/plants/roof"), _kind("/etc/passwd")
    ('reading', 'plants', 'other')
    """
    parts = path.split("/")
    if parts[1] == "plants":
        return parts[-1] if len(parts) > 3 and parts[-1] in _KINDS else "plants"
    return parts[1] if parts[1] in _KINDS else "other"


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return b"content-length" in headers or b"transfer-encoding" in headers


def _secret(method: str, headers: dict[bytes, bytes]) -> str | None:
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


def _is_direct(headers: dict[bytes, bytes]) -> bool:
    """Return whether a request is for this machine by name and did not pass a proxy.

    A page of another site can make a browser send requests to this machine; the name tells them apart.
    """
    if b"forwarded" in headers or b"x-forwarded-for" in headers:
        return False
    try:
        return is_loopback(urlsplit(f"//{headers.get(b'host', b'').decode('latin-1')}").hostname or "")
    except ValueError:
        return False


def _refuse_foreign(path: str, headers: dict[bytes, bytes]) -> Response | None:
    """Refuse a change that a page of another site asks for, and content that is not JSON."""
    origin = headers.get(b"origin")
    if origin is not None:
        host = headers.get(b"host", b"").decode("latin-1")
        try:
            same = urlsplit(origin.decode("latin-1")).netloc == host
        except ValueError:
            same = False
        if not same:
            return problem(403, "a page of another site cannot change a plant", "access")
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    wanted = b"application/x-www-form-urlencoded" if path in ("/login", "/logout") else b"application/json"
    if _has_body(headers) and headers.get(b"content-length") != b"0" and kind != wanted:
        return problem(415, f"the content type must be {wanted.decode()}, got {_shown(kind)}", "content-type")
    return None


def _unauthorized(detail: str) -> Response:
    return problem(401, detail, "token", {"WWW-Authenticate": "Bearer"})


def _to_login(scope: _Scope, refusal: Response) -> Response:
    """Return a redirection to the page that asks for a token, if a person looks at a page."""
    accept = dict(scope["headers"]).get(b"accept", b"")
    if refusal.status_code == 401 and scope["method"] == "GET" and b"text/html" in accept:
        return RedirectResponse("/login", 303)
    return refusal


def _shown(value: bytes) -> str:
    return repr(value[:40].decode("latin-1"))
