"""What clients send and what they make of answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import soqo
from soqo.errors import AccessError, ArgumentError, ProtocolError, UnavailableError, UnknownNameError
from soqo.service._protocol import (
    act_request,
    array_or_value,
    base_urls,
    create_request,
    error_of,
    observe_request,
    plant_path,
    waiting_time,
)


def test_requests_hold_plain_numbers() -> None:
    request = act_request(
        "roof", 3, np.array([1, 2]), {"forecast": np.ones((1, 2)), "active": [True, False], "factor": None}
    )
    assert request.body == {"v": [1.0, 2.0], "round": 3, "forecast": [[1.0, 1.0]], "active": [True, False]}
    assert observe_request("roof", 3, math.nan, {"applied": None}).body == {"y": None}
    assert observe_request("a/b", 3, 1, {}).path == "/plants/a%2Fb/rounds/3/reading"
    created = create_request(
        "roof",
        [0, 0],
        soqo.GLIDE(noise_cap=0.5),
        {"low": -math.inf, "high": [1.0, math.inf], "v_limits": (-1, [2, math.inf]), "units": "degC", "seed": 3},
    )
    assert created.body == {
        "name": "roof",
        "policy": {"kind": "GLIDE", "noise_cap": 0.5},
        "x0": [0.0, 0.0],
        "low": None,
        "high": [1.0, None],
        "v_limits": [-1, [2.0, None]],
        "units": "degC",
        "seed": 3,
    }


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ArgumentError, match="v must be numbers, got 'left'"):
        act_request("roof", 1, "left", {})
    with pytest.raises(ArgumentError, match="y must be one number"):
        observe_request("roof", 1, [1.0], {})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="name of a plant"):
        plant_path("")
    mistakes: list[str | list[str]] = ["127.0.0.1:8000", []]
    for wrong in mistakes:
        with pytest.raises(ArgumentError, match="url"):
            base_urls(wrong)
    assert base_urls(["http://a/", "https://b"]) == ("http://a", "https://b")


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
    error = error_of(status, {"detail": "the reason"})
    assert isinstance(error, kind)
    assert str(error) == "the reason"
    assert f"status {status}" in str(error_of(status, None))


def test_waiting_grows_up_to_a_bound_and_obeys_the_server() -> None:
    waits = [waiting_time(tries, None) for tries in range(12)]
    assert waits == sorted(waits)
    assert waits[0] < 0.1
    assert waits[-1] == 1.0
    assert waiting_time(0, "7") == 7.0
    assert waiting_time(0, "Tue, 17 Nov 2026 10:00:00 GMT") == waits[0]


def test_lists_become_arrays() -> None:
    np.testing.assert_array_equal(array_or_value([1.0, None]), [1.0, np.nan])
    assert math.isnan(array_or_value(None))
    assert array_or_value(True) is True
