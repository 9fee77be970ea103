"""The batched estimator against the one for a single run, over batches of different kinds of runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import Estimate, Status, psd_least_absolute_deviations, random_curvature, trace_min
from soqo.estimators import measure
from soqo.estimators.sdp import _batched_solver, batched_min_radius, batched_trace_min
from soqo.estimators.sdp._batched_solver import MAX_ENTRIES, RADIUS_TOLERANCE


def mixed(seed: int, runs: int, d: int = 3, m: int = 24) -> tuple[Any, Any, Any]:
    """Return measurements, readings and radii: noise, exact and missing readings, low rank, extreme radii."""
    rng = np.random.default_rng([23, seed])
    Z, y, radius = rng.standard_normal((runs, m, d)), np.zeros((runs, m)), np.zeros(runs)
    for k in range(runs):
        A = random_curvature(d, int(rng.integers(0, d + 1)), min_eigenvalue=0.1, max_eigenvalue=3.0, rng=rng)
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


def present_readings(Z: Any, y: Any) -> tuple[Any, Any]:
    present = ~np.isnan(y)
    return Z[present], y[present]


def test_a_batch_with_every_status_equals_its_runs_one_by_one() -> None:
    seen = set()
    for seed in range(6):
        Z, y, radius = mixed(seed, 30)
        matrices, statuses = batched_trace_min(Z, y, radius)
        for k in range(1, 30):
            alone = trace_min(*present_readings(Z[k], y[k]), radius[k])
            assert statuses[k] is alone.status, (seed, k)
            # Both traces are proven to 1e-6; the matrix is determined to about the same accuracy.
            scale = np.abs(alone.matrix).max()
            np.testing.assert_allclose(matrices[k], alone.matrix, atol=1e-5 * scale + 1e-300)
            assert np.trace(matrices[k]) == pytest.approx(alone.primal, rel=2e-6)
            seen.add(alone.status)
    assert {Status.SOLVED, Status.INFEASIBLE, Status.CONSISTENT_WITH_ZERO} <= seen


def test_a_stalled_run_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    Z, y, radius = mixed(1, 8)
    stalled = trace_min(*present_readings(Z[2], y[2]), radius[2])

    def stalls(*_: Any) -> Any:
        return type(stalled)(stalled.matrix, Status.STALLED, 0.0, 0.0, 0.0, 0, 0, stalled.multipliers)

    # No optimum counts as proven, so that every run is passed to the solver for a single program, whose status is kept.
    monkeypatch.setattr(_batched_solver, "is_optimal", lambda trace, *_: np.zeros(trace.shape, np.bool_))
    monkeypatch.setattr(_batched_solver, "trace_min", stalls)
    _, statuses = batched_trace_min(Z, y, radius)
    assert statuses[2] is Status.STALLED


def test_ordinary_runs_do_not_need_the_solver_for_a_single_program(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((12, 48, 4))
    A = random_curvature(4, 4, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)
    noise = rng.uniform(-0.1, 0.1, (12, 48))
    y = measure(Z, A) + noise

    def not_needed(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(_batched_solver, "trace_min", not_needed)
    monkeypatch.setattr(_batched_solver, "psd_least_absolute_deviations", not_needed)
    radii = batched_min_radius(Z, y)
    matrices, statuses = batched_trace_min(Z, y, 1.05 * radii)
    assert all(status is Status.SOLVED for status in statuses)
    for k in range(12):
        assert_is_smallest(radii[k], psd_least_absolute_deviations(Z[k], y[k]), 0.0)
        alone = trace_min(Z[k], y[k], 1.05 * radii[k])
        np.testing.assert_allclose(matrices[k], alone.matrix, atol=1e-6)


def assert_is_smallest(radius: float, best: Estimate, tolerance: float) -> None:
    """Check that a radius is not below the proven bound, and above the best by at most the accepted gap."""
    assert best.dual * (1.0 - 1e-12) - tolerance <= radius
    assert radius <= best.residual * (1.0 + 2.1 * RADIUS_TOLERANCE) + tolerance


@pytest.mark.parametrize("noise", [1e-3, 1e-5, 0.0])
def test_nearly_exact_readings_do_not_need_the_solver_for_a_single_program(
    noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_needed(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(_batched_solver, "trace_min", not_needed)
    monkeypatch.setattr(_batched_solver, "psd_least_absolute_deviations", not_needed)
    rng = np.random.default_rng(14)
    A = np.stack([random_curvature(4, 4, min_eigenvalue=0.1, max_eigenvalue=1.0, rng=rng) for _ in range(20)])
    Z = rng.standard_normal((20, 48, 4))
    y = measure(Z, A) + noise * rng.uniform(-1.0, 1.0, (20, 48))
    radii = 1.05 * batched_min_radius(Z, y)
    matrices, statuses = batched_trace_min(Z, y, radii)
    assert all(status is Status.SOLVED for status in statuses)
    residuals = np.abs(y - measure(Z, matrices)).sum(axis=-1)
    total = np.abs(y).sum(axis=-1)
    assert (residuals <= np.maximum(radii, 1e-9 * total) * (1.0 + 1e-9) + 1e-11 * total).all()
    np.testing.assert_allclose(matrices, A, atol=2.0 * noise + 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_min_radii_are_those_of_single_runs(seed: int) -> None:
    Z, y, _ = mixed(seed, 20)
    radii = batched_min_radius(Z, y)
    assert radii[0] == 0.0
    for k in range(1, 20):
        rows, readings = present_readings(Z[k], y[k])
        tolerance = 1e-7 * float(np.abs(readings).sum())
        assert_is_smallest(radii[k], psd_least_absolute_deviations(rows, readings), tolerance)


def test_a_run_does_not_depend_on_the_others_nor_on_the_shape_of_the_batch() -> None:
    Z, y, radius = mixed(2, 6)
    matrices, statuses = batched_trace_min(Z, y, radius)
    shaped, shaped_statuses = batched_trace_min(Z.reshape(2, 3, 24, 3), y.reshape(2, 3, 24), radius.reshape(2, 3))
    np.testing.assert_array_equal(shaped.reshape(6, 3, 3), matrices)
    assert shaped_statuses.shape == (2, 3)
    assert batched_min_radius(Z.reshape(2, 3, 24, 3), y.reshape(2, 3, 24)).shape == (2, 3)
    for k in range(6):
        single, status = batched_trace_min(Z[k], y[k], radius[k])
        assert single.shape == (3, 3)
        assert status.shape == ()
        assert status[()] is statuses[k]
        np.testing.assert_allclose(single, matrices[k], rtol=1e-12, atol=0.0)
        assert batched_min_radius(Z[k], y[k]).shape == ()


def test_each_run_keeps_its_own_tolerance_when_others_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def not_needed(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(_batched_solver, "trace_min", not_needed)
    rng = np.random.default_rng(12)
    Z = rng.standard_normal((6, 48, 4))
    y = measure(Z, random_curvature(4, 4, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)) + rng.uniform(
        -0.1, 0.1, (6, 48)
    )
    # The tolerance depends on the share of the readings that the radius leaves to explain.
    radius = np.array([0.3, 1 - 1e-3, 0.5, 1 - 1e-2, 0.2, 1 - 3e-4]) * np.abs(y).sum(axis=-1)
    matrices, _ = batched_trace_min(Z, y, radius)
    for k in range(6):
        np.testing.assert_array_equal(matrices[k], batched_trace_min(Z[k], y[k], radius[k])[0])


def test_few_runs_near_the_smallest_radius_need_the_solver_for_a_single_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(13)
    Z = rng.standard_normal((40, 48, 4))
    y = measure(Z, random_curvature(4, 4, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)) + rng.uniform(
        -0.3, 0.3, (40, 48)
    )
    alone = []

    def counted(*arguments: Any) -> Estimate:
        alone.append(trace_min(*arguments))
        return alone[-1]

    monkeypatch.setattr(_batched_solver, "trace_min", counted)
    _, statuses = batched_trace_min(Z, y, 1.001 * batched_min_radius(Z, y))
    assert all(status is Status.SOLVED for status in statuses)
    assert len(alone) <= 10


def test_a_batch_that_is_split_to_limit_memory_equals_its_parts() -> None:
    rng = np.random.default_rng(15)
    runs, m = 30, 400
    assert runs // 2 * m**2 < MAX_ENTRIES < runs * m**2
    Z = rng.standard_normal((runs, m, 2))
    y = measure(Z, np.diag([1.0, 2.0])) + rng.uniform(-0.1, 0.1, (runs, m))
    radius = np.full(runs, 0.1 * m)
    whole, _ = batched_trace_min(Z, y, radius)
    parts = [batched_trace_min(Z[half], y[half], radius[half])[0] for half in (slice(15), slice(15, None))]
    np.testing.assert_allclose(whole, np.concatenate(parts), rtol=1e-12, atol=0.0)


def test_no_runs_at_all() -> None:
    matrices, statuses = batched_trace_min(np.zeros((0, 5, 2)), np.zeros((0, 5)), np.zeros(0))
    assert matrices.shape == (0, 2, 2)
    assert statuses.shape == (0,)
    assert batched_min_radius(np.zeros((0, 5, 2)), np.zeros((0, 5))).shape == (0,)
