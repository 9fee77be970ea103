"""The contract of an estimator, one check per promise.

An estimator here is a function of measurements Z and readings y that returns an :class:`soqo.Estimate`; what else it
needs, such as a radius, is bound beforehand (``functools.partial``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soqo._problem import random_curvature
from soqo._storage.records import same
from soqo.checks._scenario import Scenario, expect, run_checks
from soqo.errors import ArgumentError, CheckError
from soqo.estimators._estimate import Estimate
from soqo.estimators._measurements import measure
from soqo.typing import Array

__all__ = ["ESTIMATOR_CHECKS", "check_estimator"]

Estimator = Callable[[Array, Array], Estimate]


def check_estimator(estimator: Any, *, dim: int = 3, seed: int = 0) -> None:
    """Check that an estimator keeps the contract of :func:`soqo.psd_least_absolute_deviations`. Parameters as in :func:`check_policy`.

    The readings are of a matrix of full rank and of one of rank one, with noise of at most 0.1 in each of 40.

    Examples
    --------
    >>> from functools import partial
    >>> import soqo
    >>> check_estimator(partial(soqo.trace_min, radius=2.5))
    """
    if not callable(estimator):
        raise CheckError(f"estimator: must be callable, got {type(estimator).__name__}")
    run_checks(ESTIMATOR_CHECKS, estimator, Scenario(dim=dim, seed=seed))


def readings(bench: Scenario) -> list[tuple[Array, Array]]:
    """Measurements and readings of two matrices."""
    pairs = []
    for rank in (1, bench.dim):
        rng = bench.rng(8, rank)
        A = random_curvature(bench.dim, rank, 0.5, 2.0, rng=rng)
        Z = rng.standard_normal((40, bench.dim))
        pairs.append((Z, measure(Z, A) + rng.uniform(-0.1, 0.1, 40)))
    return pairs


def check_matrix(estimator: Estimator, bench: Scenario) -> None:
    """The matrix is square, symmetric to the bit, positive semi-definite and finite."""
    for Z, y in readings(bench):
        found = estimator(Z, y)
        expect(isinstance(found, Estimate), "matrix", f"must return an Estimate, got {found!r:.80}")
        M = found.matrix
        expect(
            M.shape == (bench.dim, bench.dim) and bool(np.isfinite(M).all()),
            "matrix",
            f"the matrix must be finite and of shape {(bench.dim, bench.dim)}, got {M.shape}",
        )
        expect(np.array_equal(M, M.T), "matrix", "the matrix is not symmetric to the bit")
        smallest, largest = np.linalg.eigvalsh(M)[[0, -1]]
        expect(
            smallest >= -1e-12 * abs(largest),
            "matrix",
            f"the matrix has a negative eigenvalue, {smallest:.3g} beside {largest:.3g}",
        )


def check_numbers(estimator: Estimator, bench: Scenario) -> None:
    """The residual is the matrix's own, and the bound is below the value."""
    for Z, y in readings(bench):
        found = estimator(Z, y)
        residual = float(np.abs(y - measure(Z, found.matrix)).sum())
        expect(
            abs(found.residual - residual) <= 1e-9 * float(np.abs(y).sum()),
            "numbers",
            f"the residual is given as {found.residual:.6g}, got {residual:.6g} from the matrix",
        )
        if found.solved:
            slack = 1e-9 * (1.0 + abs(found.primal))
            expect(
                found.dual <= found.primal + slack,
                "numbers",
                f"the bound {found.dual:.9g} is above the value {found.primal:.9g}",
            )


def check_purity(estimator: Estimator, bench: Scenario) -> None:
    """Calling twice gives the same to the bit, and changes neither Z nor y."""
    for Z, y in readings(bench):
        rows, values = Z.copy(), y.copy()
        first, second = estimator(rows, values), estimator(rows, values)
        expect(np.array_equal(rows, Z) and np.array_equal(values, y), "purity", "Z or y was changed")
        expect(
            same(first.matrix, second.matrix) and first.status is second.status,
            "purity",
            "two calls with the same readings differ",
        )


def check_invariance(estimator: Estimator, bench: Scenario) -> None:
    """The order of the readings does not matter, and rotated measurements give the same value."""
    for Z, y in readings(bench):
        value = estimator(Z, y).primal
        order = bench.rng(9).permutation(y.size)
        Q, _ = np.linalg.qr(bench.rng(10).standard_normal((bench.dim, bench.dim)))
        for what, other in (
            ("the order of the readings", estimator(Z[order], y[order]).primal),
            ("a rotation of the measurements", estimator(Z @ Q, y).primal),
        ):
            expect(
                abs(other - value) <= 1e-5 * (1.0 + abs(value)),
                "invariance",
                f"{what} changes the value from {value:.9g} to {other:.9g}",
            )


def check_refusals(estimator: Estimator, bench: Scenario) -> None:
    """Wrong shapes and non-finite numbers are refused with an error that names the argument."""
    (Z, y), _ = readings(bench)
    broken = Z.copy()
    broken[0, 0] = np.nan
    for name, arguments in (
        ("Z", (broken, y)),
        ("Z", (Z[0], y)),
        ("Z", (Z[:0], y[:0])),
        ("y", (Z, y[:-1])),
        ("y", (Z, y + np.inf)),
    ):
        try:
            estimator(*arguments)
        except ArgumentError as error:
            expect(name in str(error), "refusals", f"the error must name {name}, got: {error}")
        else:
            raise CheckError(f"refusals: a bad {name} must raise an ArgumentError")


ESTIMATOR_CHECKS: tuple[Callable[[Estimator, Scenario], None], ...] = (
    check_matrix,
    check_purity,
    check_numbers,
    check_invariance,
    check_refusals,
)
