"""The average of the posterior over noise and scale for one run: ``_marginal_likelihood`` as machine code."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.compilation import compiled
from soqo.estimators.bayes._marginal_likelihood import (
    COARSE_POINTS,
    FEW_READINGS,
    KNOWN_NOISE_DEVIATION,
    KNOWN_NOISE_RANGE,
    LOG_SCALES,
    MIN_NOISE,
    NARROW_POINTS,
    NARROW_WIDTH,
    NEGLIGIBLE_NATS,
    NEGLIGIBLE_SCALE_NATS,
    NO_RESIDUAL,
    NOISE_PRIOR_EXPONENT,
    SCALE_STEP,
    SEARCH_WIDTH,
    WIDE_POINTS,
    WINDOW_SCALES,
)
from soqo.typing import Array

_SCALES = LOG_SCALES.size
_LOG_TWO_PI = math.log(2.0 * math.pi)
_LARGE, _SMALL = 1e100, 1e-100
_ROUND_OFF_NATS = 100.0
"""What is this far below the maximum is below the round-off of the sums, also of those that contain the noise."""


@compiled
def _sums(D2: Array, products: Array, r2: float) -> tuple[float, float, float, float]:
    """Return the sums of log(D^2 + r^2) and of the products divided by D^2 + r^2."""
    log_determinant, product = 0.0, 1.0
    s0, s1, s2 = 0.0, 0.0, 0.0
    for i in range(D2.size):
        variance = D2[i] + r2
        inverse = 1.0 / variance
        s0 += products[0, i] * inverse
        s1 += products[1, i] * inverse
        s2 += products[2, i] * inverse
        # One logarithm for several factors, as long as their product does not overflow.
        if product > _LARGE or product < _SMALL or variance > _LARGE or variance < _SMALL:
            log_determinant += math.log(product)
            product = 1.0
        product *= variance
    return log_determinant + math.log(product), s0, s1, s2


@compiled
def _log_noise_prior(log_noise: float, known_noise: float) -> float:
    if math.isnan(known_noise):
        return NOISE_PRIOR_EXPONENT * log_noise
    distance = min(log_noise - math.log(known_noise), 0.0) / KNOWN_NOISE_DEVIATION
    return -0.5 * distance * distance


@compiled
def _of_noise(log_noise: float, surplus: float, rest: float, known_noise: float) -> float:
    """Return the part of the log density that depends on the noise only."""
    residual = 2.0 * surplus * log_noise + rest * math.exp(-2.0 * log_noise)
    return _log_noise_prior(log_noise, known_noise) - 0.5 * residual


@compiled
def _of_pair(sums: tuple[float, float, float, float], log_scale: float, count: int, scale_deviation: float) -> float:
    """Return the part that depends on the ratio of noise and scale, and on the scale."""
    log_determinant, s0, s1, s2 = sums
    unit = math.exp(-log_scale)
    explained = log_determinant + (s0 * unit - 2.0 * s1) * unit + s2
    prior = log_scale / scale_deviation
    return -0.5 * prior * prior - count * log_scale - 0.5 * explained


@compiled
def _likely_interval(log_noise: Array, density: Array, points: int) -> tuple[float, float]:
    """Return the interval outside of which the density is negligible, one step wider, within the grid."""
    top = -np.inf
    for i in range(points):
        top = max(top, density[i])
    first, last = 0, points - 1
    while first < points - 1 and not density[first] > top - NEGLIGIBLE_NATS:
        first += 1
    while last > 0 and not density[last] > top - NEGLIGIBLE_NATS:
        last -= 1
    return log_noise[max(first - 1, 0)], log_noise[min(last + 1, points - 1)]


@compiled
def _lattice(
    D2: Array,
    products: Array,
    high: float,
    points: int,
    steps: int,
    surplus: float,
    rest: float,
    known_noise: float,
    scale_deviation: float,
    log_noise: Array,
    weights: Array,
) -> None:
    """Evaluate all scales on a grid whose step of log sigma is 1 / steps of that of log s: pairs share their ratios."""
    step = SCALE_STEP / steps
    ratios = points + (_SCALES - 1) * steps
    of_ratio = np.empty((ratios, 4))
    for i in range(points):
        log_noise[i] = high + step * (i + 1 - points)
    lowest = log_noise[0] - LOG_SCALES[_SCALES - 1]
    for j in range(ratios):
        of_ratio[j] = _sums(D2, products, math.exp(2.0 * (lowest + step * j)))
    for i in range(points):
        own = _of_noise(log_noise[i], surplus, rest, known_noise)
        for k in range(_SCALES):
            row = of_ratio[i + steps * (_SCALES - 1 - k)]
            sums = (row[0], row[1], row[2], row[3])
            weights[i, k] = own + _of_pair(sums, LOG_SCALES[k], D2.size, scale_deviation)


@compiled
def _support_near(
    D2: Array,
    products: Array,
    center: float,
    bottom: float,
    top: float,
    surplus: float,
    rest: float,
    known_noise: float,
    scale_deviation: float,
    log_noise: Array,
    density: Array,
) -> tuple[float, float, int, bool]:
    """Return the interval of log sigma near an estimate, a window of scales, and whether the interval is too small."""
    center = min(center, top)
    best, highest = 0, -np.inf
    own = _of_noise(center, surplus, rest, known_noise)
    for k in range(_SCALES):
        sums = _sums(D2, products, math.exp(2.0 * (center - LOG_SCALES[k])))
        density[k] = own + _of_pair(sums, LOG_SCALES[k], D2.size, scale_deviation)
        if density[k] > highest:
            best, highest = k, density[k]
    first, last = 0, _SCALES - 1
    while first < _SCALES - 1 and not density[first] > highest - NEGLIGIBLE_SCALE_NATS:
        first += 1
    while last > 0 and not density[last] > highest - NEGLIGIBLE_SCALE_NATS:
        last -= 1
    surplus_scales = WINDOW_SCALES - (last - first + 1)
    start = min(max(first - surplus_scales // 2, 0), _SCALES - WINDOW_SCALES)
    low, high = max(center - SEARCH_WIDTH, bottom), min(center + SEARCH_WIDTH, top)
    for i in range(NARROW_POINTS):
        log_noise[i] = low + (high - low) * (i / (NARROW_POINTS - 1.0))
        sums = _sums(D2, products, math.exp(2.0 * (log_noise[i] - LOG_SCALES[best])))
        own = _of_noise(log_noise[i], surplus, rest, known_noise)
        density[i] = own + _of_pair(sums, LOG_SCALES[best], D2.size, scale_deviation)
    found_low, found_high = _likely_interval(log_noise, density, NARROW_POINTS)
    at_border = (found_low <= low + 1e-9 and low > bottom + 1e-9) or (found_high >= high - 1e-9 and high < top - 1e-9)
    return found_low, found_high, start if surplus_scales >= 0 else -1, at_border


@compiled
def average(
    D: Array,
    c: Array,
    c0: Array,
    rest: float,
    readings: float,
    max_abs_reading: float,
    noise_cap: float,
    known_noise: float,
    scale_deviation: float,
    guess: float,
    mean: Array,
    variance: Array,
) -> tuple[float, float, float, float]:
    """Fill in mean and variance of the coordinates; return the means of s and s^2, the noise, and the log evidence."""
    count = D.size
    D2, products = D * D, np.empty((3, count))
    products[0], products[1], products[2] = c * c, c * c0, c0 * c0
    surplus = readings - count
    largest = 2.0 * max_abs_reading if math.isnan(known_noise) else KNOWN_NOISE_RANGE * known_noise
    top = math.log(max(min(largest, noise_cap), MIN_NOISE))
    bottom = top - (COARSE_POINTS - 1) * SCALE_STEP
    log_noise, density = np.empty(WIDE_POINTS), np.empty(WIDE_POINTS)
    weights = np.empty((WIDE_POINTS, _SCALES))
    low, high, first_scale = bottom, top, -1
    few = math.isnan(known_noise) and readings <= min(FEW_READINGS, count)
    blind = math.isnan(guess) and not (few and rest <= (NO_RESIDUAL * max_abs_reading) ** 2)
    if not math.isnan(guess):
        low, high, first_scale, blind = _support_near(
            D2, products, math.log(max(guess, MIN_NOISE)), bottom, top, surplus, rest, known_noise, scale_deviation,
            log_noise, density,
        )  # fmt: skip
    if blind:
        _lattice(D2, products, top, COARSE_POINTS, 1, surplus, rest, known_noise, scale_deviation, log_noise, weights)
        mode, highest = log_noise[0], -np.inf
        for i in range(COARSE_POINTS):
            density[i] = weights[i].max()
            if density[i] > highest:
                mode, highest = log_noise[i], density[i]
        low, high = _likely_interval(log_noise, density, COARSE_POINTS)
        if high - low <= NARROW_WIDTH:
            near_low, near_high, window, at_border = _support_near(
                D2, products, mode, bottom, top, surplus, rest, known_noise, scale_deviation, log_noise, density
            )
            if not at_border:
                low, high, first_scale = near_low, near_high, window
    return _average_on_grid(
        D, c, c0, D2, products, low, high, first_scale, top, surplus, rest, readings, known_noise, scale_deviation,
        log_noise, weights, mean, variance,
    )  # fmt: skip


@compiled
def _average_on_grid(
    D: Array,
    c: Array,
    c0: Array,
    D2: Array,
    products: Array,
    low: float,
    high: float,
    first_scale: int,
    top: float,
    surplus: float,
    rest: float,
    readings: float,
    known_noise: float,
    scale_deviation: float,
    log_noise: Array,
    weights: Array,
    mean: Array,
    variance: Array,
) -> tuple[float, float, float, float]:
    """Average over the fine grid that fits the width of the density."""
    width = high - low
    narrow = width <= NARROW_WIDTH
    scale_begin, scale_end, points = 0, _SCALES, WIDE_POINTS
    if narrow:
        points = NARROW_POINTS
        if first_scale >= 0:
            scale_begin, scale_end = first_scale, first_scale + WINDOW_SCALES
        for i in range(points):
            log_noise[i] = low + width * (i / (points - 1.0))
            own = _of_noise(log_noise[i], surplus, rest, known_noise)
            for k in range(scale_begin, scale_end):
                sums = _sums(D2, products, math.exp(2.0 * (log_noise[i] - LOG_SCALES[k])))
                weights[i, k] = own + _of_pair(sums, LOG_SCALES[k], D2.size, scale_deviation)
    else:
        steps = 4 if width <= (WIDE_POINTS - 1) * SCALE_STEP / 4.0 else 2
        _lattice(D2, products, high, points, steps, surplus, rest, known_noise, scale_deviation, log_noise, weights)
    bottom = top - (COARSE_POINTS - 1) * SCALE_STEP
    highest = -np.inf
    for i in range(points):
        ends = math.log(2.0) if i in (0, points - 1) else 0.0  # the trapezoidal rule
        for k in range(scale_begin, scale_end):
            # Readings of zero have a density that grows towards small noise: it ends where the coarse grid does.
            weights[i, k] = -np.inf if log_noise[i] < bottom - 1e-9 else weights[i, k] - ends
            highest = max(highest, weights[i, k])
    total, scale, mean_square_scale, mean_log_noise = 0.0, 0.0, 0.0, 0.0
    mean[:], variance[:] = 0.0, 0.0
    for i in range(points):
        for k in range(scale_begin, scale_end):
            if not weights[i, k] > highest - _ROUND_OFF_NATS:
                continue
            weight = math.exp(weights[i, k] - highest)
            s = math.exp(LOG_SCALES[k])
            r2 = math.exp(2.0 * (log_noise[i] - LOG_SCALES[k]))
            total += weight
            scale += weight * s
            mean_square_scale += weight * s * s
            mean_log_noise += weight * log_noise[i]
            weight_s, weight_r = weight * s, weight * s * s * r2
            for j in range(D.size):
                inverse = 1.0 / (D2[j] + r2)
                mean[j] += inverse * (weight * c[j] - weight_s * c0[j])
                variance[j] += weight_r * inverse
    for j in range(D.size):
        mean[j] *= D[j] / total
        variance[j] /= total
    step = max(log_noise[1] - log_noise[0], 1e-9)
    noise_mass = math.log(KNOWN_NOISE_DEVIATION * math.sqrt(0.5 * math.pi) + math.log(KNOWN_NOISE_RANGE))
    if math.isnan(known_noise):
        noise_mass = NOISE_PRIOR_EXPONENT * top - math.log(NOISE_PRIOR_EXPONENT)
    scale_mass = 0.0
    for k in range(_SCALES):
        prior = LOG_SCALES[k] / scale_deviation
        scale_mass += math.exp(-0.5 * prior * prior)
    evidence = highest + math.log(total * step) - noise_mass - math.log(scale_mass)
    return (
        scale / total,
        mean_square_scale / total,
        math.exp(mean_log_noise / total),
        evidence - 0.5 * readings * _LOG_TWO_PI,
    )
