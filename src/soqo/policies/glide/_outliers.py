r"""Detection of outliers and of changes of A: a likelihood ratio test of the readings that do not fit.

A single outlier may be a wrong reading or the first reading after a change of A. It is withheld while the posterior
stays as it is, and the likelihood ratio of the readings that follow decides. If A has changed such that a reading at u
had the innovation e, then a reading at w has an innovation of about

    tau = |e| |w|^2 / |u|^2,

so it is normal with the deviation tau in addition to that of the noise. If the reading was wrong, the innovations that
follow have the deviation of the noise alone. If w is small, so is tau, and the reading is no evidence for either. With
or without a change, any reading is wrong with a small probability and by an arbitrary error; an error that no change
explains is therefore no evidence of a change.

If a change is visible in some directions only, consistent readings in between can clear each outlier. Several outliers
within a short time are therefore evidence of a change as well, and so are many innovations that are moderately large.

While there are few readings, or if two wrong readings confirm each other, wrong readings enter the posterior. The
estimate of the noise is then as large as their errors, and the innovations that follow are much smaller than it. This
is evidence that the posterior contains an outlier, and all readings since the last restart are discarded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import compose, register, rename_fields
from soqo.estimators.bayes import RELATIVE_ERROR, Posterior, ReadingModel
from soqo.typing import Array, BoolArray

_OUTLIER_DEVIATIONS = 6.0
"""A reading is an outlier if its innovation exceeds this number of predictive deviations."""

_AVERAGING_READINGS = 10.0
"""The time constant of the moving averages of squares."""

_CHANGE_RATIO, _MAX_SQUARE = 4.0, 25.0
"""A moving average of the squared normalized innovations above the first is evidence of a change; those of uniform
noise are at most 3. Each square is clipped to the second, so that one reading does not suffice."""

_SUSPICIOUS_NOISE_RATIO, _OVERESTIMATED_NOISE_RATIO = 0.2, 0.05
"""The moving average of squared innovations over the noise variance is suspicious below the first value. Below the
second, the noise is overestimated: uniform noise does not come near it."""

_DOMINANT_SHARE, _ORDINARY_SHARE = 0.3, 0.1
"""One reading dominates the estimate of the noise if the root of the sum of the squared noise is at least the first
share of it, and if the mean square of recent readings is below the second share of its square."""

_DECISIVE_LOG_ODDS = 3.0
"""The test ends when the absolute value of the log-odds exceeds this value."""

_OUTLIER_PROBABILITY, _OUTLIER_LOG_RANGE = 1e-3, 20.0
"""The probability that a reading is wrong, and the range of the logarithm of its error, which is uniform."""

_OUTLIER_DECAY, _MAX_OUTLIER_RATE = 0.9, 2.0
"""Each outlier counts one and decays by this factor per reading; a sum above the second value indicates a change."""

_KEPT_READINGS = 2
"""The number of withheld readings that are kept, to learn from if A has changed."""


class Assessment(NamedTuple):
    """The result of the test of one more reading in each run.

    Attributes
    ----------
    changed : BoolArray, shape (runs,)
        The runs in which A has changed.
    corrupted : BoolArray, shape (runs,)
        The runs whose posterior contains an outlier.
    withheld : BoolArray, shape (runs,)
        The runs whose reading must not enter the posterior now.
    monitor : OutlierMonitor
        The new state of the test.
    """

    changed: BoolArray
    corrupted: BoolArray
    withheld: BoolArray
    monitor: OutlierMonitor


_rename = compose(
    rename_fields(u="kept_u", y="kept_y", held="withheld", steepness="max_error_ratio", odds="log_odds"),
    rename_fields(strain="outlier_rate", surprise="innovation_ratio", loudness="noise_ratio", power="reading_power"),
    rename_fields(last="last_withheld"),
)


@register("GLIDE.outliers", migrations={0: _rename})
@dataclass(frozen=True)
class OutlierMonitor(Value):
    """The state of the test for outliers and changes, for each run.

    Attributes
    ----------
    kept_u, kept_y : Array, shape (runs, kept, d) and (runs, kept)
        The last withheld readings; y is NaN if there is none.
    withheld : Array, shape (runs,)
        The number of withheld readings.
    max_error_ratio : Array, shape (runs,)
        The largest ratio of their innovations to |u|^2.
    log_odds : Array, shape (runs,)
        The log-odds that A has changed.
    outlier_rate : Array, shape (runs,)
        The discounted number of recent outliers.
    innovation_ratio, noise_ratio : Array, shape (runs,)
        The moving averages of the squared innovations of all other readings, over the predictive variance and over the
        noise variance.
    reading_power : Array, shape (runs,)
        The moving average of the squares of the readings.
    outliers, last_withheld : Array, shape (runs,)
        The number of outliers found, and the round of the last withheld reading (0 for none).
    """

    kept_u: Array
    kept_y: Array
    withheld: Array
    max_error_ratio: Array
    log_odds: Array
    outlier_rate: Array
    innovation_ratio: Array
    noise_ratio: Array
    reading_power: Array
    outliers: Array
    last_withheld: Array

    @classmethod
    def start(cls, runs: int, dim: int) -> OutlierMonitor:
        """Return the state before the first reading."""
        zeros, ones = np.zeros(runs), np.ones(runs)
        kept_u, kept_y = np.zeros((runs, _KEPT_READINGS, dim)), np.full((runs, _KEPT_READINGS), np.nan)
        return cls(kept_u, kept_y, zeros, zeros, zeros, zeros, ones, ones, zeros, zeros, zeros)

    def assess(
        self, model: ReadingModel, posterior: Posterior, u: Array, y: Array, features: Array, round_number: int
    ) -> Assessment:
        """Test one more reading in each run.

        Parameters
        ----------
        model, posterior : ReadingModel and Posterior
            The assumptions about the readings, and the posterior before this reading.
        u, y, features : Array, shape (runs, d), (runs,) and (runs, p + q)
            The readings and ``model.features(u)``; y is NaN if there is no reading.
        round_number : int
            The number of this round.
        """
        expected, variance_of_mean = posterior.predict(features)
        error = np.abs(y - expected)
        variance_without_noise = variance_of_mean + np.square(RELATIVE_ERROR * np.vecdot(u, u))
        variance = variance_without_noise + np.square(posterior.noise)
        square = np.square(error) / variance
        # The estimate of the noise is not reliable until there are considerably more readings than unknowns.
        enough = model.unknowns + max(5, model.unknowns // 2)
        observed = ~np.isnan(y)
        ready = observed & (posterior.readings >= enough)
        outlying = square > _OUTLIER_DEVIATIONS**2
        if model.noise_cap is not None:
            outlying |= error > model.noise_cap + 4.0 * np.sqrt(variance_without_noise)
        outlying &= ready
        outlier_rate = np.where(observed, _OUTLIER_DECAY * self.outlier_rate, self.outlier_rate) + outlying
        counts = ready & ~outlying
        innovation_ratio = _moving_average(self.innovation_ratio, np.minimum(square, _MAX_SQUARE), counts)
        noise_square = np.minimum(square * variance / np.square(posterior.noise), _MAX_SQUARE)
        after = evolve(
            self,
            outlier_rate=outlier_rate,
            innovation_ratio=innovation_ratio,
            noise_ratio=_moving_average(self.noise_ratio, noise_square, counts),
            reading_power=_moving_average(self.reading_power, np.square(y), counts),
        )
        changed, withheld = outlying, outlying
        if outlying.any() or (self.withheld > 0.0).any():
            changed, withheld, after = after._likelihood_ratio_test(
                u, y, error, np.sqrt(variance), outlying, round_number
            )
        changed = changed | (counts & (innovation_ratio > _CHANGE_RATIO))
        corrupted = counts & after._is_noise_below(posterior, _OVERESTIMATED_NOISE_RATIO)
        restarts = changed | corrupted
        if restarts.any():
            after = evolve(
                after._clear(restarts),
                outlier_rate=np.where(restarts, 0.0, outlier_rate),
                innovation_ratio=np.where(restarts, 1.0, innovation_ratio),
                noise_ratio=np.where(restarts, 1.0, after.noise_ratio),
                outliers=after.outliers + corrupted,
            )
        return Assessment(changed, corrupted, withheld, after)

    def is_noise_suspicious(self, posterior: Posterior) -> BoolArray:
        """Return the runs in which an outlier may dominate the estimate of the noise."""
        return self._is_noise_below(posterior, _SUSPICIOUS_NOISE_RATIO)

    def kept_readings(self) -> list[tuple[Array, Array]]:
        """Return the withheld readings that were kept, the oldest first, as u and y for all runs."""
        slots = np.flatnonzero(~np.isnan(self.kept_y).all(axis=0))
        return [(self.kept_u[:, slot], self.kept_y[:, slot]) for slot in slots]

    def _likelihood_ratio_test(
        self, u: Array, y: Array, error: Array, deviation: Array, outlying: BoolArray, round_number: int
    ) -> tuple[BoolArray, BoolArray, OutlierMonitor]:
        """Return the runs in which A has changed, those whose reading is withheld, and the new state.

        ``error`` and ``deviation`` are the absolute innovations and their predictive deviations.
        """
        observed = ~np.isnan(y)
        tested, error = observed & (self.withheld > 0.0), np.where(observed, error, 0.0)
        square = np.maximum(np.vecdot(u, u), 1e-300)
        log_ratio = _log_likelihood_ratio(self.max_error_ratio * square, error, deviation, outlying)
        log_odds = np.where(tested, self.log_odds + log_ratio, self.log_odds)
        changed = (tested & (log_odds > _DECISIVE_LOG_ODDS)) | (self.outlier_rate > _MAX_OUTLIER_RATE)
        unchanged = tested & (log_odds < -_DECISIVE_LOG_ODDS)
        withheld = outlying & ~changed
        max_error_ratio = np.maximum(self.max_error_ratio, error / square)
        after = evolve(
            self,
            kept_u=np.where(withheld[:, None, None], _append(self.kept_u, u), self.kept_u),
            kept_y=np.where(withheld[:, None], _append(self.kept_y, y), self.kept_y),
            withheld=self.withheld + withheld,
            max_error_ratio=np.where(withheld, max_error_ratio, self.max_error_ratio),
            log_odds=log_odds,
            outliers=self.outliers + np.where(unchanged, self.withheld, 0.0),
            last_withheld=np.where(withheld, float(round_number), self.last_withheld),
        )
        return changed, withheld, after._clear(unchanged)

    def _is_noise_below(self, posterior: Posterior, ratio: float) -> BoolArray:
        """Return the runs whose recent innovations are below the noise by this ratio, if one reading dominates it."""
        dominant = posterior.noise * np.sqrt(posterior.readings) > _DOMINANT_SHARE * posterior.max_abs_reading
        ordinary = self.reading_power < _ORDINARY_SHARE * np.square(posterior.max_abs_reading)
        return np.asarray((self.noise_ratio < ratio) & dominant & ordinary)

    def _clear(self, which: BoolArray) -> OutlierMonitor:
        """Return the state without withheld readings in some of the runs."""
        return evolve(
            self,
            kept_y=np.where(which[:, None], np.nan, self.kept_y),
            withheld=np.where(which, 0.0, self.withheld),
            max_error_ratio=np.where(which, 0.0, self.max_error_ratio),
            log_odds=np.where(which, 0.0, self.log_odds),
        )


def _moving_average(mean: Array, square: Array, counts: BoolArray) -> Array:
    """Return the moving average, with one more value where it counts."""
    return np.where(counts, mean + (square - mean) / _AVERAGING_READINGS, mean)


def _append(kept: Array, new: Array) -> Array:
    """Drop the oldest of the kept values and append a new one."""
    return np.concatenate([kept[:, 1:], new[:, None]], axis=1)


def _log_likelihood_ratio(tau: Array, error: Array, deviation: Array, outlying: BoolArray) -> Array:
    """Return the logarithm of the likelihood ratio of an innovation, with a change of A over without one."""
    wrong = math.log(_OUTLIER_PROBABILITY / _OUTLIER_LOG_RANGE) - np.log(np.maximum(error, deviation))
    changed = np.logaddexp(_log_normal(error, np.hypot(tau, deviation)), wrong)
    unchanged = np.where(outlying, wrong, np.logaddexp(_log_normal(error, deviation), wrong))
    return np.asarray(changed - unchanged)


def _log_normal(error: Array, deviation: Array) -> Array:
    """Return the logarithm of the normal density."""
    constant = 0.5 * math.log(2.0 * math.pi)
    return np.asarray(-0.5 * np.square(error / deviation) - np.log(deviation) - constant)
