r"""What a reading may contain besides the hitting cost, as a table of hypotheses, and the features of a reading.

A reading at u = x - v is linear in all unknowns,

    y = c + g'u + 1/2 u'A u + noise.

c is a base load. g'u is there if the minimizer is not v but v - b: with g = A b, 1/2 (u + b)'A(u + b) is
g'u + 1/2 u'A u and a constant. With an observed context w the minimizer is v - b - G w. A factor
multiplies the hitting cost with all that follows from b and G: u'g, u'A G w and the minimum, which is quadratic in w.

What moves v often moves the base load as well: then c changes by h'dz from one reading to the next, where the
regressors z are v, the time, and the covariates of the reading. A player who leaves out h takes the base load for a
gradient, since u lags behind v. If h walks, the base load is any smooth function of z.

Which of these terms exist, and how they move, is a row of :data:`STRUCTURES`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import add_fields, register
from soqo.estimators._measurements import svec_rows
from soqo.estimators.bayes._posterior import Reading
from soqo.typing import Array, IntArray

LOAD_SIZE = 5.0
"""The prior's deviation of the base load, in units of d times the square of the typical entry of u."""

REGRESSOR_SHARE = 0.3
"""The prior's deviation of what a typical step of a regressor does to the base load, as a share of that of the load."""


class Structure(NamedTuple):
    """A hypothesis about the terms of a reading.

    Parameters
    ----------
    load : bool
        Whether the reading contains a base load.
    offset : bool
        Whether the minimizer may differ from v, by an offset b of the typical size of u.
    load_step : float
        The deviation of the base load's step from one reading to the next, in units of the noise.
    offset_step : float
        The deviation of the step of an offset that walks, as a share of the prior's deviation of the offset, which
        stays as it is: the walk is autoregressive. So is what depends on the context, and the base load walks with it.
    probability : float
        The prior probability, relative to that of the others.
    regressors : bool
        Whether the base load depends on the regressors.
    regressor_step : float
        The deviation of the step of this dependence, as a share of its prior's deviation, which stays as well.

    Examples
    --------
    >>> Structure(load=True, offset=False, load_step=0.6, offset_step=0.0, probability=0.02).regressors
    False
    """

    load: bool
    offset: bool
    load_step: float
    offset_step: float
    probability: float
    regressors: bool = False
    regressor_step: float = 0.0


PLAIN = Structure(False, False, 0.0, 0.0, 0.60)
"""Nothing but the hitting cost."""

SHIFTED = Structure(True, True, 0.0, 0.0, 0.10)
"""A constant base load and a constant offset."""

STRUCTURES = (
    PLAIN,
    *(Structure(True, False, step, 0.0, 0.15 if step == 0.0 else 0.02) for step in (0.0, 0.1, 0.6, 4.0)),
    SHIFTED,
    *(Structure(True, True, 0.0, step, 0.01) for step in (0.01, 0.05, 0.25)),
    *(Structure(True, True, step, 0.0, 0.01) for step in (0.6, 4.0)),
    *(Structure(True, b, 0.0, 0.0, 0.02, True) for b in (False, True)),
    *(Structure(True, b, step, 0.0, 0.01, True, h) for b in (False, True) for step in (0.6, 4.0) for h in (0.0, 0.1)),
)
"""The hypotheses."""


