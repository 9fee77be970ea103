"""Tokens for administrators."""

from __future__ import annotations

from pathlib import Path

import pytest

from soqo import service
from soqo.errors import ArgumentError


def test_tokens_are_created_listed_and_revoked(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    secrets = {service.create_token(store, name, scope="operate", plants=["roof"]) for name in ("a", "b")}
    assert len(secrets) == 2
    service.revoke_token(store, "a")
    listed = service.list_tokens(store)
    assert [(one["name"], one["scope"], one["plants"], one["revoked"]) for one in listed] == [
        ("a", "operate", ("roof",), True),
        ("b", "operate", ("roof",), False),
    ]
    assert not any(secret in str(listed) for secret in secrets)
    with pytest.raises(ArgumentError, match="plants must be a list"):
        service.create_token(store, "c", plants="roof")
    for file in tmp_path.iterdir():
        assert not any(secret.encode() in file.read_bytes() for secret in secrets)
