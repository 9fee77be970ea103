"""The client: a controller's methods over a network that fails."""

from __future__ import annotations

import json
import math
from typing import Any

import httpx
import numpy as np
import pytest

import soqo
from service_fixtures import Conditions, LiveServer, undisturbed
from soqo.errors import AccessError, ArgumentError, ProtocolError, UnavailableError, UnknownNameError
from soqo.service._async_client import Request


class LossyTransport(httpx.HTTPTransport):
    """A network that loses every third request, or the answer to it."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._count += 1
        if self._count % 3 == 0:
            if self._count % 2:
                super().handle_request(request).read()  # it was carried out, and the answer is lost
            raise httpx.ReadError("the network is down", request=request)
        return super().handle_request(request)


def test_a_remote_plant_plays_as_a_controller_over_a_lossy_network(live: LiveServer) -> None:
    conditions, actions = Conditions(), []
    with soqo.Client(live.url, transport=LossyTransport()) as client:
        plant = client.create("roof", x0=[0.0, 0.0], switching_weight=[1.0, 4.0])
        for _ in range(12):
            x = plant.act(conditions.draw())
            assert plant.pending is not None
            actions.append(x.tolist())
            plant.observe(conditions.reading(x))
        assert actions == undisturbed(12, switching_weight=[1.0, 4.0])
        assert (plant.round, plant.open_rounds, plant.pending) == (12, (), None)
        assert [one["x"] for one in plant.history()] == actions
        assert client.plants() == ["roof"]


def test_a_new_client_continues_in_the_middle_of_a_round(live: LiveServer) -> None:
    with soqo.Client(live.url) as first:
        x = first.create("roof", soqo.FTM(), x0=[0.0]).act([1.0])
    with soqo.Client(live.url) as second:
        plant = second.plant("roof")
        np.testing.assert_array_equal(plant.pending, x)
        plant.observe(math.nan)
        assert plant.diagnostics()["missed"] == 1
        np.testing.assert_array_equal(plant.act([2.0], context=[1.0], factor=2.0, active=[True]), [2.0])
        plant.observe(0.5, applied=[1.5], at=[1.4], unit=1.0, covariates=[3.0])
        np.testing.assert_array_equal(plant.x, [1.5])
        assert plant.explain().startswith("Round 2 completed")
        plant.note("cleaned the filter")


def test_errors_are_those_of_the_library(live: LiveServer) -> None:
    with soqo.Client(live.url) as client:
        plant = client.create("roof", x0=[0.0])
        with pytest.raises(ProtocolError, match="before act"):
            plant.observe(1.0)
        with pytest.raises(ArgumentError, match="v must have an entry for each of the 1 actuators, got 2"):
            plant.act([1.0, 2.0])
        with pytest.raises(UnknownNameError, match="no plant 'nobody'"):
            client.plant("nobody").act([1.0])
        with pytest.raises(ProtocolError, match="other settings"):
            client.create("roof", x0=[1.0])
        plant.act([1.0])
        client.plant("roof").act([2.0])  # another program: this one's number is old
        with pytest.raises(ProtocolError, match="played with other values"):
            plant.act([3.0])
        assert plant.act([3.0]).shape == (1,)
        client.retire("roof")
        with pytest.raises(ProtocolError, match="retired"):
            plant.act([4.0])
    with soqo.Client(live.url, token="soqo_wrong") as client, pytest.raises(AccessError, match="not known"):
        client.plants()


def test_a_server_that_does_not_answer_is_named(live: LiveServer) -> None:
    dead = "http://127.0.0.1:9"
    with (
        soqo.Client(dead, patience=0.2) as client,
        pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9 does not answer"),
    ):
        client.plants()
    with soqo.Client([dead, live.url]) as client:  # the next one is used
        assert client.plants() == []


def test_answers_that_ask_to_wait_are_waited_for() -> None:
    answers = [
        httpx.Response(503, json={"detail": "busy"}, headers={"Retry-After": "0"}),
        httpx.Response(502, text="<html>", headers={"Retry-After": "Tue, 17 Nov 2026 10:00:00 GMT"}),
        httpx.Response(200, json=1),
    ]
    seen: list[Any] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return answers.pop(0)

    with soqo.Client("http://localhost", "soqo_a", transport=httpx.MockTransport(handle)) as client:
        assert client.send(Request("GET", "/plants")) == 1
    assert seen == ["Bearer soqo_a"] * 3


class Recorder:
    """A server that keeps what it is sent, and answers with a plant in round 2."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.bodies: list[Any] = []
        transport = httpx.MockTransport(self._handle)
        self.client = soqo.Client("http://localhost/", transport=transport)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        if request.method != "GET":
            self.paths.append(request.url.raw_path.decode())
            self.bodies.append(json.loads(request.content))
        return httpx.Response(200, json={"round": 2, "x": [0.0]})


def test_requests_hold_plain_numbers() -> None:
    server = Recorder()
    settings: dict[str, Any] = {"low": -math.inf, "high": [1.0, math.inf], "v_limits": (-1, [2, math.inf]), "seed": 3}
    plant = server.client.create("a/b", soqo.GLIDE(noise_cap=0.5), x0=[0, 0], units="degC", **settings)
    plant.act(np.array([1, 2]), forecast=np.ones((1, 2)), active=[True, False])
    plant.observe(math.nan)
    assert server.paths == ["/plants", "/plants/a%2Fb/rounds", "/plants/a%2Fb/rounds/3/reading"]
    assert server.bodies == [
        {
            "name": "a/b",
            "policy": {"kind": "GLIDE", "noise_cap": 0.5},
            "x0": [0.0, 0.0],
            "low": None,
            "high": [1.0, None],
            "v_limits": [-1, [2.0, None]],
            "units": "degC",
            "seed": 3,
        },
        {"v": [1.0, 2.0], "round": 3, "forecast": [[1.0, 1.0]], "active": [True, False]},
        {"y": None},
    ]


def test_wrong_arguments_are_named_before_anything_is_sent() -> None:
    server = Recorder()
    plant = server.client.plant("roof")
    with pytest.raises(ArgumentError, match="v must be numbers, got 'left'"):
        plant.act("left")
    with pytest.raises(ArgumentError, match="y must be one number"):
        plant.observe([1.0])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="name of a plant"):
        server.client.plant("")
    assert server.paths == []
    mistakes: list[str | list[str]] = ["127.0.0.1:8000", []]
    for wrong in mistakes:
        with pytest.raises(ArgumentError, match="url"):
            soqo.Client(wrong)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (422, ArgumentError),
        (409, ProtocolError),
        (404, UnknownNameError),
        (401, AccessError),
        (403, AccessError),
        (503, UnavailableError),
        (500, UnavailableError),
    ],
)
def test_problem_documents_become_the_errors_of_the_library(status: int, kind: type[Exception]) -> None:
    for body, words in (({"detail": "the reason"}, "the reason"), (["?"], f"status {status}")):
        transport = httpx.MockTransport(lambda _, body=body: httpx.Response(status, json=body))
        client = soqo.Client("http://localhost", patience=0.0, transport=transport)
        with pytest.raises(kind, match=words):
            client.plants()


def test_lists_become_arrays() -> None:
    found = {"estimate": [1.0, None], "noise": None, "stuck": True}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=found))
    known = soqo.Client("http://localhost", transport=transport).plant("roof").diagnostics()
    np.testing.assert_array_equal(known["estimate"], [1.0, np.nan])
    assert math.isnan(known["noise"])
    assert known["stuck"] is True
