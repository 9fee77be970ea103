"""Eigenvalues and eigenvectors of a small symmetric matrix.

The matrix is made tridiagonal by Householder reflections, and diagonal by QL steps with implicit shifts (Bowdler,
Martin, Reinsch and Wilkinson, "The QR and QL algorithms for symmetric matrices", 1968). With fewer than 30 rows this
takes half of the time of LAPACK's routines, which are made for large matrices. Where the steps do not converge, LAPACK
decides.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.typing import Array

_EPSILON = float(np.finfo(np.float64).eps)

_MAX_STEPS = 50
"""The largest number of QL steps per eigenvalue; two are usual."""


@compiled
def symmetric_eigen(A: Array, values: Array) -> bool:
    """Overwrite A by its eigenvectors as rows, and fill in the eigenvalues, in any order; return False if it fails.

    Parameters
    ----------
    A : Array, shape (n, n)
        A symmetric matrix.
    values : Array, shape (n,)
        Room for the eigenvalues.

    Examples
    --------
    >>> A, values = np.array([[2.0, 1.0], [1.0, 2.0]]), np.empty(2)
    >>> symmetric_eigen(A, values), np.sort(values).round(9)
    (True, array([1., 3.]))
    """
    n = values.size
    below, factors = np.zeros(n), np.zeros(n)
    _tridiagonalize(A, values, below, factors)
    _accumulate(A, factors)
    return _diagonalize(A, values, below)


@compiled
def sorted_eigen(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of A in ascending order, and the eigenvectors as columns.

    Parameters
    ----------
    A : Array, shape (n, n)
        A symmetric matrix.

    Examples
    --------
    >>> sorted_eigen(np.diag(np.array([3.0, 1.0])))[0]
    array([1., 3.])
    """
    n = A.shape[0]
    rows, found = A.copy(), np.empty(n)
    if not symmetric_eigen(rows, found):
        return np.linalg.eigh(A)
    values, vectors, order = np.empty(n), np.empty((n, n)), np.argsort(found)
    for j in range(n):
        values[j] = found[order[j]]
        for i in range(n):
            vectors[i, j] = rows[order[j], i]
    return values, vectors


@compiled
def _tridiagonalize(A: Array, diagonal: Array, below: Array, factors: Array) -> None:
    """Fill in the tridiagonal form Q A Q'; the reflections I - factor w w' of Q stay in the columns of A.

    Reflection k has w = (0, ..., 0, A[k + 1, k], ..., A[n - 1, k]).
    """
    n = diagonal.size
    product = np.empty(n)
    for k in range(n - 2):
        square = 0.0
        for i in range(k + 2, n):
            square += A[i, k] * A[i, k]
        diagonal[k] = A[k, k]
        head = A[k + 1, k]
        if square == 0.0:
            below[k] = head
            continue
        norm = math.sqrt(head * head + square)
        if head > 0.0:
            norm = -norm
        below[k] = norm
        A[k + 1, k] = head - norm
        factors[k] = 1.0 / (norm * (norm - head))
        # B <- (I - f w w') B (I - f w w') = B - w p' - p w' with p = f (B w) - f^2/2 (w'B w) w
        along = 0.0
        for i in range(k + 1, n):
            product[i] = 0.0
        for i in range(k + 1, n):
            w, total = A[i, k], A[i, i] * A[i, k]
            for j in range(k + 1, i):
                total += A[i, j] * A[j, k]
                product[j] += A[i, j] * w
            product[i] += total
        for i in range(k + 1, n):
            product[i] *= factors[k]
            along += product[i] * A[i, k]
        along *= 0.5 * factors[k]
        for i in range(k + 1, n):
            product[i] -= along * A[i, k]
        for i in range(k + 1, n):
            w, p = A[i, k], product[i]
            for j in range(k + 1, i + 1):
                A[i, j] -= w * product[j] + p * A[j, k]
    if n > 1:
        diagonal[n - 2], below[n - 2] = A[n - 2, n - 2], A[n - 1, n - 2]
    diagonal[n - 1] = A[n - 1, n - 1]


@compiled
def _accumulate(A: Array, factors: Array) -> None:
    """Overwrite A by Q, the product of the reflections, from the last to the first."""
    n = factors.size
    w = np.empty(n)
    for k in range(n - 1, -1, -1):
        # Rows and columns from k + 1 on are final; row and column k follow.
        factor = factors[k]
        for i in range(k + 1, n):
            w[i] = A[i, k]
        for i in range(k, n):
            A[i, k] = 0.0
            A[k, i] = 0.0
        A[k, k] = 1.0
        if factor == 0.0:
            continue
        for i in range(k + 1, n):
            total = 0.0
            for j in range(k + 1, n):
                total += A[i, j] * w[j]
            total *= factor
            for j in range(k + 1, n):
                A[i, j] -= total * w[j]


@compiled
def _diagonalize(V: Array, values: Array, below: Array) -> bool:
    """Diagonalize a tridiagonal matrix; rotate the rows of V along."""
    n = values.size
    size = 0.0
    for i in range(n):
        size = max(size, abs(values[i]) + abs(below[i]))
    for first in range(n):
        for step in range(_MAX_STEPS + 1):
            last = first
            while last < n - 1:
                if abs(below[last]) <= _EPSILON * (abs(values[last]) + abs(values[last + 1])) + 1e-3 * _EPSILON * size:
                    break
                last += 1
            if last == first:
                break
            if step == _MAX_STEPS:
                return False
            _ql_step(V, values, below, first, last)
    return True


@compiled
def _ql_step(V: Array, values: Array, below: Array, first: int, last: int) -> None:
    """Do one QL step, with the shift of Wilkinson, on a block that does not fall apart."""
    n = values.size
    ratio = (values[first + 1] - values[first]) / (2.0 * below[first])
    root = math.sqrt(ratio * ratio + 1.0)
    g = values[last] - values[first] + below[first] / (ratio + (root if ratio >= 0.0 else -root))
    sine, cosine, change = 1.0, 1.0, 0.0
    for i in range(last - 1, first - 1, -1):
        f, b = sine * below[i], cosine * below[i]
        r = math.sqrt(f * f + g * g)
        below[i + 1] = r
        if r == 0.0:
            # The block falls apart here; the next step goes on with its parts.
            values[i + 1] -= change
            below[last] = 0.0
            return
        sine, cosine = f / r, g / r
        g = values[i + 1] - change
        t = (values[i] - g) * sine + 2.0 * cosine * b
        change = sine * t
        values[i + 1] = g + change
        g = cosine * t - b
        for k in range(n):
            upper = V[i + 1, k]
            V[i + 1, k] = sine * V[i, k] + cosine * upper
            V[i, k] = cosine * V[i, k] - sine * upper
    values[first] -= change
    below[first] = g
    below[last] = 0.0
