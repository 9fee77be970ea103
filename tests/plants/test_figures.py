"""The picture of a drive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from soqo import FTM, GLIDE, Policy
from soqo.plants import ORACLE, Contender, Deadband, Drive, Interpolation, Quadratic, ScheduledLAI, drive


@pytest.fixture(scope="module")
def result() -> Drive:
    policies: dict[str, Policy[Any] | Contender] = {
        "FTM": FTM(),
        "deadband": Deadband(1.0),
        "interpolation 0.5": Interpolation(0.5),
        ORACLE: Contender(ScheduledLAI(np.eye(2), [0.0], np.eye(2)[None])),
        "GLIDE": GLIDE(),
        "slow": Interpolation(0.02),
    }
    return drive(Quadratic(np.eye(2), noise=0.1), policies, rounds=60, seeds=1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_picture_has_a_bar_with_its_number_for_each_policy(result: Drive, theme: str) -> None:
    figure = result.plot(theme=theme)  # type: ignore[arg-type]  # one of the two themes
    costs = figure.axes[1]
    assert [label.get_text() for label in costs.get_yticklabels()] == list(result.names)
    numbers = [text.get_text() for text in costs.texts]
    expected = [f"{result[name].total:,.0f}" for name in result]
    assert [number.removeprefix("… ") for number in numbers] == expected
    assert numbers[-1].startswith("… ")  # far beyond following v


def test_bars_are_lost_and_wear(result: Drive) -> None:
    bars = result.plot().axes[1].patches
    lost, wear = bars[2 * result.index("GLIDE")], bars[2 * result.index("GLIDE") + 1]
    assert lost.get_width() == pytest.approx(result["GLIDE"].lost)  # type: ignore[attr-defined]  # a bar is a rectangle
    assert wear.get_width() == pytest.approx(result["GLIDE"].wear)  # type: ignore[attr-defined]  # a bar is a rectangle


def test_dark_colors_are_light_enough(result: Drive) -> None:
    for bar in result.plot(theme="dark").axes[1].patches:
        red, green, blue = to_rgb(bar.get_facecolor())
        assert max(red, green, blue) > 0.4


def test_labels_of_lines_do_not_overlap(result: Drive) -> None:
    axes = result.plot().axes[3]
    heights = sorted(text.get_position()[1] for text in axes.texts)
    assert np.diff(heights).min() > 0.06 * axes.get_ylim()[1]


def test_the_first_policy_is_shown_if_there_is_no_glide() -> None:
    short = drive(Quadratic(np.eye(2)), {"FTM": FTM()}, rounds=1, seeds=1)
    figure = short.plot()
    assert "FTM" in figure.axes[0].get_title(loc="left")
