"""The small SVG of a panel: lines at the right places, and labels that do not overlap."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from soqo.experiments.execution import Band
from soqo.experiments.presentation._charts import Curve, Panel
from soqo.experiments.presentation._static_panel import format_ticks, linear_ticks, render_panel, spread
from soqo.typing import Array

X = np.array([1.0, 50.0, 100.0])


def curve(label: str, values: Array, **options: bool) -> Curve:
    return Curve(label, "#D55E00", "--", X, {"mean": Band(values, values - 1.0, values + 1.0)}, **options)


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def points(element: ET.Element) -> Array:
    """The points of a path."""
    return np.array(re.findall(r"[ML](\S+?) ([^MLZ]+)", element.attrib["d"]), float)


def test_a_line_goes_through_its_values() -> None:
    values = np.array([0.0, 30.0, 90.0])
    svg = parse(render_panel(Panel("", "t", "regret", (curve("a", values),)), "mean", "A line"))
    (line,) = svg.findall(".//path[@class='line']")
    x, y = points(line).T
    # Straight lines from pixels to values, through two labeled ticks of each axis.
    ticks = {float(text.text or ""): text for text in svg.iter("text") if re.fullmatch(r"\d+", text.text or "")}
    assert {0.0, 20.0, 40.0, 60.0, 80.0, 100.0} <= set(ticks)
    across = [(value, float(t.attrib["x"])) for value, t in ticks.items() if t.attrib["text-anchor"] == "middle"]
    to_x = np.polyfit([pixel for _, pixel in across], [value for value, _ in across], 1)
    np.testing.assert_allclose(np.polyval(to_x, x), X, atol=0.2)
    up = [(float(t.attrib["y"]) - 4.0, float(t.text or "")) for t in svg.iter("text") if t.get("text-anchor") == "end"]
    to_y = np.polyfit([pixel for pixel, _ in up], [value for _, value in up], 1)
    np.testing.assert_allclose(np.polyval(to_y, y), values, atol=0.3)


def test_a_line_is_interrupted_where_a_run_diverged_and_hidden_curves_are_left_out() -> None:
    broken = curve("a", np.array([0.0, np.nan, 90.0]))
    svg = parse(render_panel(Panel("", "t", "", (broken, curve("b", np.ones(3), shown=False))), "mean", "A line"))
    (line,) = svg.findall(".//path[@class='line']")
    assert line.attrib["d"].count("M") == 2
    assert "nan" not in ET.tostring(svg).decode()


def test_direct_labels_are_in_the_order_of_the_curves_and_do_not_overlap() -> None:
    ends = {"a": 90.0, "b": 89.0, "c": 88.5, "d": 1.0, "beyond": 1e9}
    curves = tuple(curve(name, np.array([0.0, 0.5 * end, end])) for name, end in ends.items())
    svg = parse(render_panel(Panel("", "t", "", curves), "mean", "Lines", direct_labels=True))
    labels = {t.text: float(t.attrib["y"]) for t in svg.findall(".//text[@class='direct']")}
    assert sorted(labels, key=lambda name: labels[name]) == ["beyond", "a", "b", "c", "d"]
    assert all(lower - upper >= 13.9 for upper, lower in pairwise(sorted(labels.values())))


def test_text_is_escaped_and_typeset() -> None:
    svg = render_panel(Panel("", "c1 & more", "", (curve("<a>", np.ones(3)),)), "mean", '"eta" < 1', direct_labels=True)
    assert "c₁ &amp; more" in svg
    assert "&lt;a&gt;" in svg
    assert parse(svg).attrib["aria-label"] == '"η" < 1'


def test_exploration_is_shaded_up_to_its_last_round() -> None:
    svg = parse(render_panel(Panel("", "t", "", (curve("a", np.ones(3)),), explored=50), "mean", "A line"))
    (shade,) = svg.findall(".//rect[@class='explored']")
    (line,) = svg.findall(".//path[@class='line']")
    start, middle, _ = points(line)[:, 0]
    assert float(shade.attrib["x"]) == pytest.approx(start, abs=0.1)
    assert float(shade.attrib["x"]) + float(shade.attrib["width"]) == pytest.approx(middle, abs=0.2)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3e5, 8e6), (1.0, 2000.0), (1e-9, 3e-9)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    ticks = linear_ticks(low, high)
    assert 3 <= len(ticks) <= 7
    assert all(low - 1e-12 <= tick <= high * (1 + 1e-12) for tick in ticks)
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-9)
    assert f"{steps[0]:.0e}"[0] in "125"


def test_ticks_share_a_power_of_ten() -> None:
    assert format_ticks([-1e5, 0.0, 1e5, 2e5]) == ["-1", "0", "1", "2·10⁵"]
    assert format_ticks([0.001, 0.002])[-1] == "2·10⁻³"


@pytest.mark.parametrize("seed", range(5))
def test_positions_are_spread_within_limits(seed: int) -> None:
    wanted = np.random.default_rng(seed).uniform(0.0, 60.0, 8).tolist()
    placed = spread(wanted, 10.0, 0.0, 100.0)
    assert [np.argsort(placed).tolist()] == [np.argsort(wanted).tolist()]
    assert all(b - a >= 10.0 - 1e-9 for a, b in pairwise(sorted(placed)))
    assert min(placed) >= 0.0
    assert max(placed) <= 100.0
