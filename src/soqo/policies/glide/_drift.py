r"""The predictable part of the steps of v, and the target of a player who uses it.

If the steps follow the autoregression d_{t+1} = rho d_t + noise, then v is expected to move by rho d + ... + rho^k d
within k rounds. The optimal target with many rounds to go is then not v but v + rho C (I - rho C)^{-1} d, which solves
the optimality condition (2I + A) x_t = x_{t-1} + E x_{t+1} + A v_t. With n rounds to go, the geometric sum has n - 1
terms. The change of the gains towards the end is neglected, which costs about a percent in the last few rounds.

The player uses the posterior mean of rho. A priori rho is zero, or N(0, q) with a small probability. The estimate by
least squares, r = sum d_{t+1}.d_t / sum |d_t|^2, then is N(0, s^2) or N(0, q + s^2), where s^2 follows from the sum of
(d_{t+1}.d_t)^2. A correlation that is found by chance costs as the square of the steps in every round: a test at a
fixed level is passed by chance again and again, while this probability falls with the number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from soqo._foundation.blas import any_entry
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import register, rename_fields
from soqo.typing import Array

CORRELATED = 0.01
"""The prior probability that steps are correlated."""

CORRELATION_VARIANCE = 1.0 / 3.0
"""The prior variance of a correlation; derived: that of one which is uniform between -1 and 1."""

NEGLIGIBLE = 0.01
"""A correlation of a smaller probability is taken for zero, to stay within the budget of a round."""

MAX_CORRELATION = 0.999
"""Larger correlations are clipped to this value, since the sum of their powers may overflow where A is zero."""


@register(
    "GLIDE.drift",
    migrations={0: rename_fields(step="last_step", product="products", square="squares", spread="squared_products")},
)
@dataclass(frozen=True)
class Drift(Value):
    """The autoregression of the steps of v, for each run.

    Attributes
    ----------
    last_step : Array, shape (runs, d)
        The last step.
    products, squares : Array, shape (runs,)
        The sums of d_{t+1}.d_t and of |d_t|^2.
    squared_products : Array, shape (runs,)
        The sum of (d_{t+1}.d_t)^2, which is the variance of the first sum if the steps are uncorrelated.
    """

    last_step: Array
    products: Array
    squares: Array
    squared_products: Array

    @classmethod
    def start(cls, runs: int, dim: int) -> Drift:
        """Return the state before the first step."""
        return cls(np.zeros((runs, dim)), np.zeros(runs), np.zeros(runs), np.zeros(runs))

    def update(self, step: Array) -> Drift:
        """Return the state after one more step."""
        product = np.vecdot(step, self.last_step)
        return Drift(
            step,
            self.products + product,
            self.squares + np.vecdot(self.last_step, self.last_step),
            self.squared_products + np.square(product),
        )

    def is_predictable(self) -> bool:
        """Return whether a correlation is probable; if not, :meth:`target_offset` is zero."""
        return any_entry(self.correlation())

    def correlation(self) -> Array:
        """Return the posterior mean of rho, shape (runs,)."""
        known = self.squared_products > 0.0
        squares, spread = np.where(known, self.squares, 1.0), np.where(known, self.squared_products, 1.0)
        estimate, variance = self.products / squares, spread / squares / squares
        wide = variance + CORRELATION_VARIANCE
        log_odds = 0.5 * (np.log(variance / wide) + np.square(estimate) * (1.0 / variance - 1.0 / wide))
        probability = expit(log_odds + logit(CORRELATED))
        mean = probability * estimate * (CORRELATION_VARIANCE / wide)
        return np.where(probability > NEGLIGIBLE, np.clip(mean, -MAX_CORRELATION, MAX_CORRELATION), 0.0)

    def target_offset(self, spectrum: Spectrum, advances: Array, rounds_to_go: float) -> Array:
        """Return how far ahead of v the optimal player aims, shape (runs, d).

        Parameters
        ----------
        spectrum : Spectrum
            The spectrum of A.
        advances : Array, shape (runs, d)
            The eigenvalues of I - C.
        rounds_to_go : float
            The number of rounds to go, the current one included.
        """
        rho = self.correlation()
        offset, runs = np.zeros(self.last_step.shape), np.flatnonzero(rho)
        ratio = rho[runs, None] * (1.0 - advances[runs])
        geometric_sum = ratio / (1.0 - ratio) * (1.0 - ratio ** (rounds_to_go - 1.0))
        vectors = spectrum.vectors[runs]
        offset[runs] = np.matvec(vectors, geometric_sum * np.vecmat(self.last_step[runs], vectors))
        return offset
