r"""Restricted uniform boundedness (RUB) of a set of probes.

This is Cai and Zhang's condition for recovering A by trace-norm minimization (Annals of Statistics 43, 2015), which the
paper relies on. Probes z_1..z_m satisfy it for rank r with constants C1 <= C2 if (1/m) sum_i |1/2 z_i'M z_i| is between
C1 and C2 times |M|_F for every symmetric M of rank at most r. Both constants are extrema of a convex function over a
nonconvex set and are found by local search from many starts: the maximum by a power iteration that never decreases, the
minimum by a subgradient method. A value that a search finds is attained, so it bounds the constant from inside; an
outer bound is given too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.arguments import finite_array, integer
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.spectrum import Spectrum
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike

_ITERATIONS = 300
"""Iterations of each search."""

_ALTERNATIONS = 40
"""Steps of the search for a difference that probes do not see."""


@dataclass(frozen=True)
class RUB(Value):
    """Constants of restricted uniform boundedness, found by search, and outer bounds.

    Attributes
    ----------
    smallest_found, largest_found : float
        The extreme ratios that the search found: C1 is at most ``smallest_found``, C2 at least ``largest_found``.
    lower_bound, upper_bound : float
        No matrix of any rank has a ratio below ``lower_bound`` or above ``upper_bound``.
    """

    smallest_found: float
    largest_found: float
    lower_bound: float
    upper_bound: float

    @property
    def ratio(self) -> float:
        """C2/C1 as found: the larger, the harder the recovery; infinite if some matrix of rank r has zero readings."""
        return self.largest_found / self.smallest_found if self.smallest_found else np.inf

    def __str__(self) -> str:
        return (
            f"C1 in {self.lower_bound:.4g}..{self.smallest_found:.4g}, "
            f"C2 in {self.largest_found:.4g}..{self.upper_bound:.4g}, C2/C1 about {self.ratio:.4g}"
        )


def rub_constants(Z: ArrayLike, rank: int, *, starts: int = 32, seed: int = 0) -> RUB:
    """Return the RUB constants of probes for symmetric matrices of a given rank, by numerical search.

    Parameters
    ----------
    Z : array_like, shape (m, d)
        The probes.
    rank : int
        The largest rank of the matrices M. An error A_hat - A has up to twice the rank of A if A_hat has that rank too.
    starts : int
        Random starts of each search. More starts can only make the result sharper.
    seed : int
        The seed of the random starts.

    Returns
    -------
    RUB
        The constants, each with a bound from both sides.

    Examples
    --------
    >>> Z = np.random.default_rng(0).standard_normal((48, 4))
    >>> found = rub_constants(Z, rank=1)
    >>> bool(0.0 < found.lower_bound <= found.smallest_found < found.largest_found <= found.upper_bound)
    True
    >>> rub_constants(Z[:6], rank=4).smallest_found < 1e-12     # 6 probes, but a symmetric matrix has 10 entries
    True
    """
    Z = finite_array("Z", Z)
    if Z.ndim != 2 or 0 in Z.shape:
        raise ArgumentError(f"Z must have shape (m, d), got {Z.shape}")
    if not Z.any():
        raise ArgumentError("Z must not be zero: all readings of such probes are zero")
    m, d = Z.shape
    rank = integer("rank", rank, least=1)
    if rank > d:
        raise ArgumentError(f"rank must be at most the dimension {d} of Z, got {rank}")
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((integer("starts", starts, least=1), d, d))
    basis = _symmetric_basis(d)
    operator = basis @ (0.5 * Z[:, :, None] * Z[:, None, :]).reshape(m, d * d).T
    directions, values, _ = np.linalg.svd(operator)
    # Two more starts: the matrices with the smallest and the largest readings in the l2 norm.
    extremes = (directions[:, [-1, 0]].T @ basis).reshape(2, d, d)
    start = _project(np.concatenate([drawn + drawn.swapaxes(-1, -2), extremes]), rank)
    return RUB(
        smallest_found=float(_minimize(Z, start, rank).min()),
        largest_found=float(_maximize(Z, start, rank).max()),
        # |y|_2 <= |y|_1 <= sqrt(m) |y|_2 for the readings y, which are linear in M.
        lower_bound=0.0 if m < len(basis) else float(values[-1] / m),
        upper_bound=float(values[0] / np.sqrt(m)),
    )


def rub_ratios(Z: ArrayLike, rank: int, *, starts: int = 8, seed: int = 0) -> Array:
    """Return C2/C1 for many sets of probes at once, by the search of :func:`rub_constants`.

    Parameters
    ----------
    Z : array_like, shape (n, m, d)
        The sets of probes.
    rank : int
        The largest rank of the matrices M.
    starts : int
        Random starts of each search.
    seed : int
        The seed of the random starts.

    Returns
    -------
    Array, shape (n,)
        The ratios as found, which the true ones are not below.

    Examples
    --------
    >>> Z = np.random.default_rng(0).standard_normal((2, 48, 4))
    >>> found = rub_constants(Z[1], rank=1).ratio
    >>> bool(abs(rub_ratios(Z, rank=1)[1] / found - 1.0) < 0.05)
    True
    """
    sets = finite_array("Z", Z)
    if sets.ndim != 3 or 0 in sets.shape:
        raise ArgumentError(f"Z must have shape (n, m, d), got {sets.shape}")
    d = sets.shape[-1]
    rank = integer("rank", rank, least=1)
    drawn = np.random.default_rng(seed).standard_normal((integer("starts", starts, least=1), d, d))
    start = _project(drawn + drawn.swapaxes(-1, -2), rank)
    # The scale of a set does not change its ratio, and the search's steps are for numbers of order 1.
    sets = (sets / np.sqrt(np.square(sets).mean(axis=(-1, -2), keepdims=True)))[:, None]
    smallest = _minimize(sets, np.broadcast_to(start, (len(sets), *start.shape)), rank).min(axis=-1)
    largest = _maximize(sets, np.broadcast_to(start, (len(sets), *start.shape)), rank).max(axis=-1)
    return np.asarray(largest / smallest)


def least_response(Z: ArrayLike, rank: int, *, starts: int = 24, seed: int = 0) -> float:
    """Return the least response of probes to a difference of two symmetric matrices of a rank.

    The response to M is the root mean square of 1/2 z'Mz, for |M|_F = 1. If it is zero, two matrices of the rank have
    the same readings: no estimator can tell them apart, and since both can be scaled, its worst error is infinite.

    Parameters
    ----------
    Z : array_like, shape (m, d)
        The probes.
    rank : int
        The rank; a difference has up to twice this rank.
    starts : int
        Random starts of the search, which is not needed if twice the rank is at least d.
    seed : int
        The seed of the random starts.

    Examples
    --------
    >>> Z = np.random.default_rng(0).standard_normal((11, 4))
    >>> least_response(Z[:9], rank=4) < 1e-12 < least_response(Z[:10], rank=4)     # 10 unknowns
    True
    >>> least_response(Z[:6], rank=1) < 1e-12 < least_response(Z[:8], rank=1)      # 6 = 2 (d - 1)
    True
    """
    Z = finite_array("Z", Z)
    if Z.ndim != 2 or 0 in Z.shape:
        raise ArgumentError(f"Z must have shape (m, d), got {Z.shape}")
    m, d = Z.shape
    rank = integer("rank", rank, least=1)
    if 2 * rank >= d:
        basis = _symmetric_basis(d)
        if m < len(basis):
            return 0.0
        operator = (0.5 * Z[:, :, None] * Z[:, None, :]).reshape(m, d * d) @ basis.T
        return float(np.linalg.svd(operator, compute_uv=False)[-1] / np.sqrt(m))
    rng = np.random.default_rng(seed)
    return min(_alternate(Z, _unseen_by_some(Z, rank, rng), rank) for _ in range(integer("starts", starts, least=1)))


def _unseen_by_some(Z: Array, rank: int, rng: np.random.Generator) -> Array:
    """Return vectors, shape (d, rank), each of them orthogonal to d - 1 of the probes, as far as there are so many."""
    m, d = Z.shape
    chosen = [rng.permutation(m)[: d - 1] for _ in range(rank)]
    return np.stack([np.linalg.svd(Z[rows])[2][-1] for rows in chosen], axis=1)


def _alternate(Z: Array, U: Array, rank: int) -> float:
    """Minimize the response to UV' + VU' over U and V in turn, each of which is a smallest singular vector."""
    m, d = Z.shape
    for _ in range(_ALTERNATIONS):
        # 1/2 z'(UV' + VU')z is (U'z)'(V'z), which is linear in V.
        rows = np.einsum("mk,md->mdk", Z @ U, Z).reshape(m, d * rank)
        V = np.linalg.svd(rows)[2][-1].reshape(d, rank)
        U, V = V, U
    M = U @ V.T + V @ U.T
    return float(np.linalg.norm(_readings(Z, M)) / np.sqrt(m) / np.linalg.norm(M))


def _symmetric_basis(d: int) -> Array:
    """Return an orthonormal basis of the symmetric matrices, one per row."""
    i, j = np.triu_indices(d)
    basis = np.zeros((i.size, d, d))
    size = np.where(i == j, 0.5, np.sqrt(0.5))
    basis[np.arange(i.size), i, j] += size
    basis[np.arange(i.size), j, i] += size
    return basis.reshape(i.size, d * d)


def _project(M: Array, rank: int) -> Array:
    """Return the nearest symmetric matrices of a rank, scaled to Frobenius norm 1."""
    spectrum = Spectrum.of(M)
    order = np.argsort(-np.abs(spectrum.values), axis=-1)
    kept = np.zeros(spectrum.values.shape)
    np.put_along_axis(kept, order[..., :rank], 1.0, axis=-1)
    cut = spectrum.matrix(spectrum.values * kept)
    return np.asarray(cut / np.linalg.norm(cut, axis=(-1, -2), keepdims=True))


def _readings(Z: Array, M: Array) -> Array:
    """Return 1/2 z'Mz for all probes and matrices, shape (*sets, starts, m)."""
    return np.asarray(0.5 * np.vecdot(Z @ M, Z))


