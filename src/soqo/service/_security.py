"""Who may do what: tokens, their scopes, and a server on the loopback address, which needs none."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from dataclasses import dataclass
from time import monotonic

from soqo._control.timestamps import now
from soqo.errors import AccessError, ArgumentError
from soqo.service._limits import RateLimit
from soqo.service._store import Store, Token

SCOPES = ("read", "operate", "admin")
"""What a token allows, each including those before it: to look, to play rounds, to create and retire plants."""

_PREFIX = "soqo_"
_RELOAD_SECONDS = 2.0
"""Tokens are read from the store again after this time, so that a revoked one is refused by every server."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


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
    """

    who: str
    scope: str
    plants: tuple[str, ...] | None = None

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
        if not self.allows(plant):
            raise AccessError(f"the token {self.who} is limited to other plants")

    def allows(self, plant: str | None) -> bool:
        """Return whether it may look at a plant."""
        return self.plants is None or plant in self.plants


def new_token(store: Store, name: str, scope: str, plants: tuple[str, ...] | None = None) -> str:
    """Create a token, and return its secret, which is not stored.

    Parameters
    ----------
    store : Store
        The store, which keeps a hash.
    name : str
        The name by which it is listed and revoked.
    scope : {"read", "operate", "admin"}
        What it allows.
    plants : tuple of str, optional
        The plants to which it is limited.
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError(f"name must be up to 64 letters, digits and . _ -, got {name!r}")
    if scope not in SCOPES:
        raise ArgumentError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if plants is not None and scope == "admin":
        raise ArgumentError("a token of scope admin cannot be limited to plants, since it creates them")
    secret = _PREFIX + secrets.token_urlsafe(32)
    store.add_token(Token(name, scope, plants, now(), revoked=False), _digest(secret))
    return secret


def _digest(secret: str) -> str:
    # 256 random bits need no slow hash: they cannot be guessed from it.
    return hashlib.sha256(secret.encode()).hexdigest()


class Tokens:
    """The tokens of a store.

    Parameters
    ----------
    store : Store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: list[tuple[str, Token]] = []
        self._read = -float("inf")
        self.failures = RateLimit(rate=0.2, burst=20.0)  # of wrong secrets, for each address
        # A secret of this process, for its own programs such as a simulated plant.
        self.internal = _PREFIX + secrets.token_urlsafe(32)
        self._internal_digest = _digest(self.internal)

    @property
    def is_old(self) -> bool:
        """Whether the tokens should be read from the store again."""
        return monotonic() - self._read > _RELOAD_SECONDS

    def reload(self) -> None:
        """Read the tokens from the store."""
        self._known = [(digest, token) for digest, token in self._store.tokens() if not token.revoked]
        self._read = monotonic()

    def find(self, secret: str) -> Access | None:
        """Return what a secret allows; None if it is not known. The time does not tell how much of it is right."""
        digest = _digest(secret)
        found = Access("this server", "admin") if hmac.compare_digest(digest, self._internal_digest) else None
        for known, token in self._known:
            if hmac.compare_digest(digest, known):
                found = Access(token.name, token.scope, token.plants)
        return found


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
