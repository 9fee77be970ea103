"""The API: what each route answers, what can be repeated, and what is refused."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest

import soqo
from service_fixtures import Conditions, undisturbed


def create(api: httpx.Client, name: str = "roof", **settings: Any) -> Any:
    return api.post("/plants", json={"name": name, "x0": [0.0, 0.0], **settings})


def problem(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == status
    return str(document["detail"])


def test_a_plant_over_http_plays_what_a_controller_plays_bit_for_bit(api: httpx.Client) -> None:
    assert create(api, switching_weight=[1.0, 4.0], low=-3.0).status_code == 201
    conditions, actions = Conditions(), []
    for number in range(1, 31):
        answer = api.post("/plants/roof/rounds", json={"v": conditions.draw().tolist(), "round": number}).json()
        assert answer["round"] == number
        actions.append(answer["x"])
        reading = {"y": conditions.reading(answer["x"])}
        assert api.post(f"/plants/roof/rounds/{number}/reading", json=reading).json() == {"round": number}
    assert actions == undisturbed(30, switching_weight=[1.0, 4.0], low=-3.0)


def test_repeated_calls_change_nothing_and_contradictions_are_refused(api: httpx.Client) -> None:
    create(api)
    first = api.post("/plants/roof/rounds", json={"v": [1.0, 2.0], "round": 1}).json()
    assert api.post("/plants/roof/rounds", json={"v": [1.0, 2.0], "round": 1}).json() == first
    assert "played with other values" in problem(api.post("/plants/roof/rounds", json={"v": [1, 3], "round": 1}), 409)
    assert "has not been played" in problem(api.post("/plants/roof/rounds/2/reading", json={"y": 1.0}), 409)
    for _ in range(2):
        assert api.post("/plants/roof/rounds/1/reading", json={"y": 0.5}).status_code == 200
    detail = problem(api.post("/plants/roof/rounds/1/reading", json={"y": 0.6}), 409)
    assert "has had the reading {'y': 0.5}, got {'y': 0.6}" in detail
    assert "round must be 2" in problem(api.post("/plants/roof/rounds", json={"v": [1, 3], "round": 3}), 409)
    second = api.post("/plants/roof/rounds", json={"v": [3.0, 2.0], "round": 2}).json()
    third = api.post("/plants/roof/rounds", json={"v": [4.0, 2.0]}).json()  # without a number: always a new round
    assert third["round"] == 3
    assert api.post("/plants/roof/rounds", json={"v": [1.0, 2.0], "round": 1}).json() == first  # long ago
    assert api.post("/plants/roof/rounds", json={"v": [3.0, 2.0], "round": 2}).json() == second
    assert "late" in problem(api.post("/plants/roof/rounds/2/reading", json={"y": 0.6}), 409)
    status = api.get("/plants/roof").json()
    assert (status["round"], status["missed"], status["open_rounds"], status["state"]) == (3, 1, [3], "waiting")


def test_late_readings_are_accepted_where_they_may_be_late(api: httpx.Client) -> None:
    create(api, max_delay=2)
    conditions, controller = Conditions(), soqo.Controller(soqo.GLIDE(), [0.0, 0.0], max_delay=2)
    readings: list[float] = []
    for number in range(1, 12):
        v = conditions.draw()
        x = api.post("/plants/roof/rounds", json={"v": v.tolist(), "round": number}).json()["x"]
        np.testing.assert_array_equal(x, controller.act(v))
        readings.append(conditions.reading(x))
        if number > 2:
            late = {"y": readings[number - 3]}
            for _ in range(2):  # again: known
                assert api.post(f"/plants/roof/rounds/{number - 2}/reading", json=late).status_code == 200
            controller.observe(readings[number - 3], round=number - 2)
    assert api.get("/plants/roof").json()["open_rounds"] == [10, 11]
    assert api.post("/plants/roof/rounds/11/reading", json={"y": None}).status_code == 200  # it has not arrived yet
    assert api.get("/plants/roof").json()["open_rounds"] == [10, 11]
    assert api.post("/plants/roof/rounds/11/reading", json={"y": 0.5}).status_code == 200


def test_everything_a_round_can_be_told_reaches_the_policy(api: httpx.Client) -> None:
    create(api, policy={"kind": "LAI", "A": [[1.0, 0.0], [0.0, 1.0]]}, v_limits=[-10, [10, None]])
    rounds = "/plants/roof/rounds"
    plain = api.post(rounds, json={"v": [2.0, 2.0]}).json()["x"]
    assert plain == pytest.approx([2 / (1 + 2 / (1 + 5**0.5))] * 2)  # the gain of A = I
    ahead = api.post(rounds, json={"v": [2.0, 2.0], "forecast": [[9.0, -9.0]], "factor": 2.0, "context": [1.0]}).json()[
        "x"
    ]
    assert ahead[0] > ahead[1]
    held = api.post(rounds, json={"v": [9.0, 9.0], "active": [True, False]}).json()["x"]
    assert held[1] == ahead[1]
    assert (
        api.post(
            f"{rounds}/3/reading",
            json={"y": 1.0, "applied": [5.0, 5.0], "at": [4, 4], "unit": 2, "covariates": [1.0, 2.0]},
        ).status_code
        == 200
    )
    assert api.get("/plants/roof").json()["x"] == [5.0, 5.0]
    for wrong, words in (
        ({"v": [11.0, 0.0]}, "v must be within v_limits"),
        ({"v": [1.0]}, "v must have an entry for each of the 2 actuators, got 1"),
        ({"v": [1.0, 1.0], "forecast": [[1.0]]}, "forecast must have an entry"),
        ({"v": [1.0, 1.0], "active": [True]}, "active must have an entry for each of the 2 actuators, got 1"),
        ({"v": [1.0, 1.0], "factor": -1.0}, "factor"),
        ({"v": [1.0, "one"]}, "v.1"),
        ({"w": [1.0, 1.0]}, "v: field required"),
    ):
        assert words in problem(api.post(rounds, json=wrong), 422)
    assert api.get("/plants/roof").json()["round"] == 3


def test_plants_are_created_once_listed_and_retired(api: httpx.Client) -> None:
    assert create(api, "b").status_code == 201
    assert create(api, "b").status_code == 200
    assert "other settings" in problem(create(api, "b", low=-1.0), 409)
    assert create(api, "a", policy="FTM", actuators=["one", "two"], units="degC").status_code == 201
    page = api.get("/plants", params={"limit": 1}).json()
    assert ([one["name"] for one in page["plants"]], page["next"]) == (["a"], "a")
    assert [one["name"] for one in api.get("/plants", params={"after": "a"}).json()["plants"]] == ["b"]
    api.post("/plants/a/rounds", json={"v": [1.0, 2.0], "round": 1})
    for _ in range(2):
        assert api.delete("/plants/a").json()["state"] == "retired"
    assert "is retired" in problem(api.post("/plants/a/rounds", json={"v": [1.0, 2.0], "round": 2}), 409)
    assert "is retired" in problem(api.post("/plants/a/rounds/1/reading", json={"y": 2.0}), 409)
    assert api.post("/plants/a/rounds", json={"v": [1.0, 2.0], "round": 1}).status_code == 200  # its history stays
    assert "no plant 'c'" in problem(api.get("/plants/c"), 404)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"policy": {"kind": "os:system"}}, "policy must be one of"),
        ({"policy": {"kind": "GLIDE", "speed": 1}}, "no argument 'speed'"),
        ({"x0": [0.0] * 65}, "x0"),
        ({"low": 1.0}, "x0 must be within low and high"),
        ({"rate": -1.0}, "rate"),
        ({"switching_weight": [[1.0, 2.0], [3.0, 1.0]]}, "switching_weight must be symmetric"),
        ({"name": "../etc"}, "name"),
        ({"units": ["a"]}, "units must have one entry for each"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_settings_that_a_controller_would_refuse_are_refused(api: httpx.Client, settings: Any, words: str) -> None:
    assert words in problem(create(api, **settings), 422)
    assert api.get("/plants").json()["plants"] == []


def test_history_is_paged_and_has_what_was_expected(api: httpx.Client) -> None:
    create(api)
    conditions = Conditions()
    for number in range(1, 8):
        x = api.post("/plants/roof/rounds", json={"v": conditions.draw().tolist(), "round": number}).json()["x"]
        if number != 3:
            api.post(f"/plants/roof/rounds/{number}/reading", json={"y": conditions.reading(x), "applied": [0.0, 1.0]})
    pages: list[Any] = []
    after = 0
    while after is not None:
        page = api.get("/plants/roof/rounds", params={"after": after, "limit": 3}).json()
        pages += page["rounds"]
        after = page["next"]
    assert [one["round"] for one in pages] == list(range(1, 8))
    assert [one["round"] for one in pages if one["y"] is None] == [3]
    assert pages[6]["applied"] == [0.0, 1.0]
    assert pages[6]["expected"] >= 0.0
    last = api.get("/plants/roof/rounds", params={"last": 2}).json()["rounds"]
    assert last == pages[-2:]
    assert "only one of" in problem(api.get("/plants/roof/rounds", params={"last": 2, "after": 1}), 422)


def test_reports_are_those_of_a_controller(api: httpx.Client) -> None:
    create(api, low=-1.0)
    controller = soqo.Controller(soqo.GLIDE(), [0.0, 0.0], low=-1.0)
    for number, v in enumerate(([-5.0, 1.0], [-6.0, 2.0]), 1):
        x = controller.act(v)
        controller.observe(2.0)
        assert api.post("/plants/roof/rounds", json={"v": v}).json()["x"] == x.tolist()
        api.post(f"/plants/roof/rounds/{number}/reading", json={"y": 2.0})
    assert api.get("/plants/roof/explain").json()["text"] == controller.explain()
    found, wanted = api.get("/plants/roof/diagnostics").json(), controller.diagnostics()
    assert found.keys() == wanted.keys()
    np.testing.assert_array_equal(found["estimate"], wanted["estimate"])


def test_costs_add_up(api: httpx.Client) -> None:
    """The cost of the plant and of following v, by hand; FTM estimates nothing, so following v costs its steps."""
    create(api, policy="FTM", switching_weight=[1.0, 4.0])
    for number, (v, applied, y) in enumerate((([2.0, 0.0], None, 1.0), ([2.0, 2.0], [3.0, 1.0], 5.0)), 1):
        api.post("/plants/roof/rounds", json={"v": v})
        body = {"y": y} if applied is None else {"y": y, "applied": applied}
        api.post(f"/plants/roof/rounds/{number}/reading", json=body)
    status = api.get("/plants/roof").json()
    assert status["cost"] == pytest.approx(1.0 + 5.0 + 0.5 * 2.0**2 + 0.5 * (1.0**2 + 4.0 * 1.0**2))
    assert status["follow_cost"] == pytest.approx(0.5 * 2.0**2 + 0.5 * 4.0 * 2.0**2)


def test_events_are_noted_and_a_held_plant_goes_on_with_its_next_round(api: httpx.Client) -> None:
    create(api)
    note = {"kind": "held", "message": "v has not been written for 60 s"}
    assert api.post("/plants/roof/events", json=note).json()["state"] == "held"
    api.post("/plants/roof/rounds", json={"v": [1.0, 2.0]})
    api.post("/plants/roof/rounds", json={"v": [1.0, 2.0]})
    assert api.get("/plants/roof").json()["state"] == "waiting"
    kinds = [(one["kind"], one["round"]) for one in api.get("/plants/roof/events").json()["events"]]
    assert kinds == [("missed", 1), ("held", 0)]


def test_health_readiness_and_metrics(api: httpx.Client) -> None:
    create(api)
    api.post("/plants/roof/rounds", json={"v": [1.0, 2.0]})
    assert api.get("/healthz").json() == {"status": "ok"}
    assert api.get("/readyz").json() == {"status": "ready"}
    text = api.get("/metrics").text
    assert "soqo_calls_written_total 1.0" in text
    assert "soqo_plants 1.0" in text
    assert 'soqo_requests_total{route="rounds",status="200"} 1.0' in text


def test_the_document_describes_every_route_and_its_body(api: httpx.Client) -> None:
    document = api.get("/openapi.json").json()
    body = document["paths"]["/plants/{name}/rounds"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["v"]
    assert set(document["paths"]) == {
        "/plants",
        "/plants/{name}",
        "/plants/{name}/rounds",
        "/plants/{name}/rounds/{number}/reading",
        "/plants/{name}/diagnostics",
        "/plants/{name}/explain",
        "/plants/{name}/events",
        "/metrics",
        "/healthz",
        "/readyz",
    }
