r"""The noise, the base load and the scale of A, by the marginal likelihood of the latest readings.

The model is y = t q + b c + e with q = 1/2 |z|^2, where c is one for a reading that counts in full. The base load b and
the scale t have normal priors, and e is normal with the covariance

    sigma^2 I + a^2 K,    K_ij = 1/4 (z_i'z_j)^2,

which is what independent entries of A with the deviation a around t I cause. One eigendecomposition of K gives the
likelihood of every pair (sigma, a) in closed form. A small a says that A is near a multiple of the identity. The base
load is compared with none by the same likelihood. It may be several times the rest of a reading; a reading at z = 0
shows it together with the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators.lowrank._bases import PRIOR_SCALE
from soqo.typing import Array

_NOISES = np.geomspace(1e-4, 2.0, 30)
"""The values of sigma that are tried, in units of the root of the mean square of the readings."""

_NOISE_STEP = 2e4 ** (1.0 / 29.0)
"""The ratio of two of them."""

_LUCKY, _LEAST_NOISE = 0.25, 1e-8
"""If the readings at z = 0 are smaller than that, the values go down to this many times their size, but not below the
second number. If the places have heavy tails, a few readings determine the mean square, and most are near the noise."""

_DEVIATIONS = np.geomspace(1e-4, 2.0, 20)
"""The values of a that are tried, in units of the readings over q."""

_LOAD_WIDTH = 2.0
"""The deviation of the base load's prior, in units of the readings at z = 0, which contain it, or of all readings if
there is none."""

_NO_LOAD_NATS = 1.0
"""The lead that no base load has."""

_UNLUCKY = 24.0
"""The noise is at most this many times a reading at z = 0, which may happen to be small. An A of low rank scatters the
readings as noise does, and by this bound the two are told apart."""

_SCALES = PRIOR_SCALE * np.array([0.1, 1.0, 10.0, 100.0, 1000.0])
_SCALE_NATS = np.log10(_SCALES / PRIOR_SCALE) ** 2
"""The deviations of the prior of t, which are its means, too, and what they cost in the logarithm of the evidence. If
the player follows v closely, a base load could be taken for a huge A, and nothing would contradict it."""

_SHARP_BEND = 2.0
"""A peak whose logarithm has a second difference above this, in steps of the grid, is taken as a parabola."""

_ROUND_OFF = 1e-9
"""The least determinant of a two by two matrix, relative to the product of its diagonal."""

_FAR_BELOW = -20.0
"""The mean of t before t > 0 is used, in deviations: below this it is taken as this."""

_MAX_SPREAD2 = 3.0
"""Where a^2 d is at least this times t^2, A is not near a multiple of the identity."""

FLAT_LEAD = 4.0
"""Where noise dominates, the evidence against an A near a multiple of the identity needs this lead: it fluctuates."""

_MUCH_NOISE = 2.0
"""Noise dominates if it is larger than the typical hitting cost divided by this."""


@register("lowrank.levels")
@dataclass(frozen=True)
class LevelFit(Value):
    """What the readings say beside the shape of A.

    Attributes
    ----------
    dim : int
        The number of dimensions d.
    noise : float
        The deviation sigma of the noise.
    load : float
        The mean of the base load b, which is almost zero if there is no evidence for one.
    load_nats : float
        The logarithm of the evidence for a base load, against none.
    scale, scale_spread : float
        The scale t of A, and the deviation of its logarithm between the priors.
    deviation : float
        The deviation a of the entries of A around t I.
    nats : float
        The logarithm of the evidence for the model as a whole.
    is_flat : bool
        Whether A is taken as near a multiple of the identity, by the evidence; the other numbers hold if it is so.
    noise_dominates : bool
        Whether most of the variation of the readings is noise.
    """

    dim: int
    noise: float
    load: float
    load_nats: float
    scale: float
    scale_spread: float
    deviation: float
    nats: float
    is_flat: bool
    noise_dominates: bool


def fit_levels(
    Z: Array, c: Array, y: Array, zeros: Array, *, base_load: bool = True, lead: float = FLAT_LEAD
) -> LevelFit:
    """Return the noise, the base load and the scale of A.

    Parameters
    ----------
    Z : Array, shape (n, d)
        Where the readings were taken, with less weight if scaled down.
    c : Array, shape (n,)
        The base load's share of each reading: one, or less for a reading with less weight.
    y : Array, shape (n,)
        The readings.
    zeros : Array, shape (3,)
        The number of readings at z = 0, their sum, and that of their squares.
    base_load : bool
        Whether there may be a base load.
    lead : float
        The lead that an A near a multiple of the identity has where noise dominates, in the logarithm of the evidence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = 3.0 * rng.standard_normal((200, 20))
    >>> y = 500.0 + 0.7 * np.vecdot(Z, Z) / 2.0 + 20.0 * rng.standard_normal(200)
    >>> fit = fit_levels(Z, np.ones(200), y, np.zeros(3))
    >>> abs(fit.load - 500.0) < 30.0, abs(fit.scale - 0.7) < 0.3, 17.0 < fit.noise < 23.0, fit.load_nats > 10.0
    (True, True, True, True)
    """
    count, total, square = zeros.tolist()
    size = math.sqrt((float(y @ y) + square) / max(len(y) + count, 1.0)) + 1e-150
    q = 0.5 * np.vecdot(Z, Z)
    unit = float(np.sqrt(np.square(q).mean())) + 1e-150
    values, vectors = np.linalg.eigh(np.square((Z @ Z.T) / (2.0 * unit)))
    # In units of the size of the readings, and of A in units of size / unit.
    white = vectors.T @ np.stack([q / unit, c, y / size], axis=1)
    shown = math.sqrt(square / count) / size + 1e-150 if count else math.inf
    noises = _noises(shown)
    sigma2, a2 = np.square(noises)[:, None, None], np.square(_DEVIATIONS)[:, None]
    D = sigma2 + a2 * np.maximum(values, 0.0)
    products = white[:, :, None] * white[:, None, :]
    sums = np.tensordot(1.0 / D, products, axes=1)  # (sigma, a, 3, 3): those of q, c and y
    extra = np.array([[0.0, 0.0, 0.0], [0.0, count, total / size], [0.0, total / size, square / size**2]])
    sums = sums + extra / sigma2[..., None]
    log_det = np.log(D).sum(axis=2) + count * np.log(sigma2[..., 0])
    width = _LOAD_WIDTH
    if count:
        width = _LOAD_WIDTH * min(shown, 1.0)
        log_det = log_det + np.where(max(_UNLUCKY * shown, noises[0]) < noises, 1e12, 0.0)[:, None]
    prior = _SCALES[:, None, None] * (unit / size)
    widths = (None, width) if base_load else (None,)
    parts = [_evidence(sums, log_det, prior, width) for width in widths]
    load_nats = _log_sum(parts[1][0]) - _log_sum(parts[0][0]) - _NO_LOAD_NATS if base_load else -math.inf
    evidence, t, b = (np.stack(one) for one in zip(*parts, strict=True))
    evidence[1:] -= _NO_LOAD_NATS
    flat = Z.shape[1] * a2[:, 0] < _MAX_SPREAD2 * np.square(t)
    flat_nats = _log_sum(np.where(flat, evidence, -1e300)) - _log_sum(np.where(flat, -1e300, evidence))
    found = _summary(noises, np.where(flat, evidence, -1e300), t, b, near_identity=True)
    is_flat = flat_nats > (-lead if found.noise_dominates else 0.0)
    if not is_flat:
        found = _summary(noises, np.where(flat, -1e300, evidence), t, b, near_identity=False)
    return evolve(
        found,
        dim=Z.shape[1],
        noise=found.noise * size,
        load=found.load * size,
        load_nats=load_nats,
        scale=found.scale * size / unit,
        deviation=found.deviation * size / unit,
        nats=_log_sum(evidence) - (len(y) + count) * math.log(size),
        is_flat=is_flat,
    )


def _noises(shown: float) -> Array:
    """Return the values of sigma that are tried, for readings at z = 0 of some size; infinity for none."""
    first, least = float(_NOISES[0]), max(_LUCKY * shown, _LEAST_NOISE)
    more = math.ceil(math.log(first / least) / math.log(_NOISE_STEP)) if least < first else 0
    return np.concatenate([first * _NOISE_STEP ** np.arange(-more, 0.0), _NOISES])


def _summary(noises: Array, evidence: Array, t: Array, b: Array, *, near_identity: bool) -> LevelFit:
    """Return the means over the grid, those of positive numbers by their logarithms.

    If A is not near a multiple of the identity, the model is crude: the noise is not taken as far below the readings,
    and the deviation of the entries only as a point of the grid.
    """
    share = np.exp(evidence - evidence.max())
    share /= share.sum()
    least = noises[0] if near_identity else _NOISES[0]
    log_noise = float((share.sum(axis=(0, 1, 3)) * np.log(np.maximum(noises, least))).sum())
    log_deviations, shares = np.log(_DEVIATIONS), share.sum(axis=(0, 1, 2))
    log_deviation = _grid_mean(log_deviations, shares) if near_identity else float(shares @ log_deviations)
    log_t = np.log(np.maximum(t, 1e-150))
    log_scale = float((share * log_t).sum())
    return LevelFit(
        dim=0,
        noise=math.exp(log_noise),
        load=float((share * b).sum()),
        load_nats=0.0,
        scale=math.exp(log_scale),
        scale_spread=math.sqrt(float((share * np.square(log_t - log_scale)).sum())),
        deviation=math.exp(log_deviation),
        nats=0.0,
        is_flat=False,
        noise_dominates=log_scale < math.log(_MUCH_NOISE) + log_noise,
    )


def _grid_mean(values: Array, share: Array) -> float:
    """Return the mean over a grid with equal steps, which may be wider than the peak of the shares."""
    k = int(np.argmax(share))
    if 0 < k < len(share) - 1 and share[k - 1 : k + 2].min() > 1e-100:
        below, top, above = np.log(share[k - 1 : k + 2]).tolist()
        bend = 2.0 * top - below - above
        if bend > _SHARP_BEND:
            return float(values[k] + (values[1] - values[0]) * 0.5 * (above - below) / bend)
    return float(share @ values)


def _log_sum(evidence: Array) -> float:
    top = float(evidence.max())
    return top + math.log(float(np.exp(evidence - top).sum()))


def _evidence(sums: Array, log_det: Array, prior: Array, width: float | None) -> tuple[Array, Array, Array]:
    """Return the log evidence of each prior of t, sigma and a, and the means of t and b."""
    precision = 1.0 / np.square(prior)
    qq, qc, qy = sums[..., 0, 0] + precision, sums[..., 0, 1], sums[..., 0, 2] + precision * prior
    square, prior_log = sums[..., 2, 2] + 1.0, np.log(precision)
    if width is None:
        t, b, variance, log_norm = qy / qq, np.zeros_like(qy), 1.0 / qq, np.log(qq)
        square = square - t * qy
    else:
        cc, cy = sums[..., 1, 1] + width**-2, sums[..., 1, 2]
        # Readings that are all alike do not tell t from b; round-off must not decide.
        determinant = np.maximum(qq * cc - qc * qc, _ROUND_OFF * qq * cc)
        t, b = (cc * qy - qc * cy) / determinant, (qq * cy - qc * qy) / determinant
        variance, log_norm = cc / determinant, np.log(determinant)
        square, prior_log = square - t * qy - b * cy, prior_log - 2.0 * math.log(width)
    evidence = 0.5 * (prior_log - log_norm - square - log_det) - _SCALE_NATS[:, None, None]
    return evidence, _positive_mean(t, np.sqrt(variance)), b


def _positive_mean(mean: Array, deviation: Array) -> Array:
    """Return the mean of a normal variable that is positive."""
    ratio = np.maximum(mean / deviation, _FAR_BELOW)
    return np.asarray(deviation * (ratio + np.exp(-0.5 * ratio**2 - log_ndtr(ratio)) / math.sqrt(2.0 * math.pi)))
