"""Routes: which one answers, and what is answered where there is none."""

from __future__ import annotations

from typing import Any

import httpx
import pytest


@pytest.mark.parametrize("path", ["rounds/0/reading", "rounds/01/reading", "rounds/x/reading", "rounds/1/readings"])
def test_other_spellings_are_no_address(api: httpx.Client, path: str) -> None:
    answer = api.post(f"/plants/roof/{path}", json={"y": 1.0})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_encoded_name_is_the_same_plant(api: httpx.Client) -> None:
    api.post("/plants", json={"name": "slow", "x0": [0.0]})
    kind = {"Content-Type": "application/json"}
    assert api.post("/plants/%73low/rounds", content='{"v": [1.0]}', headers=kind).json()["round"] == 1
    for impossible in ("%00", "a" * 300, "a b"):
        assert api.get(f"/plants/{impossible}").status_code == 404


def test_other_methods_are_named(api: httpx.Client) -> None:
    answer = api.put("/plants/roof", json={})
    assert (answer.status_code, answer.json()["status"]) == (405, 405)
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "DELETE"}
    assert api.request("OPTIONS", "/plants").status_code == 405


def test_a_browser_sees_a_page_where_a_program_sees_the_status(api: httpx.Client) -> None:
    api.post("/plants", json={"name": "roof", "x0": [0.0]})
    page: Any = api.get("/plants/roof", headers={"Accept": "text/html,application/xhtml+xml"})
    assert page.headers["content-type"].startswith("text/html")
    assert api.get("/plants/roof").json()["name"] == "roof"
    missing = api.get("/plants/nobody", headers={"Accept": "text/html"})
    assert missing.status_code == 404
