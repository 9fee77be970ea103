"""Spectra of symmetric matrices, and checks that a matrix is symmetric or positive semi-definite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.arguments import finite_array
from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike

_ROUND_OFF = 1e-12
"""The fraction of the largest entry up to which asymmetry and negative eigenvalues count as round-off."""


@register("Spectrum")
@dataclass(frozen=True)
class Spectrum(Value):
    """Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix, or of a batch of them.

    Attributes
    ----------
    values : Array, shape (*batch, d)
        The eigenvalues.
    vectors : Array, shape (*batch, d, d)
        The eigenvectors.

    Examples
    --------
    >>> spectrum = Spectrum.of(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> spectrum.values
    array([1., 2.])
    >>> spectrum.apply(1 / spectrum.values, np.array([2.0, 2.0]))   # the inverse, times a vector
    array([1., 2.])
    """

    values: Array
    vectors: Array

    @classmethod
    def of(cls, matrix: Array) -> Spectrum:
        """Diagonalize a symmetric matrix (only its lower triangle is read)."""
        values, vectors = np.linalg.eigh(matrix)
        return cls(values, vectors)

    def into(self, x: Array) -> Array:
        """Return the coordinates of x in the eigenbasis; x has shape (*batch, d)."""
        result: Array = np.vecmat(x, self.vectors)
        return result

    def out_of(self, coordinates: Array) -> Array:
        """Return the vector with these coordinates in the eigenbasis."""
        result: Array = np.matvec(self.vectors, coordinates)
        return result

    def apply(self, values: Array, x: Array) -> Array:
        """Multiply x by the matrix with these eigenvectors and other eigenvalues."""
        return self.out_of(values * self.into(x))

    def matrix(self, values: Array | None = None) -> Array:
        """Return the matrix with these eigenvectors and the given eigenvalues (by default its own)."""
        values = self.values if values is None else values
        product = np.matmul(self.vectors * values[..., None, :], self.vectors.swapaxes(-1, -2))
        result: Array = 0.5 * (product + product.swapaxes(-1, -2))
        return result


def quadratic_form(A: Array, u: Array) -> Array:
    """Return 1/2 u'Au for each vector of a batch; A is one matrix or one per vector."""
    product = u @ A if A.ndim == 2 else np.matvec(A, u)
    result: Array = 0.5 * np.vecdot(product, u)
    return result


def symmetric(name: str, value: ArrayLike) -> Array:
    """Check a symmetric matrix or a batch of them, and return it exactly symmetric."""
    matrix = finite_array(name, value)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] == 0:
        raise ArgumentError(f"{name} must be square, shape (d, d) or (*batch, d, d), got {matrix.shape}")
    half = 0.5 * matrix
    asymmetry = 2.0 * np.abs(half - half.swapaxes(-1, -2))
    excess = asymmetry - _ROUND_OFF * np.abs(matrix).max(axis=(-1, -2), keepdims=True)
    if (excess > 0.0).any():
        offender = np.argmax(excess.max(axis=(-1, -2), keepdims=True) > 0.0)
        first = np.unravel_index(offender, excess[..., :1, :1].shape)[:-2]
        worst = (*first, *np.unravel_index(np.argmax(asymmetry[first]), matrix.shape[-2:]))
        raise ArgumentError(
            f"{name} must be symmetric, got an asymmetry of {asymmetry[worst]:.6g} (entry {[int(i) for i in worst]})"
        )
    return half + half.swapaxes(-1, -2)


def positive_semidefinite(name: str, value: ArrayLike) -> tuple[Array, Spectrum]:
    """Check a positive semi-definite matrix or batch; return it and its spectrum, without negative round-off."""
    matrix = symmetric(name, value)
    spectrum = Spectrum.of(matrix)
    smallest, largest = spectrum.values[..., 0], spectrum.values[..., -1]
    tolerance = matrix.shape[-1] * _ROUND_OFF * np.abs(spectrum.values).max(axis=-1)
    if (smallest < -tolerance).any():
        worst = np.unravel_index(np.argmin(smallest + tolerance), smallest.shape)
        run = f" in matrix {[int(i) for i in worst]}" if worst else ""
        raise ArgumentError(
            f"{name} must be positive semi-definite, got a smallest eigenvalue of "
            f"{smallest[worst]:.6g} and a largest of {largest[worst]:.6g}{run}"
        )
    return matrix, Spectrum(np.maximum(spectrum.values, 0.0), spectrum.vectors)