def _ratios(Z: Array, M: Array) -> Array:
    return np.asarray(np.abs(_readings(Z, M)).mean(axis=-1))


def _subgradient(Z: Array, M: Array) -> Array:
    """Return a subgradient in M of the mean of |1/2 z'Mz|."""
    signs = np.sign(_readings(Z, M))[..., None]
    return np.asarray(0.5 / Z.shape[-2] * (signs * Z).swapaxes(-1, -2) @ Z)


def _maximize(Z: Array, M: Array, rank: int) -> Array:
    """Maximize the linearization repeatedly: because the function is convex, no step decreases it."""
    for _ in range(_ITERATIONS):
        M = _project(_subgradient(Z, M), rank)
    return _ratios(Z, M)


def _minimize(Z: Array, M: Array, rank: int) -> Array:
    """Return the smallest value on the path of a projected subgradient method with decreasing steps."""
    best = _ratios(Z, M)
    for step in np.geomspace(0.5, 1e-6, _ITERATIONS):
        slope = _subgradient(Z, M)
        size = np.linalg.norm(slope, axis=(-1, -2), keepdims=True)
        M = _project(M - step * slope / np.where(size > 0.0, size, 1.0), rank)
        best = np.minimum(best, _ratios(Z, M))
    return np.asarray(best)
