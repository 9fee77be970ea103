r"""Readings that do not fit: outliers, changes of A, and changes that are taken back.

A reading whose error is far beyond what is usual is set aside. If the next three fit, it was wrong and is rejected.
After four without three that fit in between A has changed, unless a factor with one more column explains them: the
stream starts again with these four. What was known before is kept for a while, and if the readings fit it again, the
change is taken back: it was a burst of wrong readings.
"""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import predict
from soqo.policies.glide._large._estimates import soft_deviations
from soqo.policies.glide._large._factor_phase import explain_by_column, explain_by_fit
from soqo.policies.glide._large._row import place
from soqo.policies.glide._large._stream import Stream
from soqo.typing import Array

_FAR, _USUAL_FACTOR = 6.0, 8.0
"""An error is far beyond what is usual if it exceeds this many deviations and this many times the median error."""

_KNOWN_FAR, _WELL_KNOWN_FAR, _KNOWN_FACTOR, _KNOWN_ERROR = 1.0, 0.3, 12.0, 0.1
"""The same before there is a factor, if the median error is below the last number: an error is far beyond what is usual
above the first number, or the second one if there are more readings than unknowns, and this many times the median."""

_PLAUSIBLE = 2.0
"""The posterior of the soft estimate explains an error of at most this many of its deviations."""

_NOISE_DEVIATIONS = 3.0
"""Noise explains an error of at most this many deviations."""

_EARLY_FAR, _EARLY = 30.0, 3
"""With fewer errors than are needed to know what is usual, but at least so many, only gross ones count."""

_NEGATIVE_DEVIATIONS, _NEGATIVE_ERRORS = 10.0, 4.0
"""A reading is too far below zero for a cost if it is so many deviations of the noise and median errors below."""

_CHANGE_READINGS, _CLEARING_READINGS = 4, 3
"""So many readings that do not fit are a change of A, unless so many in a row that fit come in between."""

_LEVEL_READINGS, _LEVEL_RATIO, _LEVEL_SURPRISE = 5, 4.0, 0.05
"""A has changed, too, if each of the last five errors is this many times the median of those before, and above this."""

_LEVEL_DEVIATIONS = 2.0
"""Noise explains the last five errors unless each of them exceeds this many of its deviations."""

_RETURN_READINGS, _RETURN_SURPRISE = 4, 3.0
"""So many readings in a row with an error below this many deviations take a change back."""

_FEW = 8
"""With fewer errors than this, it is not known what is usual."""

_PRIOR_SPREAD = 0.3
"""The part of the scale of A that is added to the expected reading, in the expected size of its error."""


def surprise(stream: Stream, z: Array, y: float, noise: float) -> float:
    """Return the absolute error of the prediction of a reading, in units of what is expected.

    Parameters
    ----------
    stream : Stream
        The stream before the reading.
    z : Array, shape (d,)
        Where it was taken.
    y : float
        The reading.
    noise : float
        The deviation of the noise.
    """
    if stream.factored is not None:
        expected, variance = stream.factored.predict(z)
        return abs(y - expected) / math.sqrt(max(variance, 1e-300))
    expected = predict(stream.estimate, z)
    spread = expected + _PRIOR_SPREAD * stream.scale * 0.5 * float(z @ z)
    return abs(y - expected) / math.sqrt(noise * noise + spread * spread + 1e-300)


def usual_error(stream: Stream, z: Array, noise: float) -> float:
    """Return the size of the error that is usual at some place, with the noise.

    The error of an estimate is about proportional to |z|^2. By how much is what the latest errors show. It depends on
    the place alone, so that it favors no estimate.

    Parameters
    ----------
    stream : Stream
        The stream, whose latest errors include that of the reading.
    z : Array, shape (d,)
        Where it was taken.
    noise : float
        The deviation of the noise.
    """
    known = stream.surprises[~np.isnan(stream.surprises)]
    usual = float(np.median(known)) if known.size else 1.0
    return max(math.hypot(noise, usual * stream.scale * 0.5 * float(z @ z)), 1e-150)


def is_gross(stream: Stream, z: Array, y: float) -> bool:
    """Return whether a reading is several times too large, whatever is known about its expected error.

    Parameters
    ----------
    stream : Stream
        The stream before the reading.
    z : Array, shape (d,)
        Where it was taken.
    y : float
        The reading.
    """
    expected = predict(stream.estimate, z)
    spread = expected + _PRIOR_SPREAD * stream.scale * 0.5 * float(z @ z)
    return abs(y - expected) > _FAR * spread


def is_within_noise(stream: Stream, z: Array, y: float, noise: float) -> bool:
    """Return whether noise explains the error of a reading, however small what is usual may be.

    Most readings may be far larger than the noise, so that their errors are a small part of them, and some not.

    Parameters
    ----------
    stream : Stream
        The stream before the reading.
    z : Array, shape (d,)
        Where it was taken.
    y : float
        The reading.
    noise : float
        The deviation of the noise.
    """
    return abs(y - predict(stream.estimate, z)) <= _NOISE_DEVIATIONS * noise


