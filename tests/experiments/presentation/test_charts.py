"""The ends of vertical axes, and the curves that leave them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes

from soqo.experiments.execution import Band
from soqo.experiments.presentation import Chart, Curve, Panel, draw_chart


def draw(log: bool = False, **values: list[float]) -> Axes:
    """Draw a curve for each list, shown unless its label begins with an underscore."""
    curves = []
    for label, given in values.items():
        y = np.array(given, float)
        band = Band(y, np.full_like(y, np.nan), np.full_like(y, np.nan))
        curves.append(
            Curve(label, "#000000", "-", np.arange(1.0, 1.0 + y.size), {"mean": band}, not label.startswith("_"))
        )
    panel = Panel("", "x", "y", tuple(curves), log=log)
    (axes,) = draw_chart(Chart("mine", "Mine", (panel,), "mean", 7)).axes
    return axes


def test_all_curves_fit_if_none_is_far_above_the_others() -> None:
    axes = draw(a=[0, 1], b=[0, 2], c=[-1, 4.9])
    low, high = axes.get_ylim()
    assert low < -1
    assert 4.9 < high < 5.5
    assert not axes.texts


def test_the_axis_starts_at_zero_if_no_curve_is_negative_and_is_logarithmic_if_told() -> None:
    assert draw(a=[3, 4]).get_ylim()[0] == 0.0
    low, high = draw(a=[3, 4e6], log=True).get_ylim()
    assert 0.0 < low < 3.0
    assert high > 4e6


def test_a_curve_far_above_the_others_leaves_the_axis_and_is_named() -> None:
    axes = draw(a=[0, 1], b=[0, 2], far=[0, 1e6], gone=[0, np.nan])
    low, high = axes.get_ylim()
    assert low == 0.0
    assert high == pytest.approx(2.1)
    assert [text.get_text() for text in axes.texts] == ["above the axis: far, gone"]


def test_curves_that_are_not_shown_do_not_stretch_the_axis() -> None:
    assert draw(a=[0, 1], _b=[0, 3]).get_ylim()[1] == pytest.approx(1.05)


def test_a_panel_without_finite_values_has_an_axis() -> None:
    assert draw(a=[np.nan, np.nan]).get_ylim() == (0.0, 1.0)
