"""Tokens of a store, for administrators."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from soqo._foundation.optional_imports import require_extra
from soqo.errors import ArgumentError

if TYPE_CHECKING:
    from soqo.service._store import Store


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
    with _opened(store) as opened:
        from soqo.service._gate import new_token

        return new_token(opened, name, scope, None if plants is None else tuple(plants))


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
