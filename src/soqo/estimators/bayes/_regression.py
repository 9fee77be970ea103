r"""Bayesian linear regression of A on the readings of a finished log, and a sample of its posterior.

The model is least squares with a constant bias of the readings, with the noise estimated from the residuals, and with a
weak prior: A around s I with deviation s, as in `_model`. The regression sets s to the best fit of s I to the readings;
for each draw of a sample, s is multiplied by a random factor (up to ten in two of three draws).

A least-squares estimate of a rank-deficient A has small eigenvalues in place of zeros, and so has every draw from its
distribution. The cost of a policy depends on the square roots of the eigenvalues, so all such draws are biased in the
same direction. If some eigenvalues are not significantly different from zero, half of the draws therefore have that
lower rank and are fitted to the readings with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._model.spectrum import Spectrum
from soqo.estimators._measurements import smat, svec, svec_rows
from soqo.estimators.bayes._map_estimate import map_in_cone
from soqo.estimators.bayes._marginal_likelihood import LOG_SCALE_DEVIATION
from soqo.estimators.bayes._model import RELATIVE_ERROR, clip_inputs, prior_root
from soqo.estimators.bayes._posterior import directional_deviations, triangular_factor
from soqo.typing import Array, BoolArray

_INFORMED_SHARE = 0.5
"""The readings inform a direction if the posterior variance is below this share of the prior variance."""

_SIGNIFICANT_DEVIATIONS = 4.0
"""An eigenvalue of fewer deviations is not significantly different from zero."""

_ALPHA, _MAX_STEPS = 1e-3, 150
"""For the MAP estimate in the cone: a small weight of the Wishart density, and enough steps for a cold start."""


@dataclass(frozen=True)
class PosteriorSample(Value):
    """The posterior mode of A and draws from the posterior.

    Attributes
    ----------
    mode : Array, shape (d, d)
        The MAP estimate.
    draws : Array, shape (draws, d, d)
        The draws.
    low_rank : BoolArray, shape (draws,)
        The draws in which the eigenvalues that are not significant are zero.
    """

    mode: Array = field(repr=False)
    draws: Array = field(repr=False)
    low_rank: BoolArray = field(repr=False)


@dataclass(frozen=True)
class BayesianRegression(Value):
    """The sufficient statistics of the readings of a log.

    Attributes
    ----------
    rows, target : Array, shapes (k, p + 1) and (k,)
        The triangular factor of the rows of svec(A) and of the bias, and of the readings.
    noise : float
        The standard deviation of a reading.
    scale : float
        The scale s of A.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u = 10.0 * rng.standard_normal((100, 2))
    >>> regression = BayesianRegression.fit(u, (u * u).sum(axis=1) + rng.uniform(-1.0, 1.0, 100))    # A = 2 I
    >>> regression.informed_directions(), regression.unknowns
    (3, 3)
    >>> bool(np.abs(regression.sample(4, rng).mode - 2.0 * np.eye(2)).max() < 0.1)
    True
    """

    rows: Array = field(repr=False)
    target: Array = field(repr=False)
    noise: float
    scale: float

    @classmethod
    def fit(cls, u: Array, y: Array) -> BayesianRegression:
        """Return the regression of readings y at u, shapes (n,) and (n, d); NaN for a missing reading.

        Parameters
        ----------
        u : Array, shape (n, d)
            The displacements from the minimizer, x - v.
        y : Array, shape (n,)
            The readings; NaN marks a missing one.
        """
        observed = ~np.isnan(y)
        if not observed.any():
            p = svec_rows(u[:1]).shape[1]
            return cls(np.zeros((1, p + 1)), np.zeros(1), 1.0, 1.0)
        u, y = clip_inputs(u[observed], y[observed])
        rows = np.concatenate([svec_rows(u), np.ones((y.size, 1))], axis=1)
        square = np.vecdot(u, u)
        noise = _residual_deviation(rows, y)
        weight = 1.0 / np.hypot(1.0, RELATIVE_ERROR * square / noise)
        noise = _residual_deviation(weight[:, None] * rows, weight * y)
        factor = triangular_factor((weight[:, None] * np.column_stack([rows, y]))[None])[0]
        isotropic = weight[:, None] * np.column_stack([0.5 * square, np.ones_like(y)])
        solution, *_ = np.linalg.lstsq(isotropic, weight * y)
        significant = solution[0] * np.linalg.norm(isotropic[:, 0]) > _SIGNIFICANT_DEVIATIONS * noise
        return cls(factor[:, :-1], factor[:, -1], noise, float(solution[0]) if significant else 1.0)

    @property
    def unknowns(self) -> int:
        """The number p = d(d+1)/2 of unknowns in A."""
        return int(self.rows.shape[1]) - 1

    @property
    def dim(self) -> int:
        """The dimension d."""
        return (math.isqrt(8 * self.unknowns + 1) - 1) // 2

    def posterior(self, scale: float) -> tuple[Array, Array]:
        """Return the mean of svec(A), shape (p,), and a root of its covariance, shape (p, p), for this scale of A.

        Parameters
        ----------
        scale : float
            The scale s of A.
        """
        p, d = self.unknowns, self.dim
        prior = np.zeros((p + 1, p + 1))
        prior[:p, :p] = np.linalg.inv(scale * prior_root(d))
        prior[p, p] = 1.0 / self.noise
        center = np.append(scale * svec(np.eye(d)), 0.0)
        rows = np.concatenate([self.rows / self.noise, prior])
        target = np.concatenate([self.target / self.noise, prior @ center])
        R = triangular_factor(np.column_stack([rows, target])[None])[0]
        root = np.linalg.inv(R[: p + 1, : p + 1])
        return (root @ R[: p + 1, -1])[:p], np.linalg.cholesky(root[:p] @ root[:p].T)

    def informed_directions(self) -> int:
        """Return the number of the p directions of svec(A) about which the readings are informative."""
        _, root = self.posterior(self.scale)
        relative = np.linalg.solve(self.scale * prior_root(self.dim), root)
        return int((np.square(np.linalg.svd(relative, compute_uv=False)) < _INFORMED_SHARE).sum())

    def sample(self, draws: int, rng: np.random.Generator) -> PosteriorSample:
        """Draw matrices from the posterior of A.

        Parameters
        ----------
        draws : int
            The number of draws.
        rng : numpy.random.Generator
            The source of random numbers.

        Returns
        -------
        PosteriorSample
            The posterior mode and the draws.
        """
        mean, root = self.posterior(self.scale)
        mode = _map_matrix(mean, root, self.scale)
        deviations = directional_deviations(root[None], mode.vectors.mT)
        rank = int((mode.values > _SIGNIFICANT_DEVIATIONS * deviations).sum())
        factors = np.exp(LOG_SCALE_DEVIATION * np.abs(rng.standard_normal(draws)))
        low_rank = (np.arange(draws) % 2 == 1) & (rank < self.dim)
        matrices = np.empty((draws, self.dim, self.dim))
        for k in range(draws):
            mean, root = self.posterior(self.scale * factors[k])
            draw = mean + root @ rng.standard_normal(mean.size)
            spectrum = _map_matrix(draw, root, self.scale)
            matrices[k] = _low_rank_matrix(rank, draw, root, spectrum) if low_rank[k] else spectrum.matrix()[0]
        return PosteriorSample(mode.matrix()[0], matrices, low_rank)


def _residual_deviation(rows: Array, y: Array) -> float:
    """Return the deviation of the residuals, never zero; of the readings themselves if there are too few of them."""
    solution, _, rank, _ = np.linalg.lstsq(rows, y)
    surplus = y.size - int(rank)
    square = float(np.square(y - rows @ solution).sum()) / surplus if surplus > 0 else float(np.square(y).mean())
    largest = float(np.abs(y).max(initial=0.0))
    return max(math.sqrt(square), 1e-12 * largest, 1e-100)


def _map_matrix(mean: Array, root: Array, scale: float) -> Spectrum:
    """Return the spectrum of the MAP estimate for a mean of svec(A), shape (p,), as a batch of one."""
    matrix = smat(mean[None])
    d = matrix.shape[-1]
    start = Spectrum(np.full((1, d), scale), np.eye(d)[None])
    return map_in_cone(matrix, (root @ root.T)[None], start, _ALPHA, np.full(1, scale), np.full(1, _MAX_STEPS))


def _low_rank_matrix(rank: int, mean: Array, root: Array, near: Spectrum) -> Array:
    """Return the most probable matrix on the span of the leading eigenvectors of another one."""
    Q = near.vectors[0][:, near.values.shape[-1] - rank :]
    units = smat(np.eye(rank * (rank + 1) // 2))
    basis = svec(Q @ units @ Q.T).T
    solution, *_ = np.linalg.lstsq(np.linalg.solve(root, basis), np.linalg.solve(root, mean))
    core = Spectrum.of(smat(solution))
    matrix = core.matrix(np.maximum(core.values, 0.0))
    return np.asarray(Q @ matrix @ Q.T)
