r"""Probes along single directions, with many dimensions: deviations whose information is worth more than their cost.

The value of a reading and the price of a deviation are those of :mod:`soqo.policies.glide._probes`: a probe delta costs
1/2 delta'C^{-1} delta, and saves a part of

    1/2 sum_i (1/c_i) sum_jk f_ij f_ik Cov(E_ij, E_ik) W_jk,        W = E[(x_prev - v)(x_prev - v)'],

in each round to come. Only the posterior covariance of A differs, which :mod:`soqo.estimators.lowrank` has in each form
of A. With many dimensions it costs too much to judge a probe along each eigenvector. If w is a direction in which v
moves, what matters is A w, so the candidates are the directions in which it is least known, as far as the gain depends
on it.

Where v moves in many directions, every reading says something about all of A, and a probe does not pay: it is
considered only if the directions are few (`_directions`). A probe shows planned'A delta, among other things, so that it
shows more at the same cost where the plan is far from v: it waits for a round in which it is further than usual.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError

from soqo._model.gains import contraction
from soqo._model.spectrum import Spectrum
from soqo.estimators.lowrank import FactorUncertainty, Readings, RowsUncertainty, SumsUncertainty, Uncertainty
from soqo.policies.glide._large._stream import MAX_SWEPT_ROWS, Stream
from soqo.policies.glide._probes import divided_differences
from soqo.typing import Array

FIRST_ROUND = 4
"""A probe is considered from this round on."""

_LEAST_PAUSE, _PAUSES = 4, 16
"""If no probe pays, it is considered again after this number of rounds, or the number of rounds so far divided by the
second number."""

_SAFETY_FACTOR = 4.0
"""A probe must save this many times its cost. It may be smaller than without the other conditions."""

_MOVING, _CANDIDATES = 3, 4
"""So many directions in which v moves most, and so many in which to probe."""

_LEAST_DEVIATION = 0.2
"""The prior deviation of an entry of A is at least this times its mean eigenvalue, and at most that."""

_SIZES = np.array([0.1, 0.3, 1.0, 3.0])
"""The sizes of the candidate probes, in units of the size at which the uncertainty about A equals the noise."""


def pause(rounds: int, probed: bool) -> int:
    """Return after how many rounds a probe is considered again.

    Parameters
    ----------
    rounds : int
        The number of rounds so far.
    probed : bool
        Whether there is a probe in this round: what it shows, it does not show about other directions.
    """
    return 1 if probed else max(_LEAST_PAUSE, rounds // _PAUSES)


def best_probe(
    stream: Stream,
    planned: Array,
    *,
    moment: Array,
    noise_cap: float | None,
    rounds_to_go: float,
    rounds_to_save: float,
) -> Array | None:
    """Return the probe with the largest net value, shape (d,): zero if no probe pays, and None in a bad moment for one.

    Parameters
    ----------
    stream : Stream
        The stream.
    planned : Array, shape (d,)
        x - v without a probe.
    moment : Array, shape (d, d)
        The mean W of (x_prev - v)(x_prev - v)'.
    noise_cap : float or None
        A bound on the noise, if one is known.
    rounds_to_go, rounds_to_save : float
        The number of rounds to go, which determines the gain, and of those in which a better estimate saves cost.
    """
    nothing = np.zeros_like(planned)
    natural = _second_moment(stream)
    # A probe shows planned'A delta: it costs less where the plan is further from v than usual.
    if float(planned @ planned) < float(np.trace(natural)):
        return None
    if len(stream.suspects) or (stream.factored is None and stream.soft is None):
        return nothing
    with np.errstate(all="ignore"):
        try:
            unknown = _uncertainty(stream, stream.noise(noise_cap))
            if unknown is None:
                return nothing
            gain = _Gain.of(stream.estimate, unknown, rounds_to_go)
            probes = _candidates(unknown, gain, moment)
            value = _values(unknown, gain, planned, probes, natural, moment, rounds_to_save)
        except LinAlgError:
            return nothing
    best = int(np.argmax(np.where(value > 0.0, value, 0.0)))
    return np.asarray(probes[best]) if value[best] > 0.0 else nothing


def _second_moment(stream: Stream) -> Array:
    """Return the mean of z z' over the latest readings."""
    Z = stream.readings(MAX_SWEPT_ROWS).Z
    return np.asarray(Z.T @ Z / max(len(Z), 1))


