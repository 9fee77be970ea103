"""The marginal likelihood of the noise sigma and of the scale s of A, and the average of the posterior over both."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soqo._foundation.blas import any_entry
from soqo.typing import Array, BoolArray, IntArray

LOG_SCALES = np.log(10.0) * np.linspace(-2.0, 2.0, 9)
"""The grid of log s."""

LOG_SCALE_DEVIATION = math.log(10.0)
"""The prior's deviation of log s around zero: s is the switching weight within a factor of ten."""

_LOG_SCALE_PRIOR = -0.5 * np.square(LOG_SCALES / LOG_SCALE_DEVIATION)
"""The logarithm of the prior on the grid, up to a constant."""

PRIOR_MEAN_SCALE = float(np.average(np.exp(LOG_SCALES), weights=np.exp(_LOG_SCALE_PRIOR)))
"""The prior mean of s. It is larger than the prior median, which is one."""

PRIOR_MEAN_SQUARE_SCALE = float(np.average(np.exp(2.0 * LOG_SCALES), weights=np.exp(_LOG_SCALE_PRIOR)))
"""The prior mean of s^2."""

NOISE_PRIOR_EXPONENT = 0.15
"""The prior density of log sigma is sigma^0.15: nearly flat, and integrable towards small noise."""

KNOWN_NOISE_DEVIATION, KNOWN_NOISE_RANGE = 0.3, 2.0
"""Around the noise that earlier readings have shown: the deviation of log sigma below it, the largest factor above."""

MIN_NOISE = 1e-100
"""A lower bound on the noise, whose square does not underflow."""

_MAX_ENTRIES = 200_000
"""About the largest number of entries of an array: so many runs are averaged at once that it stays in the processor's
cache."""

SCALE_STEP = float(LOG_SCALES[1] - LOG_SCALES[0])
"""The step of the grid of log s."""

COARSE_POINTS = 25
"""The number of points of the coarse grid of log sigma, whose step is that of log s."""

NARROW_POINTS, WIDE_POINTS = 12, 49
"""The numbers of points of the fine grids of log sigma, for a narrow density and for a wide one. With half of the
coarse grid's step, the second covers the whole range."""

FEW_READINGS, NO_RESIDUAL = 10, 1e-8
"""So few readings, all of which A explains up to this share of the largest one, leave the noise open: its density is
wide, and the coarse grid is not needed."""

NARROW_WIDTH = 3.8
"""A density of log sigma on an interval of this width is narrow: the points are no more than 0.35 apart."""

SEARCH_WIDTH = math.log(4.0)
"""The density is first sought within this distance of the last estimate of log sigma."""

WINDOW_SCALES = 4
"""The number of neighboring scales that are averaged if all others are negligible."""

NEGLIGIBLE_NATS, NEGLIGIBLE_SCALE_NATS = 10.0, 18.0
"""The density of log sigma, and that of log s, are negligible this far below their maximum."""

_LOG_TWO_PI = math.log(2.0 * math.pi)


