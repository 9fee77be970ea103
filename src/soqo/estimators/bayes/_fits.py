r"""Fits: the posterior of all unknowns from the stored rows, with the noise and the scale averaged out.

A fit has the rows of all readings, either as they are while they are few, or as a triangular factor. With the bias N
integrated out, the noise of the rows B N has covariance I + kappa^2 B B' = L L'. A singular value decomposition of the
other columns, whitened by L, gives the marginal likelihood of every pair (sigma, s) in closed form, and the average of
the posterior over them. With n rows it costs O(n^2 m): directions that no row contains keep the prior.

A square root of (I + kappa^2 B'B)^{-1}, the covariance of N, is I - kappa^2 B' L^{-T} (I + L)^{-1} B (Andrews, "A
square root formulation of the Kalman covariance equations", 1968).

Whether there is an offset, and whether there is a bias N, is decided by the marginal likelihood: the variants that the
model allows are fitted, and the posterior is the mixture of them with the same mean and covariance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soqo._foundation.blas import is_finite_quick
from soqo.estimators._measurements import svec
from soqo.estimators.bayes._marginal_likelihood import MarginalLikelihood
from soqo.estimators.bayes._model import ReadingModel, prior_root
from soqo.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from soqo.estimators.bayes._posterior import Posterior

GROWTH = 1.1
"""The factor by which the number of readings grows from one fit to the next."""

VARIANTS = ((False, True), (True, True), (False, False), (True, False))
"""The variants of the model: with an offset or context, and with a bias N."""

LOG_VARIANT_PRIORS = np.log([0.7, 0.3, 0.7, 0.3])
"""The prior probabilities of the variants, up to a factor that the bias does not change."""

NEGLIGIBLE, UNLIKELY = 1e-3, 0.05
"""A variant of lower probability than the first does not count, and one of lower probability than the second is not
evaluated again until the number of readings has doubled."""


class WhiteRows(NamedTuple):
    """Rows whose noise, together with N, has covariance sigma^2 I, and what the distribution of N follows from.

    Attributes
    ----------
    rows : Array, shape (runs, n, m + 1)
        The whitened rows.
    L : Array, shape (runs, b, b)
        The Cholesky factor of the covariance of the first b rows, which are those that contain N.
    half : Array, shape (runs, b, q)
        (I + L)^{-1} B, or B where only the evidence is wanted.
    """

    rows: Array
    L: Array
    half: Array

    def take(self, index: IntArray) -> WhiteRows:
        """Return those of some of the runs."""
        return WhiteRows(self.rows[index], self.L[index], self.half[index])


def triangular_factor(rows: Array) -> Array:
    """Return R of the QR decomposition of the rows."""
    R: Any = np.linalg.qr(rows, mode="r")
    return np.asarray(R)


def fit_variants(
    model: ReadingModel, part: Posterior, rows: Array, *, triangular: bool, review: bool, evidence_only: bool = False
) -> dict[str, Array]:
    """Return mean, root, noise, scale, evidence and the weights of the variants.

    Parameters
    ----------
    model : ReadingModel
        The model.
    part : Posterior
        The posterior of each run before the fit; its rows are not used.
    rows : Array, shape (runs, n, m + 1)
        The whitened features and readings, or their triangular factor. Zero rows have no effect.
    triangular : bool
        Whether they are the triangular factor.
    review : bool
        Whether to evaluate all variants, also those that were unlikely at the last fit.
    evidence_only : bool
        Whether noise, evidence and weights suffice.
    """
    wanted = _wanted_variants(model, part, review)
    log_weights = np.full(wanted.shape, -np.inf)
    fits: list[dict[str, Array] | None] = [None] * len(VARIANTS)
    # The same for all variants with a bias.
    white = _without_bias(model, rows, triangular, evidence_only) if model.biases and model.kappa else None
    for index, (offset, biased) in enumerate(VARIANTS):
        chosen = np.flatnonzero(wanted[:, index])
        if not chosen.size:
            continue
        every = chosen.size == len(rows)
        chosen_part, chosen_rows, chosen_white = part, rows, white if biased else None
        if not every:
            chosen_part = part.take(chosen)
            if chosen_white is not None:
                chosen_white = chosen_white.take(chosen)
            else:
                chosen_rows = rows[chosen]
        fits[index] = fit = _fit_variant(
            model, chosen_part, chosen_rows, triangular, offset, biased, chosen_white, evidence_only
        )
        log_weights[chosen, index] = fit["log_evidence"] + LOG_VARIANT_PRIORS[index]
    top = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    # A variant that hardly matters is left out of the mixture.
    shares = np.where(weights > NEGLIGIBLE, weights, 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    result = {} if evidence_only else _mixture(fits, wanted, shares)
    result["noise"] = _mixed_noise(fits, wanted, shares)
    result["log_marginal"] = (top + np.log(total))[:, 0]
    result["variants"] = weights
    return result


def _wanted_variants(model: ReadingModel, part: Posterior, review_all: bool) -> BoolArray:
    """Return which variants to evaluate, shape (runs, variants)."""
    runs = part.readings.size
    # An offset adds a constant to the readings, so it needs a base load.
    offset = (part.level_variance > 0.0) & (model.extras > 0) & (part.offset_step == 0.0)
    unbiased = (part.readings >= 4 * model.unknowns) & model.optional_bias & (model.biases > 0)
    wanted = np.stack([np.ones(runs, dtype=np.bool_), offset, unbiased, offset & unbiased], axis=1)
    n = np.maximum(part.readings, 1.0)
    review = review_all | (part.readings < 4 * model.unknowns) | (np.floor(np.log2(n)) != np.floor(np.log2(n / GROWTH)))
    likely = wanted & (part.variants > UNLIKELY)
    likely[~likely.any(axis=1)] |= wanted[~likely.any(axis=1)]
    return np.where(review[:, None], wanted, likely)


def _mixture(fits: list[dict[str, Array] | None], wanted: BoolArray, shares: Array) -> dict[str, Array]:
    """Return the normal distribution with the mean and the covariance of the mixture of the variants."""
    runs = len(shares)
    best = shares.argmax(axis=1)
    result: dict[str, Array] = {}
    for index, fit in enumerate(fits):
        if fit is None:
            continue
        rows = np.flatnonzero(wanted[:, index])
        chosen = best[rows] == index
        for name in ("mean", "root", "scale"):
            if name not in result:
                result[name] = np.zeros((runs, *fit[name].shape[1:]))
            result[name][rows[chosen]] = fit[name][chosen]
    mixed = np.flatnonzero((shares > 0.0).sum(axis=1) > 1)
    if not mixed.size:
        return result
    parts = (shares > 0.0).sum(axis=1)
    for count in set(parts[mixed].tolist()):
        _mix(fits, wanted, shares, np.flatnonzero(parts == count), count, result)
    return result


def _mix(
    fits: list[dict[str, Array] | None],
    wanted: BoolArray,
    shares: Array,
    mixed: IntArray,
    count: int,
    result: dict[str, Array],
) -> None:
    """Write the mixtures of so many variants, in the runs that have them, to the result."""
    size, runs = result["mean"].shape[1], len(shares)
    share = shares[mixed]
    # The variants that count, one after the other: rows of zeros for the others would cost time.
    slot = np.cumsum(share > 0.0, axis=1) - 1
    means = np.zeros((mixed.size, count, size))
    stack = np.empty((mixed.size, count * (size + 1), size))
    weight, scale = np.zeros((mixed.size, count)), np.zeros(mixed.size)
    for index, fit in enumerate(fits):
        where = np.flatnonzero(share[:, index] > 0.0)
        if fit is None or not where.size:
            continue
        place = np.empty(runs, dtype=np.int64)
        place[wanted[:, index]] = np.arange(len(fit["noise"]))
        rows, at, own = place[mixed[where]], slot[where, index], share[where, index]
        means[where, at], weight[where, at] = fit["mean"][rows], own
        for k in set(at.tolist()):
            here = at == k
            root = np.sqrt(own[here])[:, None, None] * fit["root"][rows[here]]
            stack[where[here], k * size : (k + 1) * size] = root.swapaxes(-1, -2)
        scale[where] += own * fit["scale"][rows]
    mean = (weight[:, :, None] * means).sum(axis=1)
    stack[:, count * size :] = np.sqrt(weight)[:, :, None] * (means - mean[:, None])
    result["mean"][mixed], result["root"][mixed] = mean, triangular_factor(stack).swapaxes(-1, -2)
    result["scale"][mixed] = scale


def _mixed_noise(fits: list[dict[str, Array] | None], wanted: BoolArray, shares: Array) -> Array:
    """Return the geometric mean of the noise of the variants, shape (runs,)."""
    noise = np.ones(shares.shape)
    for index, fit in enumerate(fits):
        if fit is not None:
            noise[wanted[:, index], index] = fit["noise"]
    alone = noise[np.arange(len(noise)), shares.argmax(axis=1)]
    mixed = np.exp((shares * np.log(noise)).sum(axis=1))
    return np.asarray(np.where((shares > 0.0).sum(axis=1) > 1, mixed, alone))


def _fit_variant(
    model: ReadingModel,
    part: Posterior,
    rows: Array,
    triangular: bool,
    offset: bool,
    biased: bool,
    white: WhiteRows | None = None,
    evidence_only: bool = False,
) -> dict[str, Array]:
    """Return mean, root, noise, scale and evidence of one variant; ``white`` is that of a variant with a bias."""
    p, q, e = model.unknowns, model.biases, model.extras
    runs, kappa = len(part.readings), model.kappa if biased and q else 0.0
    k = e if offset else 0
    n, first = k + p, model.size - k - p
    if kappa and white is None:
        white = _without_bias(model, rows, triangular, evidence_only)
    whole = rows if white is None else white.rows
    center, prior = _prior(model, part, k)
    if whole.shape[1] > n:
        T = triangular_factor(whole[:, :, first:])
        white_rows, y, rest = T[:, :n, :n], T[:, :n, n], np.square(T[:, n, n])
    else:
        white_rows, y, rest = whole[:, :, first:-1], whole[:, :, -1], np.zeros(runs)
    design = white_rows @ prior
    overflows = np.empty(0, dtype=np.int64)
    if not is_finite_quick(design):
        overflows = np.flatnonzero(~np.isfinite(design).all(axis=(1, 2)))
        design[overflows] = 0.0
    U, D, Vt = np.linalg.svd(design, full_matrices=False)
    average = MarginalLikelihood(
        D,
        np.vecmat(y, U),
        np.vecmat(np.matvec(white_rows, center), U),
        rest,
        part.readings,
        part.max_abs_reading,
        part.noise_cap,
        part.known_noise,
        part.scale_deviation,
    ).average(np.where(part.readings > 2 * model.unknowns, part.noise, np.nan))
    log_determinant: Array | float = 0.0
    if white is not None:
        log_determinant = np.log(np.diagonal(white.L, axis1=1, axis2=2)).sum(axis=1)
    log_evidence = average.log_evidence - log_determinant
    if evidence_only:
        return {"noise": average.noise, "log_evidence": log_evidence}
    spread = np.sqrt(average.variance)
    inner = average.scale[:, None] * center + np.matvec(prior, np.vecmat(average.mean, Vt))
    if D.shape[1] == n:
        inner_root = (prior @ Vt.swapaxes(-1, -2)) * spread[:, None, :]
    else:
        # What the rows do not contain has the variance of the prior.
        unseen = np.sqrt(average.mean_square_scale)[:, None]
        change = Vt.swapaxes(-1, -2) @ ((spread - unseen)[:, :, None] * Vt)
        change[:, np.arange(n), np.arange(n)] += unseen
        inner_root = prior @ change
    mean = np.zeros((runs, model.size))
    root = np.zeros((runs, model.size, model.size))
    mean[:, first:], root[:, first:, first:] = inner, inner_root
    if white is not None:
        # The conditional distribution of N given the other unknowns.
        b = white.L.shape[1]
        gain = kappa**2 * whole[:, :b, :q].swapaxes(-1, -2)
        given = whole[:, :b, first:-1]
        mean[:, :q] = np.matvec(gain, whole[:, :b, -1] - np.matvec(given, inner))
        own = np.eye(q) - gain @ white.half
        np.multiply((kappa * average.noise)[:, None, None], own, out=root[:, :q, :q])
        np.matmul(-gain, given @ inner_root, out=root[:, :q, first:])
    mean[overflows] = math.nan  # what is not a number is not used, see Posterior.update
    return {
        "mean": mean,
        "root": root,
        "noise": average.noise,
        "scale": average.scale * part.prior_unit,
        "log_evidence": log_evidence,
    }


def _without_bias(model: ReadingModel, rows: Array, triangular: bool, evidence_only: bool) -> WhiteRows:
    """Return the rows with the covariance of noise and N removed."""
    q, kappa = model.biases, model.kappa
    # Of a triangular factor, only the first q rows contain N.
    b = q if triangular else rows.shape[1]
    B = rows[:, :b, :q]
    covariance = B @ B.swapaxes(-1, -2)
    covariance *= kappa**2
    covariance += np.eye(b)
    L = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    white = np.asarray(np.linalg.solve(L, rows[:, :b]), dtype=np.float64)
    half = B if evidence_only else np.asarray(np.linalg.solve(L + np.eye(b), B), dtype=np.float64)
    return WhiteRows(white if b == rows.shape[1] else np.concatenate([white, rows[:, b:]], axis=1), L, half)


def _prior(model: ReadingModel, part: Posterior, k: int) -> tuple[Array, Array]:
    """Return the mean of the unknowns without N for s = 1, and a square root of their covariance."""
    p, runs = model.unknowns, len(part.prior_unit)
    center, prior = np.zeros((runs, k + p)), np.zeros((runs, k + p, k + p))
    center[:, k:] = svec(part.prior_mean)
    prior[:, k:, k:] = part.prior_unit[:, None, None] * prior_root(model.dim)
    if k:
        prior[:, np.arange(k), np.arange(k)] = part.prior_unit[:, None] * model.extra_deviations(part.sizes)
    return center, prior
