"""The figures of a report, and names that are valid for files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes

from soqo.errors import ArgumentError
from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import Evidence, RubExperiment
from soqo.experiments.presentation import figure_names, report_figures
from soqo.experiments.settings import Setting
from soqo.typing import Array


def test_each_setting_has_a_figure_and_a_sweep_has_one(outcomes: dict[str, Outcome]) -> None:
    figures = report_figures(list(outcomes.values()))
    assert [f.name for f in figures] == ["intro", "curvature", "second", "third", "sweep"]
    assert [f.group for f in figures] == ["intro", "curvature", "pair", "pair", "sweep"]
    assert [f.is_sweep for f in figures] == [False, False, False, False, True]
    sweep = figures[-1]
    assert [o.setting.name for o in sweep.outcomes] == ["sweep_1", "sweep_9"]
    assert sweep.title == "Sweep of c1"
    assert [len(f.draw().axes) for f in figures] == [3, 2, 2, 2, 2]


def test_the_curvature_is_shown_with_the_introduction_only(outcomes: dict[str, Outcome]) -> None:
    assert [f.name for f in report_figures([outcomes["second"]])] == ["second"]


def test_two_settings_must_not_share_files(small: dict[str, Setting]) -> None:
    assert figure_names(list(small.values())) == ["intro", "second", "third", "sweep"]
    with pytest.raises(ArgumentError, match="got 'second' twice"):
        figure_names([small["second"], replace(small["third"], name="second")])
    with pytest.raises(ArgumentError, match="got 'sweep' and a sweep with figure 'sweep'"):
        figure_names([small["sweep_1"], replace(small["third"], name="sweep")])


@pytest.mark.parametrize("name", ["../up", "a\\b", "", "..", "what?", "line\nbreak"])
def test_an_invalid_file_name_is_refused(small: dict[str, Setting], name: str) -> None:
    with pytest.raises(ArgumentError, match="name must be a valid file name"):
        figure_names([replace(small["third"], name=name)])


def line(axes: Axes, label: str) -> tuple[Array, Array]:
    """The points of a line."""
    (found,) = [one for one in axes.get_lines() if str(one.get_label()).startswith(label)]
    return np.asarray(found.get_xdata(), float), np.asarray(found.get_ydata(), float)


def test_readings_are_cost_plus_noise_and_exceed_the_cap_only_with_curvature(outcomes: dict[str, Outcome]) -> None:
    left, right = report_figures([outcomes["intro"]])[1].draw().axes
    distance, cost = line(left, "hitting cost")
    np.testing.assert_allclose(cost, 0.5 * 0.02 * distance**2, atol=1e-12)
    np.testing.assert_allclose(line(right, "hitting cost")[1], 0.0, atol=1e-12)
    noise = line(left, "along the eigenvector")[1] - cost
    assert np.abs(noise).max() <= 10.0
    np.testing.assert_allclose(line(right, "along a null direction")[1], noise, atol=1e-12)
    assert cost.max() > 2 * 10.0


def test_the_spread_of_queries_is_shown_by_medians_and_quartiles(outcomes: dict[str, Outcome]) -> None:
    rng = np.random.default_rng(0)
    ratios = {name: rng.uniform(1.0, 100.0, (3, 5)) for name in ("POL", "OAL", "SCaLE")}
    rub = tuple(RubExperiment(name, (12, 20, 40), ratios, {}, {}, np.ones(5)) for name in ("heavy_tails_1", "else"))
    figures = report_figures([outcomes["second"]], Evidence(rub=rub))
    assert [figure.name for figure in figures] == ["second", "rub"]
    axes, _ = figures[-1].draw().axes
    for name, values in ratios.items():
        np.testing.assert_allclose(line(axes, name)[1], np.median(values, axis=1))
        assert figures[-1].chart.band == "quartiles"
