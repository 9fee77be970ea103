r"""The linear model of a reading, and the prior of its unknowns.

A reading at u = x - v is linear in the unknowns A, g and N and in a base load,

    y = 1/2 u'A u + g'u + u'N u / |u|^2 + base load + sigma e.

The term g'u is there if the minimizer is not v but v - b: with g = A b, 1/2 (u + b)'A(u + b) is 1/2 u'A u + g'u and a
constant, which is part of the base load. With an observed context w, the minimizer may also depend on w, and the terms
u'G w, h'w and w'K w are added. N is a bias of the reading that may depend on the direction of u but not on its length.
An adversary who falsifies readings within a bound can imitate another A only by such an N, and N does not grow with u
as the hitting cost does.

A has a normal prior with mean s I and deviation s per entry (3 s along I). N has deviation kappa sigma. The deviation
of g is 3 s times the typical size of an entry of u: offsets are expected to be as large as a few distances from v.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np

from soqo._foundation.blas import min_entry, sum_of_squares
from soqo.estimators._measurements import svec, svec_rows, triangle
from soqo.typing import Array, IntArray

ENTRY_DEVIATION = 1.0
"""The prior's deviation of A per entry, in units of the scale s."""

TRACE_DEVIATION = 3.0
"""The prior's deviation of A along the identity, in units of the scale s."""

RELATIVE_ERROR = 1e-9
"""The least deviation of a reading's relative error, in units of |u|^2. It bounds the weight of readings at large u, so
that round-off does not matter. Where A is zero, u grows without bound and the reading does not: a larger error would
hide for ever that A is zero there."""

OFFSET_SIZE = 3.0
"""The prior's deviation of an offset, in units of the typical size of an entry of u."""

MAX_DISTANCE = 1e25
"""Entries of u above this are scaled down, so that fourth powers do not overflow."""

_SMALL_SQUARE = 1e-200
"""The square of a smaller length loses digits."""

_MAX_READING = 1e60
"""Readings above this are clipped, for the same reason."""


