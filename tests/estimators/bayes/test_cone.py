"""The MAP estimate in the cone against CVXPY, its stationarity, a closed form, and changes of coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from soqo._foundation.optional_imports import require_extra
from soqo._model.spectrum import Spectrum
from soqo.estimators import smat, svec
from soqo.estimators.bayes._cone import _congruence, map_in_cone
from soqo.typing import Array

MANY_STEPS = 60
"""More steps than any of these problems needs."""


# ---- problems and their solutions ----------------------------------------------------------------------------------


def root_of_covariance(rng: np.random.Generator, p: int, condition: float) -> Array:
    """Return a square root of a covariance whose largest eigenvalue is one."""
    Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return np.asarray(Q * np.sqrt(np.geomspace(1.0, 1.0 / condition, p)))


def problem(seed: int, d: int, condition: float, where: str) -> tuple[Array, Array]:
    """Return a mean inside the cone, on its boundary or several deviations outside, and a root of the covariance."""
    rng = np.random.default_rng([41, seed, d])
    p = d * (d + 1) // 2
    root = root_of_covariance(rng, p, condition)
    F = rng.standard_normal((d, d))
    if where == "inside":
        return F @ F.T + np.eye(d), root
    boundary = F[:, : d - 1] @ F[:, : d - 1].T
    if where == "boundary":
        return boundary, root
    off = 3.0 if condition > 1.0 else 10.0
    mean = smat(svec(boundary) - off * root @ rng.standard_normal(p))
    assert np.linalg.eigvalsh(mean)[0] < 0.0
    return mean, root


def from_identity(runs: int, d: int) -> Spectrum:
    return Spectrum(np.ones((runs, d)), np.tile(np.eye(d), (runs, 1, 1)))


def in_cone(mean: Array, P: Array, alpha: float, scale: float, start: Spectrum, steps: int) -> Spectrum:
    """Return the estimate for one run."""
    return map_in_cone(mean[None], P[None], start, alpha, np.array([scale]), np.array([steps]))


def solution(mean: Array, P: Array, alpha: float, scale: float, start: Spectrum | None = None) -> Array:
    """Return the estimate to all digits: it stops after a small step, and each warm start squares the error."""
    spectrum = from_identity(1, len(mean)) if start is None else start
    for _ in range(5):
        spectrum = in_cone(mean, P, alpha, scale, spectrum, MANY_STEPS)
    return np.asarray(spectrum.matrix()[0])


def cvxpy_solution(mean: Array, root: Array, alpha: float, scale: float) -> Array:
    """Solve for z in svec(M) = mean + root z, which is well scaled for any covariance."""
    cp: Any = require_extra("cvxpy", "cvxpy")
    d, p = len(mean), len(root)
    entries = smat(np.eye(p)).reshape(p, d * d).T
    z = cp.Variable(p)
    M = cp.reshape(entries @ (svec(mean) + root @ z), (d, d), order="C")
    cost = 0.5 * cp.sum_squares(z) + alpha * (cp.trace(M) / scale - cp.log_det(M))
    cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
    return np.asarray(M.value)


def stationarity_error(M: Array, mean: Array, P: Array, alpha: float, scale: float) -> float:
    """Return the distance of M from mean + alpha P (M^{-1} - I / scale), relative to the largest term."""
    pull = alpha * P @ svec(np.linalg.inv(M) - np.eye(len(M)) / scale)
    largest = max(np.abs(M).max(), np.abs(mean).max(), np.abs(pull).max())
    return float(np.abs(svec(M) - svec(mean) - pull).max() / largest)


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("where", ["inside", "boundary", "outside"])
@pytest.mark.parametrize("condition", [1.0, 1e8])
@pytest.mark.parametrize("d", [2, 3, 4])
def test_the_estimate_equals_that_of_cvxpy(d: int, condition: float, where: str, alpha: float) -> None:
    mean, root = problem(0, d, condition, where)
    ours = solution(mean, root @ root.T, alpha, 2.0)
    theirs = cvxpy_solution(mean, root, alpha, 2.0)
    # Clarabel's objective is accurate to 1e-8, which leaves 1e-4 for the matrix where the objective is flat.
    np.testing.assert_allclose(ours, theirs, atol=1e-4 * np.abs(theirs).max())
    assert stationarity_error(ours, mean, root @ root.T, alpha, 2.0) < 1e-6


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("deviations", [1e2, 1e3])
def test_a_thousand_deviations_outside_the_cone_the_estimate_is_stationary(deviations: float, alpha: float) -> None:
    rng = np.random.default_rng(1)
    mean, P = smat(-deviations * np.abs(rng.standard_normal(6))), np.eye(6)
    M = solution(mean, P, alpha, 2.0)
    # M is about alpha / deviations; its inverse has lost as many digits as M is smaller than the mean.
    assert stationarity_error(M, mean, P, alpha, 2.0) < 1e-6
    assert np.linalg.eigvalsh(M)[0] > 0.0


def test_in_one_dimension_the_estimate_is_the_root_of_a_quadratic_equation() -> None:
    means, variances = np.array([-1e3, -1.0, 0.0, 1e-3, 1.0, 1e3]), np.array([1e-6, 1.0, 1e4])
    m, p = (grid.ravel() for grid in np.meshgrid(means, variances))
    alpha, scale = 0.3, np.full(m.size, 5.0)
    spectrum = from_identity(m.size, 1)
    for _ in range(5):
        spectrum = map_in_cone(m[:, None, None], p[:, None, None], spectrum, alpha, scale, np.full(m.size, MANY_STEPS))
    # x = m + alpha p (1/x - 1/scale) is x^2 - b x - alpha p = 0, solved without cancellation.
    b = m - alpha * p / scale
    far = np.sqrt(b * b + 4.0 * alpha * p) + np.abs(b)
    expected = np.where(b > 0.0, 0.5 * far, 2.0 * alpha * p / far)
    # If m is 1e6 deviations below zero, x is 1e-12 of m, and m + alpha p / x has four correct digits.
    np.testing.assert_allclose(spectrum.values[:, 0], expected, rtol=1e-3)
    ordinary = np.abs(m) <= 1e3 * np.sqrt(p)
    np.testing.assert_allclose(spectrum.values[ordinary, 0], expected[ordinary], rtol=1e-9)


def test_well_known_entries_stay_where_they_are() -> None:
    mean, q = np.diag([1.0, -0.5]), np.array([1.0, 1.0]) / math.sqrt(2.0)
    known = svec(np.outer(q, q))
    P = np.eye(3) - (1.0 - 1e-6) * np.outer(known, known)  # q'M q has a deviation of 0.001
    M = solution(mean, P, 0.1, 1.0)
    clipped = np.diag([1.0, 0.0])
    assert abs(q @ (clipped - mean) @ q) == pytest.approx(0.25)
    # Along q, P (alpha M^{-1}) is 1e-6 times a number of order one.
    assert q @ M @ q == pytest.approx(q @ mean @ q, abs=1e-4)
    assert np.linalg.eigvalsh(M)[0] > 0.0


# ---- steps ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_every_start_leads_to_the_same_estimate(size: float) -> None:
    mean, root = problem(2, 3, 100.0, "outside")
    P = root @ root.T
    start = Spectrum(size * np.array([[1.0, 2.0, 3.0]]), np.eye(3)[None])
    expected = solution(mean, P, 0.1, 2.0)
    # Only round-off depends on the start.
    np.testing.assert_allclose(solution(mean, P, 0.1, 2.0, start), expected, atol=1e-9 * np.abs(expected).max())


def test_near_the_solution_a_step_squares_the_error() -> None:
    mean, root = problem(3, 3, 100.0, "outside")
    P = root @ root.T
    exact = solution(mean, P, 0.5, 2.0)
    G = np.linalg.cholesky(exact)
    direction = smat(np.random.default_rng(4).standard_normal(6))
    direction /= np.linalg.norm(direction)
    for size in (1e-2, 1e-3, 1e-4):
        start = Spectrum.of((G @ (np.eye(3) + size * direction) @ G.T)[None])
        M = in_cone(mean, P, 0.5, 2.0, start, 1).matrix()[0]
        relative = np.linalg.solve(G, np.linalg.solve(G, M - exact).T)
        # The error of a Newton step is a Taylor remainder: if M is the identity, X^{-1} = I - dX + dX^2 - ...
        assert np.linalg.norm(relative) < 2.0 * size**2


def test_the_number_of_steps_is_the_limit_of_each_run() -> None:
    mean, root = problem(5, 3, 100.0, "outside")
    P = root @ root.T
    exact = solution(mean, P, 0.1, 2.0)
    limits = np.array([1, 2, 3, 4, 5])
    together = map_in_cone(
        np.tile(mean, (5, 1, 1)),
        np.tile(P, (5, 1, 1)),
        from_identity(5, 3),
        0.1,
        np.full(5, 2.0),
        limits,
    ).matrix()
    for k, limit in enumerate(limits):
        alone = in_cone(mean, P, 0.1, 2.0, from_identity(1, 3), int(limit)).matrix()[0]
        np.testing.assert_allclose(together[k], alone, rtol=0.0, atol=1e-12 * np.abs(alone).max())
    errors = np.abs(together - exact).max(axis=(1, 2))
    assert (np.diff(errors) < 0.0).all()  # each step brings the matrix closer to the solution


def test_without_a_step_the_estimate_is_the_start() -> None:
    mean, root = problem(6, 3, 1.0, "outside")
    start = Spectrum.of(np.diag([0.5, 1.0, 4.0])[None])
    stayed = in_cone(mean, root @ root.T, 0.1, 2.0, start, 0).matrix()[0]
    np.testing.assert_allclose(stayed, np.diag([0.5, 1.0, 4.0]), atol=1e-14)


def test_the_iteration_stops_after_a_small_step() -> None:
    mean, root = problem(7, 3, 1.0, "outside")
    P = root @ root.T
    start = Spectrum.of(solution(mean, P, 0.1, 2.0)[None])
    once = in_cone(mean, P, 0.1, 2.0, start, 1)
    repeated = in_cone(mean, P, 0.1, 2.0, start, MANY_STEPS)
    np.testing.assert_array_equal(once.matrix(), repeated.matrix())


def test_runs_that_continue_do_not_change_those_that_are_finished() -> None:
    rng = np.random.default_rng(8)
    runs, d = 12, 3
    kinds = ("inside", "boundary", "outside")
    problems = [problem(k, d, (1.0, 1e4)[k % 2], kinds[k % 3]) for k in range(runs)]
    mean = np.stack([m for m, _ in problems])
    P = np.stack([root @ root.T for _, root in problems])
    start = Spectrum.of(np.stack([F @ F.T + 0.1 * np.eye(d) for F in rng.normal(size=(12, 3, 3))]))
    scale, steps = rng.uniform(0.1, 10.0, runs), rng.integers(1, 15, runs).astype(np.float64)
    values, vectors = start.values.copy(), start.vectors.copy()
    together = map_in_cone(mean, P, start, 0.1, scale, steps)
    for k in range(runs):
        one = slice(k, k + 1)
        begin = Spectrum(start.values[one], start.vectors[one])
        alone = map_in_cone(mean[one], P[one], begin, 0.1, scale[one], steps[one])
        ours, single = together.matrix()[k], alone.matrix()[0]
        # Products over a batch may be summed in another order.
        np.testing.assert_allclose(ours, single, rtol=0.0, atol=1e-9 * np.abs(single).max())
    np.testing.assert_array_equal(start.values, values)
    np.testing.assert_array_equal(start.vectors, vectors)


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("condition", [1.0, 1e8, 1e16])
def test_few_steps_stay_in_the_cone_for_any_distance_of_the_mean(condition: float, alpha: float) -> None:
    rng = np.random.default_rng(9)
    runs, d, p = 48, 3, 6
    root = np.stack([root_of_covariance(rng, p, condition) for _ in range(runs)])
    deviations = 10.0 ** rng.uniform(0.0, 6.0, (runs, 1))
    mean = smat(-deviations * np.matvec(root, rng.standard_normal((runs, p))))
    steps = np.tile(np.arange(1.0, 13.0), 4)
    M = map_in_cone(mean, root @ root.mT, from_identity(runs, d), alpha, np.full(runs, 2.0), steps)
    assert np.isfinite(M.values).all()
    assert (M.values >= 0.0).all()
    assert (M.values[:, -1] > 0.0).all()
    np.testing.assert_allclose(M.vectors.mT @ M.vectors, np.tile(np.eye(d), (runs, 1, 1)), atol=1e-13)


@pytest.mark.parametrize("steps", [0, 1])
def test_round_off_makes_no_eigenvalue_negative(steps: int) -> None:
    rng = np.random.default_rng(14)
    runs, d = 30, 4
    vectors = np.linalg.qr(rng.standard_normal((runs, d, d)))[0]
    # The two small eigenvalues are below the round-off of the large ones.
    start = Spectrum(np.tile([1e-40, 1e-30, 0.5, 1.0], (runs, 1)), vectors)
    lost = np.linalg.eigvalsh(start.matrix())
    assert (lost[:, 0] < 0.0).any()
    P = np.tile(1e-30 * np.eye(10), (runs, 1, 1))
    M = map_in_cone(start.matrix(), P, start, 0.1, np.ones(runs), np.full(runs, float(steps)))
    assert (M.values >= 0.0).all()


# ---- changes of coordinates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_congruence_matrix_has_the_images_of_the_unit_matrices_as_columns(d: int) -> None:
    F = np.random.default_rng(10).standard_normal((4, d, d))
    units = smat(np.eye(d * (d + 1) // 2))
    for k in range(4):
        columns = [svec(F[k] @ unit @ F[k].T) for unit in units]
        np.testing.assert_allclose(_congruence(F)[k], np.stack(columns, axis=1), atol=1e-13)


@pytest.mark.parametrize("steps", [1, 3, MANY_STEPS])
@pytest.mark.parametrize("kind", ["rotation", "any"])
def test_the_estimate_is_equivariant_under_changes_of_coordinates(kind: str, steps: int) -> None:
    mean, root = problem(11, 3, 10.0, "outside")
    rng = np.random.default_rng(12)
    F = rng.standard_normal((3, 3)) + np.eye(3)
    # The trace is invariant under rotations only; otherwise its weight must be negligible.
    scale = 2.0 if kind == "rotation" else 1e30
    F = np.linalg.qr(F)[0] if kind == "rotation" else F
    K = np.stack([svec(F @ unit @ F.T) for unit in smat(np.eye(6))], axis=1)
    start = np.diag([0.5, 1.0, 2.0])
    M = in_cone(mean, root @ root.T, 0.1, scale, Spectrum.of(start[None]), steps).matrix()[0]
    image = Spectrum.of((F @ start @ F.T)[None])
    there = in_cone(F @ mean @ F.T, K @ root @ root.T @ K.T, 0.1, scale, image, steps).matrix()[0]
    expected = F @ M @ F.T
    np.testing.assert_allclose(there, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_estimate_is_equivariant_under_changes_of_units(unit: float) -> None:
    mean, root = problem(13, 3, 10.0, "outside")
    P = root @ root.T
    M = in_cone(mean, P, 0.1, 2.0, from_identity(1, 3), 5).matrix()[0]
    start = Spectrum(unit * np.ones((1, 3)), np.eye(3)[None])
    scaled = in_cone(unit * mean, unit**2 * P, 0.1, 2.0 * unit, start, 5).matrix()[0]
    np.testing.assert_allclose(scaled, unit * M, atol=1e-9 * unit * np.abs(M).max())
