r"""Probes: deviations from the planned action whose information is worth more than their cost.

Regret is of second order in the error E of the estimate. Let C be the gain, c_i its eigenvalues and f_ij the divided
differences of c over the eigenvalues of A. Then a round costs on average

    1/2 sum_i (1/c_i) sum_jk f_ij f_ik Cov(E_ij, E_ik) W_jk,        W = E[(x_prev - v)(x_prev - v)'],

in the eigenbasis of the estimate. A reading at u reduces Cov(E) by the outer product of its covariance with E, divided
by its own variance, so its saving per round is a quadratic form. The value of information is this saving over the
rounds to come, limited to the time after which the movement without probes would give the same information. A probe
delta costs 1/2 delta'C^{-1} delta, including its effect on later rounds.

This holds for small errors. The scale of A may be wrong by large factors while the first readings are little more than
noise; and if A is large, playing for a small A is expensive in every round. The information of a reading grows with the
fourth power of |u| and its cost with the square, so a few readings far from v find the scale at a lower cost than many
readings close to v: :func:`exploratory_spectrum`.
"""

from __future__ import annotations

import numpy as np

from soqo._model.gains import contraction
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import TRACE_DEVIATION, Posterior, ReadingModel
from soqo.typing import Array, BoolArray, IntArray

SAFETY_FACTOR = 32.0
"""A probe must save this many times its cost."""

EXPLORATION_ROUNDS = range(2, 6)
"""The numbers of previous rounds after which :func:`exploratory_spectrum` is used: one reading cannot be distinguished
from noise, and what four exploratory readings do not show is too small to be worth more of them."""

EARLY_PROBE_PERIOD, LATE_PROBE_PERIOD, EARLY_ROUNDS = 4, 16, 64
"""A probe is considered in every fourth round up to round 64, and in every sixteenth later."""

PROBE_SIZES = np.array([0.3, 1.0, 3.0])
"""The sizes of the candidate probes, in units of the size at which the uncertainty about A equals the noise."""


def best_probe(
    posterior: Posterior,
    model: ReadingModel,
    spectrum: Spectrum,
    planned: Array,
    *,
    moment: Array,
    rounds_to_go: float,
    rounds_to_save: float | Array,
    w: Array | None = None,
) -> Array:
    """Return the probe with the largest net value, shape (runs, d); zero if no probe pays.

    Parameters
    ----------
    posterior, model : Posterior and ReadingModel
        The posterior of A, and the assumptions about the readings.
    spectrum : Spectrum
        The spectrum of the estimate.
    planned : Array, shape (runs, d)
        x - v without a probe.
    moment : Array, shape (runs, d, d)
        The mean W of (x_prev - v)(x_prev - v)'.
    rounds_to_go : float
        The number of rounds to go, which determines the gain.
    rounds_to_save : float or Array of shape (runs,)
        The number of rounds in which a better estimate saves cost.
    w : Array, shape (runs, k), optional
        The context of this round.
    """
    runs, d = planned.shape
    Q = spectrum.vectors
    Qt = Q.swapaxes(-1, -2)
    # The slope of the gain is evaluated no closer to zero than one deviation of the eigenvalue.
    deviation = posterior.deviations(Qt) + 1e-300
    values = np.maximum(spectrum.values, deviation)
    c = contraction(values, rounds_to_go)
    largest_saving = _largest_saving(posterior, model, moment, values, c, rounds_to_go, rounds_to_save)
    pays = np.flatnonzero(~(largest_saving <= _lowest_price(posterior, c, deviation)))
    if not pays.size:
        return np.zeros_like(planned)
    if pays.size < runs:
        probes = np.zeros_like(planned)
        probes[pays] = best_probe(
            posterior.take_estimates(pays),
            model,
            Spectrum(spectrum.values[pays], Q[pays]),
            planned[pays],
            moment=moment[pays],
            rounds_to_go=rounds_to_go,
            rounds_to_save=np.broadcast_to(rounds_to_save, runs)[pays],
            w=None if w is None else w[pays],
        )
        return probes
    slopes = divided_differences(values, c, rounds_to_go)
    W = Qt @ moment @ Q
    mean_moment = posterior.second_moment / np.maximum(posterior.readings, 1.0)[:, None, None]

    # The candidates: no probe, and deviations along each eigenvector.
    unit = np.sqrt(2.0 * posterior.noise[:, None] / deviation)
    length = np.concatenate([np.zeros((runs, 1)), (unit[:, :, None] * PROBE_SIZES).reshape(runs, -1)], axis=1)
    direction = np.concatenate([Q[:, :, 0], *(Q[:, :, k] for k in np.repeat(np.arange(d), PROBE_SIZES.size))], axis=1)
    probe = length[:, :, None] * direction.reshape(runs, -1, d)
    u = planned[:, None] + probe
    variance, X = posterior.cross_covariance(model, _features(model, u, w))
    Y = slopes[:, None] * (Qt[:, None] @ X @ Q[:, None])
    noise = np.square(posterior.noise)[:, None]
    per_round = 0.5 * (np.vecdot(Y @ W[:, None], Y) / c[:, None]).sum(axis=2) / (variance + noise)
    # The rate at which normal movement with the past second moment gives the same information without probes.
    XS = X @ mean_moment[:, None]
    trace = np.trace(XS, axis1=2, axis2=3)
    # One axis after the other: the order of a sum over two axes depends on the number of runs.
    information = 0.5 * (XS * XS.swapaxes(-1, -2)).sum(axis=3).sum(axis=2) + 0.25 * np.square(trace)
    rate = information / np.maximum(variance * noise, 1e-300)
    rounds = np.reshape(rounds_to_save, (-1, 1))
    saving = per_round * rounds / (1.0 + rate * rounds)
    price = (
        0.5 * np.square(length) / np.concatenate([np.ones((runs, 1)), np.repeat(c, PROBE_SIZES.size, axis=1)], axis=1)
    )
    value = saving - saving[:, :1] - SAFETY_FACTOR * price
    # A value that is not a number is that of no probe.
    best = np.where(value > 0.0, value, 0.0).argmax(axis=1)
    return np.asarray(probe[np.arange(runs), best])


