"""Bounds that hold in spite of round-off, checked in rational arithmetic and against matrices that fit exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from soqo import Status, psd_least_absolute_deviations, psd_least_squares, trace_min
from soqo.estimators.sdp import least_absolute_deviations_bound, least_squares_bound, trace_bound
from soqo.estimators.sdp._certificates import (
    dot_above,
    dot_below,
    is_certainly_at_most,
    quick_max_eigenvalue,
    refined_max_eigenvalue,
    shift_into_cone,
)
from soqo.estimators.sdp._normalized_data import SINGLE

KINDS = [np.float64, np.longdouble]


def exact_negative_sum(Z: Any, weights: Any, limit: float) -> list[list[Fraction]]:
    """Return limit I - sum w_k z_k z_k' in rational numbers."""
    rows = [[Fraction(float(x)) for x in row] for row in Z]
    d = Z.shape[1]
    total = [[Fraction(limit) * (i == j) for j in range(d)] for i in range(d)]
    for row, weight in zip(rows, weights, strict=True):
        for i in range(d):
            for j in range(d):
                total[i][j] -= Fraction(float(weight)) * row[i] * row[j]
    return total


def is_positive_semidefinite(matrix: list[list[Fraction]]) -> bool:
    """Decide by symmetric elimination in rational numbers."""
    while matrix:
        pivot, *rest = matrix[0]
        if pivot < 0 or (pivot == 0 and any(rest)):
            return False
        rows = [row[1:] for row in matrix[1:]]
        if pivot:
            rows = [
                [x - a * b / pivot for x, b in zip(row, rest, strict=True)] for row, a in zip(rows, rest, strict=True)
            ]
        matrix = rows
    return True


