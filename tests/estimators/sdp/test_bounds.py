"""Lower bounds on the optima, recomputed from any multipliers, weights and units."""

from __future__ import annotations

import numpy as np
import pytest
from instances import instance

from soqo import psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.errors import ArgumentError
from soqo.estimators.sdp import least_absolute_deviations_bound, least_squares_bound, trace_bound


def test_bounds_hold_for_any_multipliers() -> None:
    rng = np.random.default_rng(3)
    _, Z, y, noise = instance(10, d=4, noise=0.3)
    radius = float(np.abs(noise).sum())
    best, least, squares = trace_min(Z, y, radius), psd_least_absolute_deviations(Z, y), psd_least_squares(Z, y)
    for _ in range(200):
        lam = rng.standard_normal(y.size) * 10 ** rng.uniform(-3, 3)
        assert trace_bound(Z, y, radius=radius, multipliers=lam) <= best.primal * (1 + 1e-9)
        assert least_absolute_deviations_bound(Z, y, multipliers=lam) <= least.residual * (1 + 1e-9)
        assert least_squares_bound(Z, y, multipliers=lam) <= squares.primal * (1 + 1e-9)


def test_bounds_of_scaled_data_are_scaled() -> None:
    Z, y, lam = np.array([[1.0], [1.0]]), np.array([1.0, -2.0]), np.array([0.25, -1.0])
    big = np.ldexp(y, 900)
    assert least_absolute_deviations_bound(Z, big, multipliers=lam) == np.ldexp(
        least_absolute_deviations_bound(Z, y, multipliers=lam), 900
    )
    assert least_squares_bound(Z, np.ldexp(y, 450), multipliers=lam) == np.ldexp(
        least_squares_bound(Z, y, multipliers=lam), 900
    )
    assert trace_bound(Z, big, radius=np.ldexp(0.1, 900), multipliers=-lam) == np.ldexp(
        trace_bound(Z, y, radius=0.1, multipliers=-lam), 900
    )


def test_weighted_least_squares_have_a_bound_of_their_own() -> None:
    rng = np.random.default_rng(67)
    Z, y, w = rng.standard_normal((9, 2)), rng.uniform(-1.0, 1.0, 9), 10.0 ** rng.uniform(-3, 3, 9)
    estimate = psd_least_squares(Z, y, weights=w)
    bound = least_squares_bound(Z, y, multipliers=estimate.multipliers, weights=w)
    assert estimate.solved
    assert bound == pytest.approx(estimate.dual, rel=1e-9)
    assert bound == pytest.approx(
        0.5 * float(w @ np.square(y - 0.5 * np.einsum("mi,ij,mj->m", Z, estimate.matrix, Z))), rel=1e-5
    )


def test_multipliers_of_another_length_are_refused() -> None:
    Z, y, lam = np.ones((3, 1)), np.ones(3), np.ones(2)
    with pytest.raises(ArgumentError, match=r"multipliers must have shape \(3,\), got \(2,\)"):
        trace_bound(Z, y, radius=1.0, multipliers=lam)
    for bound in (least_absolute_deviations_bound, least_squares_bound):
        with pytest.raises(ArgumentError, match=r"multipliers must have shape \(3,\), got \(2,\)"):
            bound(Z, y, multipliers=lam)
