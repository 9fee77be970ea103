"""What requests may hold: finite numbers of the right kind, and no more than a plant can use."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from soqo.service._schemas import NewPlant, PlantSettings, Reading, RoundRequest, iso_time


@pytest.mark.parametrize(
    "text",
    [
        '{"v": [NaN]}',
        '{"v": [Infinity]}',
        '{"v": [1e999]}',
        '{"v": ["1"]}',
        '{"v": [true]}',
        '{"v": []}',
        '{"v": 1}',
        '{"v": [1], "round": 0}',
        '{"v": [1], "round": 1.5}',
        '{"v": [1], "round": true}',
        '{"v": [1], "round": 99999999999999999999}',
        '{"v": [1], "forecast": []}',
        '{"v": [1], "extra": 1}',
        "[]",
        "",
        "{",
    ],
)
def test_wrong_rounds_are_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        RoundRequest.model_validate_json(text)


def test_integers_are_numbers_and_null_is_no_reading() -> None:
    assert RoundRequest.model_validate_json('{"v": [1, 2.5]}').v == [1.0, 2.5]
    assert Reading.model_validate_json('{"y": null}').y is None
    with pytest.raises(ValidationError):
        Reading.model_validate_json("{}")  # a forgotten reading is not a missing one


def test_settings_survive_the_store() -> None:
    settings = PlantSettings(x0=[1.0, 2.0], low=[0.0, None], v_limits=(-5.0, [5.0, None]), units=["a", "b"])
    assert PlantSettings.model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a", "a b", "a" * 65, "ä", "a\n"])
def test_names_that_do_not_fit_an_address_are_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        NewPlant(name=name, x0=[0.0])


def test_times_are_in_utc() -> None:
    assert iso_time(1_767_225_600_000_000) == "2026-01-01T00:00:00.000Z"
