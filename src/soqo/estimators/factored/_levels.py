r"""The levels of noise and A that the readings show, and what else is in them: the prior of a dual posterior.

Type-II maximum likelihood (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, section 5.4), with
averages over a grid in place of the maximum: with few readings the evidence is flat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators.bayes import FIRST_SCALE, NEGLIGIBLE_NATS, RECENT, STRUCTURES
from soqo.estimators.factored._dual import Extras, Prior, Readings, costs
from soqo.typing import Array

EVIDENCE_ROWS = 256
"""The budget of the evidence, in latest readings: they determine deviations up to 5 %, and its work is their cube."""

SIGMAS = 28
"""The budget of the grid of sigma; comparisons have half of it."""

COMPARED_ROWS, FEW_ROWS = 128, 48
"""The budget of comparisons, in latest readings; with more than a few, only one of the hypotheses that are far behind
is compared in turn."""

SHARE = 0.4
"""The share of the broad shape in the prior, where the noise is small; the rest is the last estimate."""

SHAPE_NATS = 0.1
"""The shape that follows from the displacements must explain each reading by so many nats better than the other."""

LEAD = 8.0
"""A factor, and other extras than those for which earlier readings have spoken, must explain the readings by so many
nats better: an error of A may look like one."""

LEAST_SPREAD = 0.3
"""What is not known of A is judged with at least this spread c."""

Hypotheses = Sequence[tuple[int, float, Extras]]
"""What readings may contain besides the hitting cost: numbers in the table, log probabilities, and deviations."""


class Evidence(NamedTuple):
    """Noise sigma, spread c and scale k of A ~ N(k M, (c k)^2 M x M), and the log evidence."""

    sigma: float
    c: float
    k: float
    nats: float


def evidence(readings: Readings, prior: Prior, sigmas: Array, known: float = 0.0) -> Evidence:
    r"""Return means of sigma, c and k by their evidence on a grid of sigma and a = c k.

    The steps of the base load have the covariance R in units of sigma^2. Readings are multiplied by the inverse of the
    triangular root of I + R. After that the covariance is diagonal in the eigenbasis of the kernel (z_i'M z_j)^2 / 4,
    D = sigma^2 + a^2 w. The scale k has the prior N(1, 1) and is linear, with the feature q = 1/2 z'M z:

        log p(y) = -1/2 (log det D + log det (I + R) + y'D^{-1}y + 1 - b^2/G + log G),
        G = q'D^{-1}q + 1,    b = q'D^{-1}y + 1.

    With a base load N(0, tau^2), D^{-1} is less D^{-1}h h'D^{-1} / (h'D^{-1}h + 1 / tau^2). Offset and regressors
    belong to R if sigma is known. If not, the scale of A is not known either, and as they are in units of it, they
    belong to the kernel.

    Parameters
    ----------
    readings : Readings
        The readings.
    prior : Prior
        The shape M and the extras.
    sigmas : Array, shape (m,)
        The grid of sigma; a single one is known.
    known : float
        The noise that was known before; 0 for none.
    """
    Z, y, q = readings.Z, readings.y, costs(readings.Z, prior.M)
    unit, size = _rms(q), _rms(y)
    f, K = np.stack([y / size, q / unit, readings.h], axis=1), np.square(Z @ prior.M @ Z.T / (2.0 * unit))
    extras, R = prior.extras, prior.extras.walk(readings, readings)
    if extras.varied:
        E = evolve(extras, load=0.0).kernel(readings, readings, prior.M)
        K, R = (K, R + E / sigmas[0] ** 2) if len(sigmas) == 1 else (K + E / (LEAST_SPREAD * unit) ** 2, R)
    f, K, log_det = _whitened(f, K, R)
    w, Q = np.linalg.eigh(K)
    y, q, h = (Q.T @ f).T
    s, a, k0 = sigmas[:, None] / size, np.geomspace(1e-3, 3.0, 20), unit / size
    D = np.square(s)[..., None] + np.square(a)[:, None] * np.maximum(w, 0.0)
    products = (1.0 / D) @ np.stack([y * y, q * y, q * q, h * y, h * q, h * h], axis=1)
    yy, qy, qq, hy, hq, hh = np.moveaxis(products, -1, 0)
    if extras.load:
        left, tau = hh + np.square(size / extras.load), extras.load / size
        yy, qy, qq, log_det = (
            yy - hy * hy / left,
            qy - hq * hy / left,
            qq - hq * hq / left,
            log_det + np.log(left * tau**2),
        )
    qq, qy = qq + 1.0 / k0**2, qy + 1.0 / k0
    k = np.maximum(qy / qq, 1e-3 * k0)
    nats = -0.5 * (np.log(D).sum(axis=-1) + yy - 2.0 * k * qy + k * k * qq + np.log(qq * k0**2) + log_det)
    nats = nats - len(y) * math.log(size)
    if known:
        nats = nats - 0.5 * RECENT * (np.log(s**2) + np.square(known / size / s))
    total = _log_sum(nats)
    p = np.exp(nats - total)
    sigma, c, k_mean = (float(np.exp((p * np.log(x)).sum())) for x in (s * size, a / k, k / k0))
    return Evidence(sigma, c, k_mean, total)


def _whitened(f: Array, K: Array, R: Array) -> tuple[Array, Array, float]:
    """Return features and kernel of readings multiplied by the inverse of the root of I + R, and log det (I + R)."""
    if not R.any():
        return f, K, 0.0
    root = cholesky(np.eye(len(R)) + R, lower=True, check_finite=False)
    half = solve_triangular(root, np.concatenate([K, f], axis=1), lower=True, check_finite=False)
    K = solve_triangular(root, half[:, : len(K)].T, lower=True, check_finite=False)
    return half[:, len(K) :], K, 2.0 * float(np.log(np.diag(root)).sum())


@register("FactoredPriorLevels")
@dataclass(frozen=True)
class Levels(Value):
    """What the prior of A is made of; see :meth:`prior`.

    Attributes
    ----------
    sigma, c : float
        The deviation of the noise, and the spread of A.
    extras : Extras
        What readings contain besides the hitting cost.
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
    behind : Array, shape (len(STRUCTURES),)
        By how many nats each hypothesis about the extras was behind the best one when it was compared last.
    """

    sigma: float
    c: float
    extras: Extras
    scale: float
    share: float
    shape: Array
    first_scale: float
    first_shape: Array
    known_noise: float
    behind: Array

    @classmethod
    def start(
        cls, d: int, extras: Extras, sigma: float = 0.0, scale: float = FIRST_SCALE, shape: Array | None = None
    ) -> Levels:
        """Return what is known before the first reading: nothing, or the noise, the scale and the shape."""
        shape = np.eye(d) if shape is None else shape
        return cls(sigma or 1.0, 1.0, extras, scale, 1.0, shape, scale, shape, sigma, np.zeros(len(STRUCTURES)))

    def prior(self, soft: Array | None) -> Prior:
        """Return the prior whose M is a mixture of the broad shape and the last estimate."""
        M = self.scale * self.shape
        if soft is not None:
            M = self.share * M + (1.0 - self.share) * soft
        return Prior(M, self.c, self.sigma, self.extras)

    def after(self, readings: Readings, soft: Array | None, hypotheses: Hypotheses, noise_cap: float) -> Levels:
        """Return the levels by the evidence of the latest readings.

        Parameters
        ----------
        readings : Readings
            The readings.
        soft : Array of shape (d, d), or None
            The last estimate.
        hypotheses : Hypotheses
            What readings may contain besides the hitting cost.
        noise_cap : float
            What bounds sigma.
        """
        latest = readings.last(EVIDENCE_ROWS)
        guess = self.sigma if soft is not None or self.known_noise else 0.1 * _rms(latest.y)
        # The last estimate has been fitted to the readings with the last extras: it says nothing about other ones.
        found = self.compared(readings, self.prior(None).M, hypotheses, guess, noise_cap)
        found = evolve(found, sigma=found._evidence(latest, found.prior(soft), guess, noise_cap, SIGMAS).sigma)
        shapes = [self.first_shape, past_shape(latest.Z)]
        if self.known_noise:
            shapes.append(np.eye(latest.Z.shape[1]))
        sigma, first = np.array([found.sigma]), found.prior(None)
        own = [evidence(latest, evolve(first, M=self.first_scale * shape), sigma) for shape in shapes]
        lead = [one.nats - (i == 1) * SHAPE_NATS * len(latest) for i, one in enumerate(own)]
        best = int(np.argmax(lead))
        shape, c = shapes[best], own[best].c
        scale = self.first_scale * own[best].k
        noisy = found.sigma / math.hypot(found.sigma, float(np.median(c * scale * costs(latest.Z, shape))))
        return evolve(found, c=c, scale=scale, share=SHARE + (1.0 - SHARE) * noisy, shape=shape)

    def compared(self, readings: Readings, M: Array, hypotheses: Hypotheses, guess: float, noise_cap: float) -> Levels:
        """Return the levels with the most probable extras, for an estimate M and a guess of sigma."""
        latest, behind, nats = readings.last(COMPARED_ROWS), self.behind.copy(), {}
        turn = int(latest.t[-1]) % len(hypotheses)
        for i, (number, log_probability, extras) in enumerate(hypotheses):
            if len(latest) <= FEW_ROWS or behind[number] < NEGLIGIBLE_NATS or i == turn:
                found = self._evidence(latest, Prior(M, self.c, self.sigma, extras), guess, noise_cap, SIGMAS // 2)
                nats[number] = found.nats + log_probability
                nats[number] += LEAD * (extras == self.extras and len(readings) > len(latest))
        for number, own in nats.items():
            behind[number] = max(nats.values()) - own
        extras = next(own for number, _, own in hypotheses if number in nats and not behind[number])
        return evolve(self, extras=extras, behind=behind)

    def _evidence(self, latest: Readings, prior: Prior, guess: float, noise_cap: float, count: int) -> Evidence:
        """Return the evidence on a grid of sigma around a guess."""
        middle = max(guess, 1e-300)
        grid = np.geomspace(min(1e-3 * _rms(latest.y), 0.3 * middle), 24.0 * middle, count)
        return evidence(latest, prior, np.minimum(grid, noise_cap), self.known_noise)


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
