r"""The trial of a factor A = L L', which then takes the place of the other estimates.

There are two ways to win. A sharp estimate may predict so much better than the soft one that A must have a low rank;
then the factor only has to fit, and the readings have to determine it. Otherwise, where noise dominates, a factor with
half as many unknowns as readings has to predict better than the estimate that is played.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import Factored, Readings, Rows
from soqo.policies.glide._large._comparison import forget, mean_square, median_square, predictions
from soqo.policies.glide._large._estimates import LONG_SWEEP, combine, sharp_weight, sweep
from soqo.policies.glide._large._stream import Stream
from soqo.typing import Array

_SIGNIFICANT = 3e-3
"""Eigenvalues of the sharp estimate below this share of the largest one are taken as zero."""

_TRIAL_SIGNIFICANT = 0.02
"""The same for a trial, in which noise may dominate."""

_MAX_TRIAL_ENTRIES, _MIN_TRIAL_RANK = 600, 3
"""A factor on trial has at most this many entries, or so many columns, so that a step of its fit is quick enough."""

_MAX_DROPPED, _MAX_RANK = 0.25, 1.0 / 3.0
"""A factor on trial leaves at most this share of the soft estimate out, and has at most this share of all directions.
Factors of a lower rank predict as well while no reading shows the difference, but to play for them has unbounded cost.
"""

_NOISE_RATIO, _NEGLIGIBLE_NOISE = 16.0, 1e-4
"""A factor must not need more noise than this many times the variance of the noise as known before, plus this share of
the squared median of the readings."""

_DETERMINED, _DETERMINED_ON_TRIAL = 0.995, 0.9
"""The share of the unknowns of a factor that the readings have to determine, if a sharp estimate shows a low rank, and
if the factor has to predict better than the estimate that is played."""

_FIT_OPERATIONS = 2e8
"""The number of operations that the steps of a fit take in a round."""

_REFIT_OPERATIONS, _LEAST_STEPS, _LENIENCIES = 1.5e8, 30, (1.0, 0.03, 0.01, 0.0)
"""The number of operations that all attempts take, how many steps that must allow, and what the first stages of the
fits leave open of what noise does not explain."""

_LATEST_PER_ENTRY, _LEAST_LATEST, _FAR2 = 6, 400, 25.0
"""A fit uses this many of the latest readings per entry of L, or so many if that is more; and of the earlier ones those
whose |z|^2 exceeds this many times the median of the latest."""

SAME_NOISE = 2.0
"""A fit explains readings if the variance of the noise does not exceed this many times that before."""

_SWEEPS_AFRESH, _ROWS_AFRESH = 5, 300
"""The number of sweeps of a soft estimate that starts from scratch, and of the latest readings that they use. One more
uses all of them."""


def _factor(A: Array, significant: float) -> Array:
    """Return L with A = L L', from the eigenvalues that are large enough."""
    values, vectors = np.linalg.eigh(A)
    kept = values > significant * max(values[-1], 1e-300)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def _unknowns(L: Array) -> int:
    d, k = L.shape
    return int(d * k - k * (k - 1) // 2)


def try_factor(stream: Stream, noise: float) -> Stream:
    """Return the stream after a round of the trial of a factor, which may begin, win or be given up.

    Parameters
    ----------
    stream : Stream
        The stream.
    noise : float
        The deviation of the noise.
    """
    if stream.trial is None:
        return _begin_trial(stream, noise)
    trial, n = stream.trial, stream.seen
    rows = fitted_readings(stream, trial.L)
    if trial.is_fitting:
        trial = fit_some_steps(trial, rows)
        if not trial.is_fitting and stream.trial_is_clear and _is_convincing(trial, noise, rows.y):
            return _adopt(stream, trial)
        return evolve(stream, trial=trial)
    trial = trial.update(rows.Z[-1], float(rows.y[-1]))
    count = predictions(stream.errors, "trial")
    if count >= 8:
        own, played = (mean_square(stream.errors, name, count) for name in ("trial", "played"))
        if (
            own < 0.97 * played
            and trial.determined >= _DETERMINED_ON_TRIAL * trial.unknowns
            and _is_plausible(stream, trial.L)
        ):
            return _adopt(stream, trial)
        if count >= 19:
            return evolve(stream, trial=None, next_trial=math.ceil(1.25 * n))
    return evolve(stream, trial=trial)


def _begin_trial(stream: Stream, noise: float) -> Stream:
    """Return the stream with a factor on trial, if there is reason for one."""
    n, sharp = stream.seen, stream.sharp
    L, clear = None, False
    if sharp is not None and _sharp_is_clear(stream):
        L = _factor(sharp, _SIGNIFICANT)
        clear = n >= 1.05 * _unknowns(L) + 4
    if not clear:
        if n < stream.next_trial or stream.soft is None:
            return stream
        L = _factor(stream.soft if sharp is None else sharp, _TRIAL_SIGNIFICANT)
        if (
            n < 2 * _unknowns(L)
            or L.size > max(_MAX_TRIAL_ENTRIES, _MIN_TRIAL_RANK * len(L))
            or not _is_plausible(stream, L)
        ):
            return evolve(stream, next_trial=math.ceil(1.05 * n))
    assert L is not None
    rows = fitted_readings(stream, L)
    trial = Factored.start(L, rows.Z, rows.y, noise * noise)
    begun = evolve(stream, trial=trial, trial_is_clear=clear, errors=forget(stream.errors, "trial"))
    return begun if n > LONG_SWEEP else try_factor(begun, noise)  # a long fit begins in the next round


def _sharp_is_clear(stream: Stream) -> bool:
    """Return whether the sharp estimate predicts so much better than the soft one that A must have a low rank."""
    errors = stream.errors
    k = min(predictions(errors, "sharp"), 12)
    if k < 4 or sharp_weight(stream) < 0.9:
        return False
    typical = (mean_square, median_square)
    return all(size(errors, "sharp", k) < 0.01 * size(errors, "soft", k) for size in typical)


def _is_convincing(trial: Factored, noise: float, y: Array) -> bool:
    """Return whether a factor explains the readings without more noise than there is, and they determine it."""
    usual = _NOISE_RATIO * noise * noise + _NEGLIGIBLE_NOISE * float(np.median(np.abs(y))) ** 2
    return trial.noise2 <= usual and trial.determined >= _DETERMINED * trial.unknowns


def fit_some_steps(factored: Factored, rows: Readings) -> Factored:
    """Return a factor after as many steps of its fit as a round has time for.

    If only the last step is left, the latest reading is one that the fit has not seen. Its error is no noise: far out
    it may be a thousand times as large. So the last step uses the other readings, and the filter takes the latest.

    Parameters
    ----------
    factored : Factored
        The factor.
    rows : Readings
        The readings.
    """
    if factored.is_settling:
        return factored.fit_step(rows.Z[:-1], rows.y[:-1]).update(rows.Z[-1], float(rows.y[-1]))
    cost = len(rows.y) * factored.L.size**2
    for _ in range(max(int(_FIT_OPERATIONS / cost), 1)):
        if not factored.is_fitting:
            break
        factored = factored.fit_step(rows.Z, rows.y)
    return factored


def fit_again(factored: Factored, rows: Readings) -> Factored | None:
    """Return a factor after a fit that explains all readings, or None.

    Far from v, where A is almost zero, there are many factors that explain the latest reading, and steps from one to
    the other lead over places where the sum of squares is far larger. So there are several attempts. If a fit takes
    longer than a few rounds, there is one, which goes on in the next rounds.

    Parameters
    ----------
    factored : Factored
        The factor.
    rows : Readings
        The readings.
    """
    left = int(_REFIT_OPERATIONS / (len(rows.y) * factored.L.size**2))
    if left < _LEAST_STEPS:
        return fit_some_steps(factored.begin_fit(), rows)
    for leniency in _LENIENCIES:
        found = factored.begin_fit(leniency)
        while found.is_fitting and left > 0:
            found, left = found.fit_step(rows.Z, rows.y), left - 1
        if not found.is_fitting and found.noise2 <= SAME_NOISE * factored.noise2:
            return found
    return None


def fitted_readings(stream: Stream, L: Array) -> Readings:
    """Return the readings that a fit of a factor uses.

    A may change slowly, so that the latest readings count. Earlier ones far from v are used as well: with heavy tails,
    only these may show a part of A.

    Parameters
    ----------
    stream : Stream
        The stream.
    L : Array, shape (d, k)
        The factor.
    """
    every, latest = stream.readings(None), max(_LATEST_PER_ENTRY * L.size, _LEAST_LATEST)
    earlier = len(every.y) - latest
    if earlier <= 0:
        return every
    square = np.square(every.Z).sum(axis=1)
    used = square > _FAR2 * np.median(square[earlier:])
    used[earlier:] = True
    return Readings(every.Z[used], every.y[used])


def _adopt(stream: Stream, factored: Factored) -> Stream:
    return evolve(
        stream,
        factored=factored,
        next_fit=0,
        first_noise2=factored.noise2,
        moments=None,
        soft=None,
        flat=None,
        annealing=None,
        sharp=None,
        trial=None,
        surprises=np.full_like(stream.surprises, np.nan),
        trouble=0,
    )


def _is_plausible(stream: Stream, L: Array) -> bool:
    """Return whether the other estimates leave room for a factor of low rank."""
    soft, flat = stream.soft, stream.flat
    is_flat = flat is not None and stream.levels is not None and stream.levels.is_flat
    if soft is None or is_flat or L.shape[1] > _MAX_RANK * len(L):
        return False
    basis = np.linalg.qr(L)[0]
    kept = float((basis * (soft @ basis)).sum())
    return kept >= (1.0 - _MAX_DROPPED) * float(np.trace(soft))


def give_up_factor(stream: Stream, noise: float) -> Stream:
    """Return the stream without its factor, which does not fit, and with estimates from the rows.

    Parameters
    ----------
    stream : Stream
        The stream.
    noise : float
        The deviation of the noise before there was a factor.
    """
    rows, n = stream.readings(None), stream.seen
    stream = evolve(
        stream,
        factored=None,
        trouble=0,
        seen=len(rows.y),
        errors=np.full_like(stream.errors, np.nan),
        surprises=np.full_like(stream.surprises, np.nan),
        next_annealing=len(rows.y) + n // 4,
        next_trial=2 * len(rows.y),
        levels_fitted=0,
    )
    latest = stream.rows.latest(_ROWS_AFRESH)
    quick = evolve(stream, rows=Rows.of(latest), seen=len(latest))
    for _ in range(_SWEEPS_AFRESH):
        quick = sweep(quick, noise, keep_sums=False)
    stream = sweep(evolve(stream, soft=quick.soft), noise, keep_sums=True)
    return evolve(stream, estimate=combine(stream))