def ill_conditioned(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([62, seed])
    d = int(rng.integers(1, 5))
    Z = rng.standard_normal((int(rng.integers(d, 12)), d)) * 10.0 ** rng.uniform(-9, 9, d)
    if d > 1 and seed % 2:
        Z[:, 1] = Z[:, 0] * (1.0 + 10.0 ** rng.uniform(-12, 0) * rng.standard_normal(len(Z)))
    return Z, rng.uniform(-1.0, 1.0, len(Z))


@pytest.mark.parametrize("kind", KINDS)
def test_shifted_multipliers_are_in_the_cone_exactly(kind: Any) -> None:
    proven = 0
    for seed in range(60):
        Z, lam = ill_conditioned(seed)
        shifted = shift_into_cone(Z, lam, kind)
        if shifted is not None:
            proven += 1
            assert is_positive_semidefinite(exact_negative_sum(Z, shifted, 0.0)), seed
            assert np.ptp(lam - shifted) < 1e-15
    assert proven > 40


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_is_proven_only_if_it_holds_exactly(kind: Any) -> None:
    for seed in range(60):
        Z, lam = ill_conditioned(seed)
        Z /= np.abs(Z).max()
        highest = np.linalg.eigvalsh((Z.T * lam) @ Z)[-1]
        assert is_certainly_at_most(Z, lam, abs(highest) * 1.001 + 1e-9, kind)
        for slack in (-1e-3, -1e-9, -1e-13, -1e-16, 0.0, 1e-16, 1e-14):
            limit = abs(highest) * (1.0 + slack)
            if is_certainly_at_most(Z, lam, limit, kind):
                assert is_positive_semidefinite(exact_negative_sum(Z, lam, limit)), (seed, slack)


def test_upper_bounds_of_eigenvalues_hold_and_are_tight() -> None:
    for seed in range(60):
        Z, lam = ill_conditioned(seed)
        Z /= np.abs(Z).max()
        highest = np.linalg.eigvalsh((Z.T * lam) @ Z)[-1]
        quick, refined = quick_max_eigenvalue(SINGLE, Z, lam), refined_max_eigenvalue(Z, lam)
        for bound in (quick, refined):
            assert is_positive_semidefinite(exact_negative_sum(Z, lam, bound)), seed
        assert quick <= highest + 1e-12
        assert refined <= max(2.0, highest) * (1.0 + 2e-9)
    with np.errstate(over="ignore"):
        assert refined_max_eigenvalue(np.array([[1e200]]), np.array([1.0])) == np.inf


def test_inner_products_are_bounded_on_both_sides() -> None:
    rng = np.random.default_rng(63)
    for _ in range(50):
        a, b = (rng.standard_normal(9) * 10.0 ** rng.uniform(-9, 9, 9) for _ in range(2))
        exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
        assert Fraction(dot_below(a, b)) <= exact <= Fraction(dot_above(a, b))
        assert dot_above(a, b) - dot_below(a, b) <= 1e-14 * np.abs(a) @ np.abs(b)


# ---- data on which a bound that drops directions is false ------------------------------------------------------------


def test_a_direction_that_is_tiny_beside_others_is_not_dropped() -> None:
    fit = psd_least_absolute_deviations([[1.0, 0.0], [0.0, 1e-8]], [1.0, 1.0])  # diag(2, 2e16) fits
    assert fit.solved
    assert fit.residual < 1e-8
    assert trace_min([[1.0, 0.0], [0.0, 1e-8]], [1.0, 1.0], 0.1).status is not Status.INFEASIBLE
    assert least_absolute_deviations_bound([[1.0, 0.0], [0.0, 1e-7]], [1.0, 1.0], multipliers=[0.0, 1.0]) == 0.0
    Z, y = [[0.0, -3e-6, -2e-6], [3.0, -1.0, 1.0], [-2.0, 1.0, -1.0]], [3.0, 1.0, 1.0]
    assert psd_least_squares(Z, y).dual < 1e-6
    assert least_squares_bound(Z, y, multipliers=[1.0, -0.3, 0.1]) < 1e-6


def test_measurements_that_are_nearly_rank_deficient_prove_nothing_and_exactly_deficient_ones_do() -> None:
    rng = np.random.default_rng(64)
    rows = rng.integers(-3, 4, (20, 2)).astype(float)
    Z = np.column_stack([rows, rows @ [1.0, 2.0]])  # the third column is an exact combination
    y = rng.uniform(1.0, 2.0, 20)
    exact = psd_least_absolute_deviations(Z, y)
    assert exact.solved
    assert exact.dual > 0.1
    Z[:, 2] *= 1.0 + 1e-16 * rng.integers(-9, 10, 20)
    nearly = psd_least_absolute_deviations(Z, y)
    assert nearly.status is Status.STALLED
    assert nearly.dual == 0.0
    assert "rank deficient" in nearly.message
    assert psd_least_squares(Z, y).dual == 0.0


def test_the_smallest_radius_is_never_infeasible() -> None:
    for seed in range(150):
        rng = np.random.default_rng([65, seed])
        d = int(rng.integers(1, 4))
        Z = rng.standard_normal((4 * d, d)) * 10.0 ** rng.uniform(-7, 0, d)
        y = rng.uniform(-1.0, 2.0, 4 * d)
        assert trace_min(Z, y, psd_least_absolute_deviations(Z, y).residual).status is not Status.INFEASIBLE, seed


# ---- extremes --------------------------------------------------------------------------------------------------------

EXTREMES = [
    ([[1.0], [2.0]], [1e308, 1.6e308]),
    ([[1.0], [2.0]], [1e308, 4e307]),
    ([[1e-165], [2e-165]], [1.0, 4.0]),
    ([[1e-165]], [1.7e308]),
    ([[1e160, 0.0], [0.0, 1e155]], [1.0, 1.0]),
    ([[1.0], [1.0]], [5e-324, 5e-324]),
    ([[1e-300, 1e300], [1e300, 1e-300]], [1e-300, 1e300]),
]


@pytest.mark.parametrize(("Z", "y"), EXTREMES)
def test_no_result_is_solved_unless_it_is_finite_and_fits(Z: Any, y: Any) -> None:
    total = np.abs(np.asarray(y) / 4.0).sum()
    estimates = [psd_least_absolute_deviations(Z, y), psd_least_squares(Z, y), trace_min(Z, y, 0.1 * np.abs(y).min())]
    for estimate in estimates:
        assert np.isfinite(estimate.matrix).all()
        assert estimate.primal >= 0.0
        if estimate.solved:
            assert np.isfinite([estimate.primal, estimate.dual, estimate.residual]).all()
            assert estimate.residual / 4.0 <= total * (1.0 + 1e-9)


@pytest.mark.parametrize("program", ["trace", "absolute", "squares"])
@pytest.mark.parametrize(("z_power", "y_power"), [(400, 480), (-400, -480), (500, 500), (0, 500)])
def test_units_near_the_limits_of_floating_point_numbers_do_not_matter(
    program: str, z_power: int, y_power: int
) -> None:
    rng = np.random.default_rng(66)
    Z = rng.standard_normal((12, 2))
    y = 0.5 * np.square(Z) @ [3.0, 1.0] + rng.uniform(-0.1, 0.1, 12)

    def solve(z: int, power: int) -> Any:
        rows, readings = np.ldexp(Z, z), np.ldexp(y, power)
        if program == "trace":
            return trace_min(rows, readings, np.ldexp(1.0, power))
        return (psd_least_absolute_deviations if program == "absolute" else psd_least_squares)(rows, readings)

    plain, scaled = solve(0, 0), solve(z_power, y_power)
    assert plain.solved
    assert scaled.solved
    np.testing.assert_allclose(np.ldexp(scaled.matrix, 2 * z_power - y_power), plain.matrix, atol=1e-6)


def test_a_radius_in_single_precision_is_used_in_double_precision() -> None:
    Z, y = np.ones((3, 1)), np.array([1.0, 2.0, 3.0])
    radius: Any = np.float32(2.1)
    assert trace_min(Z, y, radius).dual == trace_min(Z, y, float(radius)).dual
    assert trace_bound(Z, y, radius=radius, multipliers=[0.1, 0.1, 0.1]) == trace_bound(
        Z, y, radius=float(radius), multipliers=[0.1, 0.1, 0.1]
    )
