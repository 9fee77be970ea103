"""The application: programs beside the server, and failures of its own code."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

import soqo
from soqo.service import _app
from soqo.service._app import App
from soqo.service._store import Store

LIMITS: dict[str, Any] = {"max_bytes": 1000, "rate": 1000.0}


async def run_lifespan(app: Any, inside: Any) -> None:
    """Start an application as a server does, do something, and stop it."""
    receive: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    sent: asyncio.Queue[Any] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan", "asgi": {}}, receive.get, sent.put))
    await receive.put({"type": "lifespan.startup"})
    assert (await sent.get())["type"] == "lifespan.startup.complete"
    await inside
    await receive.put({"type": "lifespan.shutdown"})
    assert (await sent.get())["type"] == "lifespan.shutdown.complete"
    await task


def test_a_program_beside_the_server_is_a_client_and_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_app, "_RESTART_SECONDS", 0.01)
    tries: list[int] = []
    done = asyncio.Event()

    async def companion(client: soqo.AsyncClient) -> None:
        tries.append(len(tries))
        if len(tries) < 3:
            raise RuntimeError("not yet")
        await client.create("roof", soqo.FTM(), x0=[0.0])  # without a token of the store
        done.set()
        if len(tries) == 3:
            return

    async def main() -> None:
        app = App(str(tmp_path / "s.sqlite"), require_token=True, companions=[companion], **LIMITS)
        await run_lifespan(app, asyncio.wait_for(done.wait(), 10.0))

    asyncio.run(main())
    assert tries == [0, 1, 2]
    store = Store(str(tmp_path / "s.sqlite"))
    assert [one.name for one in store.plants()] == ["roof"]
    store.close()


def test_a_bug_is_a_problem_document_without_details(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = App(str(tmp_path / "s.sqlite"), require_token=False, **LIMITS)

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(Store, "plants", fail)

    async def ask() -> None:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.get("/plants")
        assert answer.status_code == 500
        assert answer.headers["content-type"] == "application/problem+json"
        assert "secret" not in answer.text
        assert "ZeroDivisionError" in answer.json()["detail"]

    asyncio.run(run_lifespan(app, ask()))
    assert "GET /plants failed" in caplog.text
