"""A chart in HTML: its legend, its panels, and a note on curves that leave the axes."""

from __future__ import annotations

import re

import numpy as np

from soqo.experiments.execution import Band
from soqo.experiments.presentation._chart_elements import chart_colors, render_chart, render_headline_chart
from soqo.experiments.presentation._charts import Chart, Curve, Panel
from soqo.typing import Array

X = np.array([1.0, 2.0])


def curve(label: str, end: float, color: str = "#D55E00", shown: bool = True) -> Curve:
    values: Array = np.array([0.0, end])
    band = Band(values, values, values)
    return Curve(label, color, "-", X, {"mean": band, "median": band}, shown)


CURVES = (
    curve("a", 1.0),
    curve("b", 2.0),
    curve("far & away", 3e6),
    curve("gone", np.nan),
    curve("_", 1.0, "#0072B2", False),
)
CHART = Chart(
    "mine", (Panel("Regret up to c1", "t", "regret", CURVES), Panel("Second", "t", "regret", CURVES)), "mean", 7
)


def test_the_legend_has_every_curve_and_hides_those_that_are_not_shown() -> None:
    legend = render_chart(CHART, "A chart").partition("</ul>")[0]
    assert re.findall(r'data-curve="([^"]+)"( hidden)?', legend) == [
        ("a", ""),
        ("b", ""),
        ("far &amp; away", ""),
        ("gone", ""),
        ("_", " hidden"),
    ]


def test_curves_beyond_the_axis_are_named_with_their_largest_value() -> None:
    text = render_chart(CHART, "A chart")
    assert text.count("Beyond the axis: far &amp; away (up to 3·10<sup>6</sup>); gone (not finite)") == 2


def test_a_description_tells_the_values_from_the_largest_to_the_smallest() -> None:
    (label, _) = re.findall(r'aria-label="([^"]+)">', render_chart(CHART, "A chart"))[1:]
    assert label.startswith("A chart. Regret up to c₁, mean of 7 runs. At the right end: ")
    assert label.endswith("far &amp; away 3e+06, b 2, a 1.")
    assert "gone diverged" in label


def test_a_headline_has_one_panel_twice() -> None:
    text = render_headline_chart(CHART, 1, "A chart")
    assert re.findall(r'data-panel="(\d)" data-statistic="(\w+)"', text) == [("1", "mean"), ("1", "median")]
    assert re.findall(r"<figcaption>([^<]+)", text) == ["Mean second", "Median second"]


def test_colors_are_those_of_all_curves() -> None:
    assert chart_colors([CHART]) == {"#d55e00", "#0072b2"}
