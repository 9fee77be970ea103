"""A figure shows the medians and quartiles of the result that it was made from."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from soqo import FTM, POL, Environment, Problem, Result, simulate
from soqo.experiments.figures import moving_average, regret_figure
from soqo.noise import Uniform
from soqo.processes import Gaussian

mpl.use("Agg")


@pytest.fixture(scope="module")
def result() -> Result:
    environment = Environment(Problem(np.diag([0.5, 2.0])), Gaussian(3.0), Uniform(1.0))
    return simulate(environment, {"FTM": FTM(), "POL": POL(1e-4)}, 80, 6)


def test_lines_are_medians_and_bands_are_quartiles(result: Result) -> None:
    figure = regret_figure(result, "Title", window=10)
    left, right = figure.axes
    lines = {line.get_label(): line for line in left.get_lines()}
    np.testing.assert_allclose(
        np.asarray(lines["POL"].get_ydata()), np.median(result.regret("POL"), axis=0)
    )
    band = np.asarray(left.collections[1].get_paths()[0].vertices)
    lower, upper = np.quantile(result.regret("POL"), [0.25, 0.75], axis=0)
    assert band[:, 1].min() == pytest.approx(lower.min())
    assert band[:, 1].max() == pytest.approx(upper.max())
    assert len(np.asarray(right.get_lines()[0].get_xdata())) == 71
    pyplot.close(figure)


def test_a_horizon_shorter_than_the_window_is_drawn(result: Result) -> None:
    figure = regret_figure(result, "Title", window=1000)
    assert figure.axes[1].get_title(loc="left") == "Per round, mean of the last 80 rounds"
    pyplot.close(figure)


def test_moving_average_is_the_mean_of_the_last_rounds() -> None:
    samples = np.random.default_rng(0).standard_normal((3, 20))
    got = moving_average(samples, 5)
    for t in range(16):
        np.testing.assert_allclose(got[:, t], samples[:, t : t + 5].mean(axis=1))