def _largest_saving(
    posterior: Posterior,
    model: ReadingModel,
    moment: Array,
    values: Array,
    c: Array,
    rounds_to_go: float,
    rounds_to_save: float | Array,
) -> Array:
    r"""Return what no reading can save more than, shape (runs,).

    With Y = f o X, tr(Y W Y') <= tr(W) max f^2 |X|^2, and |X|^2 is at most the variance of the reading times the trace
    of the covariance of A. The gain is a convex function of the eigenvalue, so no |f| is above that at the smallest
    one. In most rounds this is far below the price of any probe.
    """
    square_root = np.square(posterior.root[:, -model.unknowns :]).sum(axis=2).sum(axis=1)
    movement = np.trace(moment, axis1=1, axis2=2)
    largest_slope = -_slope(values.min(axis=1), rounds_to_go)
    return np.asarray(0.5 * rounds_to_save * movement * np.square(largest_slope) * square_root / c.min(axis=1))


def _lowest_price(posterior: Posterior, c: Array, deviation: Array) -> Array:
    """Return the price of the cheapest candidate, with the safety factor, shape (runs,)."""
    length2 = 2.0 * posterior.noise[:, None] / deviation * PROBE_SIZES[0] ** 2
    return np.asarray(SAFETY_FACTOR * 0.5 * (length2 / c).min(axis=1))


def _features(model: ReadingModel, u: Array, w: Array | None) -> Array:
    """Return the features of several readings of each run, in the same context; shape (runs, n, m)."""
    runs, n, d = u.shape
    context = None if w is None else np.repeat(w, n, axis=0)
    return model.features(u.reshape(-1, d), context).reshape(runs, n, -1)


def exploratory_spectrum(posterior: Posterior, model: ReadingModel, spectrum: Spectrum) -> Spectrum:
    """Return the spectrum to play for: the estimate, with eigenvalues of at most one while the scale of A is unknown.

    The scale is unknown if the deviation of A along the identity is above TRACE_DEVIATION times the mean eigenvalue,
    which is its prior deviation for a known scale. One is the prior median of s. The prior mean, from which the
    estimate starts, is larger. It is right for a single round, but the readings that it leads to are close to v and
    contain little information.
    """
    unknown = posterior.identity_deviation(model) > TRACE_DEVIATION * spectrum.values.mean(axis=1)
    values = np.where(unknown[:, None], np.minimum(spectrum.values, 1.0), spectrum.values)
    return Spectrum(values, spectrum.vectors)


def divided_differences(a: Array, c: Array, rounds_to_go: float) -> Array:
    """Return (c_i - c_j) / (a_i - a_j), or the slope of c if a_i and a_j are close; shape (runs, d, d)."""
    difference = a[:, :, None] - a[:, None, :]
    middle = 0.5 * (a[:, :, None] + a[:, None, :])
    close = np.abs(difference) <= 1e-3 * middle
    return np.where(
        close, _slope(middle, rounds_to_go), (c[:, :, None] - c[:, None, :]) / np.where(close, 1.0, difference)
    )


def _slope(a: Array, rounds_to_go: float) -> Array:
    """Return the slope of the gain at eigenvalues, from its values on both sides of them."""
    upper, lower = contraction(1.001 * a, rounds_to_go), contraction(0.999 * a, rounds_to_go)
    return np.asarray((upper - lower) / (0.002 * a))


def explores(rounds: int | IntArray) -> bool | BoolArray:
    """Return whether a run explores after this number of rounds."""
    return (rounds >= EXPLORATION_ROUNDS.start) & (rounds < EXPLORATION_ROUNDS.stop)


def may_probe(rounds: int | IntArray) -> bool | BoolArray:
    """Return whether a probe is considered after this number of rounds."""
    early = rounds <= EARLY_ROUNDS
    due = (early & (rounds % EARLY_PROBE_PERIOD == 0)) | (rounds % LATE_PROBE_PERIOD == 0)
    return (rounds > 0) & due
