"""What readings say of the hitting cost, whatever a policy believes: a regression that needs no base load and no scale.

A reading is 1/2 u'Au + load + noise, where the load may be any walk. The regression compares each reading with the
running mean of those before it, and the squares of u with their own running mean in the same way, so that a load that
stays for a while cancels. How quickly the mean forgets is the question of how much of the errors is load: the three
answers of GAINS are tried, and the one counts whose errors are smallest (a regression with ARIMA(0, 1, 1) errors).

The load may also follow covariates: they are further columns of the regression, whose part of a reading is no cost.

Errors are clipped at CLIP deviations, so that a spike moves the estimate as little as any large error does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.policies._runs import join_rows, take_rows
from soqo.typing import Array, BoolArray, IntArray

GAINS = np.array([0.03, 0.25, 1.0, 0.15, 0.4])
"""The share by which the running mean of readings moves to the last one: the last reading alone is the gain 1."""

TRENDS = np.array([0.0, 0.0, 0.0, 0.012, 0.1])
"""The share of the errors that goes into the trend of the mean."""

WINDOW = 500.0
"""The number of readings after which a reading counts less by a factor e, since A may change."""

CLIP = 4.0
"""Errors are clipped at so many deviations."""

RESTART = 4.0
"""After so many clipped errors of one sign in a row, the load is another one: the mean begins anew."""

DOUBT = 0.1
"""The share of the evidence that is left after that, and after a reading that says nothing: A may have changed, too."""

PRIOR_SCALE = 10.0
"""The deviation of the eigenvalues of A that all dimensions have, before the first reading."""

PRIOR_SHAPE = 3.0
"""The deviation of a single entry of A."""

MAX_FULL_DIM = 6
"""With more dimensions than this, A counts as diagonal."""


def features(u: Array, factor: Array | None) -> Array:
    """Return the entries of 1/2 factor u u', shape (runs, m), whose product with those of A is the hitting cost."""
    u = np.clip(u, -1e40, 1e40)
    if u.shape[1] <= MAX_FULL_DIM:
        i, k, scale = _pairs(u.shape[1])
        rows = scale * u[:, i] * u[:, k]
    else:
        rows = 0.5 * np.square(u)
    return rows if factor is None else rows * np.minimum(factor.reshape(-1), 1e40)[:, None]


@cache
def _pairs(d: int) -> tuple[IntArray, IntArray, Array]:
    """Return rows, columns and factors of the entries, so that products of vectors are those of the matrices."""
    i, k = np.triu_indices(d)
    return i, k, np.where(i == k, 0.5, math.sqrt(0.5))


@cache
def _prior(d: int) -> Array:
    """Return the precision of the entries of A before the first reading."""
    identity = 2.0 * features(np.eye(d), None).sum(axis=0)
    return np.asarray(
        np.linalg.inv(PRIOR_SHAPE**2 * np.eye(identity.size) + PRIOR_SCALE**2 * np.outer(identity, identity))
    )