def is_unknown(stream: Stream, z: Array, y: float, noise: float) -> bool:
    """Return whether the posterior of the soft estimate explains a reading, before A is known as a factor.

    Another estimate may predict well in the directions that v has moved in, and wrongly where it jumps next.

    Parameters
    ----------
    stream : Stream
        The stream before the reading.
    z : Array, shape (d,)
        Where it was taken.
    y : float
        The reading.
    noise : float
        The deviation of the noise.
    """
    if stream.soft is None:
        return False
    deviation = 0.5 * float(soft_deviations(stream, noise, z[None])[0])
    return abs(y - predict(stream.soft, z)) <= _PLAUSIBLE * math.hypot(noise, deviation)


def is_suspect(stream: Stream, surprised: float) -> bool:
    """Return whether a reading does not fit.

    Parameters
    ----------
    stream : Stream
        The stream before the reading.
    surprised : float
        The error of its prediction in units of what is expected.
    """
    known = stream.surprises[~np.isnan(stream.surprises)]
    if known.size < _EARLY:
        return False
    usual = float(np.median(known))
    if known.size < _FEW:
        return surprised > max(_EARLY_FAR, _USUAL_FACTOR * usual)
    if stream.factored is not None or usual >= _KNOWN_ERROR:
        return surprised > max(_FAR, _USUAL_FACTOR * usual)
    least = _KNOWN_FAR if stream.moments is None else _WELL_KNOWN_FAR
    return surprised > max(least, _KNOWN_FACTOR * usual)


def is_negative(stream: Stream, y: float, noise: float) -> bool:
    """Return whether a reading is too far below zero for a cost.

    Parameters
    ----------
    stream : Stream
        The stream before the reading.
    y : float
        The reading.
    noise : float
        The deviation of the noise.
    """
    errors = np.abs(stream.predictions[:, 1])
    errors = errors[~np.isnan(errors)]
    if errors.size < _EARLY:
        return False
    return y < -max(_NEGATIVE_DEVIATIONS * noise, _NEGATIVE_ERRORS * float(np.median(errors)))


def has_changed(stream: Stream, noise: float) -> bool:
    """Return whether the latest errors are far larger than those before, if there are more readings than unknowns.

    After readings far from v, whose errors are a small part of them, those of some readings close to it are far larger
    in comparison, because of the noise alone.

    Parameters
    ----------
    stream : Stream
        The stream after a reading.
    noise : float
        The deviation of the noise.
    """
    if np.isnan(stream.surprises).any() or stream.moments is None:
        return False
    errors = np.abs(stream.predictions[-_LEVEL_READINGS:, 1])
    if not errors.min() > _LEVEL_DEVIATIONS * noise:
        return False
    before, latest = stream.surprises[:-_LEVEL_READINGS], stream.surprises[-_LEVEL_READINGS:]
    return bool(latest.min() > max(_LEVEL_SURPRISE, _LEVEL_RATIO * float(np.median(before))))


def set_aside(stream: Stream, row: Array, round_number: int) -> Stream:
    """Return the stream with a reading that does not fit set aside, or after the change that it proves.

    Parameters
    ----------
    stream : Stream
        The stream.
    row : Array, shape (d + 2,)
        The reading.
    round_number : int
        Its round.
    """
    if stream.factored is not None and (explained := explain_by_fit(stream, row)) is not None:
        return clear(explained)
    suspects = np.concatenate([stream.suspects, row[None]])
    if len(suspects) >= _CHANGE_READINGS:
        if stream.factored is not None and (explained := explain_by_column(stream, suspects)) is not None:
            return explained
        return stream.restart(suspects, round_number - len(suspects) + 1)
    return evolve(stream, suspects=suspects, fits=0)


def clear(stream: Stream) -> Stream:
    """Return the stream after a reading that fits: readings that were set aside are rejected after some of these.

    Parameters
    ----------
    stream : Stream
        The stream.
    """
    if not len(stream.suspects):
        return stream
    fits = stream.fits + 1
    if fits < _CLEARING_READINGS:
        return evolve(stream, fits=fits)
    return evolve(stream, suspects=stream.suspects[:0], fits=0, rejected=stream.rejected + len(stream.suspects))


def remember_previous(stream: Stream, row: Array, noise: float) -> Stream:
    """Return the stream, or the one from before the last change if the readings fit it again.

    Parameters
    ----------
    stream : Stream
        The stream after a reading.
    row : Array, shape (d + 2,)
        The reading.
    noise : float
        The deviation of the noise.
    """
    previous = stream.previous
    if previous is None:
        return stream
    if stream.seen >= 3 * stream.dim:
        return evolve(stream, previous=None)
    usual = np.nanmedian(previous.surprises) if np.isfinite(previous.surprises).any() else 1.0
    found = surprise(previous, place(row), float(previous.hitting_cost(row)), noise)
    fits = found < _RETURN_SURPRISE * max(1.0, float(usual))
    returned = stream.returned + 1 if fits else 0
    if returned < _RETURN_READINGS:
        return evolve(stream, returned=returned)
    wrong = max(stream.seen - returned, 0)
    surprises = np.full_like(previous.surprises, np.nan)
    return evolve(previous, rejected=previous.rejected + wrong, suspects=previous.suspects[:0], surprises=surprises)
