"""The starting point against NumPy's least squares, and for readings that do not determine a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import psd_least_absolute_deviations, random_curvature, trace_min
from soqo.estimators import adjoint, measure, smat, svec_rows
from soqo.estimators.sdp import _starting_point
from soqo.estimators.sdp._arithmetic import BatchArithmetic, SingleArithmetic
from soqo.estimators.sdp._starting_point import starting_point


def readings(seed: int, d: int, m: int, noise: float = 0.1) -> tuple[Any, Any]:
    rng = np.random.default_rng([31, seed])
    Z = rng.standard_normal((m, d))
    return Z, measure(Z, random_curvature(d, d, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)) + rng.uniform(
        -noise, noise, m
    )


@pytest.mark.parametrize(("d", "m"), [(1, 4), (2, 9), (4, 48), (7, 60)])
def test_with_enough_readings_X_is_the_least_squares_fit(d: int, m: int) -> None:
    Z, y = readings(d, d, m)
    X, multipliers = starting_point(SingleArithmetic(), Z, y)
    fit = smat(np.linalg.lstsq(svec_rows(Z), y, rcond=None)[0])
    assert np.linalg.eigvalsh(fit)[0] > 0.1  # so that no eigenvalue is clipped
    np.testing.assert_allclose(X, fit, atol=1e-7)
    np.testing.assert_allclose(adjoint(Z, multipliers), np.eye(d), atol=1e-7)


def test_negative_eigenvalues_of_the_fit_are_clipped() -> None:
    Z, y = readings(0, 3, 40)
    X, _ = starting_point(SingleArithmetic(), Z, -y)
    fit = np.linalg.eigvalsh(smat(np.linalg.lstsq(svec_rows(Z), -y, rcond=None)[0]))
    assert fit[-1] < 0.0
    np.testing.assert_allclose(np.linalg.eigvalsh(X), 0.02 * (-fit.mean() + 0.1 / 3), rtol=1e-6)


@pytest.mark.parametrize("kind", ["too few readings", "a repeated direction", "all but one reading tiny"])
def test_without_a_determined_fit_X_is_a_multiple_of_the_identity(kind: str) -> None:
    Z, y = readings(1, 4, 12 if kind.startswith("too few") else 48)
    if kind.startswith("a repeated"):
        Z[4:], y[4:] = Z[0], y[0]
    if kind.startswith("all but one"):
        Z[1:] *= 1e-6
    X, multipliers = starting_point(SingleArithmetic(), Z, y)
    np.testing.assert_array_equal(X, 0.5 * np.eye(4))
    assert np.ptp(multipliers) == 0.0
    assert np.linalg.eigvalsh(adjoint(Z, multipliers))[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(("scale", "used"), [(0.3, True), (0.02, False)])
def test_a_fit_with_a_large_error_from_the_ridge_is_not_used(scale: float, used: bool) -> None:
    Z, y = readings(1, 2, 40)
    Z[:, 0] *= scale
    X, multipliers = starting_point(SingleArithmetic(), Z, y)
    off = np.linalg.norm(adjoint(Z, multipliers) - np.eye(2))
    # The multipliers of least norm for the identity, and their error due to a ridge of 1e-10.
    rows = svec_rows(Z)
    weights = np.linalg.solve(rows.T @ rows, [1.0, 0.0, 1.0])
    missed = 1e-10 * np.trace(rows.T @ rows) / 3 * np.linalg.norm(weights)
    assert (missed < 1e-6) == used
    if used:
        assert off == pytest.approx(missed, rel=1e-3)
    else:
        np.testing.assert_array_equal(X, np.eye(2))


def test_without_a_factor_X_is_a_multiple_of_the_identity() -> None:
    with np.errstate(divide="ignore"):
        X, _ = starting_point(SingleArithmetic(), np.zeros((9, 2)), np.ones(9))
    np.testing.assert_array_equal(X, np.eye(2))


def test_runs_of_a_batch_start_like_single_programs() -> None:
    runs = [readings(k, 3, 30) for k in range(5)]
    runs[2][0][3:] = runs[2][0][0]  # of full rank, but it does not determine a fit
    Z, y = np.stack([Z for Z, _ in runs]), np.stack([y for _, y in runs])
    X, multipliers = starting_point(BatchArithmetic(), Z, y)
    for k in range(5):
        alone_X, alone_multipliers = starting_point(SingleArithmetic(), Z[k], y[k])
        np.testing.assert_allclose(X[k], alone_X, atol=1e-9)
        np.testing.assert_allclose(multipliers[k], alone_multipliers, atol=1e-9)
    np.testing.assert_array_equal(X[2], np.eye(3) * (2 / 3))


class OneSingularRun(BatchArithmetic):
    """An arithmetic in which the third run has no inverse."""

    def inverse(self, matrix: Any) -> Any:
        inverses = np.linalg.inv(matrix)
        inverses[2] = np.nan
        return lambda b: np.matvec(inverses, b)


def test_a_run_without_an_inverse_does_not_affect_the_others() -> None:
    runs = [readings(k, 3, 30) for k in range(4)]
    Z, y = np.stack([Z for Z, _ in runs]), np.stack([y for _, y in runs])
    expected, _ = starting_point(BatchArithmetic(), Z, y)
    X, multipliers = starting_point(OneSingularRun(), Z, y)
    np.testing.assert_allclose(X[[0, 1, 3]], expected[[0, 1, 3]], rtol=1e-12)
    np.testing.assert_array_equal(X[2], np.eye(3) * (2 / 3))
    assert np.ptp(multipliers[2]) == 0.0


def test_a_start_near_the_fit_saves_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    def iterations() -> list[int]:
        data = [readings(k, 4, 48) for k in range(8)]
        solved = [estimate for Z, y in data for estimate in (trace_min(Z, y, 3.0), psd_least_absolute_deviations(Z, y))]
        assert all(estimate.solved for estimate in solved)
        return [estimate.iterations for estimate in solved]

    near = iterations()
    monkeypatch.setattr(_starting_point, "_MIN_READINGS_PER_UNKNOWN", np.inf)
    assert sum(near) <= 0.9 * sum(iterations())
