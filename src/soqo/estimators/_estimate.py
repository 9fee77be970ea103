"""The result of an estimator: a matrix, a measure of its quality, and a status whose text is advice."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from scipy.linalg import lapack

from soqo._foundation.frozen_dataclasses import Value
from soqo.typing import Array

_RANK_TOLERANCE = 1e-6
"""Eigenvalues below this share of the largest do not count as rank: an interior-point method leaves such ones."""


class Status(Enum):
    """The outcome of an estimation; the value is advice."""

    SOLVED = "solved: the optimum, up to the gap"
    CONSISTENT_WITH_ZERO = (
        "consistent with zero: M = 0 fits the readings within the radius, so they carry no information about A at this "
        "radius; use a smaller radius, or probe further from v"
    )
    INFEASIBLE = (
        "infeasible: no positive semi-definite matrix fits the readings within the radius; use at least the smallest "
        "feasible radius"
    )
    STALLED = (
        "stalled: round-off stopped the method before the optimum, or hides how near it is; the matrix is the best "
        "point found, so check its gap and residual; if Z is nearly rank deficient, probe in more directions, and give "
        "actuators of very different ranges units in which they are alike"
    )


@dataclass(frozen=True)
class Estimate(Value):
    """An estimate of A with its certificate.

    Attributes
    ----------
    matrix : Array, shape (d, d)
        The estimate, symmetric and positive semi-definite.
    status : Status
        The outcome.
    primal, dual : float
        The objective at the matrix, and the lower bound on the optimum that the multipliers prove.
    residual : float
        The l1 norm of y - measure(Z, matrix).
    rank : int
        The number of eigenvalues above 1e-6 of the largest; smaller ones are round-off.
    iterations : int
        The number of steps of the method.
    multipliers : Array, shape (m,)
        The certificate: ``dual`` can be recomputed from them and the data.
    min_radius : float or None
        The smallest feasible radius, if the status is infeasible.
    history : tuple of (primal, dual, violation)
        One entry per iteration, in the scaled units of the method.

    Examples
    --------
    >>> import soqo
    >>> soqo.trace_min([[1.0], [1.0]], [1.0, 1.0], 3.0)
    Estimate(CONSISTENT_WITH_ZERO, rank=0, gap=0, residual=2)
    """

    matrix: Array
    status: Status
    primal: float
    dual: float
    residual: float
    rank: int
    iterations: int
    multipliers: Array
    min_radius: float | None = None
    history: tuple[tuple[float, float, float], ...] = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """An upper bound on the distance of the primal value from the optimum."""
        return self.primal - self.dual

    @property
    def solved(self) -> bool:
        """Whether the matrix is the optimum, up to the gap."""
        return self.status is Status.SOLVED

    @property
    def message(self) -> str:
        """The status in words, with the smallest feasible radius if there is one."""
        return self.status.value if self.min_radius is None else f"{self.status.value} ({self.min_radius:.6g})"

    def _summary(self) -> dict[str, str]:
        return {"rank": str(self.rank), "gap": f"{self.gap:.3g}", "residual": f"{self.residual:.6g}"}

    def __repr__(self) -> str:
        summary = ", ".join(f"{name}={value}" for name, value in self._summary().items())
        return f"{type(self).__name__}({self.status.name}, {summary})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = {"status": self.message} | self._summary() | {"iterations": str(self.iterations)}
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
        return f"<table>{cells}</table>"


def effective_rank(matrix: Array) -> int:
    """Return the number of eigenvalues that are not round-off.

    Examples
    --------
    >>> effective_rank(np.diag([1.0, 1e-3, 1e-9]))
    2
    """
    values, _, _ = lapack.dsyevd(matrix, compute_v=0, lower=1)
    max_eigenvalue = float(values[-1])
    return int(np.count_nonzero(values > _RANK_TOLERANCE * max_eigenvalue)) if max_eigenvalue > 0.0 else 0
