"""Random curvatures, and estimates near them, for checks of theory."""

from __future__ import annotations

import numpy as np

from soqo.typing import Array

DIM = 4
"""The dimension of the paper's experiments."""


def random_curvature(rng: np.random.Generator, rank: int, sigma: float, dim: int = DIM) -> Array:
    """Return a random A of a rank, with eigenvalues from sigma linearly up to 1 or 10.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    rank, dim : int
        The rank and the dimension.
    sigma : float
        The smallest nonzero eigenvalue.
    """
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    largest = 10.0 if sigma >= 1.0 else 1.0
    values = np.zeros(dim)
    values[:rank] = np.linspace(sigma, largest, rank) if rank > 1 else sigma
    return np.asarray(basis * values @ basis.T)


def near(rng: np.random.Generator, A: Array, size: float, count: int) -> Array:
    """Return estimates whose errors have a nuclear norm of about ``size``, in random directions.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    A : Array, shape (d, d)
        The curvature.
    size : float
        The nuclear norm, before estimates are projected.
    count : int
        The number of estimates.
    """
    dim = len(A)
    drawn = rng.standard_normal((count, dim, dim))
    errors = drawn + np.swapaxes(drawn, 1, 2)
    errors *= size / np.abs(np.linalg.eigvalsh(errors)).sum(axis=1)[:, None, None]
    values, vectors = np.linalg.eigh(A + errors)
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2))
