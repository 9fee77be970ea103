"""Each program against CVXPY and its optimality conditions, its certificate recomputed by hand, and degenerate data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import instance

from soqo import (
    Estimate,
    Status,
    psd_least_absolute_deviations,
    psd_least_squares,
    random_curvature,
    trace_min,
)
from soqo.errors import ArgumentError
from soqo.estimators import adjoint, measure, reference
from soqo.estimators.sdp import least_absolute_deviations_bound, least_squares_bound

# ---- trace_min -------------------------------------------------------------------------------------------------------

RADII = ("true noise", "half of the true noise", "1.05 times the smallest", "more than all readings")


def radius_of(kind: str, Z: Any, y: Any, noise: Any) -> float:
    if kind == "true noise":
        return float(np.abs(noise).sum())
    if kind == "half of the true noise":
        return 0.5 * float(np.abs(noise).sum())
    if kind == "1.05 times the smallest":
        return 1.05 * psd_least_absolute_deviations(Z, y).residual + 1e-3
    return 1.01 * float(np.abs(y).sum())


@pytest.mark.parametrize("block", range(8))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_trace_min_has_the_status_and_the_optimum_of_cvxpy_with_clarabel(block: int) -> None:
    for seed in range(25 * block, 25 * block + 25):
        _, Z, y, noise = instance(seed)
        radius = radius_of(RADII[seed % 4], Z, y, noise)
        ours, theirs = trace_min(Z, y, radius), reference.trace_min(Z, y, radius)
        if np.abs(y).sum() <= radius:
            assert ours.status is Status.CONSISTENT_WITH_ZERO
            assert abs(theirs.value) < 1e-6
        elif ours.status is Status.INFEASIBLE:
            assert theirs.status in ("infeasible", "infeasible_inaccurate", "failed"), seed
            assert least_absolute_deviations_bound(Z, y, multipliers=ours.multipliers) > radius
        else:
            assert ours.status is Status.SOLVED, (seed, ours.message)
            check_certificate(ours, Z, y, radius)
            assert theirs.status in ("optimal", "optimal_inaccurate", "failed"), seed
            if theirs.status == "optimal":
                # A solved estimate has a gap of at most 1e-6 of the sum of its two values.
                assert ours.primal == pytest.approx(theirs.value, rel=2e-6, abs=1e-6), seed


def check_certificate(estimate: Estimate, Z: Any, y: Any, radius: float) -> None:
    """Check that the estimate is feasible, positive semi-definite, and proven optimal by its multipliers."""
    M, lam = estimate.matrix, estimate.multipliers
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] >= -1e-13 * np.abs(M).max()
    total = np.abs(y).sum()
    kept = max(radius, 1e-9 * total)
    residual = np.abs(y - 0.5 * np.einsum("mi,ij,mj->m", Z, M, Z)).sum()
    assert residual <= kept * (1 + 1e-9) + 2e-11 * total
    # For M within the radius: Tr M >= Tr(M S) with S = 1/2 sum lambda z z' <= I, and that is >= the bound.
    slack = np.eye(Z.shape[1]) - 0.5 * (Z.T * lam) @ Z
    excess = max(0.0, -np.linalg.eigvalsh(slack)[0])
    bound = (y @ lam - kept * np.abs(lam).max()) / (1 + excess)
    assert np.trace(M) <= bound + 2e-6 * np.trace(M)


@settings(max_examples=150)
@given(
    d=st.integers(1, 6),
    data=st.data(),
    z_scale=st.floats(-8, 8),
    y_scale=st.floats(-8, 8),
    noise=st.sampled_from([0.0, 0.01, 0.3]),
    share=st.sampled_from([0.0, 0.5, 1.0, 1.2]),
    seed=st.integers(0, 10**6),
)
def test_trace_min_never_calls_a_wrong_matrix_solved(
    d: int, data: Any, z_scale: float, y_scale: float, noise: float, share: float, seed: int
) -> None:
    rank = data.draw(st.integers(0, d), label="rank")
    m = data.draw(st.integers(1, 2 * d * (d + 1)), label="m")
    zeros, doubles = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    rng = np.random.default_rng(seed)
    A = 10.0**y_scale * random_curvature(d, rank, min_eigenvalue=0.1, max_eigenvalue=3.0, rng=rng)
    Z = 10.0**z_scale * rng.standard_normal((m, d))
    Z[:zeros] = 0.0
    Z[-doubles - 1 :] = Z[-1]
    y = measure(Z, A)
    shifts = noise * np.abs(y).mean() * rng.uniform(-1, 1, m)
    radius = share * float(np.abs(shifts).sum())
    estimate = trace_min(Z, y + shifts, radius)
    if estimate.status is Status.SOLVED:
        check_certificate(estimate, Z, y + shifts, radius)
    elif estimate.status is Status.CONSISTENT_WITH_ZERO:
        assert np.abs(y + shifts).sum() <= radius
        np.testing.assert_array_equal(estimate.matrix, 0.0)
    elif estimate.status is Status.INFEASIBLE:
        assert least_absolute_deviations_bound(Z, y + shifts, multipliers=estimate.multipliers) > radius
        assert share < 1.0 or noise == 0.0
    else:
        # Round-off stops the method only if the radius is a tiny part of the readings.
        assert radius < 1e-3 * np.abs(y + shifts).sum()


def test_trace_min_recovers_the_matrix_of_noiseless_readings() -> None:
    rng = np.random.default_rng(0)
    for d, rank, m in ((4, 1, 16), (6, 2, 40), (5, 5, 40)):
        A = random_curvature(d, rank, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)
        Z = rng.standard_normal((m, d))
        estimate = trace_min(Z, measure(Z, A), radius=1e-7)
        assert estimate.solved
        assert estimate.rank == rank
        np.testing.assert_allclose(estimate.matrix, A, atol=1e-6)


def test_trace_min_needs_a_larger_trace_for_a_smaller_radius_down_to_the_smallest_one() -> None:
    rng = np.random.default_rng(4)
    Z = rng.standard_normal((40, 5))
    y = measure(Z, random_curvature(5, 2, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)) + rng.uniform(-0.3, 0.3, 40)
    least = psd_least_absolute_deviations(Z, y).residual
    traces = [trace_min(Z, y, share * least).primal for share in (1.001, 1.1, 1.5, 3.0)]
    assert traces == sorted(traces, reverse=True)
    too_small = trace_min(Z, y, 0.999 * least)
    assert too_small.status is Status.INFEASIBLE
    assert too_small.min_radius == pytest.approx(least, rel=1e-6)
    assert f"({least:.6g})" in too_small.message


def test_trace_min_of_zero_measurements_is_infeasible_and_of_zero_readings_is_zero() -> None:
    zero_measurements = trace_min(np.zeros((3, 2)), [1.0, -2.0, 3.0], 1.0)
    assert zero_measurements.status is Status.INFEASIBLE
    assert zero_measurements.min_radius == 6.0
    zero_readings = trace_min(np.ones((3, 2)), np.zeros(3), 0.0)
    assert zero_readings.status is Status.CONSISTENT_WITH_ZERO
    np.testing.assert_array_equal(zero_readings.matrix, 0.0)


@pytest.mark.parametrize("radius", [-1.0, np.nan])
def test_trace_min_refuses_a_radius_that_is_negative_or_not_a_number(radius: float) -> None:
    with pytest.raises(ArgumentError, match=rf"radius must be .* at least 0, got {radius}"):
        trace_min(np.ones((3, 2)), np.ones(3), radius)


# ---- psd_least_absolute_deviations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_least_absolute_deviations_are_those_of_cvxpy(seed: int) -> None:
    _, Z, y, _ = instance(seed, d=2 + seed % 6)
    ours, theirs = psd_least_absolute_deviations(Z, y), reference.psd_least_absolute_deviations(Z, y)
    assert ours.solved
    assert ours.residual == pytest.approx(theirs.value, rel=1e-6, abs=1e-6 * np.abs(y).sum())


# ---- psd_least_squares -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
def test_least_squares_are_those_of_cvxpy(seed: int) -> None:
    _, Z, y, _ = instance(seed, d=2 + seed % 6)
    ours, theirs = psd_least_squares(Z, y), reference.psd_least_squares(Z, y)
    assert ours.solved, ours.message
    assert ours.primal == pytest.approx(theirs.value, rel=1e-5, abs=1e-7)
    assert least_squares_bound(Z, y, multipliers=ours.multipliers) <= ours.primal * (1 + 1e-9)


def test_the_gradient_of_least_squares_is_in_the_dual_cone_and_orthogonal() -> None:
    _, Z, y, _ = instance(5, d=5, noise=1.0)
    M = psd_least_squares(Z, y).matrix
    gradient = -adjoint(Z, y - measure(Z, M))
    scale = np.abs(adjoint(Z, np.abs(y))).max()
    assert np.linalg.eigvalsh(gradient)[0] > -1e-6 * scale
    assert abs((gradient * M).sum()) < 1e-6 * scale * np.abs(M).max()


def test_least_squares_inside_the_cone_are_ordinary_least_squares() -> None:
    rng = np.random.default_rng(0)
    A = random_curvature(4, 4, min_eigenvalue=1.0, max_eigenvalue=2.0, rng=rng)
    Z = rng.standard_normal((60, 4))
    y = measure(Z, A) + rng.uniform(-0.01, 0.01, 60)
    rows = 0.5 * np.einsum("mi,mj->mij", Z, Z).reshape(60, 16)
    plain, *_ = np.linalg.lstsq(rows, y, rcond=None)
    np.testing.assert_allclose(psd_least_squares(Z, y).matrix, plain.reshape(4, 4), atol=1e-6)


def test_a_least_squares_weight_of_three_equals_three_copies_of_a_row() -> None:
    _, Z, y, _ = instance(8, d=3, noise=0.3)
    weights = np.ones(y.size)
    weights[:2] = 3.0
    weighted = psd_least_squares(Z, y, weights=weights)
    repeated = psd_least_squares(np.concatenate([Z, Z[:2], Z[:2]]), np.concatenate([y, y[:2], y[:2]]))
    assert weighted.primal == pytest.approx(repeated.primal, rel=1e-6)


def test_least_squares_fit_zero_readings_by_zero_and_zero_measurements_not_at_all() -> None:
    zero_readings = psd_least_squares(np.ones((3, 2)), np.zeros(3))
    np.testing.assert_array_equal(zero_readings.matrix, 0.0)
    zero_measurements = psd_least_squares(np.zeros((2, 2)), [3.0, 4.0])
    assert zero_measurements.primal == pytest.approx(12.5)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0, 1.0], [1.0, -1.0, 1.0]])
def test_bad_least_squares_weights_are_refused(weights: Any) -> None:
    with pytest.raises(ArgumentError, match=r"weights must be positive and of shape \(3,\)"):
        psd_least_squares(np.ones((3, 2)), np.ones(3), weights=weights)
