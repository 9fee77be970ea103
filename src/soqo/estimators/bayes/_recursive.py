r"""Recursive least squares for A that needs to be told nothing: not the noise, not the scale of A, not its rank.

Each reading is linear in what is unknown,

    y = 1/2 u'A u + u'N u / |u|^2 + sigma e,

where N is a bias of the reading that may depend on the direction of u but not on its length: whoever falsifies readings
up to a bound can do it by such an N, but cannot make it grow with u as a cost grows. A and N have normal priors: A has
mean s I and deviation s per entry (3 s along I), N has deviation kappa sigma. The scales sigma and s are unknown too.

What is remembered is the triangular factor of all rows, so nothing is ever squared. From it, one singular value
decomposition gives the likelihood of every pair (sigma, s) in closed form, and the average over them
(`_scales`). This is done at each of the first readings, and later whenever the readings have grown
by a tenth. In between, the mean and a square root of the covariance go on by Potter's formula (Battin, "Astronautical
guidance", 1964), which costs O(p^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from soqo._spectrum import Spectrum
from soqo._storage.registry import register
from soqo.estimators._measurements import Indices, svec, svec_rows
from soqo.estimators.bayes._scales import PRIOR_SCALE, PRIOR_SQUARE, Likelihood, averaged
from soqo.typing import Array, BoolArray

__all__ = ["TRACE", "Belief", "Model", "eigenvalue_deviations", "tamed"]

Counts = np.ndarray[Any, np.dtype[np.int64]]

ENTRY, TRACE = 1.0, 3.0
"""The prior's deviation of A per entry and along the identity, in units of the scale s."""

RELATIVE_ERROR = 1e-6
"""What a reading may be wrong by as a share of |u|^2: it bounds the weight of giant ones."""

FARTHEST, LARGEST = 1e25, 1e60
"""Lengths of u and readings beyond these are scaled down, so that squares of squares are finite numbers."""

GROWTH = 1.1
"""By how much the number of readings grows from one look at the scales to the next."""


@dataclass(frozen=True)
class Model:
    """What is assumed about the readings.

    Parameters
    ----------
    dim
        The dimension d of u.
    bias : {"direction", "constant", "none"}
        What N may be: any symmetric matrix, a multiple of the identity (the same bias everywhere), or zero.
    kappa
        The deviation of N in units of the noise.
    noise_cap
        A bound on the noise, if one is known.
    forgetting
        The factor by which the weight of a reading shrinks from one to the next; 1 for none.
    """

    dim: int
    bias: str = "direction"
    kappa: float = 1.0
    noise_cap: float | None = None
    forgetting: float = 1.0

    @property
    def unknowns(self) -> int:
        """The number p = d(d+1)/2 of unknowns in A."""
        return self.dim * (self.dim + 1) // 2

    @property
    def biases(self) -> int:
        """The number q of unknowns in N."""
        return {"direction": self.unknowns, "constant": 1, "none": 0}[self.bias]

    @property
    def often(self) -> int:
        """Up to so many readings, the scales are weighed anew with each."""
        return min(2 * self.unknowns, 40)

    @property
    def pause(self) -> int:
        """Rounds from one estimate to the next: one, unless there are hundreds of unknowns."""
        return 1 + self.unknowns // 100

    def bias_features(self, u: Array) -> Array:
        """What N is multiplied by, shape (runs, q)."""
        if self.bias == "direction":
            # First by the largest entry: the square of a tiny length is zero.
            largest = np.abs(u).max(axis=1, initial=0.0)
            u = u / np.maximum(largest, 1e-300)[:, None]
            length = np.sqrt(np.vecdot(u, u))
            return 2.0 * svec_rows(u / np.maximum(length, 1e-300)[:, None])
        return np.ones((u.shape[0], self.biases))

    def features(self, u: Array) -> Array:
        """The row that a reading at u multiplies svec(A) and N by, shape (runs, p + q)."""
        return np.concatenate([svec_rows(u), self.bias_features(u)], axis=1)


