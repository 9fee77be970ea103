"""Numbers as HTML."""

from __future__ import annotations

import pytest

from soqo.experiments.presentation._numbers import format_interval, format_number, pluralize


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (999.4, "999"),
        (123456.0, "1.23·10<sup>5</sup>"),
        (-2e-7, "\N{MINUS SIGN}2·10<sup>\N{MINUS SIGN}7</sup>"),
    ],
)
def test_numbers_have_three_digits_and_a_power_of_ten_if_they_need_one(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_what_is_not_finite_has_a_sign_of_its_own(value: float) -> None:
    assert format_number(value) == "∞"


def test_an_interval_has_both_ends_and_counts_their_noun() -> None:
    assert format_interval(-1.0, 2e6) == "\N{MINUS SIGN}1 to 2·10<sup>6</sup>"
    assert [pluralize(count, "run") for count in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
