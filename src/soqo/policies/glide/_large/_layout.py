r"""Which coordinates a reading has.

A reading is y = s/2 (u + b + M w)'A(u + b + M w) + base load + noise, with the displacement u = x - v, the factor s of
the round, the offset b of the minimizer and its dependence M on the context w. It is a quadratic form in more
coordinates, z = sqrt(s) (u, c, w c) and, if the factor varies, a constant c of its own for the base load: the matrix of
this form has the rank of A or one more. Offsets, contexts and base loads therefore need no estimators of their own. A
base load has to be positive for this, as a cost is.

Without evidence for them, z is sqrt(s) u alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.typing import Array

Extras = Literal["none", "offset", "offset and base load"]


@register("GLIDE.layout")
@dataclass(frozen=True)
class Layout(Value):
    """The coordinates of readings.

    A row has the entries sqrt(s) u, sqrt(s) w, sqrt(s) and y.

    Attributes
    ----------
    dim, context : int
        The numbers of entries of u and of w.
    extras : str
        Which further coordinates z has: none, those of the offset and the context (and of a base load, if the factor is
        one), or another one for the base load.
    unit : float
        The constant c, of the size of an entry of u.
    """

    dim: int
    context: int
    extras: Extras
    unit: float

    @property
    def columns(self) -> int:
        """The number of entries of a row."""
        return self.dim + self.context + 2

    @property
    def size(self) -> int:
        """The number of coordinates of z."""
        return self.dim + {"none": 0, "offset": self.context + 1, "offset and base load": self.context + 2}[self.extras]

    def row(self, u: Array, w: Array | None, factor: float, y: float) -> Array:
        """Return a reading as a row.

        Parameters
        ----------
        u : Array, shape (d,)
            The displacement.
        w : Array, shape (k,), or None
            The context.
        factor : float
            What multiplied the hitting cost.
        y : float
            The reading.
        """
        root = factor**0.5
        row = np.empty(self.columns)
        row[: self.dim] = root * u
        row[self.dim : -2] = 0.0 if w is None else root * w
        row[-2], row[-1] = root, y
        return row

    def places(self, rows: Array) -> Array:
        """Return z for some rows.

        Parameters
        ----------
        rows : Array, shape (n, columns)
            The rows.
        """
        z = rows[:, : self.dim]
        if self.extras == "none":
            return z
        more = [z, self.unit * rows[:, self.dim : -1]]
        if self.extras == "offset and base load":
            more.append(np.full((len(rows), 1), self.unit))
        return np.concatenate(more, axis=1)

    def shift(self, A: Array) -> Array:
        """Return b and the columns of M, shape (d, 1 + k), for a matrix of the quadratic form in z.

        The minimizer over u of z'A z, where A is large enough to say where it is.

        Parameters
        ----------
        A : Array, shape (size, size)
            The matrix.
        """
        result = np.zeros((self.dim, 1 + self.context))
        if self.extras == "none":
            return result
        end = self.dim + self.context
        order = [end, *range(self.dim, end)]
        values, vectors = np.linalg.eigh(A[: self.dim, : self.dim])
        floor = _WEAK * max(values[-1], 1e-300)
        inverse = values / (values * values + floor * floor)
        return np.asarray(self.unit * (vectors * inverse) @ (vectors.T @ A[: self.dim, order]))


_WEAK = 0.02
"""Where A is smaller than this share of its largest eigenvalue, an offset is not believed."""
