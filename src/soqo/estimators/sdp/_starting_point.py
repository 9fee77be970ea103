"""Where the interior point starts: near the least-squares fit, where the readings determine one.

A start is good if it is near the solution and all its products are of one size. The fit gives X, and the residuals
their parts. The products X S are even if S is a multiple of the identity, for which there are multipliers: the same
equations give them. So begun, the method saves the two to three iterations in which it would look for the fit.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from soqo.estimators._measurements import adjoint, smat, svec, svec_rows
from soqo.estimators.sdp._arithmetic import One
from soqo.typing import Array

__all__ = ["starting_point"]

ENOUGH = 1.5
"""Readings per unknown from which on a fit is worth starting from; with fewer it follows the noise."""

RIDGE = 1e-10
"""What is added to the normal equations, relative to their mean diagonal, so that they always have a solution."""

EXACT = 1e-6
"""By how much the ridge may spoil a solution that is used: more means that the readings do not determine it."""

THINNEST = 0.02
"""The smallest eigenvalue of a start, as a share of their mean: well inside of the cone."""


def starting_point(kind: One, Z: Array, y: Array) -> tuple[Array, Array]:
    """A positive definite X, (..., d, d), and multipliers, (..., m), whose adjoint is the identity, or below it.

    Where it is the identity, it is so to :data:`EXACT`; who subtracts it from the identity must leave more than that.

    Parameters
    ----------
    kind : One
        The arithmetic: for one program, or for a batch.
    Z : Array, shape (..., m, d)
        Of full column rank, and of the order of one.
    y : Array, shape (..., m)
        Of the order of one.

    Examples
    --------
    >>> Z = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [2.0, 1.0]])
    >>> X, even = starting_point(One(), Z, 0.5 * np.square(Z) @ [3.0, 1.0])
    >>> X.round(6), adjoint(Z, even).round(6)
    (array([[3., 0.],
           [0., 1.]]), array([[1., 0.],
           [0., 1.]]))
    """
    m, d = Z.shape[-2:]
    unknowns = d * (d + 1) // 2
    if m < ENOUGH * unknowns:
        return plain_start(kind, Z)
    rows = svec_rows(Z)
    gram = kind.product(rows.mT, rows)
    ridge = (RIDGE / unknowns) * kind.total(gram.diagonal(axis1=-2, axis2=-1))
    inverse = kind.inverted(kind.plus(ridge, gram))
    if inverse is None:
        return plain_start(kind, Z)
    weights, fit = inverse(identity(d)), inverse(np.vecmat(y, rows))
    determined = np.asarray(np.square(ridge) * kind.dot(weights, weights) <= EXACT**2)
    if not determined.all():
        fit = np.where(determined, fit, 0.0)  # NaN may be in it, which eigh would refuse for all runs
    values, vectors = np.linalg.eigh(smat(fit))
    mean = kind.absolute_sum(values) / d
    values = np.maximum(values, THINNEST * (mean + 0.1 / d))
    X = kind.product(vectors * values[..., None, :], vectors.mT)
    even = np.matvec(rows, weights)
    if determined.all():
        return X, even
    plain_X, plain_even = plain_start(kind, Z)
    return np.where(determined[..., None], X, plain_X), np.where(determined, even, plain_even)


@cache
def identity(d: int) -> Array:
    """The identity as a vector; kept, because for a small program each call counts."""
    vector = svec(np.eye(d))
    vector.flags.writeable = False
    return vector


def plain_start(kind: One, Z: Array) -> tuple[Array, Array]:
    """A multiple of the identity whose readings are about one, and multipliers that are all the same."""
    d = Z.shape[-1]
    ones = np.ones(Z.shape[:-1])
    highest = kind.extremes(adjoint(Z, ones))[1]
    return np.broadcast_to((2.0 / d) * np.eye(d), (*Z.shape[:-2], d, d)), ones / highest
