r"""Bayesian linear regressions with unknown noise, updated reading by reading in square-root form.

A filter describes y = phi'theta + noise, where the noise is normal with variance r sigma^2 and r is known:

    theta | sigma ~ N(mean, sigma^2 S S'),    sigma^2 ~ inverse gamma(a, b)

A reading leaves this form unchanged. With f = S'phi, alpha = r + |f|^2 and the error e = y - phi'mean,

    mean + S f e / alpha,    a + 1/2,    b + e^2 / (2 alpha)

are the new parameters, and the reading was predicted by a Student t distribution with 2a degrees of freedom around
phi'mean with the squared scale alpha b / a. The sum of its log densities is the evidence of the filter.

The root S is upper triangular and is updated by Carlson's formulas ("Fast triangular formulation of the square root
filter", AIAA Journal 11, 1973), column by column: with alpha_j = r + f_1^2 + ... + f_j^2,

    S_j <- S_j (alpha_{j-1} / alpha_j)^{1/2} - (f_1 S_1 + ... + f_{j-1} S_{j-1}) f_j / (alpha_{j-1} alpha_j)^{1/2},

which is S T with an upper triangular T. Since S is upper triangular, the block S[:k, :k] is a root of the covariance of
the first k unknowns given the others. Unknowns that walk come first: a step of them between two readings (the time
update) changes this block only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, log_ndtr, stdtr

from soqo._foundation.blas import is_finite_quick
from soqo._foundation.frozen_dataclasses import Value, evolve, freeze
from soqo._storage.registry import register
from soqo.typing import Array, BoolArray, IntArray

_BLOCK_ENTRIES = 1 << 16
"""The budget of a block of roots, in entries, which fit into the cache."""

_LOST = -700.0
"""The log density of a reading at which the numbers of a filter overflow."""


@register("Filters", version=2, migrations={1: lambda fields: {**fields, "keep": np.ones(fields["steps"].shape)}})
@dataclass(frozen=True)
class Filters(Value):
    """A list of filters.

    Attributes
    ----------
    group : IntArray, shape (n,)
        The group that a filter belongs to, ascending. The filters of a group predict the same readings.
    kind : IntArray, shape (n,)
        Which hypothesis a filter stands for.
    root : Array, shape (n, m, m)
        The upper triangular root S.
    mean : Array, shape (n, m)
        The mean of theta.
    a, b : Array, shape (n,)
        The parameters of the noise.
    log_weight : Array, shape (n,)
        The logarithm of the prior probability times the evidence.
    keep, steps : Array, shape (n, k)
        The first k unknowns are autoregressive: the share that stays of them from one round to the next, and the
        deviations of their steps in units of sigma.
    growth : Array, shape (n,)
        The factor by which the deviations of all unknowns grow between two readings: what is old is forgotten.
    """

    group: IntArray
    kind: IntArray
    root: Array
    mean: Array
    a: Array
    b: Array
    log_weight: Array
    keep: Array
    steps: Array
    growth: Array

    @classmethod
    def none(cls, size: int, walking: int) -> Filters:
        """Return an empty list for this number of unknowns, the first of which may walk."""
        index, none = np.zeros(0, dtype=np.intp), np.zeros(0)
        shape = np.zeros((0, size))
        first = np.zeros((0, walking))
        return cls(index, index, np.zeros((0, size, size)), shape, none, none, none, first, first, none)

    def take(self, index: IntArray | slice) -> Filters:
        """Return some of the filters."""
        return Filters(*(value[index] for value in self.__dict__.values()))

    @staticmethod
    def join(parts: list[Filters]) -> Filters:
        """Return the filters of several lists, sorted by group."""
        if len(parts) == 1:
            return parts[0]
        columns = [np.concatenate(column) for column in zip(*(part.__dict__.values() for part in parts), strict=True)]
        if (columns[0][1:] < columns[0][:-1]).any():
            order = np.argsort(columns[0], kind="stable")
            columns = [column[order] for column in columns]
        return Filters(*columns)

    def widened(self, more: int) -> Filters:
        """Return filters with more unknowns that may walk, behind the others of this kind; so far they do not exist."""
        place = np.full(more, self.steps.shape[1])
        wide = {name: np.insert(getattr(self, name), place, 0.0, axis=-1) for name in ("root", "mean", "keep", "steps")}
        return evolve(self, **{**wide, "root": np.insert(wide["root"], place, 0.0, axis=1)})

    @property
    def noise_variance(self) -> Array:
        """The estimate b / a of sigma^2."""
        return self.b / self.a


def begins(group: IntArray) -> BoolArray:
    """Return where a group begins in an ascending list of groups.

    Parameters
    ----------
    group : IntArray, shape (n,)
        The groups.

    Examples
    --------
    >>> begins(np.array([0, 0, 2]))
    array([ True, False,  True])
    """
    first = np.ones(len(group), dtype=np.bool_)
    np.not_equal(group[1:], group[:-1], out=first[1:])
    return first


class Prediction(NamedTuple):
    """What filters expected of a reading before they were told it: the mean and the squared scale of Student's t."""

    mean: Array
    scale2: Array


