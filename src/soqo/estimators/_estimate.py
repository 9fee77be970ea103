"""What an estimator returns: a matrix, how good it is, and what to do where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.linalg import lapack

from soqo.typing import Array

__all__ = ["Estimate", "Status", "effective_rank"]

RANK_TOLERANCE = 1e-6
"""Eigenvalues below this share of the largest do not count as rank: an interior point leaves some that size."""


class Status(Enum):
    """How an estimate came out; the value is advice."""

    SOLVED = "solved: the optimum, up to the gap"
    CONSISTENT_WITH_ZERO = (
        "consistent with zero: M = 0 fits the readings within the radius, so they carry no information about A at this "
        "radius; use a smaller radius, or probe further from v"
    )
    INFEASIBLE = (
        "infeasible: no positive semi-definite matrix fits the readings within the radius; use at least the smallest "
        "radius that would do"
    )
    STALLED = (
        "stalled: round-off stopped the method before the optimum; the matrix is the best point, judge it by its gap "
        "and residual"
    )


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate of A.

    Attributes
    ----------
    matrix : Array, shape (d, d)
        Symmetric and positive semi-definite.
    status : Status
    primal, dual : float
        The value at the matrix, and the bound that the multipliers prove.
    residual : float
        The l1 norm of y - measure(Z, matrix).
    rank : int
        The number of eigenvalues that are not round-off (above 1e-6 of the largest).
    iterations : int
    multipliers : Array, shape (m,)
        The certificate: anyone can recompute ``dual`` from them and the data.
    smallest_radius : float or None
        Where the status is infeasible: the smallest radius for which there is a solution.
    log : tuple of (primal, dual, violation)
        One entry per iteration, in the scaled units of the method.
    """

    matrix: Array
    status: Status
    primal: float
    dual: float
    residual: float
    rank: int
    iterations: int
    multipliers: Array
    smallest_radius: float | None = None
    log: tuple[tuple[float, float, float], ...] = ()

    @property
    def gap(self) -> float:
        """How far from the optimum the primal value can be."""
        return self.primal - self.dual

    @property
    def solved(self) -> bool:
        """Whether the matrix is the optimum, up to the gap."""
        return self.status is Status.SOLVED

    @property
    def advice(self) -> str:
        """The status in words, with its number where it has one."""
        if self.smallest_radius is None:
            return self.status.value
        return f"{self.status.value} ({self.smallest_radius:.6g})"


def effective_rank(matrix: Array) -> int:
    """How many eigenvalues are not round-off.

    Examples
    --------
    >>> effective_rank(np.diag([1.0, 1e-3, 1e-9]))
    2
    """
    values, _, _ = lapack.dsyevd(matrix, compute_v=0, lower=1)
    largest = float(values[-1])
    return int(np.count_nonzero(values > RANK_TOLERANCE * largest)) if largest > 0.0 else 0