@register("Terms", version=2, migrations={1: add_fields(regressors=0)})
@dataclass(frozen=True)
class Terms(Value):
    """The terms that readings may contain, the columns of the features: base load, offset, regressors, and svec(A).

    Attributes
    ----------
    dim : int
        The dimension d.
    context : int
        The number of entries of the context.
    factor : bool
        Whether the hitting cost has a factor: the minimum of an offset hitting cost is then multiplied by it.
    offset : bool
        Whether the minimizer may differ from v.
    regressors : int
        The number of regressors of the base load.
    """

    dim: int
    context: int = 0
    factor: bool = False
    offset: bool = True
    regressors: int = 0

    @property
    def structures(self) -> tuple[tuple[int, Structure], ...]:
        """The hypotheses that are possible, with their numbers in the table."""
        possible = [(self.offset or not one.offset) and one.regressors <= (self.regressors > 0) for one in STRUCTURES]
        return tuple((k, one) for k, one in enumerate(STRUCTURES) if possible[k])

    @property
    def load(self) -> int:
        """The number of columns of the base load."""
        k = self.context
        return 1 + k + k * (k + 1) // 2

    @property
    def walking(self) -> int:
        """The number of columns of base load and offset, but for the regressors."""
        return self.load + self.factor + self.dim * (1 + self.context)

    @property
    def extras(self) -> int:
        """The number of columns of base load and offset."""
        return self.walking + self.regressors

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.extras + self.dim * (self.dim + 1) // 2

    @property
    def unknowns(self) -> int:
        """The number of unknowns in A."""
        return self.dim * (self.dim + 1) // 2

    def exist(self, structure: Structure) -> Array:
        """Return the deviations of base load and offset in a structure in units of :meth:`deviations`, shape (extras,).

        Parameters
        ----------
        structure : Structure
            One of the hypotheses.
        """
        exists = np.full(self.extras, float(structure.load))
        exists[self.load : self.walking] = structure.offset
        exists[self.walking :] = structure.regressors
        return exists

    def offset_columns(self, entry: int) -> IntArray:
        """Return which columns of offsets are those of b, or of how it depends on an entry of the context.

        Parameters
        ----------
        entry : int
            0 for b, or the number of the entry, from 1.
        """
        d, k = self.dim, self.context
        return np.arange(d) if entry == 0 else d + (entry - 1) + k * np.arange(d)

    def features(self, reading: Reading) -> Array:
        """Return the features of readings, shape (n, m).

        Parameters
        ----------
        reading : Reading
            The readings.
        """
        u, factor, k = reading.u, reading.factor, self.context
        s = np.ones(1) if factor is None else factor[:, None]
        features = np.zeros((len(u), self.size))
        features[:, 0] = 1.0
        linear = self.load + self.factor
        if k:
            w = np.zeros((len(u), k)) if reading.w is None else reading.w
            features[:, 1 : self.load] = s * np.concatenate([w, svec_rows(w)], axis=1)
            features[:, linear + self.dim : self.walking] = s * (u[:, :, None] * w[:, None, :]).reshape(len(u), -1)
        if self.factor:
            features[:, self.load : linear] = s - 1.0
        features[:, linear : linear + self.dim] = s * u
        features[:, self.extras :] = s * svec_rows(u)
        return features

    def deviations(self, size: Array, context_size: Array, displacement: Array | None = None) -> Array:
        """Return the prior's deviations of base load and offset for A of size one, shape (n, extras).

        Parameters
        ----------
        size : Array, shape (n,)
            The typical size of an entry of u.
        context_size : Array, shape (n, k + m)
            The typical sizes of the entries of the context, and of the steps of the regressors; 0 if not known.
        displacement : Array of shape (n,), optional
            That of an entry of u as it was seen; ``size`` unless given, which may be larger.
        """
        d, beta = self.dim, size[:, None]
        rows, columns = np.tril_indices(self.context)
        context_size = np.where(context_size > 0.0, context_size, 1.0)
        per_entry, regressor_size = beta / context_size[:, : self.context], context_size[:, self.context :]
        load = LOAD_SIZE * d * np.square(size)[:, None]
        parts = [load, d * beta * per_entry, d * per_entry[:, rows] * per_entry[:, columns]]
        parts += [0.5 * d * beta * beta] if self.factor else []
        offset = beta if displacement is None else displacement[:, None]
        parts += [np.repeat(offset, d, axis=1), np.tile(per_entry, (1, d)), REGRESSOR_SHARE * load / regressor_size]
        return np.concatenate(parts, axis=1)
