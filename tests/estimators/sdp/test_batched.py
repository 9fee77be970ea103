"""The batched estimator against the one for a single run, over batches that mix everything a run can meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import Estimate, Status, psd_least_absolute_deviations, random_curvature, trace_min
from soqo.estimators._measurements import measure
from soqo.estimators.sdp import _batched as batched
from soqo.estimators.sdp._batched import RADIUS_TOLERANCE, smallest_radii, trace_min_runs


def mixed(seed: int, runs: int, d: int = 3, m: int = 24) -> tuple[Any, Any, Any]:
    """Measurements, readings and radii: noisy and exact runs, missing readings, low rank, too small and large radii."""
    rng = np.random.default_rng([23, seed])
    Z, y, radius = rng.standard_normal((runs, m, d)), np.zeros((runs, m)), np.zeros(runs)
    for k in range(runs):
        A = random_curvature(d, int(rng.integers(0, d + 1)), 0.1, 3.0, rng=rng)
        Z[k] *= 10.0 ** rng.uniform(-3, 3)
        if k % 7 == 3:
            Z[k, :, 1:] = 0.0  # not of full rank
        if k % 11 == 5:
            Z[k] = 0.0
        clean = measure(Z[k], A)
        noise = rng.choice([0.01, 0.3]) * (1e-3 + np.abs(clean).mean()) * rng.uniform(-1, 1, m)
        y[k] = clean + noise
        share = (1.0, 0.3, 1.05, 0.0, 1.2)[k % 5]
        radius[k] = share * float(np.abs(noise).sum())
        if k % 6 == 1:
            radius[k] = 1.01 * float(np.abs(y[k]).sum())  # consistent with zero
        if k % 4 == 2:
            y[k, rng.random(m) < 0.4] = np.nan
    y[0] = np.nan
    return Z, y, radius


def heard_alone(Z: Any, y: Any) -> tuple[Any, Any]:
    heard = ~np.isnan(y)
    return Z[heard], y[heard]


def test_a_batch_that_mixes_every_status_equals_its_runs_one_by_one() -> None:
    met = set()
    for seed in range(6):
        Z, y, radius = mixed(seed, 30)
        matrices, statuses = trace_min_runs(Z, y, radius)
        for k in range(1, 30):
            alone = trace_min(*heard_alone(Z[k], y[k]), radius[k])
            assert statuses[k] is alone.status, (seed, k)
            # Both prove their traces to 1e-6; a residual at its radius leaves the matrix as much room.
            scale = np.abs(alone.matrix).max()
            np.testing.assert_allclose(matrices[k], alone.matrix, atol=1e-5 * scale + 1e-300)
            assert np.trace(matrices[k]) == pytest.approx(alone.primal, rel=2e-6)
            met.add(alone.status)
    assert {Status.SOLVED, Status.INFEASIBLE, Status.CONSISTENT_WITH_ZERO} <= met


def test_a_stalled_run_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    Z, y, radius = mixed(1, 8)
    stalled = trace_min(*heard_alone(Z[2], y[2]), radius[2])

    def stalls(*_: Any) -> Any:
        return type(stalled)(stalled.matrix, Status.STALLED, 0.0, 0.0, 0.0, 0, 0, stalled.multipliers)

    # Nothing is proven, so that every run is given to the solver for one; what that says holds.
    monkeypatch.setattr(batched, "is_optimal", lambda trace, *_: np.zeros(trace.shape, np.bool_))
    monkeypatch.setattr(batched, "trace_min", stalls)
    _, statuses = trace_min_runs(Z, y, radius)
    assert statuses[2] is Status.STALLED


def test_the_batch_itself_solves_ordinary_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((12, 48, 4))
    A = random_curvature(4, 4, 0.5, 2.0, rng=rng)
    noise = rng.uniform(-0.1, 0.1, (12, 48))
    y = measure(Z, A) + noise

    def not_needed(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(batched, "trace_min", not_needed)
    monkeypatch.setattr(batched, "psd_least_absolute_deviations", not_needed)
    radii = smallest_radii(Z, y)
    matrices, statuses = trace_min_runs(Z, y, 1.05 * radii)
    assert all(status is Status.SOLVED for status in statuses)
    for k in range(12):
        assert_is_smallest(radii[k], psd_least_absolute_deviations(Z[k], y[k]), 0.0)
        alone = trace_min(Z[k], y[k], 1.05 * radii[k])
        np.testing.assert_allclose(matrices[k], alone.matrix, atol=1e-6)


def assert_is_smallest(radius: float, best: Estimate, tolerance: float) -> None:
    """Never below what is proven to be the least, and above by no more than the gap that is allowed for."""
    assert best.dual * (1.0 - 1e-12) - tolerance <= radius
    assert radius <= best.residual * (1.0 + 2.1 * RADIUS_TOLERANCE) + tolerance


@pytest.mark.parametrize("noise", [1e-3, 1e-5, 0.0])
def test_nearly_exact_readings_are_solved_together_too(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_needed(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(batched, "trace_min", not_needed)
    monkeypatch.setattr(batched, "psd_least_absolute_deviations", not_needed)
    rng = np.random.default_rng(14)
    A = np.stack([random_curvature(4, 4, 0.1, 1.0, rng=rng) for _ in range(20)])
    Z = rng.standard_normal((20, 48, 4))
    y = measure(Z, A) + noise * rng.uniform(-1.0, 1.0, (20, 48))
    radii = 1.05 * smallest_radii(Z, y)
    matrices, statuses = trace_min_runs(Z, y, radii)
    assert all(status is Status.SOLVED for status in statuses)
    residuals = np.abs(y - measure(Z, matrices)).sum(axis=-1)
    total = np.abs(y).sum(axis=-1)
    assert (residuals <= np.maximum(radii, 1e-9 * total) * (1.0 + 1e-9) + 1e-11 * total).all()
    np.testing.assert_allclose(matrices, A, atol=2.0 * noise + 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_smallest_radii_are_those_of_single_runs(seed: int) -> None:
    Z, y, _ = mixed(seed, 20)
    radii = smallest_radii(Z, y)
    assert radii[0] == 0.0
    for k in range(1, 20):
        rows, readings = heard_alone(Z[k], y[k])
        tolerance = 1e-7 * float(np.abs(readings).sum())
        assert_is_smallest(radii[k], psd_least_absolute_deviations(rows, readings), tolerance)


def test_a_run_does_not_depend_on_the_others_nor_on_the_shape_of_the_batch() -> None:
    Z, y, radius = mixed(2, 6)
    matrices, statuses = trace_min_runs(Z, y, radius)
    shaped, shaped_statuses = trace_min_runs(Z.reshape(2, 3, 24, 3), y.reshape(2, 3, 24), radius.reshape(2, 3))
    np.testing.assert_array_equal(shaped.reshape(6, 3, 3), matrices)
    assert shaped_statuses.shape == (2, 3)
    assert smallest_radii(Z.reshape(2, 3, 24, 3), y.reshape(2, 3, 24)).shape == (2, 3)
    for k in range(6):
        single, status = trace_min_runs(Z[k], y[k], radius[k])
        assert single.shape == (3, 3)
        assert status.shape == ()
        assert status[()] is statuses[k]
        np.testing.assert_allclose(single, matrices[k], rtol=1e-12, atol=0.0)
        assert smallest_radii(Z[k], y[k]).shape == ()


def test_each_run_keeps_its_own_tolerance_when_others_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def not_needed(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(batched, "trace_min", not_needed)
    rng = np.random.default_rng(12)
    Z = rng.standard_normal((6, 48, 4))
    y = measure(Z, random_curvature(4, 4, 0.5, 2.0, rng=rng)) + rng.uniform(-0.1, 0.1, (6, 48))
    # How exactly a radius is kept depends on what it leaves of the readings to explain.
    radius = np.array([0.3, 1 - 1e-3, 0.5, 1 - 1e-2, 0.2, 1 - 3e-4]) * np.abs(y).sum(axis=-1)
    matrices, _ = trace_min_runs(Z, y, radius)
    for k in range(6):
        np.testing.assert_array_equal(matrices[k], trace_min_runs(Z[k], y[k], radius[k])[0])


def test_the_batch_itself_solves_most_runs_next_to_the_smallest_radius(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(13)
    Z = rng.standard_normal((40, 48, 4))
    y = measure(Z, random_curvature(4, 4, 0.5, 2.0, rng=rng)) + rng.uniform(-0.3, 0.3, (40, 48))
    alone = []

    def counted(*arguments: Any) -> Estimate:
        alone.append(trace_min(*arguments))
        return alone[-1]

    monkeypatch.setattr(batched, "trace_min", counted)
    _, statuses = trace_min_runs(Z, y, 1.001 * smallest_radii(Z, y))
    assert all(status is Status.SOLVED for status in statuses)
    assert len(alone) <= 10


def test_large_batches_are_cut_to_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    Z, y, radius = mixed(3, 10)
    whole, _ = trace_min_runs(Z, y, radius)
    monkeypatch.setattr(batched, "MOST_ENTRIES", 2 * 24 * 24)
    pieces, _ = trace_min_runs(Z, y, radius)
    np.testing.assert_allclose(pieces, whole, rtol=1e-12, atol=0.0)


def test_no_runs_at_all() -> None:
    matrices, statuses = trace_min_runs(np.zeros((0, 5, 2)), np.zeros((0, 5)), np.zeros(0))
    assert matrices.shape == (0, 2, 2)
    assert statuses.shape == (0,)
    assert smallest_radii(np.zeros((0, 5, 2)), np.zeros((0, 5))).shape == (0,)