class Step(NamedTuple):
    """What happens between two readings, for each group.

    Parameters
    ----------
    elapsed : Array, shape (groups,)
        The number of rounds: what walks makes so many steps.
    first : int
        The number of the first of the unknowns that drive the first unknown of all.
    change : Array, shape (groups, k)
        What the first unknown of all changes by for each unit of these unknowns.
    """

    elapsed: Array
    first: int
    change: Array


def learn(
    filters: Filters,
    phi: Array,
    y: Array,
    r: Array,
    *,
    step: Step | None = None,
    censored: BoolArray | None = None,
    noise_cap: float | None = None,
    resolution: Array | None = None,
) -> tuple[Filters, Prediction]:
    """Return the filters after a reading, and what they expected.

    Parameters
    ----------
    filters : Filters
        The filters.
    phi : Array, shape (groups, m)
        The features of the reading of each group.
    y, r : Array, shape (groups,)
        The readings, and the variances of their noise in units of sigma^2.
    step : Step, optional
        What has happened since the last reading; one round unless given.
    censored : BoolArray of shape (groups,), optional
        The readings that say only that the true one is at least as large.
    noise_cap : float, optional
        A bound on sigma: the estimate b / a of sigma^2 never exceeds its square.
    resolution : Array of shape (groups,), optional
        The step h of the meter, whose rounding errors have the variance h^2 / 12: sigma^2 is never below.
    """
    of = filters.group
    # The bound on sigma^2 neither overflows nor vanishes.
    most = math.inf if noise_cap is None else min(max(noise_cap, 1e-100), 1e100) ** 2
    root, mean = _time_update(filters, step)
    least = 0.0 if resolution is None else np.square(resolution)[of] / 12.0
    a, b = filters.a, np.minimum(np.maximum(filters.b, filters.a * least), filters.a * most)
    own = phi[of]
    expected = np.vecdot(mean, own)
    f = np.matmul(own[:, None, :], root)[:, 0]
    prediction = Prediction(expected, (r[of] + np.vecdot(f, f)) * b / a)
    error, noise = y[of] - expected, r[of]
    tail = None if censored is None or not censored.any() else np.flatnonzero(censored[of])
    if tail is not None:
        tail_density = _log_tail(error[tail] / np.sqrt(prediction.scale2[tail]), 2.0 * a[tail])
        error[tail], noise[tail] = _truncated(error[tail], noise[tail], np.vecdot(f, f)[tail], (b / a)[tail])
    gain, alpha = _carlson(root, f, noise)
    a_new, b_new = a + 0.5, b + 0.5 * error * error / alpha
    if tail is not None:  # what is not seen says nothing about the noise
        a_new[tail], b_new[tail] = a[tail], b[tail]
    density = gammaln(a_new) - gammaln(a) + a * np.log(b) - a_new * np.log(b_new) - 0.5 * np.log(2.0 * np.pi * alpha)
    if tail is not None:
        density[tail] = tail_density
    b_new = np.minimum(np.maximum(b_new, a_new * least), a_new * most)
    mean, log_weight = mean + gain * (error / alpha)[:, None], filters.log_weight + density
    learned = evolve(filters, root=root, mean=mean, a=a_new, b=b_new, log_weight=log_weight)
    if is_finite_quick(log_weight) and is_finite_quick(mean):
        return learned, prediction
    return _without_overflow(filters, learned, prediction)


def _without_overflow(filters: Filters, learned: Filters, prediction: Prediction) -> tuple[Filters, Prediction]:
    """Return filters that stay as they are where numbers overflow, and did not expect the reading."""
    lost = np.flatnonzero(~(np.isfinite(learned.log_weight) & np.isfinite(learned.mean).all(axis=1)))
    kept = {name: value.copy() for name, value in learned.__dict__.items()}
    for name, value in kept.items():
        value[lost] = getattr(filters, name)[lost]
    kept["log_weight"][lost] += _LOST
    mean, scale2 = prediction.mean.copy(), prediction.scale2.copy()
    mean[lost], scale2[lost] = 0.0, 1e200
    return Filters(**kept), Prediction(mean, scale2)


def _log_tail(t: Array, freedom: Array) -> Array:
    """Return the log probability that Student's t exceeds a number, also where it is too small for a float."""
    with np.errstate(divide="ignore"):
        found = np.log(stdtr(freedom, -t))
    # Far out the tail is that of a power law.
    far = np.maximum(t, 1.0)
    power = gammaln(0.5 * freedom + 0.5) - gammaln(0.5 * freedom) + (0.5 * freedom - 1.0) * np.log(freedom)
    power = power - 0.5 * math.log(math.pi) - freedom * np.log(far)
    return np.asarray(np.where(np.isfinite(found), found, power))


