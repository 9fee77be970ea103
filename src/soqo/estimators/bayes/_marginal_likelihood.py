"""The marginal likelihood of the noise sigma and of the scale s of A, and the average of the posterior over both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soqo.typing import Array

_LOG_SCALES = np.log(10.0) * np.linspace(-2.0, 2.0, 9)
"""The grid of log s."""

LOG_SCALE_DEVIATION = math.log(10.0)
"""The prior's deviation of log s around zero: s is the switching weight within a factor of ten."""

_LOG_SCALE_PRIOR = -0.5 * np.square(_LOG_SCALES / LOG_SCALE_DEVIATION)
"""The logarithm of the prior on the grid, up to a constant."""

PRIOR_MEAN_SCALE = float(np.average(np.exp(_LOG_SCALES), weights=np.exp(_LOG_SCALE_PRIOR)))
"""The prior mean of s. It is larger than the prior median, which is one."""

PRIOR_MEAN_SQUARE_SCALE = float(np.average(np.exp(2.0 * _LOG_SCALES), weights=np.exp(_LOG_SCALE_PRIOR)))
"""The prior mean of s^2."""

_NOISE_PRIOR_EXPONENT = 0.15
"""The prior density of log sigma is sigma^0.15: nearly flat, and integrable towards small noise."""

_MIN_NOISE = 1e-100
"""A lower bound on the noise, whose square does not underflow."""

_CHUNK_RUNS = 64
"""The number of runs that are averaged at once: their arrays fit into the processor's cache."""


class ScaleAverage(NamedTuple):
    """The posterior averaged over sigma and s.

    Attributes
    ----------
    mean, variance : Array, shape (runs, p)
        Of the coordinates of A in the basis of the singular vectors.
    scale, noise : Array, shape (runs,)
        The mean of s and the geometric mean of sigma.
    """

    mean: Array
    variance: Array
    scale: Array
    noise: Array


@dataclass(frozen=True, eq=False)
class MarginalLikelihood:
    """The marginal likelihood of each run, in the coordinates of the singular vectors.

    Coordinate i of the readings is c_i = s (c0_i + D_i a_i) + sigma e_i with a_i and e_i standard normal, so that
    c_i - s c0_i has variance s^2 D_i^2 + sigma^2.

    Attributes
    ----------
    D, c, c0 : Array, shape (runs, p)
        The singular values, the readings, and the readings that the prior mean predicts.
    rest : Array, shape (runs,)
        The sum of squares of the residuals that no A explains.
    readings : Array, shape (runs,)
        The number of readings.
    """

    D: Array
    c: Array
    c0: Array
    rest: Array
    readings: Array

    def average(self, max_abs_reading: Array, noise_cap: float | None) -> ScaleAverage:
        """Return the average over s and over sigma, in octaves from twice to 1e-12 times the largest reading."""
        octaves = np.arange(1.0, -39.0, -1.0)
        log_noise = np.log(np.maximum(max_abs_reading, _MIN_NOISE))[:, None] + math.log(2.0) * octaves
        if noise_cap is not None:
            log_noise = np.minimum(log_noise, math.log(max(noise_cap, _MIN_NOISE)))
        chunks = [slice(first, first + _CHUNK_RUNS) for first in range(0, max_abs_reading.size, _CHUNK_RUNS)]
        parts = [self._select(chunk)._average(log_noise[chunk]) for chunk in chunks]
        return ScaleAverage(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def _select(self, runs: slice) -> MarginalLikelihood:
        return MarginalLikelihood(self.D[runs], self.c[runs], self.c0[runs], self.rest[runs], self.readings[runs])

    def _average(self, log_noise: Array) -> ScaleAverage:
        """Return the average over a grid of log sigma, shape (runs, sigmas), and the grid of log s."""
        s = np.exp(_LOG_SCALES)
        sigma2 = np.exp(2.0 * log_noise)
        variance = np.square(s)[:, None] * np.square(self.D)[:, None, None, :]
        variance = variance + sigma2[:, :, None, None]
        error = self.c[:, None, None, :] - s[:, None] * self.c0[:, None, None, :]
        relative = error / variance
        explained = (np.log(variance) + relative * error).sum(axis=-1)
        surplus = (self.readings - self.D.shape[1])[:, None]
        residual = 2.0 * surplus * log_noise + self.rest[:, None] / sigma2
        prior = _NOISE_PRIOR_EXPONENT * log_noise[:, :, None] + _LOG_SCALE_PRIOR
        log_weights = prior - 0.5 * (explained + residual[:, :, None])
        weights = np.exp(log_weights - log_weights.max(axis=(1, 2), keepdims=True))
        weights /= weights.sum(axis=(1, 2), keepdims=True)
        of_scale, of_noise = weights.sum(axis=1), weights.sum(axis=2)
        share = (weights * np.square(s))[..., None]
        return ScaleAverage(
            mean=self.D * (share * relative).sum(axis=(1, 2)),
            variance=(share * sigma2[:, :, None, None] / variance).sum(axis=(1, 2)),
            scale=np.vecdot(of_scale, s),
            noise=np.exp(np.vecdot(of_noise, log_noise)),
        )
