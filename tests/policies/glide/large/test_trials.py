"""When a factor takes the place of the other estimates."""

from __future__ import annotations

import numpy as np
import pytest
from streams import curvature, taught

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import Readings, Rows
from soqo.policies.glide._large._trials import fit_again, fit_some_steps, fitted_readings, give_up_factor


@pytest.mark.parametrize(("rank", "size"), [(1, 50.0), (2, 50.0), (2, 5.0)])
def test_a_low_rank_becomes_a_factor_of_that_rank(rank: int, size: float) -> None:
    A = curvature(13, rank)
    stream = taught(A, 80 if size > 10.0 else 400, size=size)
    assert stream.factored is not None
    assert stream.factored.L.shape[1] == rank
    assert np.linalg.norm(stream.estimate - A) < (5e-3 if size > 10.0 else 0.1) * np.linalg.norm(A)


@pytest.mark.parametrize("size", [50.0, 5.0, 0.5])
def test_a_full_rank_does_not(size: float) -> None:
    for readings in (60, 300):
        assert taught(curvature(13, 13), readings, size=size).factored is None


def test_a_factor_that_is_given_up_leaves_estimates_from_the_rows() -> None:
    A = curvature(13, 2)
    stream = give_up_factor(taught(A, 120), 6.0)
    assert stream.representation == "sums"
    assert np.linalg.norm(stream.estimate - A) < 0.05 * np.linalg.norm(A)


def test_a_reading_that_a_fit_has_not_seen_is_not_taken_for_noise() -> None:
    A = curvature(13, 2)
    stream = taught(A, 100)
    assert stream.factored is not None
    rows, fit = stream.readings(None), stream.factored.begin_fit()
    while not fit.is_settling:
        fit = fit.fit_step(rows.Z, rows.y)
    z = 1e5 * np.ones(13)
    more = Readings(np.vstack([rows.Z, z]), np.append(rows.y, 0.5 * z @ A @ z))
    assert fit.fit_step(more.Z, more.y).noise2 > 1e4
    settled = fit_some_steps(fit, more)
    assert not settled.is_fitting
    assert settled.noise2 < 60.0


def test_a_fit_that_does_not_explain_the_readings_has_failed() -> None:
    A = curvature(13, 2)
    stream = taught(A, 100)
    assert stream.factored is not None
    rows = stream.readings(None)
    again = fit_again(stream.factored, rows)
    assert again is not None
    assert not again.is_fitting
    assert fit_again(stream.factored, Readings(rows.Z, np.append(rows.y[:50], 3.0 * rows.y[50:]))) is None


def test_a_fit_uses_the_latest_readings_and_earlier_ones_far_from_v() -> None:
    A = curvature(13, 2)
    stream = taught(A, 60)
    assert stream.factored is not None
    rows = np.tile(stream.rows.latest(1), (500, 1))
    rows[:, 0] = 3.0 + np.arange(500) % 2
    rows[7, 0], rows[30, 0], rows[450, 0] = 9.0, 90.0, 90.0
    rows[:, 1:13] = 0.0
    longer = evolve(stream, rows=Rows.of(rows), seen=500)
    found = fitted_readings(longer, stream.factored.L)
    assert len(found.y) == 401
    assert found.Z[0, 0] == 90.0
    np.testing.assert_array_equal(found.Z[1:], longer.readings(400).Z)
    every = fitted_readings(stream, stream.factored.L)
    np.testing.assert_array_equal(every.Z, stream.readings(None).Z)
