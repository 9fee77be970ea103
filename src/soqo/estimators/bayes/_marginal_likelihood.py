"""The marginal likelihood of the noise sigma and of the scale s of A, and the average of the posterior over both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soqo.typing import Array, IntArray

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

_KNOWN_NOISE_DEVIATION, _KNOWN_NOISE_RANGE = 0.3, 2.0
"""Around the noise that earlier readings have shown: the deviation of log sigma below it, the largest factor above."""

_MIN_NOISE = 1e-100
"""A lower bound on the noise, whose square does not underflow."""

_CHUNK_RUNS = 64
"""The number of runs that are averaged at once: their arrays fit into the processor's cache."""

_COARSE_STEP, _COARSE_STEPS = math.log(4.0), 20
"""The step of the coarse grid of log sigma, and their number."""

_FINE_POINTS, _MANY_POINTS, _FINE_STEP = 12, 40, 0.5 * math.log(2.0)
"""The number of points of the fine grid, also for a wide density, and the largest step of the smaller grid."""

_NEGLIGIBLE_NATS = 10.0
"""The density of log sigma is negligible this far below its maximum."""

_LOG_TWO_PI = math.log(2.0 * math.pi)


class ScaleAverage(NamedTuple):
    """The posterior averaged over sigma and s.

    Attributes
    ----------
    mean, variance : Array, shape (runs, p)
        Of the coordinates of the unknowns in the basis of the singular vectors.
    scale, noise : Array, shape (runs,)
        The mean of s and the geometric mean of sigma.
    log_evidence : Array, shape (runs,)
        The logarithm of the marginal density of the readings.
    """

    mean: Array
    variance: Array
    scale: Array
    noise: Array
    log_evidence: Array


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
    max_abs_reading : Array, shape (runs,)
        The largest absolute value of a reading.
    noise_cap : Array, shape (runs,)
        A bound on the noise, which may be infinite.
    known_noise : Array, shape (runs,)
        The center of a lognormal prior of the noise; NaN for a prior that is nearly flat.
    scale_deviation : Array, shape (runs,)
        The prior's deviation of log s.
    """

    D: Array
    c: Array
    c0: Array
    rest: Array
    readings: Array
    max_abs_reading: Array
    noise_cap: Array
    known_noise: Array
    scale_deviation: Array

    def average(self, guess: Array) -> ScaleAverage:
        """Return the average over s and over sigma.

        The density of log sigma is first evaluated on a coarse grid, from twice to 1e-12 times the largest reading, or
        around the last estimate if there are many readings; and then on a fine grid where it is not negligible.

        Parameters
        ----------
        guess : Array, shape (runs,)
            The last estimate of sigma; NaN for none.
        """
        unknown = np.isnan(self.known_noise)
        largest = np.where(unknown, 2.0 * self.max_abs_reading, _KNOWN_NOISE_RANGE * self.known_noise)
        top = np.log(np.maximum(np.minimum(largest, self.noise_cap), _MIN_NOISE))
        low, high = top - _COARSE_STEPS * _COARSE_STEP, top.copy()
        blind = np.isnan(guess)
        parts = np.flatnonzero(blind)
        if parts.size:
            low[parts], high[parts] = self._support(parts, low[parts], high[parts], _COARSE_STEPS + 1, 2)
        parts = np.flatnonzero(~blind)
        if parts.size:
            center = np.minimum(np.log(np.maximum(guess[parts], _MIN_NOISE)), top[parts])
            near = np.maximum(center - _COARSE_STEP, low[parts]), np.minimum(center + _COARSE_STEP, top[parts])
            found_low, found_high = self._support(parts, *near, _FINE_POINTS, 4)
            at_border = (found_low <= near[0] + 1e-9) & (near[0] > low[parts] + 1e-9)
            at_border |= (found_high >= near[1] - 1e-9) & (near[1] < top[parts] - 1e-9)
            wide = parts[at_border]
            if wide.size:
                found_low[at_border], found_high[at_border] = self._support(
                    wide, low[wide], high[wide], _COARSE_STEPS + 1, 2
                )
            low[parts], high[parts] = found_low, found_high
        # A wide density needs more points.
        broad = (high - low) > (_FINE_POINTS - 1) * _FINE_STEP
        order, averages = [], []
        for points, which in ((_FINE_POINTS, ~broad), (_MANY_POINTS, broad)):
            runs = np.flatnonzero(which)
            for first in range(0, runs.size, _CHUNK_RUNS):
                chunk = runs[first : first + _CHUNK_RUNS]
                grid = low[chunk, None] + (high - low)[chunk, None] * np.linspace(0.0, 1.0, points)
                averages.append(self._average(chunk, grid, top[chunk]))
                order.append(chunk)
        back = np.argsort(np.concatenate(order))
        return ScaleAverage(*(np.concatenate(values)[back] for values in zip(*averages, strict=True)))

    def _support(self, runs: IntArray, low: Array, high: Array, points: int, every: int) -> tuple[Array, Array]:
        """Return the interval of log sigma outside of which the density is negligible, from a coarse grid."""
        lows, highs = [low[:0]], [low[:0]]
        for first in range(0, runs.size, _CHUNK_RUNS):
            chunk = slice(first, first + _CHUNK_RUNS)
            grid = low[chunk, None] + (high - low)[chunk, None] * np.linspace(0.0, 1.0, points)
            log_weights = self._log_weights(runs[chunk], grid, _LOG_SCALES[::every])[0].max(axis=2)
            likely = log_weights > log_weights.max(axis=1, keepdims=True) - _NEGLIGIBLE_NATS
            step = (high - low)[chunk] / (points - 1)
            first_point, last_point = likely.argmax(axis=1), points - 1 - likely[:, ::-1].argmax(axis=1)
            rows = np.arange(len(grid))
            lows.append(np.maximum(grid[rows, first_point] - step, low[chunk]))
            highs.append(np.minimum(grid[rows, last_point] + step, high[chunk]))
        return np.concatenate(lows), np.concatenate(highs)

    def _log_weights(self, runs: IntArray, log_noise: Array, log_scales: Array) -> tuple[Array, Array, Array, Array]:
        """Return the log density on a grid, shape (runs, sigmas, scales), and what it is made of."""
        D, c, c0 = self.D[runs], self.c[runs], self.c0[runs]
        s = np.exp(log_scales)
        sigma2 = np.exp(2.0 * log_noise)
        variance = np.square(s)[:, None] * np.square(D)[:, None, None, :]
        variance = variance + sigma2[:, :, None, None]
        error = c[:, None, None, :] - s[:, None] * c0[:, None, None, :]
        relative = error / variance
        explained = (np.log(variance) + relative * error).sum(axis=-1)
        surplus = (self.readings[runs] - D.shape[1])[:, None]
        residual = 2.0 * surplus * log_noise + self.rest[runs][:, None] / sigma2
        scale_prior = -0.5 * np.square(log_scales / self.scale_deviation[runs][:, None])
        prior = self._log_noise_prior(runs, log_noise)[:, :, None] + scale_prior[:, None, :]
        return prior - 0.5 * (explained + residual[:, :, None]), variance, relative, sigma2

    def _log_noise_prior(self, runs: IntArray, log_noise: Array) -> Array:
        """Return the logarithm of the prior density of log sigma, which need not be normalized."""
        known = self.known_noise[runs]
        if np.isnan(known).all():
            return np.asarray(_NOISE_PRIOR_EXPONENT * log_noise)
        distance = np.minimum(log_noise - np.log(known)[:, None], 0.0) / _KNOWN_NOISE_DEVIATION
        return np.where(np.isnan(known)[:, None], _NOISE_PRIOR_EXPONENT * log_noise, -0.5 * np.square(distance))

    def _average(self, runs: IntArray, log_noise: Array, top: Array) -> ScaleAverage:
        """Return the average over an equidistant grid of log sigma, shape (runs, sigmas), and the grid of log s."""
        log_weights, variance, relative, sigma2 = self._log_weights(runs, log_noise, _LOG_SCALES)
        log_weights[:, [0, -1]] -= math.log(2.0)  # the trapezoidal rule
        highest = log_weights.max(axis=(1, 2))
        weights = np.exp(log_weights - highest[:, None, None])
        total = weights.sum(axis=(1, 2))
        weights /= total[:, None, None]
        s = np.exp(_LOG_SCALES)
        of_scale, of_noise = weights.sum(axis=1), weights.sum(axis=2)
        share = (weights * np.square(s))[..., None]
        # The prior of log sigma is normalized up to its largest value, and that of log s on its grid.
        step = np.maximum(log_noise[:, 1] - log_noise[:, 0], 1e-9)
        noise_mass = np.where(
            np.isnan(self.known_noise[runs]),
            _NOISE_PRIOR_EXPONENT * top - math.log(_NOISE_PRIOR_EXPONENT),
            math.log(_KNOWN_NOISE_DEVIATION * math.sqrt(0.5 * math.pi) + math.log(_KNOWN_NOISE_RANGE)),
        )
        scale_mass = np.exp(-0.5 * np.square(_LOG_SCALES / self.scale_deviation[runs][:, None])).sum(axis=1)
        evidence = highest + np.log(total * step) - noise_mass - np.log(scale_mass)
        return ScaleAverage(
            mean=self.D[runs] * (share * relative).sum(axis=(1, 2)),
            variance=(share * sigma2[:, :, None, None] / variance).sum(axis=(1, 2)),
            scale=np.vecdot(of_scale, s),
            noise=np.exp(np.vecdot(of_noise, log_noise)),
            log_evidence=evidence - 0.5 * self.readings[runs] * _LOG_TWO_PI,
        )
