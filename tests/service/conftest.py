"""Servers for the tests: one of soqo in a thread, and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from postgres_server import find_programs, postgres_server
from service_fixtures import LiveServer
from soqo.service._store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new store."""
    opened = Store(str(tmp_path / "store.sqlite"))
    yield opened
    opened.close()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveServer]:
    """A server that listens to a port of the loopback address and needs no token."""
    with LiveServer(tmp_path / "live.sqlite") as server:
        yield server


@pytest.fixture
def api(live: LiveServer) -> Iterator[httpx.Client]:
    """A client of that server."""
    with httpx.Client(base_url=live.url, timeout=30.0) as client:
        yield client


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a database of PostgreSQL; each test uses plants of its own names."""
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed: as root on Debian, make database installs it")
    with postgres_server() as url:
        yield url
