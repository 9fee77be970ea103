"""Nesterov-Todd scaling of a primal-dual pair of positive definite matrices, and the length of a step.

For X and S positive definite there is a matrix G with inv(G) X inv(G)' = G' S G = diag(values): in the coordinates of
G both are the same diagonal matrix. Primal-dual methods compute each direction in these coordinates (Todd, Toh and
Tutuncu, "On the Nesterov-Todd direction in semidefinite programming", 1998).

After a step, X and S are known in the coordinates of the last G. With X = R R' and R' S R = V diag(squares) V', the
next scaling is G R V squares^{-1/4} with values squares^{1/2}. In these coordinates both matrices are far from
singular, so that forming R' S R loses no digits; an update of the factor G keeps digits that X and S themselves lose
once they are nearly singular.

The module offers :func:`scaling_from_spectrum`, which finishes this update, and :func:`step_length`. Both take one pair
of matrices or a batch of pairs. The caller computes the factor R, the spectrum and the product G R V, because a single
small pair and a batch call different routines for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soqo.typing import Array


def scaling_from_spectrum(product: Array, squares: Array) -> tuple[Array, Array]:
    """Return the scaling G and the diagonal of both matrices.

    Parameters
    ----------
    product : Array, shape (..., d, d)
        G R V, with the last G.
    squares : Array, shape (..., d)
        The eigenvalues of R' S R; all are positive, or NaN for a pair that has no scaling.

    Examples
    --------
    >>> G, values = scaling_from_spectrum(np.array([[2.0]]), np.array([16.0]))    # X = 4, S = 4
    >>> G, values
    (array([[1.]]), array([4.]))
    """
    values = np.sqrt(squares)
    return product / np.sqrt(values)[..., None, :], values


def step_length(min_eigenvalue: Any, share: Any, maximum: Callable[[Any, Any], Any]) -> Any:
    """Return the longest step up to one that covers at most a share of the way to the boundary of the cone.

    Parameters
    ----------
    min_eigenvalue : float or Array
        The smallest eigenvalue of the direction in coordinates in which the matrix itself is the identity: at step t
        the matrix has the smallest eigenvalue 1 + t * min_eigenvalue. If it is NaN, so is the length.
    share : float or Array
        The share of the way, below one.
    maximum : callable
        ``max`` for numbers, ``np.maximum`` for arrays; ``max`` is faster for a single pair.

    Examples
    --------
    >>> step_length(-1.8, 0.9, max), step_length(0.3, 0.9, max)
    (0.5, 1.0)
    """
    return share / maximum(-min_eigenvalue, share)
