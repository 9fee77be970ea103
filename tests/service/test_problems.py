"""Problem documents: the status of each error, and nothing of what should stay inside."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from soqo import errors
from soqo.service._problems import problem_of
from soqo.service._schemas import PlantSettings, RoundRequest


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.ArgumentError("a"), 422),
        (errors.ProtocolError("a"), 409),
        (errors.UnknownNameError("a"), 404),
        (errors.UnavailableError("a"), 503),
        (errors.AccessError("a"), 403),
        (errors.FileFormatError("a"), 500),
    ],
)
def test_errors_of_the_library_have_a_status_and_keep_their_message(error: Exception, status: int) -> None:
    answer = problem_of(error)
    document = json.loads(bytes(answer.body))
    assert (answer.status_code, document["status"], document["detail"]) == (status, status, "a")
    assert document["type"].startswith("urn:soqo:problem:")


def test_other_errors_tell_nothing_of_their_message() -> None:
    document = json.loads(bytes(problem_of(RuntimeError("password=secret")).body))
    assert document["status"] == 500
    assert "secret" not in document["detail"]
    assert "RuntimeError" in document["detail"]


def test_wrong_fields_are_named_without_the_whole_request() -> None:
    with pytest.raises(ValidationError) as caught:
        RoundRequest.model_validate_json(b'{"v": [1, "x", null, true, "y", "' + b"z" * 500 + b'"], "round": 0.5}')
    text = json.loads(bytes(problem_of(caught.value).body))["detail"]
    assert text.startswith("v.1: input should be a valid number, got 'x'")
    assert "and 1 more" in text
    assert len(text) < 600
    with pytest.raises(ValidationError) as deep:
        PlantSettings.model_validate_json(b"[" * 100_000)
    assert problem_of(deep.value).status_code == 422
