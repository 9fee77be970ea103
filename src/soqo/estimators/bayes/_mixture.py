r"""The average of filters by their evidence, and the estimates of A and of the offset that follow from it.

With the weights w_k, the mixture of the posteriors N(m_k, P_k) has the moments

    m = sum w_k m_k,    P = sum w_k (P_k + (m_k - m)(m_k - m)').

The estimate of A is the MAP estimate in the cone for these moments (`_cone`). The offset follows from g = A b, given
that estimate: with E[g | A] and eigenvectors q of A, b is a ridge regression with the prior deviation of an offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from soqo._model.spectrum import Spectrum
from soqo.estimators._measurements import smat, svec, svec_rows
from soqo.estimators.bayes._cone import map_in_cone
from soqo.estimators.bayes._filters import Filters, begins
from soqo.estimators.bayes._structures import STRUCTURES, Terms
from soqo.typing import Array, BoolArray, IntArray

LEADING_NATS = 4.0
"""Filters this far behind the best one are left out of covariances, to stay within the budget of a round."""

WISHART_WEIGHT = 0.1
"""The weight of the Wishart density in the cone: half of its degrees of freedom beyond d + 1."""

NEGLIGIBLE = 1e-3
"""An offset of a smaller probability is not computed, to stay within the budget of a round."""

_HAS_OFFSET = np.array([float(one.offset) for one in STRUCTURES])

INSIDE = 4.0
"""The cone is left out, to stay within the budget of a round, where the smallest eigenvalue of the mean is this many
deviations above zero."""


@dataclass(frozen=True)
class Mixture:
    """Filters and the logarithms of their weights; one mixture for each row that has filters.

    Attributes
    ----------
    filters : Filters
        The filters, sorted by row.
    starts : IntArray, shape (rows,)
        Where the filters of a row begin.
    segment : IntArray, shape (n,)
        Which of the mixtures each filter belongs to.
    """

    filters: Filters
    starts: IntArray
    segment: IntArray

    @classmethod
    def of(cls, filters: Filters) -> Mixture:
        """Return the mixtures of some filters."""
        first = begins(filters.group)
        return cls(filters, first.nonzero()[0], first.cumsum() - 1)

    @property
    def rows(self) -> IntArray:
        """The rows that have filters."""
        return self.filters.group[self.starts]

    @cached_property
    def top(self) -> Array:
        """The largest log weight of each row."""
        return np.asarray(np.maximum.reduceat(self.filters.log_weight, self.starts))

    @cached_property
    def behind(self) -> Array:
        """By how much the log weight of each filter is below the largest of its row."""
        return np.asarray(self.top[self.segment] - self.filters.log_weight)

    @cached_property
    def log_total(self) -> Array:
        """The logarithm of the sum of the weights of each row."""
        return np.asarray(self.top + np.log(np.add.reduceat(np.exp(-self.behind), self.starts)))

    @cached_property
    def shares(self) -> Array:
        """The weight of each filter, of the sum one in each row."""
        return np.asarray(np.exp(self.filters.log_weight - self.log_total[self.segment]))

    @property
    def best(self) -> IntArray:
        """The filter of the largest weight in each row."""
        order = np.lexsort((self.behind, self.segment))
        return order[self.starts]

    def mean(self, values: Array) -> Array:
        """Return the weighted mean of a number or an array for each filter."""
        shares = self.shares.reshape(-1, *(1,) * (values.ndim - 1))
        return np.asarray(np.add.reduceat(shares * values, self.starts))

    @cached_property
    def leading(self) -> Mixture:
        """The mixtures of the filters that matter for covariances."""
        keep = self.behind < LEADING_NATS
        return self if keep.all() else Mixture.of(self.filters.take(np.flatnonzero(keep)))

    def of_rows(self, chosen: BoolArray) -> Mixture:
        """Return some of the mixtures."""
        return Mixture.of(self.filters.take(np.flatnonzero(chosen[self.segment])))

    # ---- moments ---------------------------------------------------------------------------------------------------

    @cached_property
    def theta(self) -> Array:
        """The mean m of the unknowns, shape (rows, size)."""
        return self.mean(self.filters.mean)

    def covariance(self, first: int) -> Array:
        """Return the covariance P of the unknowns from number ``first`` on."""
        f = self.filters
        root = f.root[:, first:, first:] * np.sqrt(f.noise_variance)[:, None, None]
        away = f.mean[:, first:] - self.theta[self.segment, first:]
        return self.mean(root @ root.mT + away[:, :, None] * away[:, None, :])

    def variance(self, rows: Array, first: int) -> Array:
        """Return the variance of one linear function of these unknowns in each row."""
        f = self.filters
        along = rows[self.segment]
        spread = np.vecmat(along, f.root[:, first:, first:])
        away = np.vecdot(f.mean[:, first:] - self.theta[self.segment, first:], along)
        return self.mean(f.noise_variance * np.vecdot(spread, spread) + away * away)

    # ---- estimates -------------------------------------------------------------------------------------------------

    def estimate(self, terms: Terms, near: Spectrum, readings: Array) -> Spectrum:
        """Return the spectrum of the MAP estimate in the cone.

        Parameters
        ----------
        terms : Terms
            The columns of the features.
        near : Spectrum
            The spectrum of the last estimate.
        readings : Array, shape (rows,)
            The number of readings.
        """
        e, p = terms.extras, terms.size - terms.extras
        spectrum = Spectrum.of(smat(self.theta[:, e:]))
        lowest = np.sqrt(self.variance(2.0 * svec_rows(spectrum.vectors[:, :, 0]), e))
        outside = (spectrum.values[:, 0] < INSIDE * lowest) | (readings < p + 5)
        if not outside.any():
            return spectrum
        part = self.leading.of_rows(outside)
        covariance = part.covariance(e)
        start = Spectrum(near.values[outside], near.vectors[outside])
        rows = 2.0 * svec_rows(start.vectors.mT)
        deviation = np.sqrt(np.maximum(np.vecdot(rows @ covariance, rows), 0.0))
        start = Spectrum(np.maximum(start.values, 1e-2 * deviation + 1e-150), start.vectors)
        # Readings of exactly zero leave the mean at zero: a scale far below all deviations would overflow.
        least = np.maximum(1e-2 * lowest[outside], 1e-100)
        scale = np.maximum(np.abs(spectrum.values[outside]).mean(axis=1), least)
        steps = np.where(readings[outside] <= 2 * p, 12, 6)
        found = map_in_cone(smat(part.theta[:, e:]), covariance, start, WISHART_WEIGHT, scale, steps)
        values, vectors = spectrum.values, spectrum.vectors
        values[outside], vectors[outside] = found.values, found.vectors
        return Spectrum(np.maximum(values, 0.0), vectors)

    def shift(self, terms: Terms, estimate: Spectrum, size: Array, context_size: Array) -> Array:
        """Return the offset b of each row, and how it depends on the context, shape (rows, d, 1 + k).

        Parameters
        ----------
        terms : Terms
            The columns of the features.
        estimate : Spectrum
            The estimate of A.
        size, context_size : Array, shapes (rows,) and (rows, k)
            The typical sizes of the entries of u and of the context.
        """
        d, k, e = terms.dim, terms.context, terms.extras
        first, n = terms.load + terms.factor, d * (1 + k)
        own_A = e - first
        result = np.zeros((len(size), d, 1 + k))
        exists = self.mean(_HAS_OFFSET[self.filters.kind]) > NEGLIGIBLE
        if not exists.any():
            return result
        part, Q, values = self.leading.of_rows(exists), estimate.vectors[exists], estimate.values[exists]
        joint = part.covariance(first)
        # What is known of g once A is the estimate.
        C = joint[:, own_A:, own_A:]
        C = C + 1e-10 * np.trace(C, axis1=1, axis2=2)[:, None, None] * np.eye(C.shape[1])
        change = svec(Spectrum(values, Q).matrix()) - part.theta[:, e:]
        regression = np.linalg.solve(C, joint[:, own_A:, :n])
        g = part.theta[:, first : first + n] + np.vecmat(change, regression)
        covariance = joint[:, :n, :n] - joint[:, :n, own_A:] @ regression
        for j in range(1 + k):
            own = terms.offset_columns(j)
            along = np.vecmat(g[:, own], Q)
            variance = np.maximum(np.vecdot(Q.mT @ covariance[:, own[:, None], own], Q.mT), 0.0)
            prior = size[exists]
            if j:
                prior = prior / np.maximum(context_size[exists, j - 1], 1e-150)
            scale = np.maximum(np.square(values) + variance / np.square(prior)[:, None], 1e-300)
            result[exists, :, j] = np.matvec(Q, values * along / scale)
        return result

    def offset_variances(self, terms: Terms, estimate: Spectrum, b: Array, size: Array) -> Array:
        """Return the variances of an offset b along the eigenvectors of the estimate, shape (rows, d).

        Parameters
        ----------
        terms : Terms
            The columns of the features.
        estimate : Spectrum
            The estimate of A.
        b : Array, shape (rows, d)
            The offset.
        size : Array, shape (rows,)
            The typical size of an entry of u.
        """
        d, first, variances = terms.dim, terms.load + terms.factor, np.zeros(b.shape)
        exists = self.mean(_HAS_OFFSET[self.filters.kind]) > NEGLIGIBLE
        if not exists.any():
            return variances
        joint, Q, values = (
            self.leading.of_rows(exists).covariance(first),
            estimate.vectors[exists],
            estimate.values[exists],
        )
        # A is not known either: an error of b is one of g - A b, to the first order.
        own, rows = b[exists, None], np.zeros((len(Q), d, joint.shape[1]))
        rows[:, :, terms.offset_columns(0)] = Q.mT
        rows[:, :, terms.extras - first :] = -0.5 * (svec_rows(own + Q.mT) - svec_rows(own - Q.mT))
        variance = np.maximum(np.vecdot(rows @ joint, rows), 0.0)
        scale = np.square(values) + variance / np.square(size[exists])[:, None]
        variances[exists] = variance / np.maximum(scale, 1e-300)
        return variances
