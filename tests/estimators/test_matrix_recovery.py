"""SCaLE's estimator: its radius, and the fallback for an estimate of zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import Status, psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.errors import ArgumentError
from soqo.estimators import Recovery

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((3, 20, 2))
Y = 0.5 * np.sum((Z @ np.diag([1.0, 3.0])) * Z, axis=-1) + RNG.uniform(-0.1, 0.1, (3, 20))


def test_each_run_is_trace_minimization_within_its_radius() -> None:
    matrices, statuses = Recovery(noise_cap=0.1)(Z, Y)
    for k in range(3):
        expected = trace_min(Z[k], Y[k], 1.05 * psd_least_absolute_deviations(Z[k], Y[k]).residual)
        np.testing.assert_allclose(matrices[k], expected.matrix, atol=1e-6)
        assert statuses[k] is Status.SOLVED


def test_missing_readings_do_not_count() -> None:
    y = Y.copy()
    y[:, ::4] = np.nan
    assert Recovery(0.1, "cap").radii(Z, y).tolist() == pytest.approx([1.5] * 3)
    matrices, _ = Recovery(0.1, "cap")(Z, y)
    kept = ~np.isnan(y[1])
    np.testing.assert_allclose(matrices[1], trace_min(Z[1][kept], y[1][kept], 1.5).matrix, atol=1e-6)


def test_the_fallback_replaces_an_estimate_of_zero() -> None:
    matrices, statuses = Recovery(0.1, radius=1e3)(Z, Y)
    assert (statuses == Status.CONSISTENT_WITH_ZERO).all()
    np.testing.assert_allclose(matrices[0], psd_least_squares(Z[0], Y[0]).matrix)
    matrices, _ = Recovery(0.1, radius=1e3, fallback="none")(Z, Y)
    assert (matrices == 0.0).all()


def test_runs_without_readings_are_zero() -> None:
    matrices, _ = Recovery(0.1)(Z, np.full((3, 20), np.nan))
    assert (matrices == 0.0).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"radius": "noise"}, "radius must be one of 'residual', 'cap', 'exact', got 'noise'"),
        ({"radius": -1.0}, "radius must be a finite number at least 0"),
        ({"fallback": "ridge"}, "fallback must be one of 'least_squares', 'none', got 'ridge'"),
    ],
)
def test_bad_input_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Recovery(0.1, **given)


def test_the_exact_radius_is_the_norm_of_the_noise_and_needs_the_true_matrix() -> None:
    A = np.diag([1.0, 3.0])
    noise = Y - 0.5 * np.sum((Z @ A) * Z, axis=-1)
    exact = Recovery(0.1, "exact", oracle_A=A)
    np.testing.assert_allclose(exact.radii(Z, Y), np.abs(noise).sum(axis=1), rtol=1e-8)
    _, statuses = exact(Z, Y)
    assert all(status is Status.SOLVED for status in statuses)  # the true matrix always fits
    with pytest.raises(ArgumentError, match="radius must not be 'exact' outside of a simulation"):
        Recovery(0.1, "exact")(Z, Y)
