"""The search for an A = L L' of few columns: an annealing, least squares for each number of columns, and the choice.

The annealing solves a sequence of dual posteriors. Their prior is the last estimate and a share of a broad shape that
falls: that of iteratively reweighted least squares (Mohan and Fazel, JMLR 13, 2012). The number of columns minimizes
the error of prediction by generalized cross-validation (Golub, Heath and Wahba, Technometrics 21, 1979).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators.factored._dual import Posterior, Prior, Readings, costs, positive_part
from soqo.estimators.factored._factor import Fit
from soqo.estimators.factored._levels import Levels
from soqo.typing import Array

SWEEPS = 70
"""The budget of an annealing in sweeps."""

LAST = 1e-2
"""The share of the broad shape falls from one to this. Smaller eigenvalues, in units of the largest, do not count."""

SPREAD = 0.05
"""The budget of an annealing: it takes this share of the rounds so far, and may not cost more than the rest."""

WORK = 1.5e8
"""The budget of a fit in a round, some ten milliseconds of operations; at least one step is made."""

LARGEST = 4.0
"""The budget of a single step in units of WORK: it bounds the number of columns."""

MAX_RANK = 0.67
"""A factor has at most this share of d columns: with more, it has scarcely fewer unknowns than A."""


@register("FactoredSearch")
@dataclass(frozen=True)
class Search(Value):
    """A search in progress: the annealed estimate, the broad shape, the sweeps done, the fit, and the best so far.

    Attributes
    ----------
    estimate, shape : Array, shape (d, d)
        The estimate and the broad shape of the annealing.
    sweep : int
        The number of sweeps done.
    fit : Fit or None
        The least squares in progress, after the annealing.
    best : Fit or None
        The best fit so far.
    score : float
        The error of prediction of the best fit.
    done : bool
        Whether the search has ended; ``best`` is None if it found nothing.
    """

    estimate: Array
    shape: Array
    sweep: int = 0
    fit: Fit | None = None
    best: Fit | None = None
    score: float = math.inf
    done: bool = False

    @classmethod
    def start(cls, readings: Readings, soft: Array | None = None) -> Search:
        """Begin with an annealing, or with an estimate if there are readings enough for it."""
        if soft is not None:
            return cls(soft, soft, SWEEPS)
        d = readings.Z.shape[1]
        return cls(np.zeros((d, d)), inverse_moment(readings))

    def advanced(self, readings: Readings, levels: Levels, rounds: int) -> Search:
        """Return the search after the work of a round."""
        if self.sweep < SWEEPS:
            return self._annealed(readings, levels, math.ceil(SWEEPS / max(4.0, rounds * SPREAD)))
        fit = self.fit
        if fit is None:
            fit = significant_factor(self.estimate, levels, len(readings))
            if fit is None:
                return evolve(self, done=True)
        return evolve(self, fit=fit)._fitted(readings, levels)

    def _annealed(self, readings: Readings, levels: Levels, sweeps: int) -> Search:
        estimate, last = self.estimate, min(self.sweep + sweeps, SWEEPS)
        for j in range(self.sweep, last):
            M = estimate + LAST ** (j / (SWEEPS - 1)) * self.shape
            # A ~ N(0, M x M): the mean that the dual posterior takes away is added before.
            y = readings.y + costs(readings.Z, M)
            prior = Prior(M, 1.0, levels.sigma, levels.extras)
            estimate = positive_part(Posterior.of(prior, evolve(readings, y=y)).mean() - M)[2]
        return evolve(self, estimate=estimate, sweep=last)

    def _fitted(self, readings: Readings, levels: Levels) -> Search:
        fit, best, score, work = self.fit, self.best, self.score, WORK
        while fit is not None and work > 0.0:
            if not fit.done:
                work -= fit.operations(len(readings))
                fit = fit.step(readings)
                continue
            found = fit.noise2(readings) / max(len(readings) - fit.unknowns, 1)
            if found >= score:
                return evolve(self, best=best, score=score, done=True)
            best, score = fit, found
            V, r, _ = np.linalg.svd(fit.L, full_matrices=False)
            if len(r) == 1:
                return evolve(self, best=best, score=score, done=True)
            fit = Fit.start(V[:, :-1] * r[:-1], levels.extras, levels.sigma**2, fit.beta)
        return evolve(self, fit=fit, best=best, score=score)


def significant_factor(A: Array, levels: Levels, n: int) -> Fit | None:
    """Begin with the largest eigenvalues of A, as many as n readings can determine; None if that is none."""
    d = len(A)
    w, Q = np.linalg.eigh(A)
    k = min(int((w > LAST * w[-1]).sum()), int(MAX_RANK * d))
    while k:
        fit = Fit.start(Q[:, d - k :] * np.sqrt(w[d - k :]), levels.extras, levels.sigma**2)
        if 1.03 * fit.unknowns < n - 3 and fit.operations(n) < LARGEST * WORK:
            return fit
        k -= 1
    return None


def inverse_moment(readings: Readings) -> Array:
    """Return a guess of A: the inverse second moment of u, since the player has stayed close to v where A is large."""
    Z, y = readings.Z, readings.y
    n, d = Z.shape
    C = Z.T @ Z
    B = np.linalg.inv(C * (d / np.trace(C)) + (0.1 + 0.3 * d / n) * np.eye(d))
    q = costs(Z, B)
    return np.asarray(0.5 * (B + B.T) * max(float((y[q > 0.0] / q[q > 0.0]).mean()), 1e-9))