@register("Guarded.evidence")
@dataclass(frozen=True)
class Evidence(Value):
    """What some runs know of A, for each of the GAINS.

    Attributes
    ----------
    count : Array, shape (runs,)
        The number of readings.
    mean, mean_features : Array, shapes (runs, gains) and (runs, gains, m + k)
        The running means of the readings, and of their features and k covariates.
    variance : Array, shape (runs, gains)
        The mean square of the errors.
    clipped : Array, shape (runs, gains)
        The number of clipped errors in a row, negative if they are below.
    gram, moment : Array, shapes (runs, gains, m + k, m + k) and (runs, gains, m + k)
        The sums of the products of these columns, and of columns and readings.
    entries, covariance : Array, shapes (runs, m) and (runs, m, m)
        The estimate of A, and its covariance.
    """

    count: Array
    mean: Array
    mean_features: Array
    trend: Array
    trend_features: Array
    variance: Array
    clipped: Array
    gram: Array
    moment: Array
    entries: Array
    covariance: Array

    @classmethod
    def start(cls, runs: int, d: int) -> Evidence:
        """Return what is known before the first reading."""
        prior = _prior(d)
        m, k = len(prior), GAINS.size
        zeros = np.zeros((runs, k))
        return cls(
            np.zeros(runs),
            zeros,
            np.zeros((runs, k, m)),
            zeros,
            np.zeros((runs, k, m)),
            zeros,
            zeros,
            np.zeros((runs, k, m, m)),
            np.zeros((runs, k, m)),
            np.zeros((runs, m)),
            np.broadcast_to(np.linalg.inv(prior), (runs, m, m)).copy(),
        )

    def cost(self, features: Array) -> tuple[Array, Array]:
        """Return the hitting cost of a sum of features, shape (runs, m), and its deviation."""
        spread = np.matvec(self.covariance, features)
        return np.vecdot(self.entries, features), np.sqrt(np.maximum(np.vecdot(spread, features), 0.0))

    def with_columns(self, rows: Array, covariates: Array | None) -> tuple[Evidence, Array]:
        """Return the evidence, and features with their covariates, of the same number of columns; NaN for no number."""
        given = [rows] if covariates is None else [rows, np.clip(covariates, -1e40, 1e40)]
        columns = np.concatenate(given, axis=1)
        more = columns.shape[1] - self.moment.shape[2]
        if more < 0:
            columns = np.pad(columns, ((0, 0), (0, -more)), constant_values=np.nan)
        if more <= 0:
            return self, columns
        wide, new = ((0, 0), (0, 0), (0, more)), np.repeat(columns[:, None, -more:], GAINS.size, axis=1)
        after = evolve(
            self,
            mean_features=np.concatenate([self.mean_features, new], axis=2),
            trend_features=np.pad(self.trend_features, wide),
            gram=np.pad(self.gram, (*wide, (0, more))),
            moment=np.pad(self.moment, wide),
        )
        return after, columns

    def learn(self, rows: Array, y: Array, d: int) -> Evidence:
        """Return what is known after a reading of each run, with the columns ``rows``; NaN for none."""
        seen = ~np.isnan(y)
        if not seen.all():
            if not seen.any():
                return self
            index, rest = np.flatnonzero(seen), np.flatnonzero(~seen)
            parts = [take_rows(self, index).learn(rows[index], y[index], d), take_rows(self, rest)]
            joined: Evidence = take_rows(join_rows(parts), np.argsort(np.concatenate([index, rest])))
            return joined
        first, count = self.count == 0.0, self.count
        prior = _prior(d)
        variance, covariance, entries = _posterior(self.gram, self.moment, self.variance, prior, count[:, None])
        change = rows[:, None] - self.mean_features - self.trend_features
        change = np.where(np.isnan(change), 0.0, change)
        leverage = np.vecdot(np.matvec(covariance, change), change) / variance
        leverage = np.where(count[:, None] > 1.0, leverage, 0.0)  # the first error is all that is known of errors
        expected = np.vecdot(entries, change)
        error = y[:, None] - self.mean - self.trend - expected
        limit = np.where(count < 4.0, 1e100, CLIP)[:, None] * np.sqrt(variance * (1.0 + leverage))
        # Beyond the limit, an error counts in proportion to the limit: a spike moves the estimate no more than that.
        weight = limit / np.maximum(np.abs(error), np.maximum(limit, 1e-200))
        kept = weight * error
        sign = np.where(weight < 1.0, np.sign(error), 0.0)
        clipped = np.where(sign * self.clipped > 0.0, self.clipped + sign, sign)
        anew = (np.abs(clipped) >= RESTART) | first[:, None]
        keep = np.where(anew, 0.0, 1.0)
        gain = np.where(anew, 1.0, GAINS)
        forget = np.where(anew, DOUBT, 1.0 - 1.0 / WINDOW)[..., None]
        weight = keep * weight
        gram = forget[..., None] * self.gram + weight[..., None, None] * (change[..., :, None] * change[..., None, :])
        moment = forget * self.moment + (weight * (expected + error))[..., None] * change
        share = keep / np.clip(count, 1.0, WINDOW)[:, None]
        after = evolve(
            self,
            count=count + 1.0,
            mean=np.where(anew, y[:, None], self.mean + self.trend + gain * (expected + kept)),
            mean_features=self.mean_features + self.trend_features + gain[..., None] * change,
            trend=keep * (self.trend + TRENDS * (expected + kept)),
            trend_features=keep[..., None] * (self.trend_features + TRENDS[:, None] * change),
            variance=self.variance + share * (np.square(kept) / (1.0 + leverage) - self.variance),
            clipped=np.where(anew, 0.0, clipped),
            gram=gram,
            moment=moment,
        )
        return after._settled(prior)

    def doubted(self, runs: BoolArray, d: int) -> Evidence:
        """Return what is known if the meter of some runs shows numbers that say nothing."""
        if not runs.any():
            return self
        share = np.where(runs, DOUBT, 1.0)[:, None, None]
        doubted = evolve(self, gram=share[..., None] * self.gram, moment=share * self.moment)
        return doubted._settled(_prior(d))

    def _settled(self, prior: Array) -> Evidence:
        """Return the evidence with the estimate of the gain whose errors are smallest."""
        best, runs = self.variance.argmin(axis=1), np.arange(len(self.count))
        # Few readings may agree by chance: their errors count as those of one degree of freedom less.
        count, m = self.count, len(prior)
        variance = self.variance[runs, best] * (count + 2.0) / np.maximum(count - 1.0, 1.0)
        _, covariance, entries = _posterior(self.gram[runs, best], self.moment[runs, best], variance, prior, count)
        return evolve(self, entries=entries[:, :m], covariance=covariance[:, :m, :m])


def _posterior(gram: Array, moment: Array, variance: Array, prior: Array, count: Array) -> tuple[Array, Array, Array]:
    """Return the variance of an error, not too small for the inverse, and the covariance and the mean of all columns.

    The prior of what a covariate does to the load is worth one of the readings, in any unit (the unit information of
    Kass and Wasserman, "A reference Bayesian test for nested hypotheses", 1995).
    """
    m, z = len(prior), np.arange(len(prior), gram.shape[-1])
    trace = np.trace(gram[..., :m, :m], axis1=-2, axis2=-1)
    variance = np.maximum(variance, 1e-9 * trace) + 1e-100
    precision = gram / variance[..., None, None]
    precision[..., :m, :m] += prior
    if z.size:
        own = precision[..., z, z]
        precision[..., z, z] += np.where(own > 0.0, own / np.clip(count, 1.0, WINDOW)[..., None], 1.0)
    covariance: Array = np.asarray(np.linalg.inv(precision))
    return variance, covariance, np.matvec(covariance, moment) / variance[..., None]
