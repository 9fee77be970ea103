"""The figure of the curvature: a signal above the noise along one direction, and none along the other."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes

from soqo.experiments.presentation import curvature_figure, render_svg
from soqo.typing import Array

EIGENVALUE, NOISE_CAP = 0.02, 10.0


@pytest.fixture(scope="module")
def panels() -> tuple[Axes, Axes]:
    left, right = [axes for axes in curvature_figure().axes if axes.name != "3d"]
    return left, right


def line(axes: Axes, label: str) -> tuple[Array, Array]:
    """The points of a line."""
    (found,) = [one for one in axes.get_lines() if one.get_label() == label]
    return np.asarray(found.get_xdata(), float), np.asarray(found.get_ydata(), float)


def test_the_cost_is_a_parabola_along_the_eigenvector_and_zero_along_the_null_direction(
    panels: tuple[Axes, Axes],
) -> None:
    left, right = panels
    distance, cost = line(left, "hitting cost ½ u'Au")
    np.testing.assert_allclose(cost, 0.5 * EIGENVALUE * distance**2, atol=1e-12)
    np.testing.assert_allclose(line(right, "hitting cost ½ u'Au")[1], 0.0, atol=1e-12)


def test_readings_are_cost_plus_noise_and_exceed_the_cap_only_with_curvature(panels: tuple[Axes, Axes]) -> None:
    left, right = panels
    _, cost = line(left, "hitting cost ½ u'Au")
    noise = line(left, "readings")[1] - cost
    assert np.abs(noise).max() <= NOISE_CAP
    np.testing.assert_allclose(line(right, "readings")[1], noise, atol=1e-12)
    assert cost.max() > 2 * NOISE_CAP


def test_both_panels_have_the_same_scale(panels: tuple[Axes, Axes]) -> None:
    left, right = panels
    assert left.get_ylim() == right.get_ylim()


def test_the_figure_is_reproducible() -> None:
    assert render_svg(curvature_figure()) == render_svg(curvature_figure())
