"""Factors of small matrices, by loops where these are faster than LAPACK."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.np import linalg

from soqo._foundation.compilation import compiled
from soqo.typing import Array


def _find_routine() -> Any:
    """Return LAPACK's routine behind Numba's own np.linalg.qr, which compiled functions can call."""
    lapack: Any = linalg
    lapack.ensure_lapack()
    return lapack._LAPACK().numba_ez_geqrf(types.float64)


_geqrf = _find_routine()
_DOUBLE = ord("d")


@compiled
def cholesky(A: Array) -> bool:
    """Overwrite the lower triangle of A by its Cholesky factor; return False if A is not positive definite.

    Parameters
    ----------
    A : Array, shape (n, n)
        The matrix, of which the lower triangle is read.

    Examples
    --------
    >>> A = np.array([[9.0]])
    >>> cholesky(A), A
    (True, array([[3.]]))
    """
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            if i > j:
                A[i, j] = total / A[j, j]
            elif total > 0.0:
                A[i, i] = math.sqrt(total)
            else:
                return False
    return True


@compiled
def solve_lower(L: Array, shift: float, B: Array) -> None:
    """Overwrite B by the solution X of (L + shift I) X = B, for a lower triangle L."""
    n, columns = L.shape[0], B.shape[1]
    for i in range(n):
        for j in range(i):
            factor = L[i, j]
            for k in range(columns):
                B[i, k] -= factor * B[j, k]
        inverse = 1.0 / (L[i, i] + shift)
        for k in range(columns):
            B[i, k] *= inverse


@compiled
def triangular_factor(A: Array, first: int) -> Array:
    """Return the transpose of R of the QR decomposition of the columns of A from ``first`` on, shape (columns, rows).

    What is right of the diagonal is not defined. ``np.linalg.qr`` would compute Q as well, which takes longer than R.

    Parameters
    ----------
    A : Array, shape (rows, n)
        The matrix.
    first : int
        The first column.

    Examples
    --------
    >>> np.abs(triangular_factor(np.array([[9.0, 3.0], [9.0, 4.0]]), 1))[:, 0]
    array([5.])
    """
    rows, columns = A.shape[0], A.shape[1] - first
    F = np.empty((columns, rows))  # in the order of LAPACK, A itself
    for i in range(rows):
        for j in range(columns):
            F[j, i] = A[i, first + j]
    tau = np.empty(min(rows, columns))
    _geqrf(_DOUBLE, rows, columns, F.ctypes, rows, tau.ctypes)
    return F


@compiled
def fold_rows(R: Array, X: Array, count: int, work: Array) -> None:
    """Overwrite a triangular factor R by that of R and the first rows of X, which are overwritten, too.

    Parameters
    ----------
    R : Array, shape (n, n)
        The upper triangular factor.
    X : Array, shape (rows, n)
        The rows.
    count : int
        How many of them are used.
    work : Array, shape (n,)
        Room for n numbers.

    Examples
    --------
    >>> R = np.array([[3.0]])
    >>> fold_rows(R, np.array([[4.0]]), 1, np.empty(1))
    >>> np.abs(R)
    array([[5.]])
    """
    n = R.shape[0]
    for j in range(n):
        below = 0.0
        for i in range(count):
            below += X[i, j] * X[i, j]
        if below == 0.0:
            continue
        alpha = R[j, j]
        norm = math.sqrt(alpha * alpha + below)
        if alpha > 0.0:
            norm = -norm
        head = alpha - norm
        scale = 2.0 / (head * head + below)
        for k in range(j + 1, n):
            work[k] = head * R[j, k]
        for i in range(count):
            v = X[i, j]
            for k in range(j + 1, n):
                work[k] += v * X[i, k]
        for k in range(j + 1, n):
            work[k] *= scale
            R[j, k] -= head * work[k]
        for i in range(count):
            v = X[i, j]
            for k in range(j + 1, n):
                X[i, k] -= v * work[k]
        R[j, j] = norm


@compiled
def solve_symmetric(A: Array, b: Array) -> bool:
    """Overwrite b by the solution of A x = b; return False if A is not positive definite.

    Parameters
    ----------
    A : Array, shape (n, n)
        A symmetric matrix, which is overwritten.
    b : Array, shape (n,)
        The right-hand side.

    Examples
    --------
    >>> b = np.array([6.0])
    >>> solve_symmetric(np.array([[2.0]]), b), b
    (True, array([3.]))
    """
    if not cholesky(A):
        return False
    n = b.size
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= A[i, j] * b[j]
        b[i] = total / A[i, i]
    for i in range(n - 1, -1, -1):
        b[i] /= A[i, i]
        for j in range(i):
            b[j] -= A[i, j] * b[i]
    return True
