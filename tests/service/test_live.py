"""The streams of live pages: what is new, once, also after a loss of the connection and from another server."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import httpx
import numpy as np
import pytest

import soqo
from service_fixtures import Conditions, LiveServer
from soqo.service import _live


def messages(api: httpx.Client, path: str, last: int | None = None) -> Generator[Any, None, None]:
    """The messages of a stream, with their numbers."""
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with api.stream("GET", path, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        number = 0
        for line in answer.iter_lines():
            if line.startswith("id: "):
                number = int(line[4:])
            if line.startswith("data: "):
                yield number, json.loads(line[6:])


def play(api: httpx.Client, conditions: Conditions, number: int) -> None:
    x = api.post("/plants/roof/rounds", json={"v": conditions.draw().tolist(), "round": number}).json()["x"]
    api.post(f"/plants/roof/rounds/{number}/reading", json={"y": conditions.reading(x)})


def test_new_rounds_arrive_and_a_new_connection_goes_on_behind_the_last_one(
    live: LiveServer, api: httpx.Client
) -> None:
    api.post("/plants", json={"name": "roof", "x0": [0.0, 0.0]})
    conditions = Conditions()
    for number in range(1, 6):
        play(api, conditions, number)
    stream = messages(api, "/plants/roof/stream")
    last, first = next(stream)
    assert [one["round"] for one in first["rounds"]] == [1, 2, 3, 4, 5]
    assert first["status"]["round"] == 5
    assert first["known"]["estimate"]
    with httpx.Client(base_url=live.url) as other:
        play(other, conditions, 6)
    seen: dict[int, Any] = {}
    while not seen or seen[6]["y"] is None:
        last, message = next(stream)
        seen |= {one["round"]: one for one in message["rounds"]}
    assert seen.keys() == {6}
    stream.close()
    with httpx.Client(base_url=live.url) as other:
        play(other, conditions, 7)
    _, again = next(messages(api, "/plants/roof/stream", last))
    assert [one["round"] for one in again["rounds"]] == [7]


def test_savings_are_those_of_the_status(api: httpx.Client) -> None:
    """The savings of the rounds add up to the difference of the costs: with a policy that estimates nothing."""
    api.post(
        "/plants",
        json={
            "name": "roof",
            "x0": [0.0, 0.0],
            "policy": {"kind": "LAI", "A": [[1, 0], [0, 2]]},
            "switching_weight": 1.0,
        },
    )
    conditions = Conditions()
    conditions.v = np.ones(2)
    for number in range(1, 8):
        play(api, conditions, number)
    _, message = next(messages(api, "/plants/roof/stream"))
    savings = [one["saving"] for one in message["rounds"]]
    assert savings[0] is None  # the step before is not in the window
    first = message["rounds"][0]
    v, x = np.array(first["v"]), np.array(first["x"])
    status = message["status"]
    total = 0.5 * v @ v - 0.5 * x @ x - first["y"] + sum(savings[1:])
    assert total == pytest.approx(status["follow_cost"] - status["cost"])


def test_angles_are_steered_as_by_a_controller_and_shown_at_the_nearest_turn(api: httpx.Client) -> None:
    A = [[1.0, 0.0], [0.0, 2.0]]
    settings = {"x0": [350.0, 0.0], "policy": {"kind": "LAI", "A": A}}
    api.post("/plants", json={"name": "roof", "period": [360.0, None], **settings})
    controller = soqo.Controller(soqo.LAI(A), [350.0, 0.0], period=[360.0, np.inf], durability="process")
    rng, heading, before = np.random.default_rng(3), np.array([350.0, 0.0]), np.array([350.0, 0.0])
    cost = follow = 0.0
    for number in range(1, 8):
        step = rng.normal(scale=[20.0, 1.0])
        heading = heading + step
        told = np.array([heading[0] % 360.0, heading[1]])
        x = api.post("/plants/roof/rounds", json={"v": told.tolist(), "round": number}).json()["x"]
        assert x == controller.act(told).tolist()
        u = x - heading
        y = 0.5 * u @ A @ u
        applied = [x[0] - 360.0, x[1]] if number == 4 else None  # the same position, one turn back
        api.post(f"/plants/roof/rounds/{number}/reading", json={"y": y, "applied": applied})
        controller.observe(y, applied=applied)
        moved, before = x - before, np.array(x)
        cost += float(y + 0.5 * moved @ moved)
        follow += 0.5 * float(step @ step)
    _, message = next(messages(api, "/plants/roof/stream"))
    assert message["status"]["cost"] == pytest.approx(cost)
    assert message["status"]["follow_cost"] == pytest.approx(follow)
    for one in message["rounds"]:
        assert abs(one["v"][0] - one["x"][0]) < 180.0
    first, savings = message["rounds"][0], [one["saving"] for one in message["rounds"]]
    begin = [np.array(first[name]) - [350.0, 0.0] for name in ("v", "x")]
    saved = [0.5 * step @ step for step in begin]
    assert saved[0] - saved[1] - first["y"] + sum(savings[1:]) == pytest.approx(follow - cost)


def test_the_stream_of_all_plants_shows_their_states(api: httpx.Client) -> None:
    for name in ("roof", "cellar"):
        api.post("/plants", json={"name": name, "x0": [0.0]})
    api.post("/plants/roof/rounds", json={"v": [1.0]})
    _, message = next(messages(api, "/stream"))
    assert [(one["name"], one["state"]) for one in message["plants"]] == [("cellar", "new"), ("roof", "waiting")]


def test_the_number_of_streams_is_bounded(api: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_live, "_MAX_STREAMS", 0)
    api.post("/plants", json={"name": "roof", "x0": [0.0]})
    assert api.get("/stream").status_code == api.get("/plants/roof/stream").status_code == 503
