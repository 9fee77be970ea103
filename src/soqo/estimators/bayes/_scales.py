"""How large the noise and A are: every pair (sigma, s) weighed by its likelihood, and the average over them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soqo.typing import Array

__all__ = ["PRIOR_SCALE", "PRIOR_SQUARE", "Average", "Likelihood", "averaged"]

SCALES = np.log(10.0) * np.linspace(-2.0, 2.0, 9)
"""The scales s that are weighed against each other, as logarithms."""

SCALE_DEVIATION = math.log(10.0)
"""The deviation of log s around zero: the switching weight is the unit of A, give or take a factor of ten."""

LOG_PRIOR = -0.5 * np.square(SCALES / SCALE_DEVIATION)
"""The logarithm of the prior of each scale, but for a constant."""

PRIOR_SCALE = float(np.average(np.exp(SCALES), weights=np.exp(LOG_PRIOR)))
"""The mean of s before the first reading. It is above the median, one: what is large counts for more in a mean."""

PRIOR_SQUARE = float(np.average(np.exp(2.0 * SCALES), weights=np.exp(LOG_PRIOR)))
"""The mean of s^2 before the first reading."""

NOISE_POWER = 0.15
"""The prior of sigma is sigma^0.15 in log sigma: nearly flat, but small noise has to be earned by the readings."""

LEAST = 1e-100
"""No noise is below this, so that its square is a number."""


class Average(NamedTuple):
    """Mean and variance of A's coordinates, and the scales, averaged over sigma and s."""

    mean: Array
    variance: Array
    scale: Array
    noise: Array


def averaged(data: Likelihood, largest: Array, noise_cap: float | None) -> Average:
    """Weigh every pair (sigma, s) by its likelihood, for noise down to 1e-12 of the largest reading."""
    octaves = np.arange(1.0, -39.0, -1.0)
    noises = np.log(np.maximum(largest, LEAST))[:, None] + math.log(2.0) * octaves
    if noise_cap is not None:
        noises = np.minimum(noises, math.log(max(noise_cap, LEAST)))
    # In pieces that stay in the processor's cache.
    pieces = [slice(first, first + 64) for first in range(0, largest.size, 64)]
    parts = [data.of(piece).averaged(noises[piece]) for piece in pieces]
    return Average(*(np.concatenate(values) for values in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The readings of each run in the coordinates of the singular vectors.

    Reading i is c_i = s (c0_i + D_i a_i) + sigma e_i with a_i and e_i standard normal, so c_i - s c0_i has variance
    s^2 D_i^2 + sigma^2. ``rest`` is the square of what no A explains.
    """

    D: Array
    c: Array
    c0: Array
    rest: Array
    readings: Array

    def of(self, runs: slice) -> Likelihood:
        """Of some of the runs."""
        return Likelihood(self.D[runs], self.c[runs], self.c0[runs], self.rest[runs], self.readings[runs])

    def averaged(self, noises: Array) -> Average:
        """Over every sigma (``noises`` are logarithms, shape (runs, sigmas)) and every s."""
        s = np.exp(SCALES)
        sigma2 = np.exp(2.0 * noises)
        variance = np.square(s)[:, None] * np.square(self.D)[:, None, None, :]
        variance = variance + sigma2[:, :, None, None]
        error = self.c[:, None, None, :] - s[:, None] * self.c0[:, None, None, :]
        relative = error / variance
        inside = (np.log(variance) + relative * error).sum(axis=-1)
        surplus = (self.readings - self.D.shape[1])[:, None]
        outside = 2.0 * surplus * noises + self.rest[:, None] / sigma2
        prior = NOISE_POWER * noises[:, :, None] + LOG_PRIOR
        log_weights = prior - 0.5 * (inside + outside[:, :, None])
        weights = np.exp(log_weights - log_weights.max(axis=(1, 2), keepdims=True))
        weights /= weights.sum(axis=(1, 2), keepdims=True)
        of_scale, of_noise = weights.sum(axis=1), weights.sum(axis=2)
        share = (weights * np.square(s))[..., None]
        return Average(
            mean=self.D * (share * relative).sum(axis=(1, 2)),
            variance=(share * sigma2[:, :, None, None] / variance).sum(axis=(1, 2)),
            scale=np.vecdot(of_scale, s),
            noise=np.exp(np.vecdot(of_noise, noises)),
        )
