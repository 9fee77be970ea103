"""The gate: who is let in, from where, how much and how fast; and the headers of every answer."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service_fixtures import LiveServer
from soqo import service
from soqo.service import _gate

PLANT = {"name": "roof", "x0": [0.0]}


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[LiveServer]:
    with LiveServer(tmp_path / "guarded.sqlite", require_token=True, max_bytes=2000) as server:
        yield server


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_every_route_but_health_needs_a_token(guarded: LiveServer) -> None:
    with httpx.Client(base_url=guarded.url) as api:
        for path in ("/plants", "/plants/roof", "/plants/roof/stream", "/stream", "/metrics", "/openapi.json", "/docs"):
            answer = api.get(path)
            assert answer.status_code == 401, path
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        for method, path in (("POST", "/plants"), ("POST", "/plants/roof/rounds"), ("DELETE", "/plants/roof")):
            assert api.request(method, path, json=PLANT).status_code == 401
        assert api.get("/healthz").status_code == api.get("/readyz").status_code == 200
        page = api.get("/", headers={"Accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (303, "/login")
        for wrong in ("Bearer nonsense", "Basic c29xbzpzb3Fv", "Bearer", ""):
            assert api.get("/plants", headers={"Authorization": wrong}).status_code == 401


def test_tokens_open_what_their_scope_and_plants_allow(guarded: LiveServer) -> None:
    store = guarded.store
    admin = bearer(service.create_token(store, "admin", scope="admin"))
    roof = bearer(service.create_token(store, "roof", scope="operate", plants=["roof"]))
    reader = bearer(service.create_token(store, "reader"))
    with httpx.Client(base_url=guarded.url) as api:
        assert api.post("/plants", json=PLANT, headers=roof).status_code == 403
        for name in ("roof", "cellar"):
            assert api.post("/plants", json={**PLANT, "name": name}, headers=admin).status_code == 201
        assert api.post("/plants/roof/rounds", json={"v": [1.0]}, headers=reader).status_code == 403
        assert api.post("/plants/roof/rounds", json={"v": [1.0]}, headers=roof).status_code == 200
        assert api.post("/plants/cellar/rounds", json={"v": [1.0]}, headers=roof).status_code == 403
        assert api.get("/plants/cellar", headers=roof).status_code == 403
        assert api.delete("/plants/roof", headers=roof).status_code == 403
        page = api.get("/plants?limit=1", headers=roof).json()
        assert ([one["name"] for one in page["plants"]], page["next"]) == (["roof"], "roof")  # and no other name
        assert api.get("/plants?after=roof", headers=roof).json() == {"plants": [], "next": None}
        assert len(api.get("/plants", headers=reader).json()["plants"]) == 2
        assert api.get("/metrics", headers=roof).status_code == 403
        for path in ("/docs", "/openapi.json", "/", "/plants/roof/live"):
            assert api.get(path, headers=roof).status_code == 200, path
        assert api.get("/plants/cellar/stream", headers=roof).status_code == 403
        service.revoke_token(store, "roof")
        _wait_until(lambda: api.get("/plants/roof", headers=roof).status_code == 401)


def test_the_stream_of_a_revoked_token_ends(guarded: LiveServer) -> None:
    admin = bearer(service.create_token(guarded.store, "admin", scope="admin"))
    reader = bearer(service.create_token(guarded.store, "reader"))
    with httpx.Client(base_url=guarded.url, timeout=30.0) as api:
        api.post("/plants", json=PLANT, headers=admin).raise_for_status()
        with api.stream("GET", "/plants/roof/stream", headers=reader) as answer:
            lines = answer.iter_lines()
            next(lines)
            service.revoke_token(guarded.store, "reader")
            assert all(line == "" or line.startswith((":", "data:")) for line in lines)  # and then it ends


def _wait_until(condition: Any, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_cookie_lets_look_and_change_nothing(guarded: LiveServer) -> None:
    secret = service.create_token(guarded.store, "admin", scope="admin")
    with httpx.Client(base_url=guarded.url) as api:
        wrong = api.post("/login", data={"token": "soqo_guess"})
        assert wrong.status_code == 401
        assert "not known" in wrong.text
        right = api.post("/login", data={"token": secret})
        assert right.status_code == 303
        cookie = right.headers["set-cookie"]
        assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
        assert api.get("/plants").status_code == 200
        assert api.post("/plants", json=PLANT).status_code == 401
        assert api.post("/logout", data={}).headers["location"] == "/login"
        assert api.get("/plants").status_code == 401


def test_without_tokens_only_direct_requests_for_this_machine_are_allowed(live: LiveServer) -> None:
    with httpx.Client(base_url=live.url) as api:
        assert api.get("/plants").status_code == 200
        for headers in (
            {"Host": "evil.example"},  # a name that was bound to this machine
            {"X-Forwarded-For": "10.0.0.7"},  # through a proxy
            {"Forwarded": "for=10.0.0.7"},
            {"Authorization": "Bearer wrong"},  # a wrong token is not no token
        ):
            assert api.get("/plants", headers=headers).status_code == 401, headers
        foreign = api.post("/plants", json=PLANT, headers={"Origin": "http://evil.example"})
        assert foreign.status_code == 403
        plain = api.post("/plants", content='{"name":"a","x0":[0]}', headers={"Content-Type": "text/plain"})
        assert plain.status_code == 415
        assert api.post("/plants", json=PLANT, headers={"Origin": live.url}).status_code == 201


def test_large_requests_are_refused_with_and_without_a_length(guarded: LiveServer) -> None:
    admin = bearer(service.create_token(guarded.store, "admin", scope="admin"))
    with httpx.Client(base_url=guarded.url, headers=admin) as api:
        large = b'{"name": "roof", "x0": [' + b"0.0," * 1000 + b"0.0]}"
        kind = {"Content-Type": "application/json"}
        assert api.post("/plants", content=large, headers=kind).status_code == 413
        assert api.post("/plants", content=iter([large[:1500], large[1500:]]), headers=kind).status_code == 413
        hot = api.post("/plants/roof/rounds", content=iter([large[:1500], large[1500:]]), headers=kind)
        assert hot.status_code == 413
        assert api.get("/plants").json()["plants"] == []


def test_slow_requests_are_ended(live: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_gate, "_BODY_SECONDS", 0.2)
    head = b"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    for path in (b"/plants", b"/plants/roof/rounds"):
        with socket.create_connection(("127.0.0.1", live.port), timeout=5.0) as connection:
            connection.sendall(b"POST " + path + b" HTTP/1.1\r\n" + head)
            assert b" 408 " in connection.recv(4096)


def test_too_many_requests_and_too_many_wrong_tokens_are_refused(tmp_path: Path) -> None:
    with LiveServer(tmp_path / "s.sqlite", requests_per_second=0.5) as server, httpx.Client(base_url=server.url) as api:
        statuses = [api.get("/plants").status_code for _ in range(3)]
        assert 429 in statuses
        with httpx.Client(base_url=server.url, headers={"Authorization": "Bearer no"}) as wrong:
            answers = [wrong.get("/plants") for _ in range(25)]
        assert answers[0].status_code == 401
        assert answers[-1].status_code == 429
        assert answers[-1].headers["Retry-After"] == "60"
        right = bearer(service.create_token(server.store, "right"))
        _wait_until(lambda: api.get("/plants", headers=right).status_code == 200)  # others here do not lock it out


def test_every_answer_has_the_headers_of_a_careful_server(live: LiveServer) -> None:
    with httpx.Client(base_url=live.url) as api:
        for path in ("/", "/plants", "/nothing", "/static/live.css", "/healthz"):
            headers = api.get(path).headers
            assert "script-src 'self';" in headers["Content-Security-Policy"]
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "same-origin"
