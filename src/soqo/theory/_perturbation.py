r"""Errors of an estimate's eigenvalues and eigenvectors, and their bounds by Weyl and by Davis and Kahan.

Weyl's inequality bounds the error of every eigenvalue by the operator norm of the error. Eigenvectors have no such
bound: if two eigenvalues are closer than the error, an arbitrarily small error can rotate their eigenvectors by any
angle. The theorem of Davis and Kahan bounds the rotation of the invariant subspace of a cluster of eigenvalues, by the
error over the gap to the other eigenvalues.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.errors import ArgumentError
from soqo.theory._estimate_comparison import Comparison
from soqo.theory._instance_constants import RANK_TOLERANCE
from soqo.typing import Array, ArrayLike


@dataclass(frozen=True)
class EigenvalueCluster(Value):
    """Eigenvalues of A that the error cannot separate, and the rotation of their invariant subspace.

    Attributes
    ----------
    values : Array
        The eigenvalues of A, ascending.
    gap : float
        The distance to the nearest eigenvalue of A_hat outside the cluster; infinite if there is none.
    sin_theta : float
        The sine of the largest angle between the subspaces of A and of A_hat.
    bound : float
        The bound of Davis and Kahan on ``sin_theta``: the error over the gap, at most 1.
    """

    values: Array
    gap: float
    sin_theta: float
    bound: float


@dataclass(frozen=True)
class Perturbation(Value):
    """The spectral error of an estimate of A.

    Attributes
    ----------
    operator, frobenius, nuclear : float
        Norms of A_hat - A.
    shifts : Array, shape (d,)
        Eigenvalues of A_hat minus those of A, in ascending order. By Weyl, none is larger than ``operator``.
    clusters : tuple of EigenvalueCluster
        See :class:`EigenvalueCluster`.
    eigenvector_error : float
        |P - Q| in the operator norm, with the signs of P's columns that make it smallest.
    """

    operator: float
    frobenius: float
    nuclear: float
    shifts: Array
    clusters: tuple[EigenvalueCluster, ...] = field(repr=False)
    eigenvector_error: float

    @property
    def weyl(self) -> float:
        """The largest shift of an eigenvalue relative to its bound, at most 1."""
        return float(np.abs(self.shifts).max() / self.operator) if self.operator else 0.0

    @property
    def eigengap(self) -> float:
        """The effective eigengap: the smallest gap between clusters."""
        return min(cluster.gap for cluster in self.clusters)

    def __str__(self) -> str:
        lines = [
            f"error: operator {self.operator:.4g}, Frobenius {self.frobenius:.4g}, nuclear {self.nuclear:.4g}",
            f"largest shift of an eigenvalue: {np.abs(self.shifts).max():.4g}; |P - Q|: {self.eigenvector_error:.4g}",
        ]
        for cluster in self.clusters:
            values = ", ".join(f"{value:.4g}" for value in cluster.values)
            rotation = f"gap {cluster.gap:.4g}, sin theta {cluster.sin_theta:.4g}, bound {cluster.bound:.4g}"
            lines.append(f"eigenvalues {values}: {rotation}")
        return "\n".join(lines)


def perturbation(A: ArrayLike, A_hat: ArrayLike) -> Perturbation:
    """Compare the spectra of a curvature and of an estimate.

    Two neighboring eigenvalues of A belong to one cluster if they are closer than twice the error in the operator norm,
    or if both are zero: by Weyl's inequality, only eigenvalues further apart stay apart. The result shows two errata:
    the paper's |P - Q| <= sqrt(2) epsilon / (sigma_min - epsilon) does not depend on a gap between eigenvalues and is
    false; and its |A^ - A|_F <= |A^ - A|_* / sqrt(d) is reversed (the Frobenius norm is at most the nuclear norm, which
    is at most sqrt(d) times the Frobenius norm).

    Parameters
    ----------
    A, A_hat : array_like, shape (d, d)
        The curvature and its estimate, both positive semi-definite.

    Returns
    -------
    Perturbation
        The error in several norms, and the errors of eigenvalues and eigenvectors.

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
    clusters = []
    for members in _cluster(true.values, operator):
        outside = np.ones(pair.dim, dtype=bool)
        outside[members] = False
        inside, others = true.values[members], estimate.values[outside]
        # The distance from the interval of the cluster to the nearest other eigenvalue.
        gap = float(np.maximum(inside[0] - others, others - inside[-1]).min(initial=np.inf))
        sine = float(np.linalg.norm(overlap[members][:, outside], ord=2)) if outside.any() else 0.0
        bound = 1.0 if gap <= operator else operator / gap
        clusters.append(EigenvalueCluster(inside, gap, sine, bound))
    return Perturbation(
        operator=operator,
        frobenius=float(np.linalg.norm(errors)),
        nuclear=float(errors.sum()),
        shifts=estimate.values - true.values,
        clusters=tuple(clusters),
        eigenvector_error=float(np.linalg.norm(estimate.vectors * signs - true.vectors, ord=2)),
    )


def _cluster(values: Array, error: float) -> list[slice]:
    """Split ascending eigenvalues wherever neighbors differ by more than twice the error and by more than round-off."""
    apart = np.diff(values) > max(2.0 * error, RANK_TOLERANCE * values.size * values[-1])
    edges = [0, *(np.flatnonzero(apart) + 1), values.size]
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
