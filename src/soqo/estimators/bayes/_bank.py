"""A bank of filters for each belief: one for every structure and every ratio of the scale of A to the noise.

The bank is a Bayesian model average: the weight of a filter is its prior probability times its evidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import register
from soqo.estimators._measurements import smat, svec_rows
from soqo.estimators.bayes._filters import Filters, Step, begins, learn
from soqo.estimators.bayes._mixture import Mixture
from soqo.estimators.bayes._posterior import FIRST_SCALE, Expectation, Posterior, Reading
from soqo.estimators.bayes._priors import RESTARTS, filters_around, fresh_filters
from soqo.estimators.bayes._structures import STRUCTURES, Terms
from soqo.typing import Array, BoolArray, IntArray

OUTDATED = 10.0
"""The factor of all deviations of a filter that has learned without regressors on which the base load now depends."""

NOISE_MEMORY = 100.0
"""The noise is that of about so many readings, and older ones are forgotten: with the noise of quiet hours, readings
of busy ones would be taken for wrong, or for a change of A."""

NEGLIGIBLE_NATS = 25.0
"""Hypotheses so far behind the best one are dropped. What a structure has in more unknowns counts against it until they
are known, and a base load may show only after a day what it depends on: 12 would drop what proves right later."""


@register(
    "Bank",
    version=3,
    migrations={
        1: lambda fields: {**fields, "z": np.full((len(fields["size"]), 0), np.nan)},
        2: lambda fields: {**fields, "displacement": fields["size"]},
    },
)
@dataclass(frozen=True)
class Bank(Posterior):
    """Banks of filters in independent rows; see :class:`soqo.estimators.bayes.Posterior`.

    Attributes
    ----------
    filters : Filters
        The filters of all rows; the row is their group.
    size : Array, shape (n,)
        The typical size of an entry of u; 0 before it is known, when there are no filters.
    displacement : Array, shape (n,)
        That which was seen. Before the first step of v it may be far below ``size``, which also bounds what a first
        reading says of A; the offset has this size.
    context_size : Array, shape (n, k + m)
        The typical sizes of the entries of the context, and of the regressors.
    readings : Array, shape (n,)
        The number of readings learned.
    known_noise : Array, shape (n,)
        The noise that was known before the last change; infinite for none.
    values, vectors : Array, shapes (n, d) and (n, d, d)
        The spectrum of the estimate.
    shift : Array, shape (n, d, 1 + k)
        The offset, and how it depends on the context.
    z : Array, shape (n, m)
        The regressors of the last reading learned; NaN for none.
    """

    filters: Filters
    size: Array
    displacement: Array
    context_size: Array
    readings: Array
    known_noise: Array
    values: Array
    vectors: Array
    shift: Array
    z: Array

    @classmethod
    def start(cls, terms: Terms, count: int) -> Bank:
        """Return rows before the first reading."""
        d, zero = terms.dim, np.zeros(count)
        vectors = np.broadcast_to(np.eye(d), (count, d, d)).copy()
        shift, context = np.zeros((count, d, 1 + terms.context)), np.zeros((count, terms.context + terms.regressors))
        values = np.full((count, d), FIRST_SCALE)
        filters, z = Filters.none(terms.size, terms.extras), np.full((count, terms.regressors), np.nan)
        return cls(filters, zero, zero, context, zero, zero + np.inf, values, vectors, shift, z)

    @property
    def started(self) -> BoolArray:
        """The rows that have filters."""
        return np.asarray(self.size > 0.0)

    def begun(
        self, terms: Terms, index: IntArray, size: Array, context_size: Array, displacement: Array | None = None
    ) -> Bank:
        """Return the rows after some of them have begun to learn, now that typical sizes are known."""
        rest = np.setdiff1d(np.arange(len(self.size)), index)
        displacement = size if displacement is None else displacement
        filters = fresh_filters(terms, size, context_size, displacement)
        sizes = {"size": size, "displacement": displacement, "context_size": context_size}
        new = evolve(Bank.start(terms, len(index)), filters=filters, **sizes)
        return Bank.join([new, self.take(rest)]).take(np.argsort(np.concatenate([index, rest]))) if rest.size else new

    # ---- rows ------------------------------------------------------------------------------------------------------

    def take(self, index: IntArray) -> Bank:
        """Return some of the rows."""
        if len(index) == len(self.size) and bool((index == np.arange(len(index))).all()):
            return self
        counts = np.bincount(self.filters.group, minlength=len(self.size))
        first = (np.cumsum(counts) - counts)[index]
        counts = counts[index]
        where = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        filters = evolve(self.filters.take(where), group=np.repeat(np.arange(len(index)), counts))
        rest = {name: value[index] for name, value in self.__dict__.items() if name != "filters"}
        return Bank(filters=filters, **rest)

    @classmethod
    def join(cls, parts: list[Bank]) -> Bank:
        """Return the rows of several."""
        first = np.cumsum([0, *(len(part.size) for part in parts)])
        moved = [evolve(one.filters, group=one.filters.group + n) for one, n in zip(parts, first, strict=False)]
        names = [name for name in parts[0].__dict__ if name != "filters"]
        rest = {name: np.concatenate([part.__dict__[name] for part in parts]) for name in names}
        return cls(filters=Filters.join(moved), **rest)

    # ---- readings --------------------------------------------------------------------------------------------------

    def learn(self, terms: Terms, reading: Reading, noise_cap: float | None = None) -> tuple[Bank, Expectation]:
        """Return the rows after a reading, and what they expected of it."""
        z = self.z if reading.z is None else np.where(np.isnan(reading.z), self.z, reading.z)
        rows, step = self._told(terms, z) if terms.regressors else (self, None)
        old, mixture = rows._with_recent_noise(reading), Mixture.of(rows.filters)
        new, expected = learn(
            old,
            terms.features(reading),
            reading.y,
            reading.r,
            step=step,
            censored=reading.censored,
            noise_cap=noise_cap,
            resolution=reading.resolution,
        )
        mean = mixture.mean(expected.mean)
        variance = mixture.mean(expected.scale2 + np.square(expected.mean - mean[old.group]))
        density = Mixture(new, mixture.starts, mixture.segment).log_total - mixture.log_total
        error = reading.y - mean
        if reading.censored is not None:  # at the limit of the meter, a reading is too low at most by chance
            error = np.where(reading.censored, np.maximum(error, 0.0), error)
        outcome = Expectation(density, error, variance, rows._noise(mixture))
        return evolve(rows, filters=new, readings=self.readings + 1.0, z=z), outcome

    def _with_recent_noise(self, reading: Reading) -> Filters:
        """Return the filters for which old readings count less in the noise, unless the reading says nothing of it.

        The noise may change slowly: its variance is learned with a discount (West and Harrison, "Bayesian Forecasting
        and Dynamic Models", 1997).
        """
        told = np.ones(len(self.size)) if reading.censored is None else 1.0 - reading.censored
        kept = (1.0 - told / NOISE_MEMORY)[self.filters.group]
        return evolve(self.filters, a=kept * self.filters.a, b=kept * self.filters.b)

    def _told(self, terms: Terms, z: Array) -> tuple[Bank, Step]:
        """Return the rows that know the size of the first steps of the regressors, and what these steps are."""
        change = z - self.z
        change[np.isnan(change)] = 0.0
        step = Step(np.maximum(change[:, terms.dim], 1.0), terms.walking, change)
        k, rows = terms.context, self
        shown = (self.context_size[:, k:] == 0.0) & (change != 0.0)
        if shown.any():
            size = np.where(shown, np.abs(change), 1.0)
            context_size = self.context_size.copy()
            context_size[:, k:] = np.where(shown, size, context_size[:, k:])
            own, part = size[self.filters.group], slice(terms.walking, terms.extras)
            root, steps = self.filters.root.copy(), self.filters.steps.copy()
            root[:, part] /= own[:, :, None]
            steps[:, part] /= own
            rows = evolve(self, filters=evolve(self.filters, root=root, steps=steps), context_size=context_size)
        return rows, step

    def settled(self, terms: Terms) -> Bank:
        """Return the rows with new estimates, and without filters of low weight."""
        kept, mixture = self, Mixture.of(self.filters)
        keep = mixture.behind < NEGLIGIBLE_NATS
        if not keep.all():
            kept = evolve(self, filters=self.filters.take(np.flatnonzero(keep)))
            mixture = Mixture.of(kept.filters)
        found = mixture.estimate(terms, Spectrum(kept.values, kept.vectors), kept.readings)
        shift = mixture.shift(terms, found, self.displacement, self.context_size)
        return evolve(kept, values=found.values, vectors=found.vectors, shift=shift)

    # ---- changes ---------------------------------------------------------------------------------------------------

    def restarted(self, terms: Terms) -> Bank:
        """Return rows for which A may be another matrix from now on."""
        mixture = Mixture.of(self.filters)
        noise, unknowns = self.noise(), terms.size - terms.extras
        # Noise that few readings have shown may be too large: an A that has changed adds to it.
        noise = np.where(self.readings >= 12 * unknowns, noise, np.minimum(noise, self.known_noise))
        M = Spectrum(self.values, self.vectors).matrix()
        return self.around(terms, M, noise, self.filters.take(mixture.best))

    def around(self, terms: Terms, M: Array, noise: Array, like: Filters) -> Bank:
        """Return rows that start around an estimate.

        Parameters
        ----------
        terms : Terms
            The columns of the features.
        M, noise : Array, shapes (n, d, d) and (n,)
            The estimate, and the deviation of the noise.
        like : Filters
            A filter for each row, whose structure and whose load and offset are kept.
        """
        deviations = terms.deviations(self.size, self.context_size, self.displacement)
        around = filters_around(terms, deviations, M, noise, like)
        fresh = fresh_filters(terms, self.size, self.context_size, self.displacement)
        fresh = evolve(fresh, log_weight=fresh.log_weight - math.log(len(RESTARTS) + 1))
        values, vectors = Spectrum.of(M).values, Spectrum.of(M).vectors
        filters, zero = Filters.join([around, fresh]), np.zeros(len(M))
        return evolve(self, filters=filters, readings=zero, known_noise=noise, values=values, vectors=vectors)

    @classmethod
    def resumed(cls, terms: Terms, size: Array, context_size: Array, M: Array, noise: Array, kind: IntArray) -> Bank:
        """Return rows that start around estimates, noise and structures that others have learned.

        Parameters
        ----------
        terms : Terms
            The columns of the features.
        size, context_size : Array, shapes (n,) and (n, k)
            The typical sizes of u, of the context and of the regressors.
        M, noise, kind : Array, shapes (n, d, d), (n,) and (n,)
            The estimates, the deviations of the noise, and the structures.
        """
        count = len(size)
        rows = cls.start(terms, count).begun(terms, np.arange(count), size, context_size)
        fits = np.flatnonzero(rows.filters.kind == kind[rows.filters.group])
        return rows.around(terms, M, noise, rows.filters.take(fits[begins(rows.filters.group[fits])]))

    def with_terms(self, terms: Terms) -> Bank:
        """Return rows for readings with more regressors, on which the base load may depend from now on.

        Parameters
        ----------
        terms : Terms
            The columns of the features with them.
        """
        none = np.zeros((len(self.size), terms.regressors - self.z.shape[1]))
        size, z = (np.concatenate(pair, axis=1) for pair in ((self.context_size, none), (self.z, none + np.nan)))
        rows = evolve(self, filters=self.filters.widened(none.shape[1]), context_size=size, z=z)
        return (
            evolve(rows, filters=Filters.join([rows.filters, *_depending(terms, rows)])) if self.started.any() else rows
        )

    # ---- reports ---------------------------------------------------------------------------------------------------

    def noise(self) -> Array:
        """Return the deviation of the noise, shape (n,), by the geometric mean; NaN for rows without filters."""
        found = np.full(len(self.size), np.nan)
        if len(self.filters.group):
            mixture = Mixture.of(self.filters)
            found[mixture.rows] = self._noise(mixture)
        return found

    def _noise(self, mixture: Mixture) -> Array:
        return np.asarray(np.exp(0.5 * mixture.mean(np.log(self.filters.noise_variance))))

    def load(self) -> Array:
        """Return the expected reading at x = v, shape (n,)."""
        found = np.zeros(len(self.size))
        if len(self.filters.group):
            mixture = Mixture.of(self.filters)
            found[mixture.rows] = mixture.mean(self.filters.mean[:, 0])
        return found

    def deviations(self, terms: Terms, directions: Array) -> Array:
        """Return the standard deviations of w'Aw for directions w of shape (n, k, d)."""
        found: Array = FIRST_SCALE * np.vecdot(directions, directions)
        if len(self.filters.group):
            mixture = Mixture.of(self.filters).leading
            rows = 2.0 * svec_rows(directions[mixture.rows])
            covariance = mixture.covariance(terms.extras)
            found[mixture.rows] = np.sqrt(np.maximum(np.vecdot(rows @ covariance, rows), 0.0))
        return found

    def lowest(self, terms: Terms) -> Array:
        """Return the lowest eigenvalue, in its deviations, of A before it was required to have none below zero."""
        found = np.full(len(self.size), np.nan)
        if len(self.filters.group):
            mixture = Mixture.of(self.filters).leading
            spectrum = Spectrum.of(smat(mixture.theta[:, terms.extras :]))
            rows = 2.0 * svec_rows(spectrum.vectors[:, :, 0])
            variance = np.maximum(mixture.variance(rows, terms.extras), 1e-300)
            found[mixture.rows] = spectrum.values[:, 0] / np.sqrt(variance)
        return found

    def offset_covariance(self, terms: Terms) -> Array:
        """Return the covariance of the offset b, given the estimate of A, shape (n, d, d)."""
        found = np.full((len(self.size), terms.dim, terms.dim), np.nan)
        if len(self.filters.group):
            mixture = Mixture.of(self.filters).leading
            own = self.take(mixture.rows)
            estimate = Spectrum(own.values, own.vectors)
            variances = mixture.offset_variances(terms, estimate, own.shift[:, :, 0], own.displacement)
            found[mixture.rows] = estimate.matrix(variances)
        return found

    def covariances(self, terms: Terms, U: Array) -> tuple[Array, Array]:
        """Return var(1/2 u'Au), shape (n, k), and Cov(A, 1/2 u'Au), shape (n, k, d, d), for u of shape (n, k, d)."""
        rows = svec_rows(U)
        cross = rows @ Mixture.of(self.filters).leading.covariance(terms.extras)
        return np.vecdot(cross, rows), smat(cross)

    def image(self, terms: Terms, w: Array) -> Array:
        """Return the covariance of A w for vectors w of shape (n, d), shape (n, d, d)."""
        eye = np.eye(terms.dim)
        rows = 0.5 * (svec_rows(w[:, None] + eye) - svec_rows(w[:, None] - eye))
        return rows @ Mixture.of(self.filters).leading.covariance(terms.extras) @ rows.mT


def _depending(terms: Terms, bank: Bank) -> list[Filters]:
    """Return the best filters of some banks for each structure with regressors that has their offset or none."""
    best, parts, index = bank.filters.take(Mixture.of(bank.filters).best), [], np.arange(terms.extras)
    for number, one in terms.structures:
        like = best.take(np.flatnonzero([one.regressors and STRUCTURES[k].offset == one.offset for k in best.kind]))
        # What the filter does not have begins with the prior for an A whose cost is at least that of the noise.
        size, squares = bank.size[like.group], np.square(bank.values).mean(axis=1)[like.group]
        level = np.maximum(np.sqrt(squares / like.noise_variance), 2.0 / (terms.dim * np.square(size)))
        known = (one[like.group] for one in (bank.size, bank.context_size, bank.displacement))
        prior = terms.deviations(*known) * terms.exist(one) * level[:, None]
        root, steps, keep = OUTDATED * like.root, np.zeros(prior.shape), np.ones(prior.shape)
        root[:, index, index] = np.where(root[:, index, index] > 0.0, root[:, index, index], prior)
        steps[:, 0], steps[:, terms.walking :] = one.load_step, one.regressor_step * prior[:, terms.walking :]
        keep[:, terms.walking :] = math.sqrt(1.0 - one.regressor_step**2)
        odds = np.log([one.probability / STRUCTURES[k].probability for k in like.kind])
        kind, weight = np.full(len(odds), number), like.log_weight + odds
        parts.append(evolve(like, kind=kind, root=root, log_weight=weight, steps=steps, keep=keep))
    return parts
