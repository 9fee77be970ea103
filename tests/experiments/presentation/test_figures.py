"""A picture shows the medians and quartiles of the outcome that it was made from."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from soqo.errors import ArgumentError
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.presentation import _figures as figures
from soqo.experiments.presentation._figures import (
    moving_mean,
    new_figure,
    power,
    regret_figure,
    regret_scale,
    save_figure,
    shared_title,
    sweep_figure,
    thinned,
)
from soqo.experiments.presentation._style import COLORS
from soqo.typing import Array


def line(axes: Axes, label: str) -> tuple[Array, Array]:
    """The points of a line."""
    (found,) = [one for one in axes.get_lines() if one.get_label() == label]
    return np.asarray(found.get_xdata(), float), np.asarray(found.get_ydata(), float)


def test_three_panels_have_medians_over_horizons_over_rounds_and_per_round(
    outcomes: dict[str, Outcome],
) -> None:
    outcome = outcomes["intro"]
    over_horizons, over_rounds, per_round = regret_figure(outcome).axes
    for name in outcome.policies:
        x, y = line(over_horizons, name)
        np.testing.assert_array_equal(x, [20, 40, 60, 80])
        np.testing.assert_allclose(y, [outcome.median(name, h) for h in (20, 40, 60, 80)])
        x, y = line(over_rounds, name)
        np.testing.assert_array_equal(x, np.arange(1, 61))
        np.testing.assert_allclose(y, np.median(outcome.curve(name), axis=0))
        x, y = line(per_round, name)
        np.testing.assert_array_equal(x, np.arange(7, 61))
        np.testing.assert_allclose(y[-1], np.median(np.diff(outcome.curve(name))[:, -7:].mean(1)))


def test_bands_are_quartiles(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["intro"]
    axes = regret_figure(outcome).axes[1]
    for index, name in enumerate(outcome.policies):
        band = np.asarray(axes.collections[index].get_paths()[0].vertices)
        lower, upper = np.quantile(outcome.curve(name), [0.25, 0.75], axis=0)
        assert band[:, 1].min() == pytest.approx(lower.min())
        assert band[:, 1].max() == pytest.approx(upper.max())


def test_one_horizon_makes_two_panels(outcomes: dict[str, Outcome]) -> None:
    titles = [axes.get_title(loc="left") for axes in regret_figure(outcomes["second"]).axes]
    assert titles == ["Regret up to round t", "Regret per round, mean of 7 rounds"]


def test_a_policy_has_the_same_color_in_every_panel_and_picture(
    outcomes: dict[str, Outcome],
) -> None:
    for name in ("intro", "second"):
        for axes in regret_figure(outcomes[name]).axes:
            colors = {str(one.get_label()): to_hex(one.get_color()) for one in axes.get_lines()}
            assert colors["GLIDE"] == COLORS["GLIDE"].lower()
            assert colors["POL, rate 1e-4"] == COLORS["POL"].lower()


def test_the_scale_is_logarithmic_if_nothing_is_below_zero(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["intro"]
    above = replace(outcome, final={h: np.abs(r) + 1.0 for h, r in outcome.final.items()})
    below = replace(outcome, final={h: r - 1e4 for h, r in outcome.final.items()})
    assert regret_figure(above).axes[0].get_yscale() == "log"
    axes = regret_figure(below).axes[0]
    assert axes.get_yscale() == "symlog"
    low, high = axes.get_ylim()
    assert low < min(below.median(name, h) for name in below.policies for h in below.horizons)
    assert 0.0 in axes.get_yticks()
    assert all(low <= tick <= high for tick in axes.get_yticks())


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e300])
def test_what_diverged_is_left_out_and_stretches_no_axis(outcomes: dict[str, Outcome], value: float) -> None:
    outcome = outcomes["intro"]
    curves, final = outcome.curves.copy(), {h: r.copy() for h, r in outcome.final.items()}
    curves[0, :, 30:] = value
    for regret in final.values():
        regret[0] = value
    picture = regret_figure(replace(outcome, curves=curves, final=final))
    x, y = line(picture.axes[1], "FTM")
    assert np.isfinite(y[x <= 30]).all()
    assert np.isnan(y[x > 30]).all()
    assert max(axes.get_ylim()[1] for axes in picture.axes) < 1e9
    picture.draw_without_rendering()


def test_everything_diverged_is_drawn_all_the_same(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["intro"]
    infinite = replace(
        outcome,
        curves=np.full_like(outcome.curves, np.inf),
        final={h: np.full_like(r, np.inf) for h, r in outcome.final.items()},
    )
    regret_figure(infinite).draw_without_rendering()


def test_a_sweep_has_a_panel_per_family_and_a_line_per_setting(
    outcomes: dict[str, Outcome],
) -> None:
    parts = [outcomes["sweep_1"], outcomes["sweep_9"]]
    left, right = sweep_figure(parts).axes
    assert [axes.get_title(loc="left") for axes in (left, right)] == ["SCaLE", "SCaLE as printed"]
    for outcome, label in zip(parts, ["eta = 1", "eta = 9"], strict=True):
        x, y = line(left, label)
        np.testing.assert_array_equal(x, [1, 2, 8])
        medians = [outcome.median(f"SCaLE, c1 {value:g}") for value in (1, 2, 8)]
        np.testing.assert_allclose(y, medians)
    low, high = left.get_ylim()
    assert right.get_ylim() == (low, high)
    medians = [o.median(name) for o in parts for name in o.policies]
    assert low < min(medians) <= max(medians) < high
    marks = [one for one in left.get_lines() if one.get_marker() == "o"]
    lowest = [min(o.median(f"SCaLE, c1 {value:g}") for value in (1, 2, 8)) for o in parts]
    np.testing.assert_allclose([float(np.asarray(m.get_ydata())[0]) for m in marks], lowest)


def test_a_single_sweep_shows_what_is_not_swept_as_level_lines(
    outcomes: dict[str, Outcome],
) -> None:
    outcome = outcomes["sweep_1"]
    swept = {n: s for n, s in outcome.setting.swept.items() if n != "SCaLE, c1 8"}
    axes = sweep_figure([replace(outcome, setting=replace(outcome.setting, swept=swept))]).axes[0]
    _, y = line(axes, "SCaLE, c1 8")
    np.testing.assert_allclose(y, outcome.median("SCaLE, c1 8"))


def test_a_sweep_needs_one(outcomes: dict[str, Outcome]) -> None:
    with pytest.raises(ArgumentError, match="each of a setting with a sweep"):
        sweep_figure([outcomes["second"]])


def test_an_svg_has_text_as_text_and_is_the_same_each_time(outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    one = save_figure(regret_figure(outcomes["intro"]), tmp_path / "one.svg")
    two = save_figure(regret_figure(outcomes["intro"]), tmp_path / "two.svg")
    assert one.read_bytes() == two.read_bytes()
    root = ElementTree.parse(one).getroot()
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"GLIDE", "horizon T", "Pair: small steps, η = 1"} <= texts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.svg", "two.svg"]


def test_every_text_of_a_picture_is_inside_it(outcomes: dict[str, Outcome]) -> None:
    for picture in (
        regret_figure(outcomes["intro"]),
        sweep_figure([outcomes["sweep_1"], outcomes["sweep_9"]]),
    ):
        picture.draw_without_rendering()
        (legend,) = picture.legends
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= picture.bbox.x1
        for axes in picture.axes:
            assert axes.xaxis.label.get_window_extent().y0 >= box.y1


@pytest.mark.parametrize("low", [-3e4, -20.0, -1e-3, 0.5, 2e5])
@pytest.mark.parametrize("middle", [1.0, 1e3, 1e5])
def test_tick_labels_do_not_overlap_and_there_are_enough(low: float, middle: float) -> None:
    picture = new_figure(4.0, 4.5)
    axes = picture.subplots()
    axes.plot([low, low, middle, middle, 2 * middle, 3e5])
    regret_scale(axes)
    picture.draw_without_rendering()
    bottom, top = axes.get_ylim()
    ticks = [tick for tick in axes.yaxis.get_major_ticks() if bottom <= tick.get_loc() <= top]
    boxes = sorted((tick.label1.get_window_extent() for tick in ticks), key=lambda box: box.y0)
    assert 2 <= len(boxes) <= 14
    assert all(one.y1 < other.y0 + 2 for one, other in pairwise(boxes))


def test_a_moving_mean_is_the_mean_of_the_last_rounds() -> None:
    shares = np.random.default_rng(0).standard_normal((3, 20))
    got = moving_mean(np.cumsum(shares, axis=1), 5)
    for t in range(16):
        np.testing.assert_allclose(got[:, t], shares[:, t : t + 5].mean(axis=1), atol=1e-12)


def test_thinning_keeps_the_first_and_the_last_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "POINTS", 7)
    rounds, samples = thinned(np.arange(100.0)[None], first=1)
    assert len(rounds) == 7
    assert (rounds[0], rounds[-1]) == (1, 100)
    np.testing.assert_array_equal(samples[0] + 1, rounds)


def test_titles_without_a_common_part_are_all_kept() -> None:
    assert shared_title(["One", "Two"]) == ("One / Two", ["One", "Two"])


@pytest.mark.parametrize(("value", "text"), [(1e3, "10³"), (1000.0 * (1 - 1e-12), "10³"), (-2e-5, "-2·10⁻⁵"), (1, "1")])
def test_ticks_are_powers(value: float, text: str) -> None:
    assert power(value) == text
