r"""Probes that verify a large eigenvalue of the estimate.

If an eigenvalue a_k of the estimate is large, the policy follows v along q_k, and u has almost no component there: few
later readings depend on a_k. If a_k itself is an error, which a burst of wrong readings may cause, nothing contradicts
it, and the policy pays for every step of v along q_k.

The latest readings alone give the estimate a_k + sum r f / sum f^2 of the eigenvalue, where r is the residual of a
reading and f = (q_k'u)^2 / 2, with deviation sigma / sqrt(sum f^2). The eigenvalue is verified if this estimate is
above zero by a few deviations. Otherwise, a deviation along q_k whose reading should be several times the noise shows
whether the eigenvalue is wrong. It costs about that reading. If the eigenvalue is in fact zero, each round costs

    1/2 (c(0) - c(a_k))^2 / c(0) E (q_k'(x_prev - v))^2

more than it should, with the eigenvalues c of the gain; the probe is worth its cost if this loss over the rounds to
come, times a small prior probability, is larger. The ages at which it is considered grow geometrically.

After many readings, an eigenvalue is also verified if a quarter of them, each as informative as the latest ones,
excludes zero by many deviations. Otherwise, probes would cost more than kappa log T, the price of learning, wherever
the noise hides what a few readings say.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.blas import any_entry
from soqo._model.gains import contraction
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import ReadingModel
from soqo.policies.glide._ages import Ages
from soqo.policies.glide._beliefs import Beliefs
from soqo.typing import Array, BoolArray, IntArray

FIRST_AGE = 16.0
"""The number of readings of a belief before which nothing is verified."""

VERIFICATION_AGES = [math.ceil(FIRST_AGE * 1.25**k) for k in range(80)]
"""The numbers of readings of a belief at which its eigenvalues are verified."""

_AGES = Ages(map(float, VERIFICATION_AGES))

VERIFIED_DEVIATIONS = 3.0
"""An eigenvalue is verified if the latest readings alone exclude zero by this many deviations."""

MANY_READINGS, MANY_DEVIATIONS = 300.0, 10.0
"""With this many readings, an eigenvalue is verified if a quarter of them excludes zero by this many deviations."""

PROBE_DEVIATIONS = 6.0
"""The reading that a probe should give, in units of the noise."""

UNCERTAIN_NATS = 3.5
"""Nothing is verified after a suspected change while a belief from before it is less than this below the best one: if
there was none, the probe would be the most expensive part of the false alarm."""

ERROR_PROBABILITY = 1e-3
"""The prior probability that an eigenvalue that is not verified is an error."""


def is_due(beliefs: Beliefs, round_number: int, last_probe: Array) -> BoolArray:
    """Return the runs whose estimate is verified now: at some ages, and again after a probe whose reading did not fit.

    Parameters
    ----------
    beliefs : Beliefs
        The beliefs.
    round_number : int
        The number of the last round.
    last_probe : Array, shape (runs,)
        The round of the last probe.
    """
    best = beliefs.best
    if not any_entry(beliefs.in_a_row) and not _AGES.contain_any(beliefs.age):
        return np.zeros(best.size, dtype=np.bool_)
    age = beliefs.age[best]
    at_age = _AGES.contain(age)
    if best.size < beliefs.owner.size and any_entry(at_age):
        total, epoch = beliefs.total, beliefs.epoch
        before = (epoch < epoch[best][beliefs.owner]) & (total > total[best][beliefs.owner] - UNCERTAIN_NATS)
        at_age &= np.bincount(beliefs.owner[before], minlength=best.size) == 0
    in_a_row = beliefs.in_a_row[best]
    return np.asarray(at_age | ((last_probe == round_number) & (in_a_row > 0.0) & (age >= FIRST_AGE)))


def verification_probe(
    beliefs: Beliefs,
    model: ReadingModel,
    spectrum: Spectrum,
    runs: IntArray,
    *,
    moment: Array,
    rounds_to_go: float,
    rounds_to_save: float | Array,
) -> Array:
    """Return a probe along the eigenvector whose eigenvalue, if it were an error, would cost most; shape (k, d).

    It is zero if every eigenvalue is verified, or if no probe is worth its cost.

    Parameters
    ----------
    beliefs : Beliefs
        The beliefs.
    model : ReadingModel
        The assumptions about the readings.
    spectrum : Spectrum
        The spectrum of the estimate of all runs.
    runs : IntArray, shape (k,)
        The runs to verify.
    moment : Array, shape (runs, d, d)
        The mean of (x_prev - v)(x_prev - v)' of all runs.
    rounds_to_go, rounds_to_save : float; float or Array of shape (k,)
        The number of rounds to go, which determines the gain, and the number of rounds in which the error costs.
    """
    values, Q = spectrum.values[runs], spectrum.vectors[runs]
    best = beliefs.best[runs]
    posterior = beliefs.posterior.take_means(best)
    rows = beliefs.latest_accepted(runs, best)
    f = 0.5 * rows.factor[:, :, None] * np.square(rows.u @ Q)
    residual = rows.y - posterior.expected(rows.features(model))
    seen = ~np.isnan(residual)
    score = np.vecmat(np.where(seen, residual, 0.0), f)
    information = np.vecmat(seen.astype(np.float64), np.square(f))
    noise = posterior.noise[:, None]
    verified = values * information + score > VERIFIED_DEVIATIONS * noise * np.sqrt(information)
    n = posterior.total_readings[:, None]
    in_a_quarter = 0.25 * n * information / np.maximum(seen.sum(axis=1), 1)[:, None]
    verified |= (n >= MANY_READINGS) & (values * np.sqrt(in_a_quarter) > MANY_DEVIATIONS * noise)
    length = np.sqrt(2.0 * PROBE_DEVIATIONS * noise / np.maximum(values, 1e-300))
    c, free = contraction(values, rounds_to_go), contraction(np.zeros(()), rounds_to_go)
    loss = 0.5 * np.square(free - c) / free * np.einsum("rik,rij,rjk->rk", Q, moment[runs], Q)
    loss = np.asarray(rounds_to_save)[..., None] * ERROR_PROBABILITY * loss
    value = np.where(verified, -np.inf, loss - 0.5 * np.square(length) / c)
    worst = value.argmax(axis=1)
    chosen = np.take_along_axis(value, worst[:, None], axis=1) > 0.0
    probe = np.take_along_axis(length, worst[:, None], axis=1) * Q[np.arange(len(Q)), :, worst]
    return np.where(chosen, probe, 0.0)
