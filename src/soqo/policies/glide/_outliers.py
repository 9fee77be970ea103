"""Densities of wrong, negative and one-sided readings, and how much evidence it takes to act on them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, log_ndtr

from soqo._foundation.blas import any_entry, min_entry
from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.typing import Array, BoolArray

LOG_EARLY_WRONG, LOG_FIRST_WRONG, LOG_NEXT_WRONG = math.log(0.05), math.log(1e-3), math.log(0.8)
"""The logarithms of the prior probability of a wrong reading after a correct one, while there are fewer readings than
unknowns (a plant that is put into operation) and later, and after a wrong one."""

LOG_CORRECT_AGAIN = math.log(0.5)
"""The logarithm of the least probability of a correct reading after a wrong one; the two need not add up to one."""

PRIOR_READINGS = 3000.0
"""Prior probabilities of what is rare, wrong readings and changes, count as much as so many readings."""

PRIOR_WRONG = PRIOR_READINGS * math.exp(LOG_FIRST_WRONG)
"""As if so many of them had been wrong."""

LOG_ERROR_RANGE = math.log(40.0)
"""The range of the logarithm of the error of a wrong reading, both signs."""

TAIL_SQUARE, TAIL_INDEX = 16.0, 5.0
"""The square of the normalized error at which heavy tails of the noise begin, and the exponent by which they fall."""

TAIL_REJECTED = 10.0
"""After so many rejected readings, half of the next ones are expected to be of a tail."""

TAIL_RATIO = 0.5 * TAIL_INDEX * math.exp(LOG_ERROR_RANGE)
"""The density of such a tail where it begins, over that of errors of any size."""

SAME_GAIN, SAME_GAIN_AGAIN, SAME_GAIN_RARELY = 0.32, 0.95, 0.2
"""The probability that a wrong reading is wrong by the same factor as the one before: of the second in a row, and of
later ones if the last one repeated the factor, and if it did not."""


BRANCH_NATS, RESTART_BRANCH_NATS = 5.0, 8.0
"""Both outcomes, accept and reject, are kept if their log weights differ by less than this: in general, and up to 2p
readings after a suspected change, when more is uncertain. With the second number from the start, each of the first
readings would leave a belief that rejects it: nothing contradicts such a belief while there are fewer readings than
unknowns, and improbable beliefs would take most of the time."""

SURPRISE_SQUARE = 16.0
"""A squared normalized innovation above this is a reason to consider a change of A."""

CHANGE_RATIO, MAX_SQUARE, AVERAGING_READINGS = 5.0, 25.0, 10.0
"""A moving average of the squared normalized innovations above the first is evidence of a change; those of uniform
noise are at most 3. Each square is clipped to the second."""

MAX_CHANGE = 30.0
"""A reading whose error would need a change of A by more than this many times its scale is wrong in any case."""


def branch_nats(posterior: Posterior, unknowns: int) -> Array:
    """Return how much the log weights of the outcomes of a reading may differ for both to be kept, shape (beliefs,).

    Parameters
    ----------
    posterior : Posterior
        The posteriors of the beliefs; one that started again after a suspected change has a known noise.
    unknowns : int
        The number p of unknowns in A.
    """
    young = posterior.is_restarted & (posterior.readings < 2 * unknowns)
    return np.where(young, RESTART_BRANCH_NATS, BRANCH_NATS)


def log_rarity(age: Array) -> Array:
    """Return the logarithm of b / (b + age): how much rarer something has become that was not seen so far.

    If something happens at a constant rate, whose prior is a Gamma distribution with shape a and rate b, its
    probability in a round after n without it is a / (b + n).

    Parameters
    ----------
    age : Array
        The numbers n of readings.
    """
    return np.asarray(-np.log1p(age / PRIOR_READINGS))


def log_first_wrong(readings: Array, age: Array, rejected: Array, unknowns: int) -> Array:
    """Return the logarithm of the probability of a wrong reading after a correct one.

    Parameters
    ----------
    readings, age, rejected : Array, shape (beliefs,)
        The numbers of accepted readings, of all readings, and of those that were rejected.
    unknowns : int
        The number p of unknowns in A.
    """
    later = LOG_FIRST_WRONG + log_rarity(age)
    if any_entry(rejected):
        later = later + np.log1p(rejected / PRIOR_WRONG)
    if min_entry(readings) >= unknowns:
        return later
    return np.where(readings < unknowns, LOG_EARLY_WRONG, later)


def log_tail(square: Array, rejected: Array) -> Array:
    """Return the logarithm of the factor by which a wrong reading is more probable because it may be one of a tail.

    Readings that were rejected may have been faults of a meter, with errors of any size, or the tails of the noise. The
    latter is a density that falls as a power of the error, which says more about errors of a few deviations.

    Parameters
    ----------
    square, rejected : Array, shape (beliefs,)
        The squared normalized errors, and the numbers of readings that were rejected.
    """
    if not any_entry(square > TAIL_SQUARE):
        return np.zeros(square.size)
    falls = np.power(TAIL_SQUARE / np.maximum(square, TAIL_SQUARE), 0.5 * TAIL_INDEX)
    share = rejected / (TAIL_REJECTED + rejected)
    return np.where(square > TAIL_SQUARE, np.log1p(TAIL_RATIO * share * falls), 0.0)


def log_next_wrong(in_a_row: Array, rejected: Array) -> Array:
    """Return the logarithm of the probability of a wrong reading after a wrong one.

    Noise with heavy tails leads to single readings that are rejected, and says nothing about bursts: how probable it is
    that one begins does not depend on their number.

    Parameters
    ----------
    in_a_row, rejected : Array, shape (beliefs,)
        The numbers of readings that were rejected in a row, and in total.
    """
    return LOG_NEXT_WRONG - np.where(in_a_row == 1.0, np.log1p(np.maximum(rejected - 1.0, 0.0) / PRIOR_WRONG), 0.0)


def log_correct_again(next_wrong: Array) -> Array:
    """Return the logarithm of the probability of a correct reading after a wrong one.

    Parameters
    ----------
    next_wrong : Array
        The logarithm of the probability of another wrong reading.
    """
    return np.maximum(np.log1p(-np.exp(next_wrong)), LOG_CORRECT_AGAIN)


def gain_of_readings(y: Array, mean: Array, deviation: Array, diffuse: BoolArray) -> tuple[Array, Array]:
    """Return the factor by which readings differ from what was expected, and its relative deviation; NaN if unknown."""
    known = ~diffuse & (np.abs(mean) > 3.0 * deviation) & ~np.isnan(y)
    safe = np.where(known, mean, 1.0)
    return np.where(known, y / safe, np.nan), np.where(known, deviation / np.abs(safe), np.nan)


def negative_penalty(model: ReadingModel, posterior: Posterior, y: Array, density: Array) -> Array:
    """Return what a negative reading costs: without a base load only noise explains it, whose tails may be heavy."""
    negative = (y < 0.0) & ((posterior.total_readings >= 2.0) | ~np.isnan(posterior.known_noise))
    negative &= (posterior.base_load() > -posterior.noise) | (posterior.readings < model.unknowns + 5)
    if not negative.any():
        return np.zeros(y.size)
    nu = np.where(np.isnan(posterior.known_noise), np.maximum(3.0, posterior.readings / 2.0), 20.0)
    scale = 1.5 * posterior.noise * math.sqrt(1.0 + model.kappa**2)
    z2 = np.square(y / scale) / nu
    constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(nu * math.pi) - np.log(scale)
    bound = constant - 0.5 * (nu + 1.0) * np.log1p(z2)
    return np.where(negative, np.minimum(0.0, bound - density), 0.0)


def one_sided(limit: Array, mean: Array, variance: Array, noise: Array) -> tuple[Array, Array, Array]:
    """Return a reading and its relative precision that have the effect of "at least the limit", and its probability.

    The posterior of the cost f given f + noise >= limit is not normal. The normal distribution with the same mean and
    variance is what a reading of this value and precision leads to. Where the limit was expected, it has no effect.
    """
    S = np.sqrt(variance + np.square(noise))
    z = np.where(np.isfinite(S), (mean - limit) / S, 0.0)
    log_probability = np.maximum(log_ndtr(z), -1e6)
    ratio = np.exp(-0.5 * np.square(z) - 0.5 * math.log(2.0 * math.pi) - log_probability)
    share = np.minimum(variance / np.square(S) * ratio * (ratio + z), 1.0 - 1e-9)
    tau = np.square(noise) * share / (np.maximum(variance, 1e-300) * (1.0 - share))
    used = np.isfinite(S) & (tau > 1e-6)
    # With m' = m + V ratio / S and V' = V (1 - share): (m'/V' - m/V) / (1/V' - 1/V).
    reading = mean + variance * ratio / (S * np.maximum(share, 1e-12))
    return np.where(used, reading, np.nan), np.where(used, tau, 1.0), log_probability
