"""A figure shows the medians and quartiles of the outcome that it was made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from soqo.errors import ArgumentError
from soqo.experiments.execution import Outcome, run
from soqo.experiments.presentation import (
    policy_styles,
    regret_figure,
    sweep_figure,
)
from soqo.experiments.settings import Setting
from soqo.typing import Array

WithRegret = Callable[[Outcome, Callable[[str, Array], Array]], Outcome]


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
        increments = np.diff(outcome.curve(name), prepend=0.0)
        means = [np.median(increments[:, t - 7 : t].mean(axis=1)) for t in range(7, 61)]
        np.testing.assert_allclose(y, means, rtol=1e-9, atol=1e-9)


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


def test_a_policy_has_the_same_color_in_every_panel_and_figure(
    outcomes: dict[str, Outcome],
) -> None:
    for name in ("intro", "second"):
        for axes in regret_figure(outcomes[name]).axes:
            colors = {str(one.get_label()): to_hex(one.get_color()) for one in axes.get_lines()}
            for policy in ("GLIDE", "POL, rate 1e-4"):
                assert colors[policy] == policy_styles([policy])[policy][0].lower()


def test_the_scale_is_logarithmic_if_all_regret_is_positive(
    outcomes: dict[str, Outcome], with_regret: WithRegret
) -> None:
    above = with_regret(outcomes["intro"], lambda _, shares: np.abs(shares) + 1.0)
    below = with_regret(outcomes["intro"], lambda _, shares: shares - 1e4)
    assert {axes.get_yscale() for axes in regret_figure(above).axes} == {"log"}
    axes = regret_figure(below).axes[0]
    assert axes.get_yscale() == "symlog"
    low, high = axes.get_ylim()
    assert low < min(below.median(name, h) for name in below.policies for h in below.horizons)
    assert 0.0 in axes.get_yticks()
    assert all(low <= tick <= high for tick in axes.get_yticks())


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e300])
def test_diverged_rounds_are_omitted_and_do_not_stretch_an_axis(
    outcomes: dict[str, Outcome], with_regret: WithRegret, value: float
) -> None:
    def diverge(name: str, shares: Array) -> Array:
        late = np.arange(shares.shape[1]) >= min(30, shares.shape[1] - 1)
        return np.where(late, value, shares) if name == "FTM" else shares

    figure = regret_figure(with_regret(outcomes["intro"], diverge))
    x, y = line(figure.axes[1], "FTM")
    assert np.isfinite(y[x <= 30]).all()
    assert np.isnan(y[x > 30]).all()
    assert max(axes.get_ylim()[1] for axes in figure.axes) < 1e9
    figure.draw_without_rendering()


def test_a_figure_is_drawn_even_if_every_run_diverged(outcomes: dict[str, Outcome], with_regret: WithRegret) -> None:
    infinite = with_regret(outcomes["intro"], lambda _, shares: np.full_like(shares, np.inf))
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


def test_a_single_sweep_shows_other_policies_as_horizontal_lines(
    outcomes: dict[str, Outcome],
) -> None:
    outcome = outcomes["sweep_1"]
    swept = {n: s for n, s in outcome.setting.swept.items() if n != "SCaLE, c1 8"}
    axes = sweep_figure([replace(outcome, setting=replace(outcome.setting, swept=swept))]).axes[0]
    _, y = line(axes, "SCaLE, c1 8")
    np.testing.assert_allclose(y, outcome.median("SCaLE, c1 8"))


def test_a_sweep_figure_requires_settings_with_a_sweep(outcomes: dict[str, Outcome]) -> None:
    with pytest.raises(ArgumentError, match="each of a setting with a sweep"):
        sweep_figure([outcomes["second"]])


def test_every_text_is_inside_of_the_figure(outcomes: dict[str, Outcome]) -> None:
    for figure in (
        regret_figure(outcomes["intro"]),
        sweep_figure([outcomes["sweep_1"], outcomes["sweep_9"]]),
    ):
        figure.draw_without_rendering()
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        for axes in figure.axes:
            assert axes.xaxis.label.get_window_extent().y0 >= box.y1


def test_a_long_curve_is_thinned_but_keeps_the_first_and_the_last_round(
    small: dict[str, Setting], tmp_path: Path
) -> None:
    (outcome,) = run([replace(small["second"], horizon=1000)], tmp_path, workers=1)
    rounds, median = line(regret_figure(outcome).axes[0], "FTM")
    assert (rounds[0], rounds[-1]) == (1, 1000)
    assert 200 <= len(rounds) <= 300
    assert np.ptp(np.diff(rounds)) <= 1
    np.testing.assert_allclose(median, np.median(outcome.curve("FTM"), axis=0)[rounds.astype(int) - 1])


def test_a_sweep_of_unrelated_titles_shows_all_of_them(outcomes: dict[str, Outcome]) -> None:
    parts = [outcomes["sweep_1"], outcomes["sweep_9"]]
    titled = [replace(o, setting=replace(o.setting, title=t)) for o, t in zip(parts, ["One", "Two"], strict=True)]
    figure = sweep_figure(titled)
    assert figure.get_suptitle() == "One / Two"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["One", "Two"]
