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
from typing import TYPE_CHECKING, Any

import numpy as np

from soqo._foundation.blas import is_finite_quick
from soqo.estimators._measurements import svec
from soqo.estimators.bayes._marginal_likelihood import MarginalLikelihood
from soqo.estimators.bayes._model import ReadingModel, prior_root
from soqo.typing import Array, BoolArray

if TYPE_CHECKING:
    from soqo.estimators.bayes._posterior import Posterior

GROWTH = 1.1
"""The factor by which the number of readings grows from one fit to the next."""

VARIANTS = ((False, True), (True, True), (False, False), (True, False))
"""The variants of the model: with an offset or context, and with a bias N."""

_LOG_VARIANT_PRIORS = np.log([0.7, 0.3, 0.7, 0.3])
"""The prior probabilities of the variants, up to a factor that the bias does not change."""

_NEGLIGIBLE, _UNLIKELY = 1e-3, 0.05
"""A variant of lower probability than the first does not count, and one of lower probability than the second is not
evaluated again until the number of readings has doubled."""


def triangular_factor(rows: Array) -> Array:
    """Return R of the QR decomposition of the rows."""
    R: Any = np.linalg.qr(rows, mode="r")
    return np.asarray(R)


def fit_variants(
    model: ReadingModel, part: Posterior, rows: Array, *, triangular: bool, review: bool
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
    """
    wanted = _wanted_variants(model, part, review)
    log_weights = np.full(wanted.shape, -np.inf)
    fits: list[dict[str, Array] | None] = [None] * len(VARIANTS)
    for index, (offset, biased) in enumerate(VARIANTS):
        chosen = np.flatnonzero(wanted[:, index])
        if not chosen.size:
            continue
        every = chosen.size == len(rows)
        chosen_part, chosen_rows = (part, rows) if every else (part.take(chosen), rows[chosen])
        fits[index] = fit = _fit_variant(model, chosen_part, chosen_rows, triangular, offset, biased)
        log_weights[chosen, index] = fit["log_evidence"] + _LOG_VARIANT_PRIORS[index]
    top = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    # A variant that hardly matters is left out of the mixture.
    shares = np.where(weights > _NEGLIGIBLE, weights, 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    result = _mixture(fits, wanted, shares)
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
    likely = wanted & (part.variants > _UNLIKELY)
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
        for name in ("mean", "root", "noise", "scale"):
            if name not in result:
                result[name] = np.zeros((runs, *fit[name].shape[1:]))
            result[name][rows[chosen]] = fit[name][chosen]
    mixed = np.flatnonzero((shares > 0.0).sum(axis=1) > 1)
    if not mixed.size:
        return result
    size = result["mean"].shape[1]
    position = np.full(runs, -1)
    position[mixed] = np.arange(mixed.size)
    means = np.zeros((mixed.size, len(fits), size))
    columns = np.zeros((mixed.size, len(fits), size, size))
    log_noise, scale = np.zeros(mixed.size), np.zeros(mixed.size)
    for index, fit in enumerate(fits):
        if fit is None:
            continue
        rows = np.flatnonzero(wanted[:, index])
        inside = position[rows] >= 0
        where, share = position[rows[inside]], shares[rows[inside], index]
        means[where, index] = fit["mean"][inside]
        columns[where, index] = np.sqrt(share)[:, None, None] * fit["root"][inside]
        log_noise[where] += share * np.log(fit["noise"][inside])
        scale[where] += share * fit["scale"][inside]
    share = shares[mixed]
    mean = (share[:, :, None] * means).sum(axis=1)
    spread = np.sqrt(share)[:, :, None] * (means - mean[:, None])
    stack = np.concatenate([columns.swapaxes(-1, -2).reshape(mixed.size, -1, size), spread], axis=1)
    result["mean"][mixed], result["root"][mixed] = mean, triangular_factor(stack).swapaxes(-1, -2)
    result["noise"][mixed], result["scale"][mixed] = np.exp(log_noise), scale
    return result


def _fit_variant(
    model: ReadingModel, part: Posterior, rows: Array, triangular: bool, offset: bool, biased: bool
) -> dict[str, Array]:
    """Return mean, root, noise, scale and evidence of one variant."""
    p, q, e = model.unknowns, model.biases, model.extras
    runs, kappa = len(rows), model.kappa if biased and q else 0.0
    k = e if offset else 0
    n, first = k + p, model.size - k - p
    columns = np.concatenate([rows[:, :, :q], rows[:, :, first:]], axis=2) if first > q else rows
    # Of a triangular factor, only the first q rows contain N.
    white, L = _without_bias(columns, q, kappa, q if triangular else rows.shape[1])
    center, prior = _prior(model, part, k)
    if white.shape[1] > n:
        T = triangular_factor(white[:, :, q:])
        white_rows, y, rest = T[:, :n, :n], T[:, :n, n], np.square(T[:, n, n])
    else:
        white_rows, y, rest = white[:, :, q:-1], white[:, :, -1], np.zeros(runs)
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
    log_determinant = np.zeros(runs)
    if kappa:
        # The conditional distribution of N given the other unknowns.
        log_determinant = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        b = L.shape[1]
        gain = kappa**2 * white[:, :b, :q].swapaxes(-1, -2)
        given = white[:, :b, q:-1]
        mean[:, :q] = np.matvec(gain, white[:, :b, -1] - np.matvec(given, inner))
        half = np.linalg.solve(L + np.eye(b), rows[:, :b, :q])
        root[:, :q, :q] = (kappa * average.noise)[:, None, None] * (np.eye(q) - gain @ half)
        root[:, :q, first:] = -gain @ (given @ inner_root)
    mean[overflows] = math.nan  # what is not a number is not used, see Posterior.update
    return {
        "mean": mean,
        "root": root,
        "noise": average.noise,
        "scale": average.scale * part.prior_unit,
        "log_evidence": average.log_evidence - log_determinant,
    }


def _without_bias(rows: Array, q: int, kappa: float, b: int) -> tuple[Array, Array]:
    """Return the rows, whitened such that noise and N together have covariance sigma^2 I, and L; b rows contain N."""
    if not kappa:
        return rows, np.zeros((len(rows), 0, 0))
    B = rows[:, :b, :q]
    L = np.asarray(np.linalg.cholesky(np.eye(b) + kappa**2 * B @ B.swapaxes(-1, -2)), dtype=np.float64)
    white = np.asarray(np.linalg.solve(L, rows[:, :b]), dtype=np.float64)
    return (white if b == rows.shape[1] else np.concatenate([white, rows[:, b:]], axis=1)), L


def _prior(model: ReadingModel, part: Posterior, k: int) -> tuple[Array, Array]:
    """Return the mean of the unknowns without N for s = 1, and a square root of their covariance."""
    p, runs = model.unknowns, len(part.prior_unit)
    center, prior = np.zeros((runs, k + p)), np.zeros((runs, k + p, k + p))
    center[:, k:] = svec(part.prior_mean)
    prior[:, k:, k:] = part.prior_unit[:, None, None] * prior_root(model.dim)
    if k:
        prior[:, np.arange(k), np.arange(k)] = part.prior_unit[:, None] * model.extra_deviations(part.sizes)
    return center, prior
