"""The scale of regret and the labels of its ticks."""

from __future__ import annotations

from itertools import pairwise

import pytest

from soqo.experiments.presentation import new_figure, scale_regret_axes


@pytest.mark.parametrize("low", [-3e4, -20.0, -1e-3, 0.5, 2e5])
@pytest.mark.parametrize("middle", [1.0, 1e3, 1e5])
def test_tick_labels_do_not_overlap_and_there_are_enough(low: float, middle: float) -> None:
    figure = new_figure(4.0, 4.5)
    axes = figure.subplots()
    axes.plot([low, low, middle, middle, 2 * middle, 3e5])
    scale_regret_axes(axes)
    figure.draw_without_rendering()
    bottom, top = axes.get_ylim()
    ticks = [tick for tick in axes.yaxis.get_major_ticks() if bottom <= tick.get_loc() <= top]
    boxes = sorted((tick.label1.get_window_extent() for tick in ticks), key=lambda box: box.y0)
    assert 2 <= len(boxes) <= 14
    assert all(one.y1 < other.y0 + 2 for one, other in pairwise(boxes))


@pytest.mark.parametrize(("value", "text"), [(1e3, "10³"), (1000.0 * (1 - 1e-12), "10³"), (-2e-5, "-2·10⁻⁵"), (1, "1")])
def test_tick_labels_are_powers_of_ten(value: float, text: str) -> None:
    axes = new_figure(4.0, 4.5).subplots()
    axes.plot([-1.0, 1e4])
    scale_regret_axes(axes)
    assert axes.yaxis.get_major_formatter()(value) == text
