r"""Fits: the posterior of all unknowns from the stored rows, with the noise and the scale averaged out.

A fit has the rows of all readings, either as they are while they are few, or as a triangular factor. With the bias N
integrated out, the noise of the rows B N has covariance I + kappa^2 B B' = L L'. A singular value decomposition of the
other columns, whitened by L, gives the marginal likelihood of every pair (sigma, s) in closed form, and the average of
the posterior over them. With n rows it costs O(n^2 m): directions that no row contains keep the prior.

Whether there is an offset, and whether there is a bias N, is decided by the marginal likelihood: the variants that the
model allows are fitted, and the posterior is the mixture of them with the same mean and covariance
(``soqo.estimators.bayes._mixture``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from soqo._foundation.blas import all_entries, is_finite_quick
from soqo.estimators._measurements import svec
from soqo.estimators.bayes._marginal_likelihood import MarginalLikelihood, ScaleAverage, averages
from soqo.estimators.bayes._mixture import WhiteRows, mixture, triangular_factor
from soqo.estimators.bayes._model import ReadingModel, prior_root
from soqo.typing import Array, BoolArray, IntArray

GROWTH = 1.2
"""The largest factor by which the number of readings grows from one fit to the next, once there are many."""

VARIANTS = ((False, True), (True, True), (False, False), (True, False))
"""The variants of the model: with an offset or context, and with a bias N."""

LOG_VARIANT_PRIORS = np.log([0.7, 0.3, 0.7, 0.3])
"""The prior probabilities of the variants, up to a factor that the bias does not change."""

NEGLIGIBLE, UNLIKELY = 1e-3, 0.05
"""A variant of lower probability than the first does not count, and one of lower probability than the second is not
evaluated again until the number of readings has doubled."""


MIN_SQUARE_RATIO = 1e-7
"""The least ratio of two squared singular values for which they are computed as eigenvalues: nine digits are left."""

NOISE_MARGIN = 0.8
"""A lower bound on the noise has this margin, for the width of its density and for a prior that ends at a bound."""

_LARGEST_INVERSE, _BLOCK_ROWS = 12, 8
"""Triangular matrices of up to so many rows are inverted, and larger ones are divided into blocks of so many."""


class FitInput(NamedTuple):
    """What a fit uses of a posterior beside its rows; see ``Posterior`` for the attributes, shape (runs, ...)."""

    readings: Array
    total_readings: Array
    max_abs_reading: Array
    noise: Array
    noise_cap: Array
    known_noise: Array
    scale_deviation: Array
    prior_mean: Array
    prior_unit: Array
    level_variance: Array
    offset_step: Array
    variants: Array
    log_sizes: Array

    def take(self, index: IntArray) -> FitInput:
        """Return that of some of the runs."""
        return FitInput(*(values[index] for values in self))

    @property
    def sizes(self) -> Array:
        """The geometric means of |u| / sqrt(d) and of the absolute entries of the context, shape (runs, 1 + k)."""
        return typical_sizes(self.log_sizes, self.total_readings)


def typical_sizes(log_sizes: Array, readings: Array) -> Array:
    """Return geometric means, shape (runs, k), from the sums of the logarithms and the numbers of readings."""
    return np.exp(log_sizes / np.maximum(readings, 1.0)[:, None])


def fit_variants(
    model: ReadingModel, part: FitInput, rows: Array, *, triangular: bool, review: bool, evidence_only: bool = False
) -> dict[str, Array]:
    """Return mean, root, noise, scale, evidence and the weights of the variants.

    Parameters
    ----------
    model : ReadingModel
        The model.
    part : FitInput
        What is known of each run before the fit.
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
    # The same for all variants with a bias.
    white = without_bias(model, rows, triangular) if model.biases and model.kappa else None
    variants: dict[int, VariantRows] = {}
    for index, (offset, biased) in enumerate(VARIANTS):
        chosen = np.flatnonzero(wanted[:, index])
        if not chosen.size:
            continue
        own_white, own_part, own_rows = white if biased else None, part, rows
        if chosen.size < len(rows):
            own_part = part.take(chosen)
            own_white, own_rows = (None, rows[chosen]) if own_white is None else (own_white.take(chosen), rows)
        variants[index] = VariantRows.of(model, own_part, own_rows, offset=offset, white=own_white)
    averaged = averages([one.likelihood for one in variants.values()], [one.guess for one in variants.values()])
    fits: list[dict[str, Array]] = [{} for _ in VARIANTS]
    for (index, variant), average in zip(variants.items(), averaged, strict=True):
        fits[index] = variant.fit(average, evidence_only)
        log_weights[wanted[:, index], index] = fits[index]["log_evidence"] + LOG_VARIANT_PRIORS[index]
    top = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    # A variant that hardly matters is left out of the mixture.
    shares = np.where(weights > NEGLIGIBLE, weights, 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    result = {} if evidence_only else mixture(model, fits, wanted, shares, white)
    result["noise"] = _mixed_noise(fits, wanted, shares)
    result["log_marginal"] = (top + np.log(total))[:, 0]
    result["variants"] = weights
    return result


def _wanted_variants(model: ReadingModel, part: FitInput, review_all: bool) -> BoolArray:
    """Return which variants to evaluate, shape (runs, variants)."""
    runs = part.readings.size
    offset = _may_have_offset(model, part)
    unbiased = (part.readings >= 4 * model.unknowns) & model.optional_bias & (model.biases > 0)
    wanted = np.stack([np.ones(runs, dtype=np.bool_), offset, unbiased, offset & unbiased], axis=1)
    few = part.readings < 4 * model.unknowns
    if review_all or all_entries(few):
        return wanted
    n = np.maximum(part.readings, 1.0)
    review = few | (np.floor(np.log2(n)) != np.floor(np.log2(n / GROWTH)))
    likely = wanted & (part.variants > UNLIKELY)
    likely[~likely.any(axis=1)] |= wanted[~likely.any(axis=1)]
    return np.where(review[:, None], wanted, likely)


def _may_have_offset(model: ReadingModel, part: FitInput) -> BoolArray:
    """Return whether a variant has an offset: it adds a constant to the readings, so it needs a base load."""
    return np.asarray((part.level_variance > 0.0) & (model.extras > 0) & (part.offset_step == 0.0))


def _mixed_noise(fits: list[dict[str, Array]], wanted: BoolArray, shares: Array) -> Array:
    """Return the geometric mean of the noise of the variants, shape (runs,)."""
    if sum(map(bool, fits)) == 1:
        return next(fit["noise"] for fit in fits if fit)
    noise = np.ones(shares.shape)
    for index, fit in enumerate(fits):
        if fit:
            noise[wanted[:, index], index] = fit["noise"]
    alone = noise[np.arange(len(noise)), shares.argmax(axis=1)]
    mixed = np.exp((shares * np.log(noise)).sum(axis=1))
    return np.asarray(np.where((shares > 0.0).sum(axis=1) > 1, mixed, alone))


class VariantRows(NamedTuple):
    """The rows of one variant in the coordinates of their singular vectors, and what its fit needs beside them.

    Attributes
    ----------
    likelihood, guess : MarginalLikelihood and Array of shape (runs,)
        The marginal likelihood of noise and scale, and the last estimate of the noise; NaN for none.
    model, part : ReadingModel and FitInput
        The model, and what is known of each run before the fit.
    center, prior : Array, shape (runs, n) and (runs, n, n)
        The prior's mean of the unknowns without N for s = 1, and a square root of their covariance.
    V : Array, shape (runs, n, r)
        The right singular vectors.
    log_determinant : Array of shape (runs,) or float
        That of the transformation which removed a bias.
    overflows : IntArray
        The runs whose numbers overflow.
    """

    likelihood: MarginalLikelihood
    guess: Array
    model: ReadingModel
    part: FitInput
    center: Array
    prior: Array
    V: Array
    log_determinant: Array | float
    overflows: IntArray

    @classmethod
    def of(
        cls, model: ReadingModel, part: FitInput, rows: Array, *, offset: bool, white: WhiteRows | None = None
    ) -> VariantRows:
        """Return the rows of a variant, with or without an offset; with a bias, those of ``white``."""
        if white is not None:
            rows = white.rows
        k = model.extras if offset else 0
        n, first = k + model.unknowns, model.size - k - model.unknowns
        center, prior = _prior(model, part, k)
        if rows.shape[1] > n:
            T = triangular_factor(rows[:, :, first:])
            white_rows, y, rest = T[:, :n, :n], T[:, :n, n], np.square(T[:, n, n])
        else:
            white_rows, y, rest = rows[:, :, first:-1], rows[:, :, -1], np.zeros(len(rows))
        design = white_rows @ prior
        overflows = np.empty(0, dtype=np.int64)
        if not is_finite_quick(design):
            overflows = np.flatnonzero(~np.isfinite(design).all(axis=(1, 2)))
            design[overflows] = 0.0
        D, c, c0, V = singular_coordinates(design, y, np.matvec(white_rows, center))
        likelihood = MarginalLikelihood(
            D,
            c,
            c0,
            rest,
            part.readings,
            part.max_abs_reading,
            part.noise_cap,
            part.known_noise,
            part.scale_deviation,
        )
        guess = np.where(part.readings > 2 * model.unknowns, part.noise, np.nan)
        log_determinant: Array | float = 0.0
        if white is not None:
            log_determinant = np.log(np.diagonal(white.L, axis1=1, axis2=2)).sum(axis=1)
        return cls(likelihood, guess, model, part, center, prior, V, log_determinant, overflows)

    def fit(self, average: ScaleAverage, evidence_only: bool) -> dict[str, Array]:
        """Return mean and root of the unknowns without N, shape (runs, e + p, ...), noise, scale and evidence."""
        log_evidence = average.log_evidence - self.log_determinant
        if evidence_only:
            return {"noise": average.noise, "log_evidence": log_evidence}
        runs, n, r = self.V.shape
        size = self.model.extras + self.model.unknowns
        first = size - n  # without an offset, its terms are zero
        prior, V, spread = self.prior, self.V, np.sqrt(average.variance)
        mean, root = np.zeros((runs, size)), np.zeros((runs, size, size))
        mean[:, first:] = average.scale[:, None] * self.center + np.matvec(prior, np.matvec(V, average.mean))
        if r == n:
            np.multiply(prior @ V, spread[:, None, :], out=root[:, first:, first:])
        else:
            # What the rows do not contain has the variance of the prior.
            unseen = np.sqrt(average.mean_square_scale)[:, None]
            change = (V * (spread - unseen)[:, None, :]) @ V.swapaxes(-1, -2)
            change[:, np.arange(n), np.arange(n)] += unseen
            np.matmul(prior, change, out=root[:, first:, first:])
        mean[self.overflows] = math.nan  # what is not a number is not used, see Posterior.update
        return {
            "mean": mean,
            "root": root,
            "noise": average.noise,
            "scale": average.scale * self.part.prior_unit,
            "log_evidence": log_evidence,
        }


def singular_coordinates(X: Array, y: Array, y0: Array) -> tuple[Array, Array, Array, Array]:
    """Return the singular values D of X, the coordinates U'y and U'y0, and V, for X = U diag(D) V'.

    The eigenvectors of X X' or X'X, whichever is smaller, take half of the time of a singular value decomposition. They
    square the condition number, so they are used only if it is not large.

    Parameters
    ----------
    X : Array, shape (runs, r, n)
        The rows, r <= n.
    y, y0 : Array, shape (runs, r)
        The readings, and those that the prior mean predicts.

    Returns
    -------
    D, c, c0, V : Array, shape (runs, r), (runs, r), (runs, r) and (runs, n, r)
        The singular values in any order, the coordinates, and the right singular vectors, which are zero where a
        singular value is zero.
    """
    Xt = X.swapaxes(1, 2)
    wide = X.shape[1] < X.shape[2]
    gram = X @ Xt if wide else Xt @ X
    with np.errstate(invalid="ignore"):
        bad = ~(gram.sum(axis=(1, 2)) < np.inf)
    gram[bad] = 0.0
    values, vectors = np.linalg.eigh(gram)
    # Rows of zeros have eigenvalues that are exactly zero.
    least = MIN_SQUARE_RATIO * values[:, -1:]
    bad |= ~((values > least) | ((values == 0.0) & wide)).all(axis=1)
    D = np.sqrt(np.maximum(values, 0.0))
    inverse = np.divide(1.0, D, out=np.zeros_like(D), where=D > 0.0)
    if wide:
        c, c0 = np.vecmat(y, vectors), np.vecmat(y0, vectors)
        V = Xt @ (vectors * inverse[:, None, :])
    else:
        V = vectors
        c, c0 = (np.vecmat(np.vecmat(values_of, X), V) * inverse for values_of in (y, y0))
    runs = np.flatnonzero(bad)
    if runs.size:
        U, D[runs], Vt = np.linalg.svd(X[runs], full_matrices=False)
        V[runs], c[runs], c0[runs] = Vt.swapaxes(1, 2), np.vecmat(y[runs], U), np.vecmat(y0[runs], U)
    return D, c, c0, V


def least_noise(model: ReadingModel, part: FitInput, rows: Array, *, triangular: bool) -> Array:
    """Return a lower bound on the noise that :func:`fit_variants` finds, at a third of its cost; shape (runs,).

    The density of log sigma increases while sigma^2 is below the mean square of the n readings that no A and no offset,
    where there may be one, explains: its logarithm has a slope of at least rest / sigma^2 - n, whatever the explained
    part of the readings is.

    Parameters
    ----------
    model, part, rows, triangular
        As for :func:`fit_variants`, with fewer readings than make the bias optional.
    """
    if model.biases and model.kappa:
        rows = without_bias(model, rows, triangular).rows
    offset, rest = _may_have_offset(model, part), np.zeros(len(rows))
    for extras in (0, model.extras):
        runs, columns = np.flatnonzero(offset == (extras > 0)), extras + model.unknowns
        if runs.size and rows.shape[1] > columns:
            own = rows[:, :, -columns - 1 :] if runs.size == len(rows) else rows[runs, :, -columns - 1 :]
            rest[runs] = np.abs(triangular_factor(own)[:, columns, columns])
    return NOISE_MARGIN * np.minimum(rest / np.sqrt(np.maximum(part.readings, 1.0)), part.noise_cap)


def without_bias(model: ReadingModel, rows: Array, triangular: bool) -> WhiteRows:
    """Return the rows with the covariance of noise and N removed."""
    q, kappa = model.biases, model.kappa
    # Of a triangular factor, only the first q rows contain N.
    b = q if triangular else rows.shape[1]
    B = rows[:, :b, :q]
    covariance = B @ B.swapaxes(-1, -2)
    covariance *= kappa**2
    covariance += np.eye(b)
    L = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    white = forward_substitution(L, rows[:, :b])
    return WhiteRows(white if b == rows.shape[1] else np.concatenate([white, rows[:, b:]], axis=1), L, B)


def forward_substitution(L: Array, rows: Array) -> Array:
    """Return the solution X of L X = rows for lower triangular matrices L.

    NumPy solves general systems only. The inverses of small blocks on the diagonal take half of the time.

    Parameters
    ----------
    L : Array, shape (runs, b, b)
        The lower triangular matrices.
    rows : Array, shape (runs, b, n)
        The right-hand sides.

    Examples
    --------
    >>> forward_substitution(np.array([[[2.0, 0.0], [1.0, 1.0]]]), np.array([[[2.0], [3.0]]])).ravel()
    array([1., 2.])
    """
    b = L.shape[1]
    if b <= _LARGEST_INVERSE:
        return np.asarray(np.linalg.inv(L) @ rows)
    X = np.empty(rows.shape)
    for first in range(0, b, _BLOCK_ROWS):
        block = slice(first, first + _BLOCK_ROWS)
        right = rows[:, block] - L[:, block, :first] @ X[:, :first] if first else rows[:, block]
        np.matmul(np.linalg.inv(L[:, block, block]), right, out=X[:, block])
    return X


def _prior(model: ReadingModel, part: FitInput, k: int) -> tuple[Array, Array]:
    """Return the mean of the unknowns without N for s = 1, and a square root of their covariance."""
    p, runs = model.unknowns, len(part.prior_unit)
    center, prior = np.zeros((runs, k + p)), np.zeros((runs, k + p, k + p))
    center[:, k:] = svec(part.prior_mean)
    prior[:, k:, k:] = part.prior_unit[:, None, None] * prior_root(model.dim)
    if k:
        prior[:, np.arange(k), np.arange(k)] = part.prior_unit[:, None] * model.extra_deviations(part.sizes)
    return center, prior
