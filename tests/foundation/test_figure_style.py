"""Themes: colors that stand out on their background, and settings of Matplotlib that are restored."""

from __future__ import annotations

import dataclasses
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from soqo._foundation.figure_style import FIGURE_RC, find_theme, house_style, theme_context
from soqo.errors import ArgumentError


def luminance(color: str) -> float:
    """The relative luminance of WCAG 2."""
    channels = np.array(to_rgb(color))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_every_color_stands_out_on_the_background(name: Any) -> None:
    theme = find_theme(name)
    assert contrast(theme.text, theme.background) > 7.0  # WCAG AAA for text
    colors = {k: v for k, v in dataclasses.asdict(theme).items() if k not in ("background", "text")}
    for role, color in colors.items():
        assert contrast(color, theme.background) > 2.1, role  # Okabe and Ito's orange has 2.2 on white


def test_the_dark_theme_is_dark_and_the_light_one_is_white() -> None:
    assert luminance(find_theme("dark").background) < 0.02
    assert luminance(find_theme("light").background) == pytest.approx(1.0)


def test_the_context_sets_and_restores_the_settings() -> None:
    before = dict(matplotlib.rcParams)
    with theme_context(find_theme("dark")):
        assert matplotlib.rcParams["axes.facecolor"] == find_theme("dark").background
        assert matplotlib.rcParams["lines.linewidth"] == FIGURE_RC["lines.linewidth"]
    assert dict(matplotlib.rcParams) == before


def test_figures_on_white_have_the_same_style_and_matplotlibs_colors() -> None:
    before = dict(matplotlib.rcParams)
    with house_style():
        assert matplotlib.rcParams["svg.hashsalt"] == FIGURE_RC["svg.hashsalt"]
        assert matplotlib.rcParams["axes.facecolor"] == before["axes.facecolor"]
    assert dict(matplotlib.rcParams) == before


def test_an_unknown_theme_is_named() -> None:
    with pytest.raises(ArgumentError, match="theme must be one of 'light', 'dark', got 'blue'"):
        find_theme("blue")  # type: ignore[arg-type]
