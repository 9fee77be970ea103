r"""The predictable part of the steps of v, and the target of a player who uses it.

If the steps follow the autoregression d_{t+1} = rho d_t + noise, then v is expected to move by rho d + ... + rho^k d
within k rounds. The optimal target with many rounds to go is then not v but v + rho C (I - rho C)^{-1} d, which solves
the optimality condition (2I + A) x_t = x_{t-1} + E x_{t+1} + A v_t. With n rounds to go, the geometric sum has n - 1
terms. The change of the gains towards the end is neglected, which costs about a percent in the last few rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.blas import any_entry
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import register, rename_fields
from soqo.typing import Array, BoolArray

SIGNIFICANT_DEVIATIONS = 3.0
"""A correlation of fewer of its standard deviations is set to zero."""

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

    def _significant(self) -> BoolArray:
        """Return the runs whose correlation is significant."""
        return np.asarray(np.square(self.products) > SIGNIFICANT_DEVIATIONS**2 * self.squared_products)

    def is_predictable(self) -> bool:
        """Return whether a correlation is significant; if not, :meth:`target_offset` is zero."""
        return any_entry(self._significant())

    def correlation(self) -> Array:
        """Return the estimate of rho, or zero if it is not significant; shape (runs,)."""
        significant = self._significant()
        if not any_entry(significant):
            return np.zeros(significant.size)
        rho = self.products / np.where(self.squares > 0.0, self.squares, 1.0)
        return np.where(significant, np.clip(rho, -MAX_CORRELATION, MAX_CORRELATION), 0.0)

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
        offset, runs = np.zeros(self.last_step.shape), np.flatnonzero(self._significant())
        if not runs.size:
            return offset
        ratio = self.correlation()[runs, None] * (1.0 - advances[runs])
        geometric_sum = ratio / (1.0 - ratio) * (1.0 - ratio ** (rounds_to_go - 1.0))
        vectors = spectrum.vectors[runs]
        offset[runs] = np.matvec(vectors, geometric_sum * np.vecmat(self.last_step[runs], vectors))
        return offset
