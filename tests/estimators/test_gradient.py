"""The gradient against finite differences, the projection against its optimality conditions, and overflow."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from soqo._storage.plain_data import same
from soqo.estimators._gradient import (
    DIVERGED_ABOVE,
    MAX_UPDATE,
    GradientEstimate,
    project_psd,
    projected_gradient_step,
)


def random_psd(seed: int, *batch: int, d: int = 3) -> Any:
    G = np.random.default_rng(seed).standard_normal((*batch, d, d))
    return G @ G.swapaxes(-1, -2)


def test_exact_step_follows_the_gradient_of_the_loss() -> None:
    M, u, y = 10.0 * np.eye(3) + random_psd(0), np.array([0.5, -1.0, 2.0]), 3.0
    rate, h = 1e-3, 1e-6

    def loss(matrix: Any) -> float:
        return float(0.5 * (0.5 * u @ matrix @ u - y) ** 2)

    gradient = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            bump = np.zeros((3, 3))
            bump[i, j] = h
            gradient[i, j] = (loss(M + bump) - loss(M - bump)) / (2 * h)
    after = projected_gradient_step(GradientEstimate.initial(M), u, np.array(y), rate=rate)
    np.testing.assert_allclose(after.matrix, M - rate * gradient, rtol=1e-6)


@pytest.mark.parametrize(("form", "share"), [("exact", 1.0), ("as_printed", 0.5)])
def test_the_printed_gradient_converges_to_half_of_A(form: Literal["exact", "as_printed"], share: float) -> None:
    A = random_psd(1)
    rng = np.random.default_rng(2)
    estimate = GradientEstimate.initial(np.eye(3))
    for _ in range(4000):
        u = rng.standard_normal(3)
        estimate = projected_gradient_step(estimate, u, np.array(0.5 * u @ A @ u), rate=0.02, form=form)
    np.testing.assert_allclose(estimate.matrix, share * A, atol=1e-6)


def test_projection_is_the_nearest_positive_semidefinite_matrix() -> None:
    # Optimality: P is in the cone, P - M is in the dual cone (the same), and they are orthogonal.
    M = np.random.default_rng(3).standard_normal((200, 4, 4))
    M = M + M.swapaxes(-1, -2)
    P, spectrum = project_psd(M)
    np.testing.assert_allclose(spectrum.matrix(), P, atol=1e-13)
    assert np.linalg.eigvalsh(P).min() > -1e-13
    assert np.linalg.eigvalsh(P - M).min() > -1e-13
    assert np.abs((P * (P - M)).sum(axis=(-1, -2))).max() < 1e-12
    np.testing.assert_array_equal(P, P.swapaxes(-1, -2))


@pytest.mark.parametrize("size", [1.0, 1e6, 1e10, 1e100])
def test_a_projection_is_in_the_cone_for_steps_of_any_length(size: float) -> None:
    rng = np.random.default_rng(9)
    u = rng.standard_normal((50, 4))
    G = rng.standard_normal((50, 4, 2))
    M = G @ G.mT - size * u[..., :, None] * u[..., None, :]
    P, spectrum = project_psd(M)
    top = spectrum.values[..., -1]
    # The error is relative to the result, not to the negative part.
    assert (np.abs(P - spectrum.matrix()).max(axis=(-1, -2)) <= 1e-14 * (1.0 + top)).all()
    assert (np.linalg.eigvalsh(P)[..., 0] >= -1e-14 * (1.0 + top)).all()
    np.testing.assert_array_equal(P, P.mT)
    for k in (0, 7):  # a run does not depend on the others
        np.testing.assert_array_equal(project_psd(M[k])[0], P[k])


def test_projection_does_not_change_a_matrix_inside_the_cone() -> None:
    M = np.stack([random_psd(4), -random_psd(5)])
    P, _ = project_psd(M)
    np.testing.assert_array_equal(P[0], M[0])
    assert not np.array_equal(P[1], M[1])
    single, _ = project_psd(-random_psd(5))
    np.testing.assert_array_equal(single, P[1])


def test_a_run_without_a_reading_stays_bit_identical() -> None:
    start = GradientEstimate.initial(random_psd(6, 3))
    u = np.random.default_rng(7).standard_normal((3, 3))
    y = np.array([0.3, np.nan, 40.0])
    after = projected_gradient_step(start, u, y, rate=0.5)
    np.testing.assert_array_equal(after.matrix[1], start.matrix[1])
    np.testing.assert_array_equal(after.spectrum.vectors[1], start.spectrum.vectors[1])
    full = projected_gradient_step(start, u, np.array([0.3, 1.0, 40.0]), rate=0.5)
    for run in (0, 2):
        np.testing.assert_array_equal(after.matrix[run], full.matrix[run])
    no_readings = projected_gradient_step(start, u, np.full(3, np.nan), rate=0.5)
    assert same(no_readings, start)


@pytest.mark.parametrize("size", [1e30, 1e80, 1e154, 1e300])
def test_after_a_giant_reading_the_estimate_is_finite_and_marked_as_diverged(size: float) -> None:
    estimate = GradientEstimate.initial(np.stack([np.eye(2)] * 2))
    u = np.array([[size, 0.5 * size], [0.1, 0.2]])
    with np.errstate(divide="raise", over="ignore", invalid="ignore"):
        for y in (0.0, min(size * size, 1e300), 1.0):
            estimate = projected_gradient_step(estimate, u, np.array([y, 0.1]), rate=1e-6)
            assert np.isfinite(estimate.matrix).all()
            assert np.abs(estimate.matrix).max() <= MAX_UPDATE
    np.testing.assert_array_equal(estimate.diverged, [True, False])
    np.testing.assert_array_equal(estimate.overshoots, [3.0, 0.0])


def test_an_estimate_that_is_too_large_is_marked_as_diverged_even_if_it_is_finite() -> None:
    start = GradientEstimate.initial(np.eye(1))
    after = projected_gradient_step(start, np.array([1.0]), np.array(1e14), rate=1.0)
    assert np.isfinite(after.matrix).all()
    assert after.spectrum.values[0] > DIVERGED_ABOVE
    assert after.diverged


def test_an_overshoot_is_counted_exactly_if_the_error_of_the_reading_grows() -> None:
    rng = np.random.default_rng(8)
    for _ in range(200):
        M = GradientEstimate.initial(5.0 * np.eye(2))
        u, y = rng.standard_normal(2), np.array(0.1)
        rate = float(rng.uniform(0.0, 20.0))
        factor = rate * float(u @ u) ** 2 / 4
        before = 0.5 * u @ M.matrix @ u - y
        moved = M.matrix - 0.5 * rate * before * np.outer(u, u)
        grew = abs(0.5 * u @ moved @ u - y) > abs(before)
        after = projected_gradient_step(M, u, y, rate=rate)
        assert bool(after.overshoots) == bool(grew) == (factor > 2.0)
