"""The starting point of the interior-point method: near the least-squares fit, if the readings determine one.

A starting point is good if it is near the solution and all its complementarity products have the same size. The fit
gives X and the residuals. The products X S are even if S is a multiple of the identity, and the normal equations of the
fit also give multipliers for that. Compared with a multiple of the identity this saves two to three iterations.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from soqo._foundation.frozen_dataclasses import freeze
from soqo.estimators._measurements import adjoint, smat, svec, svec_rows
from soqo.estimators.sdp._arithmetic import SingleArithmetic
from soqo.typing import Array

_MIN_READINGS_PER_UNKNOWN = 1.5
"""With fewer readings the fit follows the noise and is not a good start."""

_RIDGE = 1e-10
"""The regularization of the normal equations, relative to their mean diagonal, so that they always have a solution."""

_MAX_RIDGE_ERROR = 1e-6
"""The largest accepted error due to the ridge; a larger one means that the readings do not determine the solution."""

_MIN_EIGENVALUE_SHARE = 0.02
"""The smallest eigenvalue of a start, as a share of their mean, so that the start is well inside the cone."""


def starting_point(ops: SingleArithmetic, Z: Array, y: Array) -> tuple[Array, Array]:
    """Return a positive definite X, (..., d, d), and multipliers, (..., m), whose adjoint is at most the identity.

    If the readings determine a fit, the adjoint is the identity up to an error of 1e-6; code that subtracts it from the
    identity must leave more than that.

    Parameters
    ----------
    ops : SingleArithmetic
        The arithmetic of a single program or of a batch.
    Z : Array, shape (..., m, d)
        Measurements of full column rank, of the order of one.
    y : Array, shape (..., m)
        Readings of the order of one.

    Examples
    --------
    >>> Z = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [2.0, 1.0]])
    >>> X, multipliers = starting_point(SingleArithmetic(), Z, 0.5 * np.square(Z) @ [3.0, 1.0])
    >>> X.round(6), adjoint(Z, multipliers).round(6)
    (array([[3., 0.],
           [0., 1.]]), array([[1., 0.],
           [0., 1.]]))
    """
    m, d = Z.shape[-2:]
    unknowns = d * (d + 1) // 2
    if m < _MIN_READINGS_PER_UNKNOWN * unknowns:
        return _default_start(ops, Z)
    rows = svec_rows(Z)
    gram = ops.matmul(rows.mT, rows)
    ridge = (_RIDGE / unknowns) * ops.sum(gram.diagonal(axis1=-2, axis2=-1))
    inverse = ops.inverse(ops.add_to_diagonal(ridge, gram))
    if inverse is None:
        return _default_start(ops, Z)
    weights, fit = inverse(_svec_identity(d)), inverse(np.vecmat(y, rows))
    determined = np.asarray(np.square(ridge) * ops.dot(weights, weights) <= _MAX_RIDGE_ERROR**2)
    if not determined.all():
        fit = np.where(determined, fit, 0.0)  # eigh would reject all runs if one had NaN
    values, vectors = np.linalg.eigh(smat(fit))
    mean = ops.l1_norm(values) / d
    values = np.maximum(values, _MIN_EIGENVALUE_SHARE * (mean + 0.1 / d))
    X = ops.matmul(vectors * values[..., None, :], vectors.mT)
    multipliers = np.matvec(rows, weights)
    if determined.all():
        return X, multipliers
    default_X, default_multipliers = _default_start(ops, Z)
    return np.where(determined[..., None], X, default_X), np.where(determined, multipliers, default_multipliers)


@cache
def _svec_identity(d: int) -> Array:
    """Return svec(I), cached because for a small program each call counts."""
    return freeze(svec(np.eye(d)))


def _default_start(ops: SingleArithmetic, Z: Array) -> tuple[Array, Array]:
    """Return a multiple of the identity whose readings are about one, and equal multipliers."""
    d = Z.shape[-1]
    ones = np.ones(Z.shape[:-1])
    max_eigenvalue = ops.extreme_eigenvalues(adjoint(Z, ones))[1]
    return np.broadcast_to((2.0 / d) * np.eye(d), (*Z.shape[:-2], d, d)), ones / max_eigenvalue