class ScaleAverage(NamedTuple):
    """The posterior averaged over sigma and s.

    Attributes
    ----------
    mean, variance : Array, shape (runs, p)
        Of the coordinates of the unknowns in the basis of the singular vectors.
    scale, mean_square_scale, noise : Array, shape (runs,)
        The means of s and of s^2, and the geometric mean of sigma.
    log_evidence : Array, shape (runs,)
        The logarithm of the marginal density of the readings.
    """

    mean: Array
    variance: Array
    scale: Array
    mean_square_scale: Array
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
        The singular values, the readings, and the readings that the prior mean predicts. With fewer readings than
        unknowns, those that are not zero suffice.
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
        around the last estimate if there are many readings; and then on a fine grid where it is not negligible. The
        first readings need the fine grid only.

        Parameters
        ----------
        guess : Array, shape (runs,)
            The last estimate of sigma; NaN for none.
        """
        unknown = np.isnan(self.known_noise)
        largest = np.where(unknown, 2.0 * self.max_abs_reading, KNOWN_NOISE_RANGE * self.known_noise)
        top = np.log(np.maximum(np.minimum(largest, self.noise_cap), MIN_NOISE))
        bottom = top - (COARSE_POINTS - 1) * SCALE_STEP
        low, high = bottom.copy(), top.copy()
        first_scale = np.full(guess.size, -1)  # of a window of scales; -1 for all of them
        no_guess = np.isnan(guess)
        few = unknown & (self.readings <= min(FEW_READINGS, self.D.shape[1]))
        few &= self.rest <= np.square(NO_RESIDUAL * self.max_abs_reading)
        blind = no_guess & ~few
        known = np.flatnonzero(~no_guess)
        if known.size:
            found = self._support_near(known, np.log(np.maximum(guess[known], MIN_NOISE)), bottom[known], top[known])
            low[known], high[known], first_scale[known] = found[:3]
            blind[known] = found[3]
        parts = np.flatnonzero(blind)
        if parts.size:
            low[parts], high[parts], mode = self._support(parts, top[parts])
            narrow = high[parts] - low[parts] <= NARROW_WIDTH
            parts, mode = parts[narrow], mode[narrow]
        if parts.size:
            # The coarse grid has found the density, but its step is too large for a narrow one.
            found = self._support_near(parts, mode, bottom[parts], top[parts])
            inside = ~found[3]
            low[parts[inside]], high[parts[inside]] = found[0][inside], found[1][inside]
            first_scale[parts[inside]] = found[2][inside]
        order: list[IntArray] = []
        averages: list[ScaleAverage] = []
        for part, ratios, grid_of in self._grids(low, high, first_scale):
            count = self._runs_at_once(ratios)
            for begin in range(0, part.size, count):
                runs = part[begin : begin + count]
                averages.append(self._average(grid_of(runs), top[runs]))
                order.append(runs)
        if len(order) == 1:  # of all runs
            return averages[0]
        back = np.argsort(np.concatenate(order))
        return ScaleAverage(*(np.concatenate(values)[back] for values in zip(*averages, strict=True)))

    def _grids(
        self, low: Array, high: Array, first_scale: IntArray
    ) -> list[tuple[IntArray, int, Callable[[IntArray], _Grid]]]:
        """Return the runs of each kind of fine grid, its number of ratios, and what makes the grid of some runs."""
        width = high - low
        narrow = width <= NARROW_WIDTH
        windowed = narrow & (first_scale >= 0)
        steps = np.where(width <= (WIDE_POINTS - 1) * SCALE_STEP / 4.0, 4, 2)

        def narrow_grid(runs: IntArray) -> _Grid:
            log_noise = low[runs, None] + width[runs, None] * _SHARES
            return _Grid.product(self, runs, log_noise, LOG_SCALES[None].repeat(runs.size, axis=0))

        def windowed_grid(runs: IntArray) -> _Grid:
            log_noise = low[runs, None] + width[runs, None] * _SHARES
            return _Grid.product(self, runs, log_noise, LOG_SCALES[first_scale[runs, None] + _WINDOW])

        def fine_lattice(runs: IntArray) -> _Grid:
            return _Grid.lattice(self, runs, high[runs], WIDE_POINTS, 4)

        def wide_lattice(runs: IntArray) -> _Grid:
            return _Grid.lattice(self, runs, high[runs], WIDE_POINTS, 2)

        kinds: list[tuple[BoolArray, int, Callable[[IntArray], _Grid]]] = [
            (windowed, NARROW_POINTS * WINDOW_SCALES, windowed_grid),
            (narrow & ~windowed, NARROW_POINTS * LOG_SCALES.size, narrow_grid),
            (~narrow & (steps == 4), _lattice_ratios(WIDE_POINTS, 4), fine_lattice),
            (~narrow & (steps == 2), _lattice_ratios(WIDE_POINTS, 2), wide_lattice),
        ]
        return [(np.flatnonzero(which), ratios, make) for which, ratios, make in kinds if any_entry(which)]

    def _runs_at_once(self, ratios: int) -> int:
        """Return how many runs to average at once on a grid with this number of ratios."""
        return max(1, _MAX_ENTRIES // int(self.D.shape[1] * ratios))

    def _support(self, runs: IntArray, top: Array) -> tuple[Array, Array, Array]:
        """Return the interval of log sigma outside of which the density is negligible, and its mode, coarsely."""
        lows, highs, modes = [], [], []
        count = self._runs_at_once(_lattice_ratios(COARSE_POINTS, 1))
        for begin in range(0, runs.size, count):
            chunk = slice(begin, begin + count)
            grid = _Grid.lattice(self, runs[chunk], top[chunk], COARSE_POINTS, 1)
            density = grid.log_weights.max(axis=2)
            low, high = _likely_interval(grid.log_noise, density)
            lows.append(low)
            highs.append(high)
            modes.append(grid.log_noise[np.arange(len(density)), density.argmax(axis=1)])
        return np.concatenate(lows), np.concatenate(highs), np.concatenate(modes)

    def _support_near(
        self, runs: IntArray, center: Array, bottom: Array, top: Array
    ) -> tuple[Array, Array, IntArray, BoolArray]:
        """Return the interval of log sigma near an estimate, a window of scales, and where the interval is too small.

        At the estimate, all scales are evaluated; and for the best of them, a few values of sigma.
        """
        center = np.minimum(center, top)
        scales = LOG_SCALES[None].repeat(runs.size, axis=0)
        of_scale = _Grid.product(self, runs, center[:, None], scales).log_weights[:, 0]
        best = of_scale.argmax(axis=1)
        likely = of_scale > of_scale.max(axis=1, keepdims=True) - NEGLIGIBLE_SCALE_NATS
        first, last = likely.argmax(axis=1), LOG_SCALES.size - 1 - likely[:, ::-1].argmax(axis=1)
        surplus = WINDOW_SCALES - (last - first + 1)
        start = np.clip(first - surplus // 2, 0, LOG_SCALES.size - WINDOW_SCALES)
        near_low, near_high = np.maximum(center - SEARCH_WIDTH, bottom), np.minimum(center + SEARCH_WIDTH, top)
        log_noise = near_low[:, None] + (near_high - near_low)[:, None] * _SHARES
        of_noise = _Grid.product(self, runs, log_noise, LOG_SCALES[best][:, None]).log_weights[:, :, 0]
        low, high = _likely_interval(log_noise, of_noise)
        at_border = (low <= near_low + 1e-9) & (near_low > bottom + 1e-9)
        at_border |= (high >= near_high - 1e-9) & (near_high < top - 1e-9)
        return low, high, np.where(surplus >= 0, start, -1), at_border

    def _log_noise_prior(self, runs: IntArray, log_noise: Array) -> Array:
        """Return the logarithm of the prior density of log sigma, which need not be normalized."""
        known = self.known_noise[runs]
        if np.isnan(known).all():
            return np.asarray(NOISE_PRIOR_EXPONENT * log_noise)
        distance = np.minimum(log_noise - np.log(known)[:, None], 0.0) / KNOWN_NOISE_DEVIATION
        return np.where(np.isnan(known)[:, None], NOISE_PRIOR_EXPONENT * log_noise, -0.5 * np.square(distance))

    def _average(self, grid: _Grid, top: Array) -> ScaleAverage:
        """Return the average over a grid that is equidistant in log sigma."""
        runs, log_noise, log_weights = grid.runs, grid.log_noise, grid.log_weights
        log_weights[:, 0] -= math.log(2.0)  # the trapezoidal rule
        log_weights[:, -1] -= math.log(2.0)
        # Readings of zero have a density that grows towards small noise: it ends where the coarse grid does.
        below = log_noise < top[:, None] - (COARSE_POINTS - 1) * SCALE_STEP - 1e-9
        if any_entry(below):
            log_weights[below] = -np.inf
        highest = np.maximum.reduce(log_weights, axis=(1, 2))
        weights = log_weights - highest[:, None, None]
        np.exp(weights, out=weights)
        # One axis after the other: the order of a sum over two axes depends on the number of runs.
        of_scale = np.add.reduce(weights, axis=1)
        total = np.add.reduce(of_scale, axis=1)
        weights /= total[:, None, None]
        of_scale /= total[:, None]
        of_noise = np.add.reduce(weights, axis=2)
        inverse, inverse_s, share = grid.sums(weights)
        # The prior of log sigma is normalized up to its largest value, and that of log s on its grid.
        step = np.maximum(log_noise[:, 1] - log_noise[:, 0], 1e-9)
        noise_mass = np.where(
            np.isnan(self.known_noise[runs]),
            NOISE_PRIOR_EXPONENT * top - math.log(NOISE_PRIOR_EXPONENT),
            math.log(KNOWN_NOISE_DEVIATION * math.sqrt(0.5 * math.pi) + math.log(KNOWN_NOISE_RANGE)),
        )
        scale_mass = np.exp(-0.5 * np.square(LOG_SCALES / self.scale_deviation[runs][:, None])).sum(axis=1)
        evidence = highest + np.log(total * step) - noise_mass - np.log(scale_mass)
        return ScaleAverage(
            mean=self.D[runs] * (inverse * self.c[runs] - inverse_s * self.c0[runs]),
            variance=share,
            scale=np.vecdot(of_scale, np.exp(grid.log_scales)),
            mean_square_scale=np.vecdot(of_scale, np.exp(2.0 * grid.log_scales)),
            noise=np.exp(np.vecdot(of_noise, log_noise)),
            log_evidence=evidence - 0.5 * self.readings[runs] * _LOG_TWO_PI,
        )


def averages(likelihoods: list[MarginalLikelihood], guesses: list[Array]) -> list[ScaleAverage]:
    """Return the average of each likelihood; those with the same number of coordinates are averaged together.

    Parameters
    ----------
    likelihoods : list of MarginalLikelihood
        The likelihoods.
    guesses : list of Array
        The last estimates of sigma, see :meth:`MarginalLikelihood.average`.
    """
    found: dict[int, ScaleAverage] = {}
    sizes = [likelihood.D.shape[1] for likelihood in likelihoods]
    for size in dict.fromkeys(sizes):
        members = [k for k, own in enumerate(sizes) if own == size]
        if len(members) == 1:
            found[members[0]] = likelihoods[members[0]].average(guesses[members[0]])
            continue
        fields = zip(*(likelihoods[k].__dict__.values() for k in members), strict=True)
        together = MarginalLikelihood(*map(np.concatenate, fields))
        whole = together.average(np.concatenate([guesses[k] for k in members]))
        ends = np.cumsum([guesses[k].size for k in members])
        for k, *parts in zip(members, *(np.split(values, ends[:-1]) for values in whole), strict=True):
            found[k] = ScaleAverage(*parts)
    return [found[k] for k in range(len(likelihoods))]


_WINDOW = np.arange(WINDOW_SCALES)

_SHARES = np.linspace(0.0, 1.0, NARROW_POINTS)
"""The points of a fine grid, from its low end to its high one."""


@dataclass(frozen=True, eq=False)
class _Grid:
    """The log density on a grid of log sigma and log s.

    With r = sigma / s, the variance of c_i - s c0_i is s^2 (D_i^2 + r^2). The sums over i therefore depend on r only,
    apart from powers of s: those of log(D_i^2 + r^2), c_i^2 / (D_i^2 + r^2), c_i c0_i / (D_i^2 + r^2) and
    c0_i^2 / (D_i^2 + r^2). If the step of log s is a multiple of that of log sigma, many pairs have the same r.

    Attributes
    ----------
    runs : IntArray, shape (runs,)
        The runs.
    log_noise, log_scales : Array, shape (runs, sigmas) and (runs, scales)
        The grid.
    steps : int
        The number of steps of log sigma in one of log s, if pairs share their ratios; zero if they do not.
    r2, inverse : Array, shape (runs, ratios) and (runs, p, ratios)
        The squares of the ratios, and 1 / (D_i^2 + r^2).
    log_weights : Array, shape (runs, sigmas, scales)
        The log density, up to the normalization of the priors. In memory, the sigmas of a scale are neighbors.
    """

    runs: IntArray
    log_noise: Array
    log_scales: Array
    steps: int
    r2: Array
    inverse: Array
    log_weights: Array

    @classmethod
    def product(cls, of: MarginalLikelihood, runs: IntArray, log_noise: Array, log_scales: Array) -> _Grid:
        """Return any grid: each pair has a ratio of its own."""
        log_ratio = (log_noise[:, None, :] - log_scales[:, :, None]).reshape(runs.size, -1)
        return cls._evaluate(of, runs, log_noise, log_scales, 0, log_ratio)

    @classmethod
    def lattice(cls, of: MarginalLikelihood, runs: IntArray, high: Array, points: int, steps: int) -> _Grid:
        """Return the grid of all scales whose step of log sigma is 1 / steps of that of log s, up to ``high``."""
        step = SCALE_STEP / steps
        log_noise = high[:, None] + step * np.arange(1.0 - points, 1.0)
        log_ratio = (log_noise[:, :1] - LOG_SCALES[-1]) + step * np.arange(_lattice_ratios(points, steps))
        log_scales = LOG_SCALES[None].repeat(runs.size, axis=0)
        return cls._evaluate(of, runs, log_noise, log_scales, steps, log_ratio)

    @classmethod
    def _evaluate(
        cls,
        of: MarginalLikelihood,
        runs: IntArray,
        log_noise: Array,
        log_scales: Array,
        steps: int,
        log_ratio: Array,
    ) -> _Grid:
        D, c, c0 = of.D[runs], of.c[runs], of.c0[runs]
        r2 = np.exp(2.0 * log_ratio)
        variance = np.square(D)[:, :, None] + r2[:, None, :]
        products = np.empty((runs.size, 3, D.shape[1]))
        products[:, 0], products[:, 1], products[:, 2] = c * c, (-2.0 * c) * c0, c0 * c0
        logarithms = np.log(variance)
        inverse = np.divide(1.0, variance, out=variance)
        sums = np.ones((runs.size, 4, log_ratio.shape[1]))
        np.matmul(products, inverse, out=sums[:, :3])
        sums[:, 2] += np.add.reduce(logarithms, axis=1)
        # The log density of a pair is a product of what depends on s and what depends on r, apart from that of sigma.
        of_scale = np.empty((*log_scales.shape, 4))
        unit = np.exp(-log_scales)
        of_scale[..., 0], of_scale[..., 1], of_scale[..., 2] = -0.5 * np.square(unit), -0.5 * unit, -0.5
        prior = -0.5 * np.square(log_scales / of.scale_deviation[runs][:, None])
        np.subtract(prior, D.shape[1] * log_scales, out=of_scale[..., 3])
        surplus = (of.readings[runs] - D.shape[1])[:, None]
        residual = 2.0 * surplus * log_noise + of.rest[runs][:, None] * np.exp(-2.0 * log_noise)
        of_noise = (of._log_noise_prior(runs, log_noise) - 0.5 * residual)[:, None, :]
        if steps:
            log_weights = _pairs_of_lattice(of_scale @ sums, log_noise.shape[1], steps) + of_noise
        else:
            of_pair = sums.reshape(runs.size, 4, *log_scales.shape[1:], -1)
            log_weights = of_scale[..., :1] * of_pair[:, 0]
            for k in (1, 2):
                log_weights += of_scale[..., k : k + 1] * of_pair[:, k]
            log_weights += of_scale[..., 3:]
            log_weights += of_noise
        return cls(runs, log_noise, log_scales, steps, r2, inverse, log_weights.swapaxes(1, 2))

    def sums(self, weights: Array) -> tuple[Array, Array, Array]:
        """Return the means of 1 / (D_i^2 + r^2), s / (D_i^2 + r^2) and s^2 r^2 / (D_i^2 + r^2), shape (runs, p)."""
        s, weights = np.exp(self.log_scales), weights.swapaxes(1, 2)
        runs, scales, points = weights.shape
        powers = np.empty((runs, 3, scales))
        powers[:, 0], powers[:, 1], powers[:, 2] = 1.0, s, np.square(s)
        if self.steps:
            by_ratio = np.zeros((runs, scales, self.r2.shape[1]))
            _pairs_of_lattice(by_ratio, points, self.steps)[...] = weights
            of_ratio = powers @ by_ratio
        else:
            of_ratio = (powers[..., None] * weights[:, None]).reshape(runs, 3, -1)
        of_ratio[:, 2] *= self.r2
        sums = of_ratio @ self.inverse.swapaxes(1, 2)
        return sums[:, 0], sums[:, 1], sums[:, 2]


def _lattice_ratios(points: int, steps: int) -> int:
    """Return the number of ratios of a lattice."""
    return points + int(LOG_SCALES.size - 1) * steps


def _pairs_of_lattice(values: Array, points: int, steps: int) -> Array:
    """Return a view of values of scales and ratios, shape (runs, scales, ratios), by pairs, (runs, scales, points).

    On a lattice, the ratio of sigma_i and s_j is number i + steps (scales - 1 - j).
    """
    runs, scales, _ = values.shape
    of_run, of_scale, inner = values.strides
    first = steps * (scales - 1) * inner
    strides = (of_run, of_scale - steps * inner, inner)
    return np.ndarray((runs, scales, points), buffer=values, offset=first, strides=strides)


def _likely_interval(log_noise: Array, log_weights: Array) -> tuple[Array, Array]:
    """Return the interval outside of which the density is negligible, one step wider, within the grid."""
    likely = log_weights > log_weights.max(axis=1, keepdims=True) - NEGLIGIBLE_NATS
    points = log_noise.shape[1]
    first, last = likely.argmax(axis=1), points - 1 - likely[:, ::-1].argmax(axis=1)
    rows = np.arange(len(log_noise))
    return log_noise[rows, np.maximum(first - 1, 0)], log_noise[rows, np.minimum(last + 1, points - 1)]
