"""Rank-1 measurements y_i = 1/2 z_i'M z_i: the operator, its adjoint, and symmetric matrices as vectors.

``svec`` lists the lower triangle of a symmetric matrix with off-diagonal entries times sqrt(2), so that the inner
product of two vectors is that of the matrices, and a measurement is a row times svec(M).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from soqo.typing import Array, BoolArray

__all__ = ["adjoint", "measure", "smat", "svec", "svec_rows", "triangle"]

Indices = np.ndarray[Any, np.dtype[np.intp]]


def measure(Z: Array, M: Array) -> Array:
    """The readings 1/2 z_i'M z_i without noise, for the rows z_i of Z; shape (..., m).

    Examples
    --------
    >>> measure(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 4.0]]))
    array([1., 4.])
    """
    return np.asarray(0.5 * np.vecdot(np.matmul(Z, M), Z))


def adjoint(Z: Array, weights: Array) -> Array:
    """The matrix 1/2 sum_i w_i z_i z_i', for which <M, adjoint(w)> = <measure(M), w>.

    Examples
    --------
    >>> adjoint(np.array([[1.0, 1.0]]), np.array([4.0]))
    array([[2., 2.],
           [2., 2.]])
    """
    return np.asarray(0.5 * np.matmul(Z.swapaxes(-1, -2) * weights[..., None, :], Z))


def svec(M: Array) -> Array:
    """A symmetric matrix (..., d, d) as a vector (..., d(d+1)/2).

    Examples
    --------
    >>> svec(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1.        , 2.82842712, 3.        ])
    """
    rows, columns, on_diagonal = triangle(M.shape[-1])
    return np.asarray(M[..., rows, columns] * np.where(on_diagonal, 1.0, math.sqrt(2.0)))


def smat(vector: Array) -> Array:
    """The way back from :func:`svec`.

    Examples
    --------
    >>> smat(svec(np.array([[1.0, 2.0], [2.0, 3.0]])))
    array([[1., 2.],
           [2., 3.]])
    """
    d = (math.isqrt(8 * vector.shape[-1] + 1) - 1) // 2
    rows, columns, on_diagonal = triangle(d)
    scaled = vector * np.where(on_diagonal, 1.0, math.sqrt(0.5))
    M = np.empty((*vector.shape[:-1], d, d))
    M[..., rows, columns] = scaled
    M[..., columns, rows] = scaled
    return M


def svec_rows(Z: Array) -> Array:
    """The rows svec(1/2 z_i z_i'), shape (..., m, d(d+1)/2): measure(Z, M) = svec_rows(Z) @ svec(M).

    Examples
    --------
    >>> svec_rows(np.array([[2.0, 1.0]])) @ svec(np.array([[1.0, 0.0], [0.0, 4.0]]))
    array([4.])
    """
    rows, columns, on_diagonal = triangle(Z.shape[-1])
    scale = np.where(on_diagonal, 0.5, math.sqrt(0.5))
    product = Z.take(rows, axis=-1)  # half the time of an index
    product *= Z.take(columns, axis=-1)
    product *= scale
    return product


@cache
def triangle(d: int) -> tuple[Indices, Indices, BoolArray]:
    """Rows and columns of the lower triangle in the order of :func:`svec`, and which of its entries are the diagonal.

    Kept, because to find them takes longer than what a small matrix needs them for.
    """
    rows, columns = np.tril_indices(d)
    return rows, columns, rows == columns
