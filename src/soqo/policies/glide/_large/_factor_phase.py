r"""The rounds in which A is known as a factor: filter, fits, and what to do if the factor does not fit.

A fit begins when there are 15 % more readings than at the last one. Its first act is to drop a column that is not
significant. There is a fit at once, too, if the filter leaves more of the last reading than noise explains: far from v,
where A is almost zero, L'z is near zero, and the filter, which is linear in L, does not move. If the readings do not
fit, a fit is the first answer, one more column the second, and the third is to give the factor up.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import Factored, Readings
from soqo.policies.glide._large._row import place
from soqo.policies.glide._large._stream import MAX_ROWS, Stream
from soqo.policies.glide._large._trials import SAME_NOISE, fit_again, fit_some_steps, fitted_readings, give_up_factor
from soqo.typing import Array

_FIT_GROWTH = 1.15
"""A fit begins when there are this many times as many readings as at the last one."""

_BAD_FIT, _BAD_FIT_READINGS = 9.0, 10
"""Squared errors in units of what is expected, and the number of readings over which their mean is taken."""

_BAD_NOISE = 16.0
"""A factor whose noise has this many times the variance that it had at first does not fit."""

_FAR2 = 9.0
"""A place is far from v if its |z|^2 exceeds this many times the median."""

_COLUMN_STEPS = 20
"""One more column has to explain readings after at most so many steps of the fit."""

_EXPLAINED = 4.0
"""A fit explains a reading if it leaves at most this many deviations of the noise."""

_SIGNIFICANT_DEVIATIONS = 3.0
"""A column whose eigenvalue is below this many of its deviations is dropped."""


def follow(stream: Stream) -> Stream:
    """Return the stream with a factor that includes the last reading, or without one if it does not fit.

    Parameters
    ----------
    stream : Stream
        The stream, whose rows include the last reading.
    """
    factored = stream.factored
    assert factored is not None
    rows = fitted_readings(stream, factored.L)
    next_fit, failed = stream.next_fit, False
    if factored.is_fitting:
        factored = fit_some_steps(factored, rows)
        if not factored.is_fitting:
            next_fit = math.ceil(_FIT_GROWTH * stream.seen)
    else:
        factored = factored.update(rows.Z[-1], float(rows.y[-1]))
        residual = y_residual(factored, rows.Z[-1], float(rows.y[-1]))
        if not stream.trouble and residual**2 > _EXPLAINED**2 * factored.noise2 and _is_far(rows.Z):
            again = fit_again(factored, rows)
            factored, failed = (factored, True) if again is None else (again, False)
        elif stream.seen >= next_fit:
            if not stream.trouble:
                factored = _without_weak_column(factored, rows.Z, rows.y)
            factored = factored.begin_fit()
    stream = evolve(stream, factored=factored, next_fit=next_fit, estimate=factored.L @ factored.L.T)
    if failed:
        return evolve(stream, trouble=1, surprises=np.full_like(stream.surprises, np.nan))
    return _repair(stream, rows.Z, rows.y)


def _without_weak_column(factored: Factored, Z: Array, y: Array) -> Factored:
    """Return the factor without the column of its smallest eigenvalue, if that is not significant."""
    vectors, roots, _ = np.linalg.svd(factored.L, full_matrices=False)
    if len(roots) < 2:
        return factored
    deviation = factored.deviation(vectors[:, -1])
    if roots[-1] ** 2 > _SIGNIFICANT_DEVIATIONS * deviation:
        return factored
    return Factored.start(vectors[:, :-1] * roots[:-1], Z, y, factored.noise2)


def _is_far(Z: Array) -> bool:
    """Return whether the last place is far from v, compared with the others."""
    square = np.square(Z).sum(axis=1)
    return bool(square[-1] > _FAR2 * np.median(square))


def _repair(stream: Stream, Z: Array, y: Array) -> Stream:
    """Return the stream with something done about a factor that does not fit."""
    factored, latest = stream.factored, stream.surprises[-_BAD_FIT_READINGS:]
    assert factored is not None
    if factored.is_fitting:
        return stream
    noisy = factored.noise2 > _BAD_NOISE * stream.first_noise2  # a fit that explains the readings by noise
    complete = not np.isnan(latest).any()
    if not noisy and not (complete and bool(np.square(latest).mean() > _BAD_FIT)):
        return evolve(stream, trouble=0) if stream.trouble and complete else stream
    surprises = np.full_like(stream.surprises, np.nan)
    if stream.trouble == 0:
        # Noise that is too large may come from a fit that failed.
        factored = evolve(factored, noise2=min(factored.noise2, stream.first_noise2))
        again = fit_again(factored, Readings(Z, y))
        return evolve(stream, factored=factored.begin_fit() if again is None else again, trouble=1, surprises=surprises)
    if stream.trouble == 1:
        return evolve(stream, factored=_with_column(factored, Z, y), trouble=2, surprises=surprises)
    return give_up_factor(stream, math.sqrt(stream.first_noise2))


def _with_column(factored: Factored, Z: Array, y: Array) -> Factored:
    """Return the factor with one more column, at the beginning of a fit."""
    return Factored.start(np.column_stack([factored.L, _missing_direction(factored.L, Z, y)]), Z, y, factored.noise2)


def explain_by_fit(stream: Stream, row: Array) -> Stream | None:
    """Return the stream with a factor that explains a reading far from what was expected, or None.

    Far out in a direction in which A is almost zero, a small error of the factor is a large one of the reading, and the
    filter, which is right to second order only, may not know it.

    Parameters
    ----------
    stream : Stream
        The stream, with a factor.
    row : Array, shape (d + 2,)
        The reading.
    """
    assert stream.factored is not None
    more = evolve(stream, rows=stream.rows.append(row, limit=MAX_ROWS), seen=stream.seen + 1)
    rows = fitted_readings(more, stream.factored.L)
    factored = fit_again(stream.factored, rows)
    if factored is None:
        return None
    residual = y_residual(factored, rows.Z[-1], float(rows.y[-1]))
    squares = float(np.square(rows.y - 0.5 * np.square(rows.Z @ factored.L).sum(axis=1)).sum())
    limit = SAME_NOISE * stream.factored.noise2 * max(len(rows.y) - factored.unknowns, 1)
    if squares > limit or residual**2 > _EXPLAINED**2 * stream.factored.noise2:
        return None
    return evolve(more, factored=factored, estimate=factored.L @ factored.L.T)


def y_residual(factored: Factored, z: Array, y: float) -> float:
    """Return what a factor leaves of a reading."""
    return y - 0.5 * float(np.square(factored.L.T @ z).sum())


def explain_by_column(stream: Stream, rows: Array) -> Stream | None:
    """Return the stream with one more column if that explains some more readings, or None.

    Parameters
    ----------
    stream : Stream
        The stream, with a factor.
    rows : Array, shape (n, d + 2)
        The readings.
    """
    assert stream.factored is not None
    known = fitted_readings(stream, stream.factored.L)
    Z, y = np.concatenate([known.Z, place(rows)]), np.concatenate([known.y, stream.hitting_cost(rows)])
    factored = _with_column(stream.factored, Z, y)
    for _ in range(_COLUMN_STEPS):
        if not factored.is_fitting:
            break
        factored = factored.fit_step(Z, y)
    if factored.is_fitting or factored.noise2 > SAME_NOISE * stream.factored.noise2:
        return None
    more = stream.rows
    for row in rows:
        more = more.append(row, limit=MAX_ROWS)
    seen = stream.seen + len(rows)
    return evolve(
        stream,
        factored=factored,
        rows=more,
        seen=seen,
        next_fit=math.ceil(_FIT_GROWTH * seen),
        estimate=factored.L @ factored.L.T,
        surprises=np.full_like(stream.surprises, np.nan),
        suspects=stream.suspects[:0],
    )


def _missing_direction(L: Array, Z: Array, y: Array) -> Array:
    """Return a new column: the direction in which the readings exceed what the factor explains."""
    residual = y - 0.5 * np.square(Z @ L).sum(axis=1)
    square = 0.5 * np.square(Z).sum(axis=1)
    values, vectors = np.linalg.eigh((Z.T * (residual / np.maximum(square, 1e-300) ** 2)) @ Z)
    size = 0.1 * float(np.sqrt(np.abs(residual).mean() / max(float(square.mean()), 1e-300)))
    return np.asarray(size * vectors[:, np.argmax(values)])