@dataclass(frozen=True)
class ReadingModel:
    """The assumptions about the readings.

    The unknowns are ordered as N, the terms of offset and context, and svec(A).

    Parameters
    ----------
    dim : int
        The dimension d of u.
    bias : {"direction", "constant", "none"}
        The form of N: any symmetric matrix, a multiple of the identity (the same bias everywhere), or zero.
    kappa : float
        The deviation of N in units of the noise.
    optional_bias : bool
        Whether the evidence decides if there is such a bias.
    noise_cap : float, optional
        A bound on the noise, if one is known.
    trusted_distance : float, optional
        The distance |u| at which the error of a hitting cost that is not quite quadratic is as large as the noise. It
        grows with |u|^2; None for no such error.
    forgetting : float
        The factor by which the weight of earlier readings decreases with each reading; 1 for no forgetting.
    offset : bool
        Whether the minimizer may differ from v by a constant, if the evidence supports it.
    context : int
        The number k of entries of the context.
    factor : bool
        Whether the hitting cost has a factor. An offset b then adds the factor times 1/2 b'A b, which is not part of
        the base load: one more unknown, the first of the terms of the offset.

    Examples
    --------
    >>> model = ReadingModel(dim=2, bias="constant")
    >>> model.unknowns, model.biases, model.extras
    (3, 1, 0)
    >>> model.features(np.array([[2.0, 0.0]]))    # y = N + 2 A_11 + sigma e
    array([[1., 2., 0., 0.]])
    """

    dim: int
    bias: Literal["direction", "constant", "none"] = "direction"
    _: KW_ONLY
    kappa: float = 1.0
    optional_bias: bool = False
    noise_cap: float | None = None
    trusted_distance: float | None = None
    forgetting: float = 1.0
    offset: bool = False
    context: int = 0
    factor: bool = False

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """The hash, kept because tables of what depends on a model are consulted in every round."""
        return hash(tuple(value for name, value in self.__dict__.items() if name in self.__dataclass_fields__))

    @cached_property
    def unknowns(self) -> int:
        """The number p = d(d+1)/2 of unknowns in A."""
        return self.dim * (self.dim + 1) // 2

    @cached_property
    def biases(self) -> int:
        """The number q of unknowns in N."""
        return {"direction": self.unknowns, "constant": 1, "none": 0}[self.bias]

    @cached_property
    def extras(self) -> int:
        """The number e of terms of offset and context."""
        k = self.context
        if not (self.offset or k):
            return 0
        return self.factor + self.dim + self.dim * k + k + k * (k + 1) // 2

    @cached_property
    def linear(self) -> slice:
        """The terms that are linear in u: those of g = A b and, for a context, of A M."""
        first = self.biases + self.factor
        return slice(first, first + self.dim * (1 + self.context))

    @cached_property
    def size(self) -> int:
        """The number q + e + p of all unknowns."""
        return self.biases + self.extras + self.unknowns

    def features(self, u: Array, w: Array | None = None, factor: Array | None = None) -> Array:
        """Return the rows by which the unknowns are multiplied in a reading at u, shape (runs, q + e + p).

        Parameters
        ----------
        u : Array, shape (runs, d)
            The displacement from the minimizer, x - v.
        w : Array, shape (runs, k), optional
            The context.
        factor : Array, shape (runs,), optional
            What multiplies the hitting cost, and not the bias; one by default.
        """
        squares = svec_rows(u)
        parts = [squares]
        if self.context:
            assert w is not None
            products = (u[:, :, None] * w[:, None, :]).reshape(len(u), -1)
            parts = [u, products, w, svec_rows(w), *parts]
        elif self.offset:
            parts = [u, *parts]
        if factor is not None:
            parts = [factor[:, None] * part for part in parts]
        if self.factor and self.extras:
            parts = [np.zeros((len(u), 1)) if factor is None else factor[:, None] - 1.0, *parts]
        if self.bias == "constant":
            parts = [np.ones((u.shape[0], 1)), *parts]
        elif self.bias == "direction":
            length2 = np.vecdot(u, u)
            if length2.size and min_entry(length2) < _SMALL_SQUARE:
                small, squares = length2 < _SMALL_SQUARE, squares.copy()
                squares[small], length2[small] = _squares_of_directions(u[small])
            parts = [squares * (2.0 / length2)[:, None], *parts]
        return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]

    def square_length(self, features: Array) -> Array:
        """Return |u|^2 times the factor of the hitting cost from the features, shape (...,).

        Parameters
        ----------
        features : Array, shape (..., m)
            The features.
        """
        return np.asarray(2.0 * np.add.reduce(features.take(self._squares, axis=-1), axis=-1))

    @cached_property
    def _squares(self) -> IntArray:
        """The columns of the features that are half of the squares of the entries of u."""
        _, _, on_diagonal = triangle(self.dim)
        return np.asarray(self.size - self.unknowns + np.flatnonzero(on_diagonal))

    def model_error(self, square_length: Array) -> Array:
        """Return the variance of the error of the model in units of that of the noise.

        Parameters
        ----------
        square_length : Array
            |u|^2 times the factor, from :meth:`square_length`.
        """
        if self.trusted_distance is None:
            return np.zeros(np.shape(square_length))
        return np.square(square_length / self.trusted_distance**2)

    def extra_deviations(self, sizes: Array) -> Array:
        """Return the prior's deviations of the terms of offset and context for s = 1, shape (runs, e).

        Parameters
        ----------
        sizes : Array, shape (runs, 1 + k)
            The typical sizes of an entry of u and of the entries of w.
        """
        beta, omega = OFFSET_SIZE * sizes[:, :1], np.maximum(sizes[:, 1:], 1e-150)
        parts = [np.repeat(beta, self.dim, axis=1)] if self.extras else [np.zeros((len(sizes), 0))]
        if self.context:
            per_entry = beta / omega
            rows, columns = np.tril_indices(self.context)
            parts += [
                np.tile(per_entry, (1, self.dim)),
                self.dim * beta * per_entry,
                self.dim * per_entry[:, rows] * per_entry[:, columns],
            ]
        if self.factor and self.extras:
            parts = [0.5 * self.dim * beta * beta, *parts]
        return np.concatenate(parts, axis=1)


def _squares_of_directions(u: Array) -> tuple[Array, Array]:
    """Return svec_rows and the squared length of multiples of u, since the square of a small length underflows."""
    largest = np.abs(u).max(axis=1, initial=0.0)
    direction = u / np.maximum(largest, 1e-300)[:, None]
    return svec_rows(direction), np.maximum(np.vecdot(direction, direction), 1e-300)


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
    if sum_of_squares(u) < MAX_DISTANCE**2 and sum_of_squares(y) < _MAX_READING**2:
        return u, y
    largest = np.abs(u).max(axis=1, initial=0.0)
    factor = np.minimum(1.0, MAX_DISTANCE / np.maximum(largest, 1.0))
    return u * factor[:, None], np.clip(y * factor * factor, -_MAX_READING, _MAX_READING)


@cache
def prior_root(d: int) -> Array:
    """Return a square root of the prior covariance of svec(A) for s = 1, shape (p, p)."""
    along = svec(np.eye(d)) / math.sqrt(d)
    return ENTRY_DEVIATION * np.eye(along.size) + (TRACE_DEVIATION - ENTRY_DEVIATION) * np.outer(along, along)
