"""Names of users: what they may consist of, and how figures, tables and terminals show them."""

from __future__ import annotations

from typing import Any

import matplotlib.figure
import pytest

from soqo._foundation.text import check_label, csv_cell, figure_text, printable
from soqo.errors import ArgumentError


@pytest.mark.parametrize("text", ["SCaLE", "naïve, c₁ = 3", "costs $1", "=1+1", "", "_x", "日本"])
def test_a_printable_line_is_a_label(text: str) -> None:
    assert check_label("name", text) == text


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31mred", "tab\t", "\x00", "\u202egnirts", "\ud800", 3, None])
def test_control_characters_are_refused(text: Any) -> None:
    with pytest.raises(ArgumentError, match="name must be a text of one line without control characters"):
        check_label("name", text)


def test_a_long_label_is_refused_with_its_length() -> None:
    with pytest.raises(ArgumentError, match=r"title must have at most 100 characters, got 300: 'xxx"):
        check_label("title", "x" * 300)


@pytest.mark.parametrize("text", ["$", "$$", "$x$ and $", "a $1 b $2", "\\$", "100 % $\\alpha_"])
def test_a_dollar_sign_is_shown_and_not_read_as_a_formula(text: str) -> None:
    figure = matplotlib.figure.Figure()
    figure.text(0.1, 0.1, figure_text(text))
    figure.draw_without_rendering()


def test_a_text_that_looks_like_a_formula_is_marked_in_tables() -> None:
    assert [csv_cell(value) for value in ("=A1", "+1", "-x", "@f", "x=1", -1.0, "")] == [
        *("'=A1", "'+1", "'-x", "'@f"),
        *("x=1", -1.0, ""),
    ]


def test_control_characters_do_not_reach_a_terminal() -> None:
    assert printable("a\nb \x1b[2J é") == "a\nb \\x1b[2J é"
