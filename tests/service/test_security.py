"""Tokens: created with a scope, found by their secret only, limited to plants, and revoked."""

from __future__ import annotations

import asyncio
import logging

import pytest

from soqo.errors import AccessError, ArgumentError
from soqo.service import create_token
from soqo.service._gate import Access, Tokens, is_loopback
from soqo.service._problems import RequestError
from soqo.service._store import Store


def test_a_secret_is_found_and_is_not_in_the_store(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        secret = create_token(str(store.database.path), "roof", scope="operate", plants=["roof"])
        tokens = Tokens(store)
        access = asyncio.run(tokens.find(secret, "10.0.0.7"))
        assert (access.who, access.scope, access.plants) == ("roof", "operate", ("roof",))
    for wrong in (secret[:-1], ""):
        with pytest.raises(RequestError, match="not known"):
            asyncio.run(tokens.find(wrong, "10.0.0.7"))
    assert asyncio.run(tokens.find(tokens.internal, "local")).scope == "admin"
    assert secret not in str(store.tokens())
    assert secret not in caplog.text
    store.revoke_token("roof")
    with pytest.raises(RequestError, match="not known"):
        asyncio.run(Tokens(store).find(secret, "10.0.0.7"))


@pytest.mark.parametrize(
    ("name", "scope", "plants", "words"),
    [
        ("a b", "read", None, "name must be up to 64 letters"),
        ("a", "write", None, "scope must be one of 'read', 'operate', 'admin'"),
        ("a", "admin", ("roof",), "cannot be limited"),
    ],
)
def test_wrong_tokens_are_not_created(
    store: Store, name: str, scope: str, plants: tuple[str, ...] | None, words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        create_token(str(store.database.path), name, scope=scope, plants=plants)
    assert store.tokens() == []


def test_a_scope_includes_those_before_it() -> None:
    for held, needed, allowed in (
        ("read", "read", True),
        ("read", "operate", False),
        ("operate", "read", True),
        ("operate", "admin", False),
        ("admin", "operate", True),
    ):
        access = Access("me", held)
        if allowed:
            access.require(needed, "roof")
        else:
            with pytest.raises(AccessError, match=f"needs a token of scope {needed}"):
                access.require(needed, "roof")


def test_a_token_for_some_plants_is_for_no_other() -> None:
    access = Access("me", "operate", ("roof",))
    access.require("operate", "roof")
    for other in ("cellar", None):
        with pytest.raises(AccessError, match="limited to other plants"):
            access.require("read", other)


def test_loopback_addresses() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.3.2.1", "::1", "[::1]", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org", "")))
