r"""The levels of noise, A and base load that the readings show, which make the prior of a dual posterior.

Type-II maximum likelihood (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, section 5.4), with
averages over a grid in place of the maximum: with few readings the evidence is flat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators.bayes import FIRST_SCALE, LOAD_SIZE, RECENT
from soqo.estimators.factored._dual import Prior, Readings
from soqo.typing import Array

EVIDENCE_ROWS = 256
"""The budget of the evidence, in latest readings: they determine deviations up to 5 %, and its work is their cube."""

SHARE = 0.4
"""The share of the broad shape in the prior, where the noise is small; the rest is the last estimate."""

SHAPE_NATS = 0.1
"""The shape that follows from the displacements must explain each reading by so many nats better than the other."""

LEAD = 8.0
"""A base load, and a factor, must explain the readings by so many nats better: an error of A may look like one."""


class Evidence(NamedTuple):
    """Noise sigma, spread c and scale k of A ~ N(k M, (c k)^2 M x M), the load, and the log evidence."""

    sigma: float
    c: float
    k: float
    load: float | None
    nats: float


def evidence(readings: Readings, M: Array, sigmas: Array, tau: float, known: float = 0.0) -> Evidence:
    r"""Return means of sigma, c, k and the load by their evidence on a grid of sigma and a = c k.

    In the eigenbasis of (z_i'M z_j)^2 / 4 the covariance is diagonal, D = sigma^2 + a^2 w. The scale k has the prior
    N(1, 1) and the load N(0, tau^2); both are linear, beta with the features F and the prior N(beta_0, P), and

        log p(y) = -1/2 (log det D + y'D^{-1}y + beta_0'P^{-1}beta_0 - b'G^{-1}b + log det G P),
        G = F'D^{-1}F + P^{-1},    b = F'D^{-1}y + P^{-1}beta_0.

    Parameters
    ----------
    readings : Readings
        The readings.
    M : Array, shape (d, d)
        The shape of the prior.
    sigmas : Array, shape (m,)
        The grid of sigma.
    tau : float
        The prior's deviation of the base load.
    known : float
        The noise that was known before; 0 for none.
    """
    unit, size, s, a, D, products = _products(readings, M, sigmas)
    yy, qy, hy, qq, hq, hh = (products[..., i] for i in (0, 1, 2, 4, 5, 8))
    k0, t = unit / size, tau / size
    qq, qy = qq + 1.0 / k0**2, qy + 1.0 / k0
    k, load = np.maximum(qy / qq, 1e-3 * k0), np.zeros(yy.shape)
    nats = -0.5 * (np.log(D).sum(axis=-1) + yy - 2.0 * k * qy + k * k * qq + np.log(qq * k0**2))
    nats = nats - len(readings.y) * math.log(size)
    if known:
        nats = nats - 0.5 * RECENT * (np.log(s**2) + np.square(known / size / s))
    left = hh - hq * hq / qq + 1.0 / t**2
    more = nats + 0.5 * np.square(hy - hq * qy / qq) / left - 0.5 * np.log(left * t**2)
    loaded = _log_sum(more) > _log_sum(nats) + LEAD
    if loaded:
        load, nats = (hy - hq * qy / qq) / left, more
        k = np.maximum((qy - hq * load) / qq, 1e-3 * k0)
    total = _log_sum(nats)
    p = np.exp(nats - total)
    sigma, c, k_mean = (float(np.exp((p * np.log(x)).sum())) for x in (s * size, a / k, k / k0))
    return Evidence(sigma, c, k_mean, float((p * load).sum()) * size if loaded else None, total)


def _products(readings: Readings, M: Array, sigmas: Array) -> tuple[float, float, Array, Array, Array, Array]:
    """Return the units of 1/2 z'M z and y, the grid of sigma and a in units of y, D, and (y, q, h)'D^{-1}(y, q, h)."""
    Z, y, h = readings
    ZM = Z @ M
    q = 0.5 * np.vecdot(ZM, Z)
    unit, size = _rms(q), _rms(y)
    w, Q = np.linalg.eigh(np.square(ZM @ Z.T / (2.0 * unit)))
    f = Q.T @ np.stack([y / size, q / unit, h], axis=1)
    s, a = sigmas[:, None] / size, np.geomspace(1e-3, 3.0, 20)
    D = np.square(s)[..., None] + np.square(a)[:, None] * np.maximum(w, 0.0)
    return unit, size, s, a, D, (1.0 / D) @ (f[:, :, None] * f[:, None, :]).reshape(len(y), 9)


@register("FactoredLevels")
@dataclass(frozen=True)
class Levels(Value):
    """What the prior of A is made of; see :meth:`prior`.

    Attributes
    ----------
    sigma, c, tau : float
        The deviation of the noise, the spread of A, and the prior's deviation of the base load; 0 if there is none.
    scale : float
        The mean eigenvalue.
    share : float
        The share of the broad shape.
    shape : Array, shape (d, d)
        The broad shape, with the mean eigenvalue 1.
    first_scale, first_shape : float and Array of shape (d, d)
        What was known of scale and shape before the first reading.
    known_noise : float
        The noise that was known before a change; 0 for none.
    """

    sigma: float
    c: float
    tau: float
    scale: float
    share: float
    shape: Array
    first_scale: float
    first_shape: Array
    known_noise: float

    @classmethod
    def start(cls, d: int, sigma: float = 0.0, scale: float = FIRST_SCALE, shape: Array | None = None) -> Levels:
        """Return what is known before the first reading: nothing, or the noise, the scale and the shape."""
        shape = np.eye(d) if shape is None else shape
        return cls(sigma or 1.0, 1.0, 0.0, scale, 1.0, shape, scale, shape, sigma)

    def prior(self, soft: Array | None) -> Prior:
        """Return the prior whose M is a mixture of the broad shape and the last estimate."""
        M = self.scale * self.shape
        if soft is not None:
            M = self.share * M + (1.0 - self.share) * soft
        return Prior(M, self.c, self.tau, self.sigma)

    def after(self, readings: Readings, soft: Array | None, size: float, noise_cap: float) -> Levels:
        """Return the levels by the evidence of the latest readings.

        Parameters
        ----------
        readings : Readings
            The readings.
        soft : Array of shape (d, d), or None
            The last estimate.
        size : float
            The typical size of an entry of u.
        noise_cap : float
            What bounds sigma.
        """
        latest = readings.last(EVIDENCE_ROWS)
        d, rms = latest.Z.shape[1], _rms(latest.y)
        middle = max(self.sigma if soft is not None or self.known_noise else 0.1 * rms, 1e-300)
        grid = np.minimum(np.geomspace(min(1e-3 * rms, 0.3 * middle), 24.0 * middle, 28), noise_cap)
        tau = LOAD_SIZE * d * size**2
        found = evidence(latest, self.prior(soft).M, grid, tau, self.known_noise)
        sigma = np.array([found.sigma])
        shapes = [self.first_shape, past_shape(latest.Z)]
        if self.known_noise:
            shapes.append(np.eye(d))
        own = [evidence(latest, self.first_scale * shape, sigma, tau) for shape in shapes]
        lead = [one.nats - (i == 1) * SHAPE_NATS * len(latest.y) for i, one in enumerate(own)]
        best = int(np.argmax(lead))
        shape, c = shapes[best], own[best].c
        scale = self.first_scale * own[best].k
        q = 0.5 * np.vecdot(latest.Z @ shape, latest.Z)
        noisy = found.sigma / math.hypot(found.sigma, float(np.median(c * scale * q)))
        share = SHARE + (1.0 - SHARE) * noisy
        tau = 0.0 if found.load is None else tau
        return evolve(self, sigma=found.sigma, c=c, tau=tau, scale=scale, share=share, shape=shape)


def past_shape(Z: Array) -> Array:
    """Return a guess of A, S^{-1/2} with the second moment S of u: the player stays close to v where A is large."""
    n, d = Z.shape
    w, Q = np.linalg.eigh(Z.T @ Z)
    w = (np.maximum(w, 0.0) / w.mean() + 0.1 + d / n) ** -0.5
    return np.asarray((Q * (w / w.mean())) @ Q.T)


def _log_sum(x: Array) -> float:
    top = float(x.max())
    return top + math.log(float(np.exp(x - top).sum()))


def _rms(x: Array) -> float:
    return math.sqrt(float(np.square(x).mean())) + 1e-300
