r"""Restricted uniform boundedness (RUB) of a set of probes: Cai and Zhang's condition for recovering A by trace-norm
minimization (Annals of Statistics 43, 2015), which the paper relies on.

Probes z_1..z_m have it for rank r with constants C1 <= C2 if (1/m) sum_i |1/2 z_i'M z_i| is between C1 and C2 times
|M|_F for every symmetric M of rank r at most. Both constants are extremes of a convex function over a set that is not
convex, so they are searched for: the largest by a power iteration that never decreases, the smallest by subgradients,
both from many starts. What is found is attained, hence a bound from inside; a bound from outside comes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._arguments import finite_array, integer
from soqo._spectrum import Spectrum
from soqo.errors import ArgumentError
from soqo.typing import Array

__all__ = ["RUB", "rub_constants"]

STEPS = 300
"""Iterations of each search."""


@dataclass(frozen=True)
class RUB:
    """Constants of restricted uniform boundedness, found by search and bounded from outside.

    Attributes
    ----------
    low, high : float
        The smallest and the largest ratio found: C1 is at most ``low`` and C2 at least ``high``.
    least, most : float
        No matrix of any rank has a ratio below ``least`` or above ``most``.
    """

    low: float
    high: float
    least: float
    most: float

    @property
    def ratio(self) -> float:
        """high / low: the larger, the harder is recovery; infinite where a matrix of rank r is not seen at all."""
        return self.high / self.low if self.low else np.inf

    def __str__(self) -> str:
        return (
            f"C1 in {self.least:.4g}..{self.low:.4g}, C2 in {self.high:.4g}..{self.most:.4g}, "
            f"C2/C1 about {self.ratio:.4g}"
        )


def rub_constants(Z: Any, rank: int, *, starts: int = 32, seed: int = 0) -> RUB:
    """The RUB constants of probes for symmetric matrices of a rank, numerically.

    Parameters
    ----------
    Z : array_like, shape (m, d)
        The probes.
    rank : int
        Of the matrices M. An error A_hat - A has up to twice the rank of A, if A_hat has that rank too.
    starts : int
        Random starts of each search; the result can only get sharper with more.
    seed : int
        Of the starts.

    Examples
    --------
    >>> Z = np.random.default_rng(0).standard_normal((48, 4))
    >>> found = rub_constants(Z, rank=1)
    >>> bool(0.0 < found.least <= found.low < found.high <= found.most)
    True
    >>> rub_constants(Z[:6], rank=4).low < 1e-12     # six probes cannot see the ten entries of a symmetric matrix
    True
    """
    Z = finite_array("Z", Z)
    if Z.ndim != 2 or 0 in Z.shape:
        raise ArgumentError(f"Z must have shape (m, d), got {Z.shape}")
    if not Z.any():
        raise ArgumentError("Z must not be zero: such probes see nothing")
    m, d = Z.shape
    rank = integer("rank", rank, least=1)
    if rank > d:
        raise ArgumentError(f"rank must be at most the dimension {d} of Z, got {rank}")
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((integer("starts", starts, least=1), d, d))
    basis = entries(d)
    operator = basis @ (0.5 * Z[:, :, None] * Z[:, None, :]).reshape(m, d * d).T
    directions, values, _ = np.linalg.svd(operator)
    # Where to start besides: the matrices that the probes see least and most, in the sense of least squares.
    extremes = (directions[:, [-1, 0]].T @ basis).reshape(2, d, d)
    begin = of_rank(np.concatenate([drawn + drawn.swapaxes(-1, -2), extremes]), rank)
    unseen = m < len(basis)
    return RUB(
        low=float(descend(Z, begin, rank).min()),
        high=float(ascend(Z, begin, rank).max()),
        # |y|_2 <= |y|_1 <= sqrt(m) |y|_2 for the readings y, which are linear in M.
        least=0.0 if unseen else float(values[-1] / m),
        most=float(values[0] / np.sqrt(m)),
    )


def entries(d: int) -> Array:
    """An orthonormal basis of the symmetric matrices, one a row."""
    i, j = np.triu_indices(d)
    basis = np.zeros((i.size, d, d))
    size = np.where(i == j, 0.5, np.sqrt(0.5))
    basis[np.arange(i.size), i, j] += size
    basis[np.arange(i.size), j, i] += size
    return basis.reshape(i.size, d * d)


def of_rank(M: Array, rank: int) -> Array:
    """The nearest symmetric matrices of a rank, scaled to Frobenius norm 1."""
    spectrum = Spectrum.of(M)
    order = np.argsort(-np.abs(spectrum.values), axis=-1)
    kept = np.zeros(spectrum.values.shape)
    np.put_along_axis(kept, order[..., :rank], 1.0, axis=-1)
    cut = spectrum.matrix(spectrum.values * kept)
    return np.asarray(cut / np.linalg.norm(cut, axis=(-1, -2), keepdims=True))


def readings(Z: Array, M: Array) -> Array:
    """1/2 z'Mz for all probes and matrices, (starts, m)."""
    return np.asarray(0.5 * np.vecdot(Z @ M, Z))


def subgradient(Z: Array, M: Array) -> Array:
    """Of the mean of |1/2 z'Mz| in M."""
    signs = np.sign(readings(Z, M))[..., None]
    return np.asarray(0.5 / len(Z) * (signs * Z).swapaxes(-1, -2) @ Z)


def ascend(Z: Array, M: Array, rank: int) -> Array:
    """Linearize and maximize: since the function is convex, no step makes it smaller."""
    for _ in range(STEPS):
        M = of_rank(subgradient(Z, M), rank)
    return np.asarray(np.abs(readings(Z, M)).mean(axis=-1))


def descend(Z: Array, M: Array, rank: int) -> Array:
    """Projected subgradients with shrinking steps, and the smallest value on the way."""
    best = np.abs(readings(Z, M)).mean(axis=-1)
    for step in np.geomspace(0.5, 1e-6, STEPS):
        slope = subgradient(Z, M)
        size = np.linalg.norm(slope, axis=(-1, -2), keepdims=True)
        M = of_rank(M - step * slope / np.where(size > 0.0, size, 1.0), rank)
        best = np.minimum(best, np.abs(readings(Z, M)).mean(axis=-1))
    return np.asarray(best)
