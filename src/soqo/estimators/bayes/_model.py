r"""The linear model of a reading, and the prior of its unknowns.

A reading at u = x - v is linear in the unknowns A and N,

    y = 1/2 u'A u + u'N u / |u|^2 + sigma e.

N is a bias of the reading that may depend on the direction of u but not on its length. An adversary who falsifies
readings within a bound can imitate another A only by such an N, and N does not grow with u as the hitting cost does. A
has a normal prior with mean s I and deviation s per entry (3 s along I), N has deviation kappa sigma.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np

from soqo.estimators._measurements import svec, svec_rows
from soqo.typing import Array

_ENTRY_DEVIATION = 1.0
"""The prior's deviation of A per entry, in units of the scale s."""

TRACE_DEVIATION = 3.0
"""The prior's deviation of A along the identity, in units of the scale s."""

RELATIVE_ERROR = 1e-6
"""The deviation of a reading's relative error, in units of |u|^2. It bounds the weight of readings at large u."""

MAX_DISTANCE = 1e25
"""Entries of u above this are scaled down, so that fourth powers do not overflow."""

_MAX_READING = 1e60
"""Readings above this are clipped, for the same reason."""


@dataclass(frozen=True)
class ReadingModel:
    """The assumptions about the readings.

    Parameters
    ----------
    dim : int
        The dimension d of u.
    bias : {"direction", "constant", "none"}
        The form of N: any symmetric matrix, a multiple of the identity (the same bias everywhere), or zero.
    kappa : float
        The deviation of N in units of the noise.
    noise_cap : float, optional
        A bound on the noise, if one is known.
    forgetting : float
        The factor by which the weight of earlier readings decreases with each reading; 1 for no forgetting.

    Examples
    --------
    >>> model = ReadingModel(dim=2, bias="constant")
    >>> model.unknowns, model.biases
    (3, 1)
    >>> model.features(np.array([[2.0, 0.0]]))    # y = 2 A_11 + N + sigma e
    array([[2., 0., 0., 1.]])
    """

    dim: int
    bias: Literal["direction", "constant", "none"] = "direction"
    _: KW_ONLY
    kappa: float = 1.0
    noise_cap: float | None = None
    forgetting: float = 1.0

    @cached_property
    def unknowns(self) -> int:
        """The number p = d(d+1)/2 of unknowns in A."""
        return self.dim * (self.dim + 1) // 2

    @cached_property
    def biases(self) -> int:
        """The number q of unknowns in N."""
        return {"direction": self.unknowns, "constant": 1, "none": 0}[self.bias]

    def features(self, u: Array) -> Array:
        """Return the rows by which svec(A) and N are multiplied in a reading at u, shape (runs, p + q).

        Parameters
        ----------
        u : Array, shape (runs, d)
            The displacement from the minimizer, x - v.
        """
        rows = svec_rows(u)
        if self.bias == "none":
            return rows
        if self.bias == "constant":
            return np.concatenate([rows, np.ones((u.shape[0], 1))], axis=1)
        # Divide by the largest entry first: the square of a small length underflows.
        largest = np.abs(u).max(axis=1, initial=0.0)
        u = u / np.maximum(largest, 1e-300)[:, None]
        length = np.sqrt(np.vecdot(u, u))
        return np.concatenate([rows, 2.0 * svec_rows(u / np.maximum(length, 1e-300)[:, None])], axis=1)


def clip_inputs(u: Array, y: Array) -> tuple[Array, Array]:
    """Scale down readings y at u whose fourth power of u would overflow.

    Both u and y are scaled such that 1/2 u'A u = y still holds for the same A.

    Parameters
    ----------
    u : Array, shape (runs, d)
        The displacements from the minimizer, x - v.
    y : Array, shape (runs,)
        The readings.

    Returns
    -------
    u : Array, shape (runs, d)
        The scaled displacements.
    y : Array, shape (runs,)
        The scaled readings.

    Examples
    --------
    >>> u, y = clip_inputs(np.array([[1e30], [2.0]]), np.array([1e60, 4.0]))
    >>> u.ravel(), y
    (array([1.e+25, 2.e+00]), array([1.e+50, 4.e+00]))
    """
    largest = np.abs(u).max(axis=1, initial=0.0)
    factor = np.minimum(1.0, MAX_DISTANCE / np.maximum(largest, 1.0))
    return u * factor[:, None], np.clip(y * factor * factor, -_MAX_READING, _MAX_READING)


@cache
def prior_root(d: int) -> Array:
    """Return a square root of the prior covariance of svec(A) for s = 1, shape (p, p)."""
    along = svec(np.eye(d)) / math.sqrt(d)
    return _ENTRY_DEVIATION * np.eye(along.size) + (TRACE_DEVIATION - _ENTRY_DEVIATION) * np.outer(along, along)
