r"""The mixture of the variants of a fit: one normal distribution with the mean and the covariance of all of them.

Let z be the unknowns without N: the offset, if there is one, and A. The variants with a bias share the rows that
contain N, so that for each of them

    N = g - G z + kappa sigma O e,    G = kappa^2 B' L^{-T} X,

with X the whitened rows of z and e independent of z. N + G z has the same mean in all of these variants and is
independent of z, so only z needs to be mixed, which has half as many entries, and N follows.

O is a square root of (I + kappa^2 B'B)^{-1}: the transposed inverse of a Cholesky factor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from soqo.estimators.bayes._model import ReadingModel
from soqo.typing import Array, BoolArray, IntArray


class WhiteRows(NamedTuple):
    """Rows whose noise, together with N, has covariance sigma^2 I, and what the distribution of N follows from.

    Attributes
    ----------
    rows : Array, shape (runs, n, m + 1)
        The whitened rows.
    L : Array, shape (runs, b, b)
        The Cholesky factor of the covariance of the first b rows, which are those that contain N.
    B : Array, shape (runs, b, q)
        The columns of N in these rows, before they were whitened.
    """

    rows: Array
    L: Array
    B: Array

    def take(self, index: IntArray) -> WhiteRows:
        """Return those of some of the runs."""
        return WhiteRows(self.rows[index], self.L[index], self.B[index])


class Moments(NamedTuple):
    """The mean and a square root of the covariance of some unknowns, the mean of sigma^2, and the scale.

    Attributes
    ----------
    mean, root : Array, shape (runs, n) and (runs, n, n)
        The mean, and a square root of the covariance.
    square_noise, scale : Array, shape (runs,)
        The means of sigma^2 and of the scale.
    """

    mean: Array
    root: Array
    square_noise: Array
    scale: Array

    def take(self, index: IntArray) -> Moments:
        """Return those of some of the runs."""
        return Moments(*(values[index] for values in self))


def triangular_factor(rows: Array) -> Array:
    """Return R of the QR decomposition of the rows."""
    R: Any = np.linalg.qr(rows, mode="r")
    return np.asarray(R)


def mixture(
    model: ReadingModel, fits: list[dict[str, Array]], wanted: BoolArray, shares: Array, white: WhiteRows | None
) -> dict[str, Array]:
    """Return mean, root and scale of the mixture of the variants.

    Parameters
    ----------
    model : ReadingModel
        The model.
    fits : list of dict
        The fits of the variants, each in the runs that want it; empty if none does.
    wanted : BoolArray, shape (runs, variants)
        The runs of each variant.
    shares : Array, shape (runs, variants)
        The probabilities.
    white : WhiteRows or None
        The rows of the variants with a bias; None if there is none.
    """
    found: list[tuple[IntArray, Array, Moments]] = []
    for biased, pair in ((True, slice(0, 2)), (False, slice(2, 4))):
        share = shares[:, pair].sum(axis=1)
        runs = np.flatnonzero(share)
        if not runs.size:
            continue
        moments = [
            _in_runs(fit, own, runs) if fit else None for fit, own in zip(fits[pair], wanted[:, pair].T, strict=True)
        ]
        own_share = shares[runs, pair] / share[runs, None]
        inner = _mix([(own_share[:, i], moment) for i, moment in enumerate(moments) if moment is not None])
        own_white = white if biased else None
        if own_white is not None and runs.size < len(shares):
            own_white = own_white.take(runs)
        found.append((runs, share[runs], _with_bias(model, inner, own_white)))
    if len(found) == 1 and found[0][0].size == len(shares):
        whole = found[0][2]
    else:
        parts = [_everywhere(runs, share, moments, len(shares)) for runs, share, moments in found]
        whole = _mix(parts, zeros=model.biases)  # without a bias, N is zero
    return {"mean": whole.mean, "root": whole.root, "scale": whole.scale}


def _in_runs(fit: dict[str, Array], own: BoolArray, runs: IntArray) -> Moments:
    """Return the moments of a variant in some of the runs; those of a run that does not want it are arbitrary."""
    moments = Moments(fit["mean"], fit["root"], np.square(fit["noise"]), fit["scale"])
    if len(moments.mean) == own.size == runs.size:
        return moments
    place: IntArray = np.cumsum(own) - own  # of a run that does not want the variant, any
    return moments.take(np.minimum(place[runs], len(moments.mean) - 1))


def _everywhere(runs: IntArray, share: Array, moments: Moments, count: int) -> tuple[Array, Moments]:
    """Return shares and moments for all runs: a share of zero, and arbitrary moments, for those that have none."""
    whole, place = np.zeros(count), np.zeros(count, dtype=np.int64)
    whole[runs], place[runs] = share, np.arange(runs.size)
    return whole, moments.take(place)


def _mix(parts: list[tuple[Array, Moments]], zeros: int = 0) -> Moments:
    """Return the moments of a mixture of one or two distributions; the shares of each run add up to one.

    The first columns of the second root may be zero: so many are left out.
    """
    if len(parts) == 1:
        return parts[0][1]
    (first, one), (second, other) = parts
    both = np.flatnonzero((first > 0.0) & (second > 0.0))
    if both.size == 0 and (first > 0.0).all():
        return one
    larger = second > first
    mean = np.where(larger[:, None], other.mean, one.mean)
    root = np.where(larger[:, None, None], other.root, one.root)
    numbers = [
        np.where(first > 0.0, first * a, 0.0) + np.where(second > 0.0, second * b, 0.0)
        for a, b in zip(one[2:], other[2:], strict=True)
    ]
    if both.size:
        w, v, size = first[both, None], second[both, None], mean.shape[1]
        left, right = one.take(both), other.take(both)
        mean[both] = w * left.mean + v * right.mean
        stack = np.empty((both.size, 2 * size - zeros + 1, size))
        stack[:, :size] = np.sqrt(w)[:, :, None] * left.root.swapaxes(-1, -2)
        stack[:, size:-1] = np.sqrt(v)[:, :, None] * right.root[:, :, zeros:].swapaxes(-1, -2)
        # w (a - c)(a - c)' + v (b - c)(b - c)' = w v (a - b)(a - b)' for c = w a + v b
        stack[:, -1] = np.sqrt(w * v) * (left.mean - right.mean)
        root[both] = triangular_factor(stack).swapaxes(-1, -2)
    return Moments(mean, root, *numbers)


def _with_bias(model: ReadingModel, inner: Moments, white: WhiteRows | None) -> Moments:
    """Return the moments of all unknowns from those of z; N is zero without a bias."""
    q, runs = model.biases, len(inner.mean)
    if not q:
        return inner
    mean, root = np.zeros((runs, model.size)), np.zeros((runs, model.size, model.size))
    mean[:, q:], root[:, q:, q:] = inner.mean, inner.root
    if white is not None:
        b, kappa = white.L.shape[1], model.kappa
        gain = kappa**2 * white.rows[:, :b, :q].swapaxes(-1, -2)
        given = white.rows[:, :b, q:-1]
        slope = gain @ given
        mean[:, :q] = np.matvec(gain, white.rows[:, :b, -1]) - np.matvec(slope, inner.mean)
        precision = np.eye(q) + kappa**2 * (white.B.swapaxes(-1, -2) @ white.B)
        own = np.linalg.inv(np.linalg.cholesky(precision)).swapaxes(-1, -2)
        np.multiply((kappa * np.sqrt(inner.square_noise))[:, None, None], own, out=root[:, :q, :q])
        np.negative(slope, out=slope)
        np.matmul(slope, inner.root, out=root[:, :q, q:])
    return inner._replace(mean=mean, root=root)
