"""The picture of the curvature: a signal above the noise along one direction, and none along the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from soqo.experiments.presentation._curvature import (
    CAP,
    EIGENVALUE,
    curvature_figure,
    problem,
    readings_along,
)
from soqo.experiments.presentation._figures import save_figure


def test_the_directions_are_an_eigenvector_and_a_null_vector() -> None:
    A, eigenvector, null = problem()
    np.testing.assert_allclose(A @ eigenvector, EIGENVALUE * eigenvector)
    np.testing.assert_allclose(A @ null, 0.0, atol=1e-15)
    assert np.linalg.matrix_rank(A) == 1


def test_readings_are_cost_plus_noise_and_exceed_the_cap_only_with_curvature() -> None:
    _, eigenvector, null = problem()
    noise = np.linspace(-CAP, CAP, 9)
    far, cost, readings = readings_along(eigenvector, noise)
    np.testing.assert_allclose(cost, 0.5 * EIGENVALUE * far**2)
    np.testing.assert_allclose(readings, cost + noise)
    assert cost.max() > 2 * CAP
    assert np.abs(readings_along(null, noise)[2]).max() <= CAP + 1e-12


def test_the_picture_is_the_same_each_time(tmp_path: Path) -> None:
    one = save_figure(curvature_figure(), tmp_path / "one.svg").read_bytes()
    assert save_figure(curvature_figure(), tmp_path / "two.svg").read_bytes() == one
    left, right = [axes for axes in curvature_figure().axes if axes.get_xlabel()]
    assert left.get_ylim() == right.get_ylim()
