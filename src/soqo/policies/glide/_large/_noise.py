r"""The size of the noise, from readings at u = 0 and from the errors of predictions.

A reading at u = 0 is nothing but noise, but one reading says little about its size: with noise up to 10, one in twenty
is below 0.5. The errors of predictions made before the readings came are the other source. Their variance is about
sigma^2 + c q^2 for an expected reading q, since the error of the estimate is proportional to q and the noise is not.
Both are fitted by maximum likelihood, with the tails of Student's t distribution with three degrees of freedom. Where q
is large everywhere, sigma remains unknown and does not matter.
"""

from __future__ import annotations

import math

import numpy as np

from soqo.typing import Array

_UNSEEN = 1e-3
"""The first guess of the noise relative to the readings, if none of them was at u = 0."""

_FACTORS, _UNSEEN_FACTORS = 2.0 ** np.arange(-1.0, 8.0), 2.0 ** np.arange(0.0, 10.0)
"""The multiples of the first guess that are tried."""

_SHARES = np.geomspace(1e-4, 4.0, 12)
"""The values of c that are tried."""

_PRIOR_NATS, _UNSEEN_PRIOR_NATS = 0.5, 0.5
"""What a factor of two costs in the likelihood: the model of the errors is crude."""

_FEW = 6
"""With fewer predictions, the first guess stands."""


def noise_size(zeros: Array, predictions: Array, readings: Array) -> float:
    """Return the deviation of the noise.

    Parameters
    ----------
    zeros : Array, shape (2,)
        The number of readings at u = 0, and the sum of their squares without the base load.
    predictions : Array, shape (k, 2)
        The latest predictions and their errors; NaN for none.
    readings : Array, shape (n,)
        The readings, for a first guess if none was at u = 0.
    """
    count, square = zeros.tolist()
    if count:
        guess = float((1.0 + 0.5 / count) * math.sqrt(square / count))
    else:
        guess = _UNSEEN * float(np.sqrt(np.square(readings).mean())) if readings.size else 0.0
    known = predictions[~np.isnan(predictions).any(axis=1)]
    if len(known) < _FEW or not guess > 0.0:
        return guess
    factors, nats = (_FACTORS, _PRIOR_NATS) if count else (_UNSEEN_FACTORS, _UNSEEN_PRIOR_NATS)
    q2, e2 = np.square(known).T
    sigma2 = np.square(guess * factors)
    variance = sigma2[:, None, None] + _SHARES[:, None] * q2
    fit = (-0.5 * np.log(variance) - 2.0 * np.log1p(e2 / (3.0 * variance))).sum(axis=-1).max(axis=-1)
    fit -= 0.5 * (count * np.log(sigma2) + square / sigma2) + nats * np.abs(np.log2(factors))
    return float(guess * factors[int(np.argmax(fit))])