@register("GLIDE.belief")
@dataclass(frozen=True, eq=False)
class Belief:
    """The normal distribution of A and N given all readings, for each of several runs.

    Attributes
    ----------
    mean : Array, shape (runs, p + q)
        Of svec(A) and N.
    root : Array, shape (runs, p + q, p + q)
        A square root of their covariance.
    noise, scale : Array, shape (runs,)
        sigma and s.
    readings : Array, shape (runs,)
        How many there were (since the last restart, and in units of the latest where some are forgotten).
    heard, due : Array, shape (runs,)
        How many there were, none forgotten, and how many there will be when the scales are weighed again.
    second_moment : Array, shape (runs, d, d)
        The sum of u u'.
    factor, waiting, filled
        All rows so far: their triangular factor, those that are not yet part of it, and how many these are.
    largest : Array, shape (runs,)
        The largest reading.
    prior_mean, prior_unit : Array, shape (runs, d, d) and (runs,)
        What A is around before the first reading where s = 1, and the unit of s.
    """

    mean: Array
    root: Array
    noise: Array
    scale: Array
    readings: Array
    heard: Array
    second_moment: Array
    due: Array
    factor: Array
    waiting: Array
    filled: Counts
    largest: Array
    prior_mean: Array
    prior_unit: Array

    @classmethod
    def start(cls, model: Model, runs: int) -> Belief:
        """Before the first reading."""
        d, p, q = model.dim, model.unknowns, model.biases
        identity = np.tile(np.eye(d), (runs, 1, 1))
        root = np.zeros((runs, p + q, p + q))
        root[:, :p, :p] = math.sqrt(PRIOR_SQUARE) * prior_root(d)
        columns = q + p + 1
        return cls(
            mean=np.concatenate([PRIOR_SCALE * svec(identity), np.zeros((runs, q))], axis=1),
            root=root,
            noise=np.ones(runs),
            scale=np.full(runs, PRIOR_SCALE),
            readings=np.zeros(runs),
            heard=np.zeros(runs),
            second_moment=np.zeros((runs, d, d)),
            due=np.ones(runs),
            factor=np.zeros((runs, columns, columns)),
            waiting=np.zeros((runs, min(columns, 32), columns)),
            filled=np.zeros(runs, dtype=np.int64),
            largest=np.zeros(runs),
            prior_mean=identity,
            prior_unit=np.ones(runs),
        )

    # ---- what it says ----------------------------------------------------------------------------------------------

    def prediction(self, model: Model, u: Array) -> tuple[Array, Array]:
        """The expected reading at u, and the variance that the doubt about A and N gives it."""
        row = model.features(u)
        spread = np.vecmat(row, self.root)
        return np.vecdot(row, self.mean), np.vecdot(spread, spread)

    # ---- how it learns ---------------------------------------------------------------------------------------------

    def update(self, model: Model, u: Array, y: Array) -> Belief:
        """Hear the readings y at u, shapes (runs,) and (runs, d), :func:`tamed`; where y is NaN, all stays as it is."""
        heard = ~np.isnan(y)
        u = np.where(heard[:, None], u, 0.0)
        square = np.vecdot(u, u)
        relative = np.where(self.largest > 0.0, RELATIVE_ERROR * square / self.noise, 0.0)
        weight = heard / np.sqrt(1.0 + relative * relative)
        y = np.where(heard, y, 0.0)
        after = self._stored(model, u, y, weight, heard)
        now_due = heard & (after.heard >= after.due)
        if not now_due.all():
            after = after._stepped(model, u, y, weight)
        return after.refitted(model, now_due) if now_due.any() else after

    def _stored(self, model: Model, u: Array, y: Array, weight: Array, heard: BoolArray) -> Belief:
        """With the row among those that wait; these become part of the factor when there is no more room."""
        row = np.concatenate([model.bias_features(u), svec_rows(u), y[:, None]], axis=1)
        waiting, filled, factor = self.waiting.copy(), self.filled, self.factor
        overflows = heard & (filled == waiting.shape[1])
        full = np.flatnonzero(overflows)
        if full.size:
            factor = overlaid(factor, full, folded(factor[full], waiting[full]))
            waiting[full] = 0.0
            filled = np.where(overflows, 0, filled)
        keep = np.where(heard, model.forgetting, 1.0)
        if model.forgetting < 1.0:
            fade = np.sqrt(keep)[:, None, None]
            factor, waiting = factor * fade, waiting * fade
        runs = np.flatnonzero(heard)
        waiting[runs, filled[runs]] = weight[runs, None] * row[runs]
        outer = weight[:, None, None] * u[:, :, None] * u[:, None, :]
        return replace(
            self,
            factor=factor,
            waiting=waiting,
            filled=filled + heard,
            readings=keep * self.readings + heard,
            heard=self.heard + heard,
            largest=np.maximum(self.largest, np.abs(weight * y)),
            second_moment=keep[:, None, None] * self.second_moment + outer,
        )

    def _stepped(self, model: Model, u: Array, y: Array, weight: Array) -> Belief:
        """Potter's step for one row."""
        root = self.root
        if model.forgetting < 1.0:
            # The readings so far fade before this one counts, as the rows do.
            root = root / np.where(weight > 0.0, math.sqrt(model.forgetting), 1.0)[:, None, None]
        row = weight[:, None] * model.features(u)
        spread = np.vecmat(row, root)
        variance = np.vecdot(spread, spread)
        total = variance + np.square(self.noise)
        towards = np.matvec(root, spread)
        error = weight * y - np.vecdot(row, self.mean)
        shrink = towards / (total + self.noise * np.sqrt(total))[:, None]
        root = root - shrink[:, :, None] * spread[:, None, :]
        mean = self.mean + towards * (error / total)[:, None]
        return replace(self, mean=mean, root=root)

    def refitted(self, model: Model, which: BoolArray) -> Belief:
        """With the scales weighed anew, for some of the runs."""
        runs = np.flatnonzero(which)
        factor = folded(self.factor[runs], self.waiting[runs])
        fit = fitted(model, self, factor, runs)
        readings = self.readings[runs]
        # Where some are forgotten, the readings that count do not outgrow the memory: look again after a tenth of them.
        more = np.where(readings < model.often, 1.0, (GROWTH - 1.0) * readings)
        fit["due"] = self.heard[runs] + more
        fit["factor"], fit["waiting"] = factor, np.zeros_like(self.waiting[runs])
        changed: dict[str, Any] = {name: overlaid(getattr(self, name), runs, new) for name, new in fit.items()}
        return replace(self, **changed, filled=np.where(which, 0, self.filled))

    def restarted(self, which: BoolArray, matrix: Array) -> Belief:
        """With what was learned forgotten in some runs, but for the estimate, which becomes the prior's mean."""
        return replace(
            self.taken_back(which),
            prior_mean=np.where(which[:, None, None], matrix, self.prior_mean),
            prior_unit=np.where(which, self.scale, self.prior_unit),
        )

    def taken_back(self, which: BoolArray) -> Belief:
        """With all readings forgotten in some runs, those since the last restart: what is left is the prior."""
        mask = which[:, None, None]
        return replace(
            self,
            factor=np.where(mask, 0.0, self.factor),
            waiting=np.where(mask, 0.0, self.waiting),
            filled=np.where(which, 0, self.filled),
            readings=np.where(which, 0.0, self.readings),
            heard=np.where(which, 0.0, self.heard),
            due=np.where(which, 1.0, self.due),
            largest=np.where(which, 0.0, self.largest),
            second_moment=np.where(mask, 0.0, self.second_moment),
        )


