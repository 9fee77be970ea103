"""PSD least squares against CVXPY, its optimality conditions, and weights against repeated rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from instances import instance

from soqo import psd_least_squares, random_curvature
from soqo.errors import ArgumentError
from soqo.estimators import adjoint, measure, reference
from soqo.estimators.sdp import least_squares_bound


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_the_fit_is_that_of_cvxpy(seed: int) -> None:
    _, Z, y, _ = instance(seed, d=2 + seed % 6)
    ours, theirs = psd_least_squares(Z, y), reference.psd_least_squares(Z, y)
    assert ours.solved, ours.message
    assert ours.primal == pytest.approx(theirs.value, rel=1e-5, abs=1e-7)
    assert least_squares_bound(Z, y, multipliers=ours.multipliers) <= ours.primal * (1 + 1e-9)


def test_the_gradient_is_in_the_dual_cone_and_orthogonal() -> None:
    _, Z, y, _ = instance(5, d=5, noise=1.0)
    M = psd_least_squares(Z, y).matrix
    gradient = -adjoint(Z, y - measure(Z, M))
    scale = np.abs(adjoint(Z, np.abs(y))).max()
    assert np.linalg.eigvalsh(gradient)[0] > -1e-6 * scale
    assert abs((gradient * M).sum()) < 1e-6 * scale * np.abs(M).max()


def test_inside_the_cone_it_is_ordinary_least_squares() -> None:
    rng = np.random.default_rng(0)
    A = random_curvature(4, 4, min_eigenvalue=1.0, max_eigenvalue=2.0, rng=rng)
    Z = rng.standard_normal((60, 4))
    y = measure(Z, A) + rng.uniform(-0.01, 0.01, 60)
    rows = 0.5 * np.einsum("mi,mj->mij", Z, Z).reshape(60, 16)
    plain, *_ = np.linalg.lstsq(rows, y, rcond=None)
    np.testing.assert_allclose(psd_least_squares(Z, y).matrix, plain.reshape(4, 4), atol=1e-6)


def test_a_weight_of_three_equals_three_copies_of_a_row() -> None:
    _, Z, y, _ = instance(8, d=3, noise=0.3)
    weights = np.ones(y.size)
    weights[:2] = 3.0
    weighted = psd_least_squares(Z, y, weights=weights)
    repeated = psd_least_squares(np.concatenate([Z, Z[:2], Z[:2]]), np.concatenate([y, y[:2], y[:2]]))
    assert weighted.primal == pytest.approx(repeated.primal, rel=1e-6)


def test_zero_readings_and_zero_measurements() -> None:
    zero_readings = psd_least_squares(np.ones((3, 2)), np.zeros(3))
    np.testing.assert_array_equal(zero_readings.matrix, 0.0)
    zero_measurements = psd_least_squares(np.zeros((2, 2)), [3.0, 4.0])
    assert zero_measurements.primal == pytest.approx(12.5)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0, 1.0], [1.0, -1.0, 1.0]])
def test_bad_weights_are_refused(weights: Any) -> None:
    with pytest.raises(ArgumentError, match=r"weights must be positive and of shape \(3,\)"):
        psd_least_squares(np.ones((3, 2)), np.ones(3), weights=weights)
