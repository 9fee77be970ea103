"""Rank-1 measurements y_i = 1/2 z_i'M z_i: the operator, its adjoint, and symmetric matrices as vectors.

``svec`` lists the lower triangle of a symmetric matrix with off-diagonal entries times sqrt(2). The inner product of
two such vectors is that of the matrices, and a measurement is a row times svec(M).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from soqo.typing import Array, BoolArray

_Indices = npt.NDArray[np.intp]


def measure(Z: Array, M: Array) -> Array:
    """Return the noise-free readings 1/2 z_i'M z_i for the rows z_i of Z.

    Parameters
    ----------
    Z : Array, shape (..., m, d)
        The measurements.
    M : Array, shape (..., d, d)
        A symmetric matrix.

    Returns
    -------
    Array, shape (..., m)
        The readings.

    Examples
    --------
    >>> measure(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 4.0]]))
    array([1., 4.])
    """
    return np.asarray(0.5 * np.vecdot(np.matmul(Z, M), Z))


def adjoint(Z: Array, weights: Array) -> Array:
    """Return the matrix 1/2 sum_i w_i z_i z_i', for which <M, adjoint(w)> = <measure(M), w>.

    Parameters
    ----------
    Z : Array, shape (..., m, d)
        The measurements.
    weights : Array, shape (..., m)
        The weights w_i.

    Returns
    -------
    Array, shape (..., d, d)
        The matrix, which is symmetric.

    Examples
    --------
    >>> adjoint(np.array([[1.0, 1.0]]), np.array([4.0]))
    array([[2., 2.],
           [2., 2.]])
    """
    return np.asarray(0.5 * np.matmul(Z.swapaxes(-1, -2) * weights[..., None, :], Z))


def svec(M: Array) -> Array:
    """Return a symmetric matrix (..., d, d) as a vector (..., d(d+1)/2).

    Parameters
    ----------
    M : Array, shape (..., d, d)
        A symmetric matrix.

    See Also
    --------
    smat : The inverse.

    Examples
    --------
    >>> svec(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1.        , 2.82842712, 3.        ])
    """
    d = M.shape[-1]
    index, _, scale, _ = _svec_entries(d)
    vector = M.reshape(*M.shape[:-2], d * d).take(index, axis=-1)
    vector *= scale
    return np.asarray(vector)


def smat(vector: Array) -> Array:
    """Return the symmetric matrix (..., d, d) of a vector (..., d(d+1)/2).

    Parameters
    ----------
    vector : Array, shape (..., d(d+1)/2)
        The vector.

    See Also
    --------
    svec : The inverse.

    Examples
    --------
    >>> smat(svec(np.array([[1.0, 2.0], [2.0, 3.0]])))
    array([[1., 2.],
           [2., 3.]])
    """
    d = (math.isqrt(8 * vector.shape[-1] + 1) - 1) // 2
    _, back, _, scale = _svec_entries(d)
    return np.asarray((vector * scale).take(back, axis=-1))


def svec_rows(Z: Array) -> Array:
    """Return the rows svec(1/2 z_i z_i'), so that measure(Z, M) = svec_rows(Z) @ svec(M).

    Parameters
    ----------
    Z : Array, shape (..., m, d)
        The measurements.

    Returns
    -------
    Array, shape (..., m, d(d+1)/2)
        The rows.

    Examples
    --------
    >>> svec_rows(np.array([[2.0, 1.0]])) @ svec(np.array([[1.0, 0.0], [0.0, 4.0]]))
    array([4.])
    """
    rows, columns, scale = _row_entries(Z.shape[-1])
    product = Z.take(rows, axis=-1)  # half the time of an index
    product *= Z.take(columns, axis=-1)
    product *= scale
    return product


@cache
def _row_entries(d: int) -> tuple[_Indices, _Indices, Array]:
    """Return the rows, the columns and the factors of the entries of svec(1/2 z z')."""
    rows, columns, on_diagonal = triangle(d)
    return rows, columns, np.where(on_diagonal, 0.5, math.sqrt(0.5))


@cache
def _svec_entries(d: int) -> tuple[_Indices, _Indices, Array, Array]:
    """Return where the entries of svec(M) are in M, where those of M are in svec(M), and the factors of both ways."""
    rows, columns, on_diagonal = triangle(d)
    back = np.empty((d, d), dtype=np.intp)
    back[rows, columns] = back[columns, rows] = np.arange(rows.size)
    return (
        rows * d + columns,
        back,
        np.where(on_diagonal, 1.0, math.sqrt(2.0)),
        np.where(on_diagonal, 1.0, math.sqrt(0.5)),
    )


@cache
def triangle(d: int) -> tuple[_Indices, _Indices, BoolArray]:
    """Return rows and columns of the lower triangle in the order of :func:`svec`, and which entries are diagonal.

    The result is cached: for a small matrix, computing it takes longer than using it.
    """
    rows, columns = np.tril_indices(d)
    return rows, columns, rows == columns
