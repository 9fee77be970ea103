"""What a posterior of A is for: predict a reading, learn it, start again, and say where A is.

The rows of a posterior are independent of each other: a policy has one for each of its beliefs. There are two
representations, :class:`Bank` for few dimensions and :class:`soqo.estimators.factored.Factored` for many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from soqo._foundation.blas import sum_of_squares
from soqo._foundation.frozen_dataclasses import Value
from soqo.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from soqo.estimators.bayes._structures import Terms

FIRST_SCALE = 3.0
"""The eigenvalues of A that are played for before the first reading: closer to v than far from it."""

DECADES = 40.0
"""An error of any size has the density 1 / (40 |error|): uniform in its logarithm over nine decades, of both signs."""

MAX_DISTANCE = 1e25
"""Larger entries of u are scaled down, so that their squares do not overflow."""

MAX_READING = 1e60
"""Larger readings are clipped, so that their squares do not overflow."""


_ORDINARY = 1e20
"""Where all numbers are smaller, none overflows."""


class Reading(NamedTuple):
    """A reading for each row.

    Parameters
    ----------
    u : Array, shape (n, d)
        The displacement from the minimizer, x - v.
    y : Array, shape (n,)
        The reading.
    w : Array of shape (n, k), or None
        The context.
    factor : Array of shape (n,), or None
        What multiplies the hitting cost.
    r : Array, shape (n,)
        The variance of the noise in units of sigma^2.
    censored : BoolArray of shape (n,), or None
        The readings that say only that the true one is at least as large.
    z : Array of shape (n, m), or None
        The regressors of the base load: the minimizer, the time, and the covariates; NaN where one is not known.
    resolution : Array of shape (n,), or None
        The step of the meter; 0 for none.

    Examples
    --------
    >>> reading = Reading(np.ones((2, 3)), np.array([1.0, 4.0]), None, None, np.ones(2))
    >>> reading.take(np.array([1])).y
    array([4.])
    """

    u: Array
    y: Array
    w: Array | None
    factor: Array | None
    r: Array
    censored: BoolArray | None = None
    z: Array | None = None
    resolution: Array | None = None

    def take(self, index: IntArray) -> Reading:
        """Return the readings of some rows.

        Parameters
        ----------
        index : IntArray
            The numbers of the rows.
        """
        taken: list[Any] = [None if part is None else part[index] for part in self]
        return Reading(*taken)

    def clipped(self) -> Reading:
        """Return readings whose squares do not overflow."""
        numbers = (self.u, self.y, self.w, self.factor, self.r, self.z, self.resolution)
        if all(part is None or sum_of_squares(part) < _ORDINARY**2 for part in numbers):
            return self
        u, y = clip_readings(self.u, self.y)
        w, z = (None if part is None else np.clip(part, -MAX_DISTANCE, MAX_DISTANCE) for part in (self.w, self.z))
        factor = None if self.factor is None else np.minimum(self.factor, MAX_DISTANCE)
        r = np.minimum(self.r, MAX_READING)
        resolution = None if self.resolution is None else np.minimum(self.resolution, MAX_DISTANCE)
        return Reading(u, y, w, factor, r, self.censored, z, resolution)


def clip_readings(u: Array, y: Array) -> tuple[Array, Array]:
    """Return readings whose squares do not overflow; 1/2 u'Au = y still holds for the same A.

    Parameters
    ----------
    u : Array, shape (n, d)
        The displacements.
    y : Array, shape (n,)
        The readings.

    Examples
    --------
    >>> u, y = clip_readings(np.full((1, 1), 1e30), np.full(1, 1e60))
    >>> u, y
    (array([[1.e+25]]), array([1.e+50]))
    """
    largest = np.abs(u).max(axis=1, initial=0.0)
    share = np.minimum(1.0, MAX_DISTANCE / np.maximum(largest, 1.0))
    return u * share[:, None], np.clip(y * share * share, -MAX_READING, MAX_READING)


class Expectation(NamedTuple):
    """What each row expected of a reading before it was told it.

    Parameters
    ----------
    log_density : Array, shape (n,)
        The logarithm of the predictive density of the reading.
    error, variance : Array, shape (n,)
        The reading less its expectation, and the variance that was expected of this.
    noise : Array, shape (n,)
        The deviation of the noise, sigma.

    Examples
    --------
    >>> Expectation(np.array([-1.0]), np.array([0.5]), np.ones(1), np.ones(1)).error
    array([0.5])
    """

    log_density: Array
    error: Array
    variance: Array
    noise: Array


class Posterior(Value, ABC):
    """Posteriors of A in independent rows.

    Attributes
    ----------
    readings : Array, shape (n,)
        The number of readings learned.
    size, displacement : Array, shape (n,)
        The typical size of an entry of u, and that which was seen; 0 before it is known.
    started : BoolArray, shape (n,)
        The rows that know the typical size of a displacement. The others cannot learn.
    values, vectors : Array, shapes (n, d) and (n, d, d)
        The spectrum of the estimate of A, which is positive semi-definite; vectors of the eigenvalue zero may be zero.
    shift : Array, shape (n, d, 1 + context)
        The offset b of the minimizer v - b, and how it depends on the context.

    Examples
    --------
    >>> from soqo.estimators.bayes import Bank, Terms
    >>> terms = Terms(2)
    >>> posterior = Bank.start(terms, 1).begun(terms, np.array([0]), np.ones(1), np.ones((1, 0)))
    >>> for u in np.random.default_rng(0).standard_normal((40, 1, 2)):
    ...     reading = Reading(u, 1.5 * np.vecdot(u, u), None, None, np.ones(1))
    ...     posterior = posterior.learn(terms, reading)[0].settled(terms)
    >>> posterior.values.round(2)
    array([[3., 3.]])
    """

    if TYPE_CHECKING:  # fields of one subclass, properties of the other

        @property
        def readings(self) -> Array: ...
        @property
        def size(self) -> Array: ...
        @property
        def displacement(self) -> Array: ...
        @property
        def started(self) -> BoolArray: ...
        @property
        def values(self) -> Array: ...
        @property
        def vectors(self) -> Array: ...
        @property
        def shift(self) -> Array: ...

    @classmethod
    @abstractmethod
    def start(cls, terms: Terms, count: int) -> Self:
        """Return rows before the first reading.

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        count : int
            The number of rows.
        """

    @abstractmethod
    def take(self, index: IntArray) -> Self:
        """Return some of the rows.

        Parameters
        ----------
        index : IntArray
            The numbers of the rows.
        """

    @classmethod
    @abstractmethod
    def join(cls, parts: list[Self]) -> Self:
        """Return the rows of several.

        Parameters
        ----------
        parts : list of Posterior
            The posteriors, of one class.
        """

    @abstractmethod
    def begun(
        self, terms: Terms, index: IntArray, size: Array, context_size: Array, displacement: Array | None = None
    ) -> Self:
        """Return the rows after some of them were told the typical sizes of the entries of u and of what else is known.

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        index : IntArray, shape (m,)
            The numbers of these rows.
        size : Array, shape (m,)
            The typical size of an entry of u.
        context_size : Array, shape (m, k)
            The typical sizes of the entries of the context, and of the regressors.
        displacement : Array of shape (m,), optional
            The typical size of an entry of u as it was seen, which is that of an offset; ``size`` unless given.
        """

    @abstractmethod
    def learn(self, terms: Terms, reading: Reading, noise_cap: float | None = None) -> tuple[Self, Expectation]:
        """Return the rows after a reading, and what they expected of it.

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        reading : Reading
            A reading for each row.
        noise_cap : float, optional
            A bound on the deviation of the noise.
        """

    @abstractmethod
    def settled(self, terms: Terms) -> Self:
        """Return the rows with new estimates, and without what no longer matters.

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        """

    @abstractmethod
    def restarted(self, terms: Terms) -> Self:
        """Return rows for which A may be another matrix from now on.

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        """

    @abstractmethod
    def with_terms(self, terms: Terms) -> Self:
        """Return rows for readings with more regressors, on which the base load may depend from now on.

        Parameters
        ----------
        terms : Terms
            What readings may contain from now on.
        """

    @abstractmethod
    def noise(self) -> Array:
        """Return the deviation of the noise, shape (n,)."""

    @abstractmethod
    def load(self) -> Array:
        """Return the expected reading at x = v, shape (n,)."""

    @abstractmethod
    def deviations(self, terms: Terms, directions: Array) -> Array:
        """Return the standard deviations of w'Aw, shape (n, k).

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        directions : Array, shape (n, k, d)
            The directions w.
        """

    @abstractmethod
    def covariances(self, terms: Terms, U: Array) -> tuple[Array, Array]:
        """Return var(1/2 u'Au), shape (n, k), and Cov(A, 1/2 u'Au), shape (n, k, d, d).

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        U : Array, shape (n, k, d)
            The displacements u.
        """

    @abstractmethod
    def image(self, terms: Terms, w: Array) -> Array:
        """Return the covariance of A w, shape (n, d, d).

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        w : Array, shape (n, d)
            The vectors w.
        """

    def lowest(self, terms: Terms) -> Array:
        """Return the lowest eigenvalue, in its deviations, of A before it was required to have none below zero.

        It is far below zero where readings fall with the distance from the minimizer; NaN if it is not known.

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        """
        return np.full(len(self.size), np.nan)

    def offset_covariance(self, terms: Terms) -> Array:
        """Return the covariance of the offset b, given the estimate of A, shape (n, d, d); NaN if it is not known.

        Parameters
        ----------
        terms : Terms
            What readings may contain.
        """
        return np.full((len(self.size), terms.dim, terms.dim), np.nan)
