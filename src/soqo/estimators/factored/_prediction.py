"""What is expected of a reading, while the levels of noise and scale are still uncertain."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from soqo.estimators.bayes import DECADES

CALIBRATION = 8.0
"""The number of latest readings by whose errors the deviations of predictions are calibrated."""

_MAX_MEAN, _MAX_VARIANCE, _MAX_SURPLUS = 1e150, 1e200, 1e100
"""What exceeds these numbers is taken for unknown, since it would overflow."""


class Prediction(NamedTuple):
    """What is expected of a reading: Student's distribution, unless the levels of noise and scale are wrong by far.

    Attributes
    ----------
    mean, variance : float
        The mean and the variance; the noise is included.
    freedom : float
        The degrees of freedom.
    misled : float
        The probability that the levels are wrong.
    """

    mean: float
    variance: float
    freedom: float
    misled: float

    @classmethod
    def of(cls, mean: float, variance: float, surplus: float, judged: int) -> Prediction:
        """Return what is expected after some errors have been judged, whose mean square is ``surplus`` variances."""
        if not (abs(mean) < _MAX_MEAN and variance < _MAX_VARIANCE):
            mean, variance = 0.0, _MAX_VARIANCE
        freedom, misled = min(1.0 + judged, CALIBRATION), 0.5 * math.exp(-judged / CALIBRATION)
        return cls(mean, max(surplus, 1.0) * max(variance, 1e-200), freedom, misled)

    def surplus(self, y: float, last: float) -> float:
        """Return the mean square of the errors, in units of their expected variance, after a reading."""
        ratio = min((y - self.mean) ** 2 / self.variance, 1e30) * max(last, 1.0)
        return min(last + (ratio - last) / self.freedom, _MAX_SURPLUS)

    def log_density(self, y: float) -> float:
        """Return the log density of a reading."""
        nu = self.freedom
        error2 = (y - self.mean) ** 2
        norm = math.lgamma(0.5 * nu + 0.5) - math.lgamma(0.5 * nu) - 0.5 * math.log(math.pi * nu * self.variance)
        expected = norm - 0.5 * (nu + 1.0) * math.log1p(error2 / (nu * self.variance))
        broad = -math.log(DECADES) - 0.5 * math.log(max(error2, self.variance))
        return float(np.logaddexp(math.log1p(-self.misled) + expected, math.log(max(self.misled, 1e-300)) + broad))
