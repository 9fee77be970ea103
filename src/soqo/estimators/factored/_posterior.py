"""The posterior of A for many dimensions, in independent rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from soqo._foundation.frozen_dataclasses import evolve
from soqo._storage.registry import register
from soqo.estimators.bayes import Expectation, Posterior, Reading, Terms
from soqo.estimators.factored._row import Row
from soqo.typing import Array, BoolArray, IntArray


@register("Factored")
@dataclass(frozen=True)
class Factored(Posterior):
    """Posteriors of A in independent rows; see :class:`soqo.estimators.bayes.Posterior`.

    Contexts, censored readings, and offsets that walk are ignored.

    Attributes
    ----------
    rows : tuple of Row
        The rows.
    context : int
        The number of entries of the context.
    """

    rows: tuple[Row, ...]
    context: int

    @classmethod
    def start(cls, terms: Terms, count: int) -> Factored:
        """Return rows before the first reading."""
        row = evolve(Row.start(terms.dim, terms.regressors), deviations=np.zeros(terms.extras))
        return cls((row,) * count, terms.context)

    @property
    def readings(self) -> Array:
        """The number of readings learned, shape (n,)."""
        return np.array([float(row.seen) for row in self.rows])

    @property
    def size(self) -> Array:
        """The typical size of an entry of u, shape (n,); 0 before it is known."""
        return np.array([row.size for row in self.rows])

    @property
    def displacement(self) -> Array:
        """That which was seen: the prior's deviation of an offset, shape (n,)."""
        return np.array([row.deviations[1] for row in self.rows])

    @property
    def started(self) -> BoolArray:
        """The rows that know the typical size of an entry of u."""
        return np.array([row.size > 0.0 for row in self.rows], dtype=np.bool_)

    @property
    def values(self) -> Array:
        """The eigenvalues of the estimates, shape (n, d); those of an estimate of a lower rank end with zeros.

        There are d whatever the ranks are: with fewer columns for a batch of low ranks, round-off would depend on it.
        """
        found = np.zeros((len(self.rows), self.dim))
        for own, row in zip(found, self.rows, strict=True):
            own[: row.values.size] = row.values
        return found

    @property
    def vectors(self) -> Array:
        """Their eigenvectors, shape (n, d, d), followed by zeros."""
        found = np.zeros((len(self.rows), self.dim, self.dim))
        for own, row in zip(found, self.rows, strict=True):
            own[:, : row.values.size] = row.vectors
        return found

    @property
    def dim(self) -> int:
        """The dimension d; 0 if there are no rows."""
        return len(self.rows[0].vectors) if self.rows else 0

    @property
    def shift(self) -> Array:
        """The offset b, which does not depend on the context, shape (n, d, 1 + context)."""
        found = np.zeros((len(self.rows), self.dim, 1 + self.context))
        for own, row in zip(found, self.rows, strict=True):
            own[:, 0] = row.offset
        return found

    def begun(
        self, terms: Terms, index: IntArray, size: Array, context_size: Array, displacement: Array | None = None
    ) -> Factored:
        """Return the rows after some of them were told the typical sizes of the entries of u and of the context."""
        rows = list(self.rows)
        known = terms.deviations(size, context_size, displacement)
        for i, own, deviations in zip(index, size, known, strict=True):
            rows[i] = evolve(rows[i], size=float(own), deviations=deviations)
        return evolve(self, rows=tuple(rows))

    def take(self, index: IntArray) -> Factored:
        """Return some of the rows."""
        return evolve(self, rows=tuple(self.rows[i] for i in index))

    @classmethod
    def join(cls, parts: list[Factored]) -> Factored:
        """Return the rows of several."""
        return evolve(parts[0], rows=tuple(row for part in parts for row in part.rows))

    def learn(self, terms: Terms, reading: Reading, noise_cap: float | None = None) -> tuple[Factored, Expectation]:
        """Return the rows after a reading, and what they expected of it."""
        u, y, _, factor, r, _, z, _ = reading.clipped()
        # All readings get the same noise.
        h = 1.0 / np.sqrt(np.maximum(r, 1e-60))
        w = np.sqrt(h if factor is None else np.maximum(factor, 0.0) * h)
        regressors = np.full((len(u), terms.regressors), np.nan) if z is None else z
        rows, found = [], []
        with np.errstate(all="ignore"):
            for row, known, *own in zip(self.rows, regressors, u, y.tolist(), h.tolist(), w.tolist(), strict=True):
                told = evolve(row.told(known), noise_cap=math.inf if noise_cap is None else noise_cap)
                new, weight = told.reading(*own), own[2]
                expected, heard = told.predict(new), float(new.y[0])
                density = expected.log_density(heard) + math.log(weight)
                error, variance = (heard - expected.mean) / weight, expected.variance / weight**2
                found.append((density, error, variance, told.sigma))
                rows.append(told.learn(new, expected))
        return evolve(self, rows=tuple(rows)), Expectation(*np.array(found).reshape(-1, 4).T)

    def settled(self, terms: Terms) -> Factored:
        """Return the rows with new estimates, after the work that is due."""
        return self._each(lambda row: row.settled(terms))

    def restarted(self, terms: Terms) -> Factored:
        """Return rows for which A may be another matrix from now on."""
        return self._each(lambda row: row.around(row.estimate(), row.sigma))

    def around(self, M: Array, noise: Array) -> Factored:
        """Return rows that start again around estimates, with known noise.

        Parameters
        ----------
        M : Array, shape (n, d, d)
            The estimates.
        noise : Array, shape (n,)
            The deviation of the noise.
        """
        both = zip(self.rows, M, noise.tolist(), strict=True)
        return evolve(self, rows=tuple(row.around(own, sigma) for row, own, sigma in both))

    def with_terms(self, terms: Terms) -> Factored:
        """Return rows for readings with more regressors, which start again around their estimates."""
        rows = []
        for row in self.rows:
            more = np.full(terms.regressors - row.z.size, np.nan)
            prior = terms.deviations(np.array([row.size]), np.zeros((1, terms.regressors)))[0, -more.size :]
            z, origin, deviations = (
                np.append(*pair) for pair in ((row.z, more), (row.origin, more), (row.deviations, prior))
            )
            wide = evolve(row, z=z, origin=origin, deviations=deviations)
            rows.append(wide.around(row.estimate(), row.sigma) if row.seen else wide.restarted)
        return evolve(self, rows=tuple(rows))

    def _each(self, change: Callable[[Row], Row]) -> Factored:
        """Return changed rows; those of which the estimate would not be finite keep the last one."""
        rows = []
        with np.errstate(all="ignore"):
            for row in self.rows:
                try:
                    new = change(row)
                    finite = bool(np.isfinite(new.values).all() and np.isfinite(new.vectors).all())
                except (LinAlgError, OverflowError, ZeroDivisionError):
                    finite = False
                rows.append(new if finite else row.reset())
        return evolve(self, rows=tuple(rows))

    def noise(self) -> Array:
        """Return the deviation of the noise, shape (n,)."""
        return np.array([row.sigma for row in self.rows])

    def load(self) -> Array:
        """Return the expected reading at x = v, shape (n,)."""
        return np.array([row.load for row in self.rows])

    def deviations(self, terms: Terms, directions: Array) -> Array:
        """Return the standard deviations of w'Aw for directions w of shape (n, k, d)."""
        variance = [row.covariances(W)[0] for row, W in zip(self.rows, directions, strict=True)]
        return 2.0 * np.sqrt(np.reshape(variance, directions.shape[:2]))

    def covariances(self, terms: Terms, U: Array) -> tuple[Array, Array]:
        """Return var(1/2 u'Au), shape (n, k), and Cov(A, 1/2 u'Au), shape (n, k, d, d), for u of shape (n, k, d)."""
        found = [row.covariances(own) for row, own in zip(self.rows, U, strict=True)]
        return np.array([one[0] for one in found]), np.array([one[1] for one in found])

    def image(self, terms: Terms, w: Array) -> Array:
        """Return the covariance of A w for vectors w of shape (n, d), shape (n, d, d)."""
        return np.array([row.image(own) for row, own in zip(self.rows, w, strict=True)])
