"""Data in units of order one: readings stay the same, the span of Z is kept, and bad data is named."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from instances import instance

from soqo import psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.errors import ArgumentError
from soqo.estimators import measure
from soqo.estimators.sdp import check_data
from soqo.estimators.sdp._interior_point import Iterate
from soqo.estimators.sdp._normalized_data import ScaledData


def data(m: int, d: int, rank: int, z_scale: float = 1.0, y_scale: float = 1.0) -> tuple[Any, Any]:
    """Return measurements of a given rank and readings, in units far from one if the scales are."""
    rng = np.random.default_rng([41, m, d, rank])
    Z = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, d))
    return z_scale * Z, y_scale * rng.standard_normal(m)


@pytest.mark.parametrize("rank", [2, 4])
@pytest.mark.parametrize(("z_scale", "y_scale"), [(1.0, 1.0), (1e-80, 1e5), (1e120, 1e-200)])
def test_scaled_data_has_measurements_and_readings_of_order_one(rank: int, z_scale: float, y_scale: float) -> None:
    scaled = ScaledData.of(*data(9, 4, rank, z_scale, y_scale))
    assert scaled.Z.shape == (9, rank)
    assert math.sqrt(np.square(scaled.Z).mean()) == pytest.approx(1.0)
    assert np.abs(scaled.y).mean() == pytest.approx(1.0)


@pytest.mark.parametrize("rank", [2, 4])
def test_scaled_data_returns_the_matrix_that_has_the_same_readings_in_the_units_of_the_data(rank: int) -> None:
    Z, y = data(9, 4, rank, 1e-3, 1e5)
    scaled = ScaledData.of(Z, y)
    G = np.random.default_rng(1).standard_normal((rank, rank))
    values = np.arange(1.0, rank + 1.0)
    M = scaled.matrix(Iterate(G, values, np.zeros(9)))
    units = np.abs(y).mean() * measure(scaled.Z, G @ np.diag(values) @ G.T)
    np.testing.assert_allclose(measure(Z, M), units, rtol=1e-12)
    np.testing.assert_array_equal(M, M.T)


@pytest.mark.parametrize("rank", [1, 3])
def test_scaled_data_keeps_the_span_of_rank_deficient_measurements(rank: int) -> None:
    Z, y = data(8, 5, rank)
    basis = ScaledData.of(Z, y).basis
    assert basis is not None
    np.testing.assert_allclose(basis.T @ basis, np.eye(rank), atol=1e-13)
    np.testing.assert_allclose(Z @ basis @ basis.T, Z, atol=1e-13)


@pytest.mark.parametrize(("size", "kept"), [(1e-3, 2), (1e-7, 2), (1e-9, 1), (0.0, 1)])
def test_scaled_data_drops_a_direction_whose_square_is_below_round_off(size: float, kept: int) -> None:
    # The readings of 8 measurements have a round-off of about 8 * 2.2e-16, which is the square of 4e-8.
    Z = np.zeros((8, 2))
    Z[:4, 0], Z[4:, 1] = 1.0, size
    assert ScaledData.of(Z, np.ones(8)).Z.shape == (8, kept)


def test_scaled_data_of_zeros_has_no_direction_and_a_unit_of_one() -> None:
    assert not ScaledData.of(np.zeros((3, 2)), np.ones(3)).is_nonzero
    scaled = ScaledData.of(np.ones((3, 1)), np.zeros(3))
    assert scaled.is_nonzero
    assert scaled.unit_y == 1.0


def test_units_do_not_matter() -> None:
    _, Z, y, noise = instance(7, d=4, noise=0.1)
    radius = float(np.abs(noise).sum())
    plain = trace_min(Z, y, radius)
    scaled = trace_min(1e3 * Z, 1e-5 * y, 1e-5 * radius)
    np.testing.assert_allclose(scaled.matrix * 1e11, plain.matrix, atol=1e-6)
    assert scaled.iterations == plain.iterations


def test_directions_without_measurements_have_no_trace() -> None:
    rng = np.random.default_rng(1)
    Z = np.zeros((20, 4))
    Z[:, :2] = rng.standard_normal((20, 2))
    estimate = trace_min(Z, measure(Z, np.diag([2.0, 1.0, 5.0, 5.0])), radius=1e-6)
    assert estimate.solved
    np.testing.assert_allclose(estimate.matrix, np.diag([2.0, 1.0, 0.0, 0.0]), atol=1e-5)


@pytest.mark.parametrize(
    ("Z", "y", "message"),
    [
        (np.zeros((0, 2)), [], r"Z must have shape \(m, d\) with m >= 1"),
        (np.zeros(3), np.zeros(3), r"Z must have shape \(m, d\)"),
        (np.zeros((3, 0)), np.zeros(3), r"Z must have shape \(m, d\)"),
        (np.ones((3, 2)), np.ones(2), r"y must have shape \(3,\), got \(2,\)"),
        (np.ones((3, 2)), np.ones(4), r"y must have shape \(3,\), got \(4,\)"),
        (np.ones((3, 2)), [1, 2, np.nan], r"y must be finite, got nan at \[2\]"),
        ([[np.inf]], [1.0], r"Z must be finite, got inf at \[0, 0\]"),
    ],
)
def test_bad_data_is_named_by_every_program(Z: Any, y: Any, message: str) -> None:
    for call in (check_data, psd_least_absolute_deviations, psd_least_squares, partial(trace_min, radius=1.0)):
        with pytest.raises(ArgumentError, match=message):
            call(Z, y)
