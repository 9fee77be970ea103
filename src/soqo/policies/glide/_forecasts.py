r"""How far a forecast of v deserves trust.

For each lead j, what came is regressed on what was forecast: q = v_{t+j} - v_t on p = F_j - v_t, with one coefficient
for all coordinates, sum q.p / sum p.p. It is shrunk towards zero by the share of sum q.p that chance explains: if q and
p are uncorrelated, the variance of that sum is about sum (q.p)^2. A forecast that says nothing is therefore ignored,
and one that comes true is believed after a few rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.typing import Array

MAX_LEADS = 16
"""The budget of the regression: it is computed for this many rounds ahead; later ones share the trust of the last."""


@register("GLIDE.forecasts")
@dataclass(frozen=True)
class ForecastTrust(Value):
    """The regression of what came on what was forecast, for each run and lead.

    Attributes
    ----------
    pending : Array, shape (runs, K, K, d)
        The forecast movements F_j - v that were made i + 1 rounds ago for j + 1 rounds ahead; NaN for none.
    origins : Array, shape (runs, K, d)
        The minimizers i + 1 rounds ago.
    products, squares, squared_products : Array, shape (runs, K)
        The sums of q.p, |p|^2 and (q.p)^2.
    """

    pending: Array
    origins: Array
    products: Array
    squares: Array
    squared_products: Array

    @classmethod
    def start(cls, runs: int, dim: int) -> ForecastTrust:
        """Return the state before the first forecast, which has no leads."""
        sums = np.zeros((runs, 0))
        return cls(np.zeros((runs, 0, 0, dim)), np.zeros((runs, 0, dim)), sums, sums, sums)

    @property
    def leads(self) -> int:
        """The number K of leads."""
        return int(self.origins.shape[1])

    def update(self, v: Array, forecast: Array | None) -> ForecastTrust:
        """Return the state after v has come, with a new forecast of shape (runs, k, d), or none.

        Parameters
        ----------
        v : Array, shape (runs, d)
            The minimizer of this round.
        forecast : Array, shape (runs, k, d), or None
            The expected minimizers of the next rounds.
        """
        if forecast is None and not self.leads:
            return self
        state = self._with_leads(0 if forecast is None else min(forecast.shape[1], MAX_LEADS))
        K = state.leads
        if not K:
            return state
        p = state.pending[:, range(K), range(K)]
        q = v[:, None] - state.origins
        known = np.asarray(np.isfinite(p).all(axis=-1))
        p = np.where(known[..., None], p, 0.0)
        product = np.where(known, np.vecdot(q, p), 0.0)
        new = np.full((len(v), K, v.shape[-1]), np.nan)
        if forecast is not None:
            given = forecast[:, :K] - v[:, None]
            new[:, : given.shape[1]] = given
        return ForecastTrust(
            np.concatenate([new[:, None], state.pending[:, :-1]], axis=1),
            np.concatenate([v[:, None], state.origins[:, :-1]], axis=1),
            state.products + product,
            state.squares + np.vecdot(p, p),
            state.squared_products + np.square(product),
        )

    def _with_leads(self, leads: int) -> ForecastTrust:
        """Return the state with at least this many leads."""
        more = leads - self.leads
        if more <= 0:
            return self
        wide = ((0, 0), (0, more))
        return ForecastTrust(
            np.pad(self.pending, ((0, 0), (0, more), (0, more), (0, 0)), constant_values=np.nan),
            np.pad(self.origins, ((0, 0), (0, more), (0, 0))),
            *(np.pad(sums, wide) for sums in (self.products, self.squares, self.squared_products)),
        )

    def trust(self) -> Array:
        """Return the coefficient of each lead, between 0 and 1, shape (runs, K)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = self.squared_products / np.square(self.products)
            slope = self.products / self.squares
        useful = (self.products > 0.0) & (chance < 1.0)
        return np.where(useful, np.clip(slope, 0.0, 1.0) * (1.0 - np.where(useful, chance, 0.0)), 0.0)

    def expected(self, v: Array, forecast: Array) -> Array:
        """Return the forecast as far as it is believed, shape (runs, k, d).

        Parameters
        ----------
        v : Array, shape (runs, d)
            The minimizer of this round.
        forecast : Array, shape (runs, k, d)
            The expected minimizers of the next rounds.
        """
        lead = np.minimum(np.arange(forecast.shape[1]), self.leads - 1)
        return np.asarray(v[:, None] + self.trust()[:, lead, None] * (forecast - v[:, None]))
