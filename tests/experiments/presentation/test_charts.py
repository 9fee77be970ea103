"""The ends of vertical axes, and the curves that leave them."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.experiments.execution import Band
from soqo.experiments.presentation._charts import Curve, Panel, beyond_axes, drawable, vertical_range


def panel_of(**values: list[float]) -> Panel:
    """A panel with a curve for each list, shown unless its label begins with an underscore."""
    curves = []
    for label, given in values.items():
        y = np.array(given, float)
        curves.append(
            Curve(label, "#000000", "-", np.arange(float(y.size)), {"mean": Band(y, y, y)}, not label.startswith("_"))
        )
    return Panel("", "", "", tuple(curves))


def test_all_curves_fit_if_none_is_far_above_the_others() -> None:
    panel = panel_of(a=[0, 1], b=[0, 2], c=[-1, 4.9])
    low, high = vertical_range(panel, "mean")
    assert low < -1
    assert 4.9 < high < 5.5
    assert beyond_axes(panel, "mean") == {}


def test_the_axis_starts_at_zero_if_no_curve_is_negative() -> None:
    assert vertical_range(panel_of(a=[3, 4]), "mean")[0] == 0.0


def test_a_curve_far_above_the_others_leaves_the_axis_and_is_named() -> None:
    panel = panel_of(a=[0, 1], b=[0, 2], far=[0, 1e6], gone=[0, np.nan])
    low, high = vertical_range(panel, "mean")
    assert low == 0.0
    assert high == pytest.approx(2.1)
    outside = beyond_axes(panel, "mean")
    assert outside["far"] == 1e6
    assert np.isnan(outside["gone"])
    assert set(outside) == {"far", "gone"}


def test_curves_that_are_not_shown_do_not_stretch_the_axis() -> None:
    assert vertical_range(panel_of(a=[0, 1], _b=[0, 3]), "mean")[1] == pytest.approx(1.05)


def test_a_panel_without_finite_values_has_an_axis() -> None:
    assert vertical_range(panel_of(a=[np.nan, np.nan]), "mean") == (0.0, 1.0)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e300])
def test_values_of_diverged_runs_are_not_drawn(value: float) -> None:
    band = drawable(Band(np.array([1.0, value]), np.array([value, 1.0]), np.array([1.0, 1.0])))
    np.testing.assert_array_equal(band.value, [1.0, np.nan])
    np.testing.assert_array_equal(band.low, [np.nan, 1.0])
    np.testing.assert_array_equal(band.high, [1.0, 1.0])
