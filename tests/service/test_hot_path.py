"""The calls of a round without the framework answer as the routes of the framework do."""

from __future__ import annotations

from typing import Any

import httpx
import pytest


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("rounds", '{"v": [1.0]}', 200),
        ("rounds", '{"v": [1.0, 2.0]}', 422),
        ("rounds", '{"v": [1.0], "round": 7}', 409),
        ("rounds", "{", 422),
        ("rounds/9/reading", '{"y": 1.0}', 409),
        ("rounds/1/reading", '{"y": "1"}', 422),
    ],
)
def test_both_ways_agree(api: httpx.Client, path: str, body: str, status: int) -> None:
    for name in ("hot", "slow"):
        assert api.post("/plants", json={"name": name, "x0": [0.0], "policy": "FTM"}).status_code == 201
    kind = {"Content-Type": "application/json"}
    hot = api.post(f"/plants/hot/{path}", content=body, headers=kind)
    slow = api.post(f"/plants/slow/{path}", content=body, headers={**kind, "X-Path": "encoded"})
    encoded = api.post(f"/plants/%73low/{path}", content=body, headers=kind)  # the same plant by another spelling
    assert hot.status_code == slow.status_code == status
    assert hot.json() == slow.json()
    assert hot.headers["content-type"] == slow.headers["content-type"] == encoded.headers["content-type"]


@pytest.mark.parametrize(
    "path", ["/plants/roof/rounds/0/reading", "/plants/roof/rounds/01/reading", "/plants/roof/rounds/x/reading"]
)
def test_other_spellings_go_to_the_framework(api: httpx.Client, path: str) -> None:
    answer = api.post(path, json={"y": 1.0})
    assert answer.status_code in (404, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_browser_sees_a_page_where_a_program_sees_the_status(api: httpx.Client) -> None:
    api.post("/plants", json={"name": "roof", "x0": [0.0]})
    page: Any = api.get("/plants/roof", headers={"Accept": "text/html,application/xhtml+xml"})
    assert page.headers["content-type"].startswith("text/html")
    assert api.get("/plants/roof").json()["name"] == "roof"
    missing = api.get("/plants/nobody", headers={"Accept": "text/html"})
    assert missing.status_code == 404
