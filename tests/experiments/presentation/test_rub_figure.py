"""The figure of RUB draws every run, and medians as lines."""

from __future__ import annotations

import numpy as np

from soqo.experiments.execution import Outcome
from soqo.experiments.judgment import Evidence, RubExperiment
from soqo.experiments.presentation import render_svg, report_figures


def test_lines_are_medians_and_dots_are_runs(outcomes: dict[str, Outcome]) -> None:
    rng = np.random.default_rng(0)
    ratios = {name: rng.uniform(1.0, 100.0, (3, 5)) for name in ("POL", "OAL", "SCaLE")}
    rub = tuple(RubExperiment(name, (12, 20, 40), ratios, {}, {}, np.ones(5)) for name in ("heavy_tails_1", "else"))
    evidence = Evidence(rub=rub)
    figures = report_figures([outcomes["second"]], evidence)
    assert [figure.name for figure in figures] == ["second", "rub"]
    drawn = figures[-1].draw()
    assert len(drawn.axes) == 2
    for name, values in ratios.items():
        (line,) = [one for one in drawn.axes[0].get_lines() if one.get_label() == name]
        np.testing.assert_allclose(np.asarray(line.get_ydata()), np.median(values, axis=1))
    dots = [np.asarray(one.get_ydata()) for one in drawn.axes[0].get_lines() if one.get_marker() == "o"]
    np.testing.assert_allclose(
        np.sort(np.concatenate(dots)), np.sort(np.concatenate([v.ravel() for v in ratios.values()]))
    )
    assert "<svg" in render_svg(drawn)