def _uncertainty(stream: Stream, noise: float) -> Uncertainty | None:
    """Return what is not known about A, or None if nothing is known about the noise or the scale."""
    if stream.factored is not None:
        return None if stream.factored.is_fitting else FactorUncertainty(stream.factored)
    readings = stream.readings(MAX_SWEPT_ROWS)
    scale = _deviation(stream, readings)
    if not (scale > 0.0 and noise > 0.0):
        return None
    if stream.moments is not None:
        return SumsUncertainty.of(stream.moments, scale, noise * noise)
    return RowsUncertainty.of(readings, scale, noise * noise)


def _deviation(stream: Stream, readings: Readings) -> float:
    """Return the prior deviation of an entry of A: that of the entries as estimated, within a range.

    The range is a multiple of the mean of A where the player has been. In other directions an estimate may be large for
    the sake of caution, and before the first probe nothing shows that A is no multiple of the identity.
    """
    mean = float(readings.y.sum()) / max(0.5 * float(np.square(readings.Z).sum()), 1e-300)
    if stream.levels is not None:
        found = stream.levels.deviation
    else:
        found = float(np.sqrt(np.square(stream.estimate - mean * np.eye(stream.dim)).mean()))
    return min(max(found, _LEAST_DEVIATION * mean), mean)


class _Gain:
    """The gain for an estimate, and how it depends on the estimate."""

    def __init__(self, spectrum: Spectrum, deviations: Array, rounds_to_go: float) -> None:
        self.vectors = spectrum.vectors
        self.deviations = deviations
        # The slope of the gain is evaluated no closer to zero than one deviation of the eigenvalue.
        values = np.maximum(spectrum.values, deviations)
        self.contractions = contraction(values, rounds_to_go)
        self.slopes = divided_differences(values[None], self.contractions[None], rounds_to_go)[0]

    @classmethod
    def of(cls, estimate: Array, unknown: Uncertainty, rounds_to_go: float) -> _Gain:
        spectrum = Spectrum.of(estimate)
        deviations = 2.0 * np.sqrt(np.maximum(unknown.variances(spectrum.vectors.T), 0.0)) + 1e-300
        return cls(spectrum, deviations, rounds_to_go)


def _candidates(unknown: Uncertainty, gain: _Gain, moment: Array) -> Array:
    """Return no probe and several along directions in which A w is least known, shape (k, d)."""
    weights, moving = np.linalg.eigh(moment)
    covariance = np.zeros_like(moment)
    for weight, w in zip(weights[-_MOVING:], moving.T[-_MOVING:], strict=True):
        covariance += weight * unknown.image_covariance(w)
    importance = np.abs(np.diag(gain.slopes)) / np.sqrt(gain.contractions)
    Q = gain.vectors
    spread = importance[:, None] * (Q.T @ covariance @ Q) * importance
    directions = (Q @ np.linalg.eigh(spread)[1][:, -_CANDIDATES:]).T
    deviations = 2.0 * np.sqrt(np.maximum(unknown.variances(directions), 0.0)) + 1e-300
    lengths = np.sqrt(2.0 * np.sqrt(unknown.noise2) / deviations)[:, None] * _SIZES
    probes = (lengths[:, :, None] * directions[:, None, :]).reshape(-1, len(moment))
    return np.concatenate([np.zeros((1, len(moment))), probes])


def _values(
    unknown: Uncertainty, gain: _Gain, planned: Array, probes: Array, natural: Array, moment: Array, rounds: float
) -> Array:
    """Return what each probe is worth beyond the first one, which is none, minus its price times the safety factor."""
    Q, c, U = gain.vectors, gain.contractions, planned + probes
    variance, X = unknown.variances(U), unknown.covariances(U)
    Y = gain.slopes * (Q.T @ X @ Q)
    per_round = 0.5 * (np.vecdot(Y @ (Q.T @ moment @ Q), Y) / c).sum(axis=1) / (variance + unknown.noise2)
    # The rate at which normal movement gives the same information without probes.
    XS = X @ natural
    information = 0.5 * (XS * XS.swapaxes(1, 2)).sum(axis=(1, 2)) + 0.25 * np.square(np.trace(XS, axis1=1, axis2=2))
    rate = information / np.maximum(variance * unknown.noise2, 1e-300)
    saving = per_round * rounds / (1.0 + rate * rounds)
    price = 0.5 * (np.square(probes @ Q) / c).sum(axis=1)
    return np.asarray(saving - saving[0] - _SAFETY_FACTOR * price)
