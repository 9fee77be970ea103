"""Densities of wrong, negative and one-sided readings, and how much evidence it takes to act on them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, log_ndtr

from soqo.estimators.bayes import Posterior, ReadingModel
from soqo.typing import Array, BoolArray

LOG_EARLY_WRONG, LOG_FIRST_WRONG, LOG_NEXT_WRONG = math.log(0.05), math.log(1e-3), math.log(0.8)
"""The logarithms of the probability of a wrong reading after a correct one, while there are fewer readings than
unknowns (a plant that is put into operation) and later, and after a wrong one."""

LOG_ERROR_RANGE = math.log(40.0)
"""The range of the logarithm of the error of a wrong reading, both signs."""

SAME_GAIN, SAME_GAIN_AGAIN, SAME_GAIN_RARELY = 0.32, 0.95, 0.2
"""The probability that a wrong reading is wrong by the same factor as the one before: of the second in a row, and of
later ones if the last one repeated the factor, and if it did not."""


BRANCH_NATS, LATE_BRANCH_NATS = 8.0, 5.0
"""Both outcomes, accept and reject, are kept if their log weights differ by less than this, before and after 2p
readings."""

SURPRISE_SQUARE = 16.0
"""A squared normalized innovation above this is a reason to consider a change of A."""

CHANGE_RATIO, MAX_SQUARE, AVERAGING_READINGS = 5.0, 25.0, 10.0
"""A moving average of the squared normalized innovations above the first is evidence of a change; those of uniform
noise are at most 3. Each square is clipped to the second."""

MAX_CHANGE = 30.0
"""A reading whose error would need a change of A by more than this many times its scale is wrong in any case."""


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