def _truncated(error: Array, r: Array, spread: Array, noise2: Array) -> tuple[Array, Array]:
    """Return the errors and variances of normal readings with the moments of censored ones.

    Given that it is at least z deviations above its mean, a standard normal variable has the mean l = phi(z) / Phi(-z)
    and the variance 1 - d, d = l (l - z). A reading with the error s l / d and the variance alpha / d moves the mean
    and shrinks the covariance in this way (assumed density filtering), where alpha = r + |f|^2 and s^2 = alpha sigma^2.
    """
    alpha = r + spread
    deviation = np.sqrt(alpha * noise2)
    z = np.clip(error / deviation, -30.0, 30.0)
    mean = np.exp(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - log_ndtr(-z))
    shrink = np.clip(mean * (mean - z), 1e-9, 1.0)
    return deviation * mean / shrink, alpha / shrink - spread


def _time_update(filters: Filters, step: Step | None) -> tuple[Array, Array]:
    """Return a copy of the roots, and the means, after what the unknowns do between two readings."""
    root, mean, keep, steps, growth = filters.root.copy(), filters.mean, filters.keep, filters.steps, filters.growth
    if step is not None:
        elapsed, driving = step.elapsed[filters.group], slice(step.first, step.first + step.change.shape[1])
        if (elapsed > 1.0).any():
            # What stays of the steps adds up to a geometric series: the size of what is autoregressive has a limit.
            rounds, lost = elapsed[:, None], 1.0 - np.square(keep)
            variance = np.where(lost > 0.0, (1.0 - keep ** (2.0 * rounds)) / np.where(lost > 0.0, lost, 1.0), rounds)
            keep, steps, growth = keep**rounds, steps * np.sqrt(variance), growth**elapsed
        if root[:, step.first, step.first].any():
            own, mean = step.change[filters.group], mean.copy()
            root[:, 0] += np.vecmat(own, root[:, driving])
            mean[:, 0] += np.vecdot(own, mean[:, driving])
    grows, walks = growth > 1.0, steps.any(axis=1)
    if grows.any():
        root[grows] *= growth[grows, None, None]
    if walks.any():
        load_only = walks & ~steps[:, 1:].any(axis=1)
        root[load_only, 0, 0] = np.hypot(root[load_only, 0, 0], steps[load_only, 0])
        index, k = np.flatnonzero(walks & ~load_only), steps.shape[1]
        if index.size:
            mean = mean.copy()
            mean[index, :k] *= keep[index]
            root[index, :k] *= keep[index, :, None]
            root[index, :k, :k] = _after_steps(root[index, :k, :k], steps[index])
    return root, mean


def _after_steps(block: Array, steps: Array) -> Array:
    """Return the roots of S S' + diag(steps)^2, by a QR decomposition, which never squares the numbers.

    Unknowns that do not exist get a root of one on the way, since a column of zeros would not leave them apart.
    """
    absent, eye = ~block.any(axis=2) & (steps == 0.0), np.eye(block.shape[1])
    rows = np.concatenate([block.mT, (steps + absent)[:, :, None] * eye], axis=1)
    R: Any = np.linalg.qr(rows[:, :, ::-1], mode="r")
    R = np.where(np.einsum("nii->ni", R)[:, :, None] < 0.0, -R, R)  # the diagonal of a root is not negative
    return np.asarray(R.mT[:, ::-1, ::-1] - absent[:, None, :] * eye)


def upper_root(covariance: Array) -> Array:
    """Return the upper triangular S with S S' = P for each P, shape (n, k, k)."""
    return np.asarray(np.linalg.cholesky(covariance[:, ::-1, ::-1])[:, ::-1, ::-1])


def _carlson(root: Array, f: Array, r: Array) -> tuple[Array, Array]:
    """Multiply the roots by their T, in place, and return S f and alpha of each filter."""
    used = np.flatnonzero(np.einsum("nii->i", root))  # the unknowns that exist in some filter
    gain, own, index = np.matvec(root, f), f[:, used], np.arange(used.size)
    alpha = np.cumsum(np.concatenate([r[:, None], own * own], axis=1), axis=1)
    roots = np.sqrt(alpha)  # the product of two alpha may overflow
    diagonal, back = roots[:, :-1] / roots[:, 1:], own / (roots[:, :-1] * roots[:, 1:])
    rows = max(1, _BLOCK_ENTRIES // root.shape[1] ** 2)
    above = _above_diagonal(used.size)
    for first in range(0, len(f), rows):
        part = slice(first, first + rows)
        T = (own[part, :, None] * above) * -back[part, None, :]
        T[:, index, index] = diagonal[part]
        if used.size == root.shape[1]:
            root[part] = root[part] @ T
        else:
            root[part, used[:, None], used] = root[part, used[:, None], used] @ T
    return gain, alpha[:, -1]


@cache
def _above_diagonal(size: int) -> Array:
    """Return a matrix of ones above the diagonal and zeros elsewhere, which is not to be changed."""
    return freeze(np.triu(np.ones((size, size)), 1))
