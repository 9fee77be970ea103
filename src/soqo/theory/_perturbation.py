r"""How far an estimate's eigenvalues and eigenvectors are from the true ones, and what theory says they may be.

Weyl bounds eigenvalues by the error alone. Eigenvectors it cannot bound alone: where two eigenvalues are closer than
the error, the smallest disturbance turns their eigenvectors as it likes. What is bounded is the space that a group of
eigenvalues spans, by the error over the gap to the other groups (Davis and Kahan)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from soqo.errors import ArgumentError
from soqo.theory._comparison import Comparison
from soqo.theory._facts import RANK_TOLERANCE
from soqo.typing import Array

__all__ = ["Group", "Perturbation", "perturbation"]


@dataclass(frozen=True, eq=False)
class Group:
    """Eigenvalues of A that the error cannot tell apart, and the space that they span.

    Attributes
    ----------
    values : Array
        Of A, ascending.
    gap : float
        The distance to the nearest eigenvalue of A_hat outside the group; infinite if there is none.
    sin_theta : float
        The sine of the largest angle between the spaces of A and of A_hat.
    bound : float
        What Davis and Kahan allow it to be: the error over the gap, at most 1.
    """

    values: Array
    gap: float
    sin_theta: float
    bound: float


@dataclass(frozen=True, eq=False)
class Perturbation:
    """An estimate of A, spectrally.

    Attributes
    ----------
    operator, frobenius, nuclear : float
        Norms of A_hat - A.
    shifts : Array, shape (d,)
        Eigenvalues of A_hat less those of A, in ascending order; Weyl: none is larger than ``operator``.
    groups : tuple of Group
        See :class:`Group`.
    turn : float
        |P - Q| in the operator norm, with the signs of P's columns chosen for the best.
    """

    operator: float
    frobenius: float
    nuclear: float
    shifts: Array
    groups: tuple[Group, ...]
    turn: float

    @property
    def weyl(self) -> float:
        """The largest shift of an eigenvalue, over its bound: at most 1."""
        return float(np.abs(self.shifts).max() / self.operator) if self.operator else 0.0

    @property
    def eigengap(self) -> float:
        """The effective eigengap: the smallest gap between groups that the error can tell apart."""
        return min(group.gap for group in self.groups)

    def __str__(self) -> str:
        lines = [
            f"error: operator {self.operator:.4g}, Frobenius {self.frobenius:.4g}, nuclear {self.nuclear:.4g}",
            f"largest shift of an eigenvalue: {np.abs(self.shifts).max():.4g}; |P - Q|: {self.turn:.4g}",
        ]
        for group in self.groups:
            values = ", ".join(f"{value:.4g}" for value in group.values)
            lines.append(
                f"eigenvalues {values}: gap {group.gap:.4g}, sin theta {group.sin_theta:.4g}, bound {group.bound:.4g}"
            )
        return "\n".join(lines)


def perturbation(A: Any, A_hat: Any) -> Perturbation:
    """Compare the spectra of a curvature and of an estimate.

    Two neighbouring eigenvalues of A are in one group if they are closer than twice the error in the operator norm, or
    if both are zero: only further apart does Weyl's inequality keep their perturbed values apart. Errata that this
    shows: the paper's |P - Q| <= sqrt(2) epsilon / (sigma_min - epsilon) has no gap between eigenvalues in it and is
    false; and its |A^ - A|_F <= |A^ - A|_* / sqrt(d) is reversed (the nuclear norm is at most sqrt(d) times
    Frobenius's, which is at most the nuclear norm).

    Examples
    --------
    >>> found = perturbation(A=[[1.0, 0.0], [0.0, 1.0]], A_hat=[[1.0, 0.001], [0.001, 1.0]])
    >>> print(found)
    error: operator 0.001, Frobenius 0.001414, nuclear 0.002
    largest shift of an eigenvalue: 0.001; |P - Q|: 0.7654
    eigenvalues 1, 1: gap inf, sin theta 0, bound 0
    """
    pair = Comparison.of(A, A_hat)
    if pair.batch:
        raise ArgumentError(f"A and A_hat must have shape (d, d) here, got {pair.error.shape}")
    errors = np.abs(np.linalg.eigvalsh(pair.error))
    operator = float(errors.max())
    true, estimate = pair.true, pair.estimate
    overlap = true.vectors.T @ estimate.vectors
    signs = np.where(np.diagonal(overlap) < 0.0, -1.0, 1.0)
    groups = []
    for members in grouped(true.values, operator):
        outside = np.ones(pair.dim, dtype=bool)
        outside[members] = False
        gap = distance(true.values[members], estimate.values[outside])
        cross = overlap[members][:, outside]
        sine = float(np.linalg.norm(cross, ord=2)) if outside.any() else 0.0
        bound = 1.0 if gap <= operator else operator / gap
        groups.append(Group(true.values[members], gap, sine, bound))
    return Perturbation(
        operator=operator,
        frobenius=float(np.linalg.norm(errors)),
        nuclear=float(errors.sum()),
        shifts=estimate.values - true.values,
        groups=tuple(groups),
        turn=float(np.linalg.norm(estimate.vectors * signs - true.vectors, ord=2)),
    )


def grouped(values: Array, error: float) -> list[slice]:
    """Neighbours that are closer than twice the error, or zero to round-off, belong together."""
    apart = np.diff(values) > max(2.0 * error, RANK_TOLERANCE * values.size * values[-1])
    edges = [0, *(np.flatnonzero(apart) + 1), values.size]
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def distance(inside: Array, outside: Array) -> float:
    """From an interval of eigenvalues to the nearest one outside it."""
    if not outside.size:
        return math.inf
    return float(np.maximum(inside[0] - outside, outside - inside[-1]).min())
