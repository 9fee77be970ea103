r"""What the readings of a finished log say about A, and matrices that A may be.

Least squares with a constant bias of the readings, the noise from the residuals, and a prior that matters only where
the readings are silent: A around s I with deviation s, as in `_recursive`. There s is what fits
best if A is taken for s I; in a draw it is larger by a factor that is anybody's guess (up to ten, two times in three).

A least-squares estimate of a rank-deficient A has small eigenvalues in place of zeros, and so has every draw from its
distribution. What a player would pay depends on the square root of an eigenvalue, so such draws are all wrong in the
same direction. Where eigenvalues cannot be told from zero, half of the draws therefore have them zero, and are fitted
to the readings with that rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from soqo._spectrum import Spectrum
from soqo.estimators._measurements import smat, svec, svec_rows
from soqo.estimators.bayes._cone import most_likely_in_cone
from soqo.estimators.bayes._recursive import (
    RELATIVE_ERROR,
    eigenvalue_deviations,
    prior_root,
    tamed,
    triangular,
)
from soqo.estimators.bayes._scales import SCALE_DEVIATION
from soqo.typing import Array

__all__ = ["Evidence", "Worlds"]

LEARNED = 0.5
"""A direction counts as learned where the readings took its variance below this share of the prior's."""

SIGNIFICANT = 4.0
"""An eigenvalue of fewer deviations than this cannot be told from zero."""

ALPHA, STEPS = 1e-3, 150
"""For the most likely matrix in the cone: hardly any push off its boundary, and steps enough from a far start."""


@dataclass(frozen=True, eq=False)
class Worlds:
    """What A may be.

    Attributes
    ----------
    likely : Array, shape (d, d)
        The most likely one.
    draws : Array, shape (draws, d, d)
    low_rank : BoolArray, shape (draws,)
        Which of the draws have zeros for the eigenvalues that cannot be told from zero.
    """

    likely: Array
    draws: Array
    low_rank: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The readings of a log in short.

    Attributes
    ----------
    rows, target : Array, shapes (k, p + 1) and (k,)
        Triangular: what the readings say of svec(A) and of their bias.
    noise : float
        The deviation of a reading.
    scale : float
        s, the size of A.
    """

    rows: Array
    target: Array
    noise: float
    scale: float

    @classmethod
    def of(cls, u: Array, y: Array) -> Evidence:
        """Of readings y at u, shapes (n,) and (n, d); NaN for none."""
        heard = ~np.isnan(y)
        if not heard.any():
            p = svec_rows(u[:1]).shape[1]
            return cls(np.zeros((1, p + 1)), np.zeros(1), 1.0, 1.0)
        u, y = tamed(u[heard], y[heard])
        rows = np.concatenate([svec_rows(u), np.ones((y.size, 1))], axis=1)
        square = np.vecdot(u, u)
        noise = deviation(rows, y)
        weight = 1.0 / np.hypot(1.0, RELATIVE_ERROR * square / noise)
        noise = deviation(weight[:, None] * rows, weight * y)
        both = triangular((weight[:, None] * np.column_stack([rows, y]))[None])[0]
        isotropic = weight[:, None] * np.column_stack([0.5 * square, np.ones_like(y)])
        fit, *_ = np.linalg.lstsq(isotropic, weight * y)
        heard = fit[0] * np.linalg.norm(isotropic[:, 0]) > SIGNIFICANT * noise
        return cls(both[:, :-1], both[:, -1], noise, float(fit[0]) if heard else 1.0)

    @property
    def unknowns(self) -> int:
        """The number p = d(d+1)/2 of unknowns in A."""
        return int(self.rows.shape[1]) - 1

    @property
    def dim(self) -> int:
        """The dimension d."""
        return (math.isqrt(8 * self.unknowns + 1) - 1) // 2

    def posterior(self, scale: float) -> tuple[Array, Array]:
        """Mean, shape (p,), and a root of the covariance, (p, p), of svec(A) if A's size is this."""
        p, d = self.unknowns, self.dim
        prior = np.zeros((p + 1, p + 1))
        prior[:p, :p] = np.linalg.inv(scale * prior_root(d))
        prior[p, p] = 1.0 / self.noise
        center = np.append(scale * svec(np.eye(d)), 0.0)
        rows = np.concatenate([self.rows / self.noise, prior])
        target = np.concatenate([self.target / self.noise, prior @ center])
        R = triangular(np.column_stack([rows, target])[None])[0]
        root = np.linalg.inv(R[: p + 1, : p + 1])
        return (root @ R[: p + 1, -1])[:p], np.linalg.cholesky(root[:p] @ root[:p].T)

    def learned(self) -> int:
        """In how many of the p directions the readings say something that the prior does not."""
        _, root = self.posterior(self.scale)
        relative = np.linalg.solve(self.scale * prior_root(self.dim), root)
        return int((np.square(np.linalg.svd(relative, compute_uv=False)) < LEARNED).sum())

    def worlds(self, draws: int, rng: np.random.Generator) -> Worlds:
        """Matrices that A may be."""
        mean, root = self.posterior(self.scale)
        likely = inside(mean[None], root, self.scale)
        rank = int((likely.values > SIGNIFICANT * eigenvalue_deviations(root[None], likely)).sum())
        factors = np.exp(SCALE_DEVIATION * np.abs(rng.standard_normal(draws)))
        low_rank = (np.arange(draws) % 2 == 1) & (rank < self.dim)
        found = np.empty((draws, self.dim, self.dim))
        for k in range(draws):
            mean, root = self.posterior(self.scale * factors[k])
            drawn = mean + root @ rng.standard_normal(mean.size)
            world = inside(drawn[None], root, self.scale)
            found[k] = world.matrix()[0]
            if low_rank[k]:
                found[k] = of_rank(rank, drawn, root, world)
        return Worlds(likely.matrix()[0], found, low_rank)


def deviation(rows: Array, y: Array) -> float:
    """The deviation of readings from the best fit, never zero; all of them, where there are too few to tell."""
    fit, _, rank, _ = np.linalg.lstsq(rows, y)
    spare = y.size - int(rank)
    square = float(np.square(y - rows @ fit).sum()) / spare if spare > 0 else float(np.square(y).mean())
    largest = float(np.abs(y).max(initial=0.0))
    return max(math.sqrt(square), 1e-12 * largest, 1e-100)


def inside(mean: Array, root: Array, scale: float) -> Spectrum:
    """The most likely positive semi-definite matrix around a mean, shape (1, p)."""
    d = smat(mean).shape[-1]
    start = Spectrum(np.full((1, d), scale), np.eye(d)[None])
    covariance = (root @ root.T)[None]
    return most_likely_in_cone(smat(mean), covariance, start, ALPHA, np.full(1, scale), np.full(1, STEPS))


def of_rank(rank: int, mean: Array, root: Array, near: Spectrum) -> Array:
    """The most likely matrix on the span of the largest eigenvectors of another one."""
    Q = near.vectors[0][:, near.values.shape[-1] - rank :]
    units = smat(np.eye(rank * (rank + 1) // 2))
    basis = svec(Q @ units @ Q.T).T
    fit, *_ = np.linalg.lstsq(np.linalg.solve(root, basis), np.linalg.solve(root, mean))
    core = Spectrum.of(smat(fit))
    matrix = core.matrix(np.maximum(core.values, 0.0))
    return np.asarray(Q @ matrix @ Q.T)