def eigenvalue_deviations(root: Array, spectrum: Spectrum) -> Array:
    """The standard deviation of q'A q for each eigenvector q, shape (runs, d), given a root of svec(A)'s covariance."""
    Q = spectrum.vectors.swapaxes(-1, -2)
    spread = np.matmul(svec(Q[..., :, None] * Q[..., None, :]), root)
    return np.asarray(np.sqrt(np.square(spread).sum(axis=-1)))


def tamed(u: Array, y: Array) -> tuple[Array, Array]:
    """The same readings from nearer by, where u is so far off that its fourth power would be no number."""
    farthest = np.abs(u).max(axis=1, initial=0.0)
    nearer = np.minimum(1.0, FARTHEST / np.maximum(farthest, 1.0))
    return u * nearer[:, None], np.clip(y * nearer * nearer, -LARGEST, LARGEST)


def fitted(model: Model, belief: Belief, factor: Array, runs: Indices) -> dict[str, Array]:
    """Mean, root and scales from the triangular factor of all rows, for some runs."""
    d, p, q = model.dim, model.unknowns, model.biases
    bias_rows, cross = factor[:, :q, :q], factor[:, :q, q:]
    # The rows that hold N: with N integrated out, their noise has covariance I + kappa^2 R R'.
    noise_root = np.linalg.cholesky(np.eye(q) + model.kappa**2 * bias_rows @ bias_rows.swapaxes(-1, -2))
    free_of_bias = np.concatenate([np.linalg.solve(noise_root, cross), factor[:, q:, q:]], axis=1)
    T = triangular(free_of_bias)
    center = svec(belief.prior_mean[runs])
    prior = belief.prior_unit[runs][:, None, None] * prior_root(d)
    U, D, Vt = np.linalg.svd(T[:, :p, :p] @ prior)
    c = np.vecmat(T[:, :p, p], U)
    c0 = np.vecmat(np.matvec(T[:, :p, :p], center), U)
    data = Likelihood(D, c, c0, np.square(T[:, p, p]), belief.readings[runs])
    average = averaged(data, belief.largest[runs], model.noise_cap)
    to_A = prior @ Vt.swapaxes(-1, -2)
    mean = average.scale[:, None] * center + np.matvec(to_A, average.mean)
    root = to_A * np.sqrt(average.variance)[:, None, :]
    # N given A.
    ridge = np.linalg.cholesky(np.eye(q) / max(model.kappa, 1e-12) ** 2 + bias_rows.swapaxes(-1, -2) @ bias_rows)
    half = np.linalg.solve(ridge, bias_rows.swapaxes(-1, -2))
    gain = np.linalg.solve(ridge.swapaxes(-1, -2), half)
    bias_mean = np.matvec(gain, cross[:, :, p] - np.matvec(cross[:, :, :p], mean))
    bias_root = average.noise[:, None, None] * np.linalg.inv(ridge).swapaxes(-1, -2)
    full = np.zeros((runs.size, p + q, p + q))
    full[:, :p, :p] = root
    full[:, p:, :p] = -gain @ cross[:, :, :p] @ root
    full[:, p:, p:] = bias_root
    return {
        "mean": np.concatenate([mean, bias_mean], axis=1),
        "root": full,
        "noise": average.noise,
        "scale": average.scale * belief.prior_unit[runs],
    }


@cache
def prior_root(d: int) -> Array:
    """A square root of the prior covariance of svec(A), for s = 1."""
    along = svec(np.eye(d)) / math.sqrt(d)
    return ENTRY * np.eye(along.size) + (TRACE - ENTRY) * np.outer(along, along)


def folded(factor: Array, waiting: Array) -> Array:
    """The triangular factor of the rows of both."""
    return triangular(np.concatenate([factor, waiting], axis=1))


def triangular(rows: Array) -> Array:
    """R of the decomposition Q R."""
    R: Any = np.linalg.qr(rows, mode="r")
    return np.asarray(R)


def overlaid(values: Array, runs: Indices, new: Array) -> Array:
    """A copy with new values in some runs."""
    if runs.size == values.shape[0]:
        return new
    copy = values.copy()
    copy[runs] = new
    return copy
