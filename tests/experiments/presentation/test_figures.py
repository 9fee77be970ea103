"""A figure shows the means and medians of the outcome that it was made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from soqo import processes
from soqo.errors import ArgumentError
from soqo.experiments.execution import Outcome
from soqo.experiments.presentation import (
    policy_styles,
    regret_figure,
    sweep_figure,
)
from soqo.typing import Array

WithRegret = Callable[[Outcome, Callable[[str, Array], Array]], Outcome]


def line(axes: Axes, label: str) -> tuple[Array, Array]:
    """The points of a line."""
    (found,) = [one for one in axes.get_lines() if one.get_label() == label]
    return np.asarray(found.get_xdata(), float), np.asarray(found.get_ydata(), float)


def thin_line(axes: Axes, index: int) -> Array:
    """The values of a thin line without a label."""
    thin = [one for one in axes.get_lines() if one.get_linewidth() < 1.0 and len(np.asarray(one.get_xdata())) > 2]
    return np.asarray(thin[index].get_ydata(), float)


def test_thick_lines_are_means_and_thin_ones_medians(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["intro"]
    over_horizons, over_rounds, per_round = regret_figure(outcome).axes
    for index, name in enumerate(outcome.policies):
        x, y = line(over_horizons, name)
        np.testing.assert_array_equal(x, [20, 40, 60, 80])
        np.testing.assert_allclose(y, [outcome.regret(name, h).mean() for h in (20, 40, 60, 80)])
        np.testing.assert_allclose(thin_line(over_horizons, index), [outcome.median(name, h) for h in (20, 40, 60, 80)])
        x, y = line(over_rounds, name)
        np.testing.assert_allclose(y, outcome.curve(name).mean(axis=0)[x.astype(int) - 1])
        x, y = line(per_round, name)
        assert (x[0], x[-1]) == (1, 60)
        increments = np.diff(outcome.curve(name), prepend=0.0).mean(axis=0)
        means = [increments[max(0, t - 10) : t].mean() for t in x.astype(int)]
        np.testing.assert_allclose(y, means, rtol=1e-9, atol=1e-9)


def test_medians_are_thick_where_there_is_no_mean(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["second"]
    environment = replace(outcome.setting.environment, process=processes.Cauchy(1.0))
    axes = regret_figure(replace(outcome, setting=replace(outcome.setting, environment=environment))).axes[0]
    assert line(axes, "FTM")[1][-1] == pytest.approx(outcome.median("FTM"))


def test_policies_that_are_not_in_the_paper_have_a_panel_of_their_own(of_the_paper: Outcome) -> None:
    figure = regret_figure(of_the_paper)
    labels = [axes.get_legend_handles_labels()[1] for axes in figure.axes]
    assert labels[:3] == [["FTM", "POL, xi = 0.0001"]] * 3
    assert {"ROBD (knows A)", "GLIDE"} < set(labels[3])
    assert figure.axes[3].get_title(loc="left").startswith("Not in the paper")


def test_the_first_panel_of_the_introduction_is_wide_at_the_top(of_the_paper: Outcome) -> None:
    places = [axes.get_subplotspec() for axes in regret_figure(of_the_paper).axes]
    spans = [(place.rowspan.start, len(place.colspan)) for place in places if place is not None]
    assert spans == [(0, 3), (1, 1), (1, 1), (1, 1)]


def test_one_horizon_makes_two_panels(outcomes: dict[str, Outcome]) -> None:
    titles = [axes.get_title(loc="left") for axes in regret_figure(outcomes["second"]).axes]
    assert titles == ["Regret up to round t", "Regret per round, over 10 rounds"]


def test_a_policy_has_the_same_color_in_every_panel_and_figure(
    outcomes: dict[str, Outcome],
) -> None:
    for name in ("intro", "second"):
        for axes in regret_figure(outcomes[name]).axes:
            colors = {str(one.get_label()): to_hex(one.get_color()) for one in axes.get_lines()}
            for policy in ("GLIDE", "POL, rate 1e-4"):
                assert colors[policy] == policy_styles([policy])[policy][0].lower()


def test_axes_are_linear_and_name_the_curves_above_them(outcomes: dict[str, Outcome], with_regret: WithRegret) -> None:
    far = with_regret(outcomes["second"], lambda name, r: np.full_like(r, 1e6 if name == "FTM" else 1.0))
    axes = regret_figure(far).axes[0]
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim()[1] == pytest.approx(60 * 1.05)
    assert "above the axis: FTM" in [text.get_text() for text in axes.texts]


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
        means = [outcome.regret(f"SCaLE, c1 {value:g}").mean() for value in (1, 2, 8)]
        np.testing.assert_allclose(y, means)
    marks = [one for one in left.get_lines() if one.get_marker() == "o"]
    lowest = [min(o.regret(f"SCaLE, c1 {value:g}").mean() for value in (1, 2, 8)) for o in parts]
    np.testing.assert_allclose([float(np.asarray(m.get_ydata())[0]) for m in marks], lowest)


def test_a_single_sweep_shows_other_policies_as_horizontal_lines(
    outcomes: dict[str, Outcome],
) -> None:
    outcome = outcomes["sweep_1"]
    swept = {n: s for n, s in outcome.setting.swept.items() if n != "SCaLE, c1 8"}
    axes = sweep_figure([replace(outcome, setting=replace(outcome.setting, swept=swept))]).axes[0]
    _, y = line(axes, "SCaLE, c1 8")
    np.testing.assert_allclose(y, outcome.regret("SCaLE, c1 8").mean())


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


def test_a_sweep_of_unrelated_titles_shows_all_of_them(outcomes: dict[str, Outcome]) -> None:
    parts = [outcomes["sweep_1"], outcomes["sweep_9"]]
    titled = [replace(o, setting=replace(o.setting, title=t)) for o, t in zip(parts, ["One", "Two"], strict=True)]
    figure = sweep_figure(titled)
    assert figure.get_suptitle() == "One / Two"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["One", "Two"]
