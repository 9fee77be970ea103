"""The contract of an estimator, one check per property.

An estimator is a function of measurements Z and readings y that returns an :class:`soqo.Estimate`. Its other arguments,
such as a radius, are bound beforehand (``functools.partial``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from soqo._model.problem import random_curvature
from soqo._storage.plain_data import same
from soqo.checks._scenario import Scenario, expect, expect_error, expect_finite, run_checks
from soqo.errors import ArgumentError
from soqo.estimators import Estimate, measure
from soqo.typing import Array

_Estimator = Callable[[Array, Array], Estimate]


def check_estimator(estimator: _Estimator, *, dim: int = 3, seed: int = 0) -> None:
    """Check that an estimator satisfies the contract of :func:`soqo.psd_least_absolute_deviations`.

    The data are 40 readings, with noise of at most 0.1 each, of a matrix of full rank and of a matrix of rank one.

    Parameters
    ----------
    estimator : callable
        A function of Z, shape (40, dim), and y, shape (40,), that returns an :class:`soqo.Estimate`.
    dim : int
        The dimension in which to check it.
    seed : int
        The seed of the checks.

    Raises
    ------
    CheckError
        If the estimator violates the contract; the message names the check.

    Examples
    --------
    >>> from functools import partial
    >>> import soqo
    >>> check_estimator(partial(soqo.trace_min, radius=2.5))
    """
    expect(callable(estimator), f"estimator: must be callable, got {type(estimator).__name__}")
    run_checks(ESTIMATOR_CHECKS, estimator, Scenario(dim=dim, seed=seed))


def _readings(scenario: Scenario) -> list[tuple[Array, Array]]:
    """Return measurements and readings of two matrices."""
    pairs = []
    for rank in (1, scenario.dim):
        rng = scenario.rng(8, rank)
        A = random_curvature(scenario.dim, rank, min_eigenvalue=0.5, max_eigenvalue=2.0, rng=rng)
        Z = rng.standard_normal((40, scenario.dim))
        pairs.append((Z, measure(Z, A) + rng.uniform(-0.1, 0.1, 40)))
    return pairs


def _check_matrix(estimator: _Estimator, scenario: Scenario) -> None:
    """Check that the matrix is square, exactly symmetric, positive semi-definite and finite."""
    for Z, y in _readings(scenario):
        estimate = estimator(Z, y)
        expect(isinstance(estimate, Estimate), f"must return an Estimate, got {estimate!r:.80}")
        M = estimate.matrix
        expect_finite("the matrix", M, (scenario.dim, scenario.dim))
        expect(np.array_equal(M, M.T), "the matrix must be exactly symmetric")
        lowest, highest = np.linalg.eigvalsh(M)[[0, -1]]
        expect(
            lowest >= -1e-12 * abs(highest),
            f"the matrix must be positive semi-definite, got eigenvalues from {lowest:.3g} to {highest:.3g}",
        )


def _check_numbers(estimator: _Estimator, scenario: Scenario) -> None:
    """Check that the residual is that of the matrix, and that the dual value is not above the primal value."""
    for Z, y in _readings(scenario):
        estimate = estimator(Z, y)
        residual = float(np.abs(y - measure(Z, estimate.matrix)).sum())
        expect(
            abs(estimate.residual - residual) <= 1e-9 * float(np.abs(y).sum()),
            f"the residual must be that of the matrix, {residual:.6g}, got {estimate.residual:.6g}",
        )
        if estimate.solved:
            slack = 1e-9 * (1.0 + abs(estimate.primal))
            expect(
                estimate.dual <= estimate.primal + slack,
                f"the dual value must be at most the primal value {estimate.primal:.9g}, got {estimate.dual:.9g}",
            )


def _check_purity(estimator: _Estimator, scenario: Scenario) -> None:
    """Check that two calls give bit-identical results and change neither Z nor y."""
    for Z, y in _readings(scenario):
        rows, values = Z.copy(), y.copy()
        first, second = estimator(rows, values), estimator(rows, values)
        expect(np.array_equal(rows, Z) and np.array_equal(values, y), "Z or y was changed")
        expect(
            same(first.matrix, second.matrix) and first.status is second.status,
            "two calls with the same readings differ",
        )


def _check_invariance(estimator: _Estimator, scenario: Scenario) -> None:
    """Check that neither the order of the readings nor a rotation of the measurements changes the primal value."""
    for Z, y in _readings(scenario):
        value = estimator(Z, y).primal
        order = scenario.rng(9).permutation(y.size)
        Q, _ = np.linalg.qr(scenario.rng(10).standard_normal((scenario.dim, scenario.dim)))
        for change, other in (
            ("the order of the readings", estimator(Z[order], y[order]).primal),
            ("a rotation of the measurements", estimator(Z @ Q, y).primal),
        ):
            expect(
                abs(other - value) <= 1e-5 * (1.0 + abs(value)),
                f"{change} changes the primal value from {value:.9g} to {other:.9g}",
            )


def _check_refusals(estimator: _Estimator, scenario: Scenario) -> None:
    """Check that wrong shapes and non-finite numbers raise an error that names the argument."""
    (Z, y), _ = _readings(scenario)
    broken = Z.copy()
    broken[0, 0] = np.nan
    for rows, readings in ((broken, y), (Z[0], y), (Z[:0], y[:0])):
        expect_error(ArgumentError, "an invalid Z", partial(estimator, rows, readings), named="Z")
    for readings in (y[:-1], y + np.inf):
        expect_error(ArgumentError, "an invalid y", partial(estimator, Z, readings), named="y")


ESTIMATOR_CHECKS: tuple[Callable[[_Estimator, Scenario], None], ...] = (
    _check_matrix,
    _check_purity,
    _check_numbers,
    _check_invariance,
    _check_refusals,
)
"""The checks of :func:`check_estimator`, to parametrize a test with."""
