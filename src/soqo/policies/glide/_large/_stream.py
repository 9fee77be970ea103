r"""What GLIDE knows about one run with many dimensions.

The estimates that run side by side, each with its latest prediction errors:

    soft      a posterior mean whose prior has the shape of the last one      until A is known as a factor
    flat      for an A near a multiple of the identity                        until A is known as a factor
    sharp     the result of an annealing, of low rank                         while there are few readings
    trial     A = L L', to be compared with the estimate that is played       once there are enough readings
    factored  A = L L', which is then the only one                            after the evidence for it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import register
from soqo.estimators.lowrank import Annealing, Factored, Flat, LevelFit, Moments, Readings, Rows
from soqo.policies.glide._large._row import EXTRA_COLUMNS, hitting_cost, migrate_rows, place
from soqo.typing import Array

MAX_SWEPT_ROWS = 1024
"""A sweep uses at most this many rows, unless there are sums over all of them."""

MAX_UNKNOWNS = 1024
"""With at most this many unknowns, and more readings than unknowns, sweeps use sums over all rows."""

MAX_ROWS = 2048
"""The number of rows that are kept."""

_MEMORY = 20
"""The number of latest prediction errors that are kept."""

_PREDICTIONS = 60
"""The number of latest predictions that are kept for the size of the noise."""

ESTIMATES = ("soft", "flat", "sharp", "trial", "played")
"""The estimates whose prediction errors are compared."""


def _with_units(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a stream whose errors had no units, as if the same were usual for all of them."""
    errors = fields["errors"]
    return {**fields, "errors": np.column_stack([errors, np.ones(len(errors))])}


@register("GLIDE.stream", version=3, migrations={1: migrate_rows, 2: _with_units})
@dataclass(frozen=True)
class Stream(Value):
    """The state of one run.

    Attributes
    ----------
    dim : int
        The number of dimensions d.
    rows : Rows
        The latest readings, as `_row` describes them.
    moments : Moments or None
        Sums over all readings, if there are more readings than unknowns.
    seen, swept : int
        The number of readings since the start or the last change, and that at the last sweep.
    zeros : Array, shape (3,)
        The number of readings at u = 0, which are noise and base load only, their sum, and that of their squares.
    predictions : Array, shape (60, 2)
        The latest predictions of the estimate that was played, and their errors; NaN for none.
    sigma, load : float
        The deviation of the noise, and the base load.
    scale : float
        The scale of A.
    soft : Array, shape (d, d), or None
        The soft estimate.
    flat : Flat or None
        The estimate near a multiple of the identity.
    levels, levels_fitted : LevelFit or None, and int
        The noise, the base load and the scale of A by marginal likelihood, and the number of readings at that fit.
    annealing, sharp, next_annealing : Annealing, Array, int
        The annealing under way, the last result, and the number of readings at which the next one begins.
    trial, trial_is_clear, next_trial : Factored or None, bool, int
        The factor that is on trial, whether a sharp estimate has shown that A has a low rank, and the number of
        readings at which the next trial begins.
    factored, next_fit : Factored or None, int
        The factor that has won, and the number of readings at which it is fitted again.
    first_noise2 : float
        The variance of the noise when the factor won.
    errors : Array, shape (20, 6)
        The latest squared prediction errors of the estimates, NaN for none, and in the last column what was usual.
    surprises : Array, shape (20,)
        The latest absolute errors of the estimate that was played, in units of what was expected.
    trouble : int
        What has been done about a factor that does not fit: 0 for nothing, 1 for a fit, 2 for one more column.
    suspects, fits : Array, shape (k, d + 2), and int
        The last readings that did not fit, and how many that fit have followed.
    rejected, epoch, returned : int
        The number of readings that were rejected, the round of the last change, and how many readings in a row have
        fitted what was known before it.
    previous : Stream or None
        What was known before the last change.
    estimate : Array, shape (d, d)
        The estimate that is played.
    spectrum : Spectrum
        The spectrum of A; that of a factor has only the eigenvalues that are not zero.
    """

    dim: int
    rows: Rows
    moments: Moments | None
    seen: int
    swept: int
    zeros: Array
    predictions: Array
    sigma: float
    load: float
    scale: float
    soft: Array | None
    flat: Flat | None
    levels: LevelFit | None
    levels_fitted: int
    annealing: Annealing | None
    sharp: Array | None
    next_annealing: int
    trial: Factored | None
    trial_is_clear: bool
    next_trial: int
    factored: Factored | None
    next_fit: int
    first_noise2: float
    errors: Array
    surprises: Array
    trouble: int
    suspects: Array
    fits: int
    rejected: int
    epoch: int
    returned: int
    previous: Stream | None
    estimate: Array
    spectrum: Spectrum

    @classmethod
    def start(cls, dim: int) -> Stream:
        """Return the state before the first reading.

        Parameters
        ----------
        dim : int
            The number of dimensions.
        """
        return cls(
            dim=dim,
            rows=Rows.empty(dim + EXTRA_COLUMNS),
            moments=None,
            seen=0,
            swept=0,
            zeros=np.zeros(3),
            predictions=np.full((_PREDICTIONS, 2), np.nan),
            sigma=0.0,
            load=0.0,
            scale=0.0,
            soft=None,
            flat=None,
            levels=None,
            levels_fitted=0,
            annealing=None,
            sharp=None,
            next_annealing=0,
            trial=None,
            trial_is_clear=False,
            next_trial=0,
            factored=None,
            next_fit=0,
            first_noise2=0.0,
            errors=np.full((_MEMORY, len(ESTIMATES) + 1), np.nan),
            surprises=np.full(_MEMORY, np.nan),
            trouble=0,
            suspects=np.zeros((0, dim + EXTRA_COLUMNS)),
            fits=0,
            rejected=0,
            epoch=0,
            returned=0,
            previous=None,
            estimate=np.zeros((dim, dim)),
            spectrum=Spectrum(np.zeros(0), np.zeros((dim, 0))),
        )

    def restart(self, rows: Array, round_number: int) -> Stream:
        """Return the state after a change of A, with the readings since the change.

        Parameters
        ----------
        rows : Array, shape (n, d + 2)
            The readings.
        round_number : int
            The round of the change.
        """
        return evolve(
            Stream.start(self.dim),
            rows=Rows.of(rows),
            seen=len(rows),
            zeros=self.zeros,
            sigma=self.noise(None),
            load=self.load,
            rejected=self.rejected,
            epoch=round_number,
            previous=evolve(self, previous=None),
            estimate=self.estimate,
            spectrum=self.spectrum,
        )

    def shift_rounds(self, by: int) -> Stream:
        """Return the state with round numbers that are larger by some number.

        Parameters
        ----------
        by : int
            What is added to them.
        """
        previous = None if self.previous is None else self.previous.shift_rounds(by)
        return evolve(self, epoch=self.epoch + by if self.epoch else 0, previous=previous)

    @property
    def representation(self) -> str:
        """How A is represented: as rows, sums or a factor."""
        if self.factored is not None:
            return "factored"
        return "rows" if self.moments is None else "sums"

    @property
    def is_established(self) -> bool:
        """Whether there are so many readings that those which do not fit the factor are wrong, or A has changed."""
        factored = self.factored
        return factored is not None and not factored.is_fitting and self.seen >= 2 * factored.unknowns + 10

    @property
    def unknowns(self) -> int:
        """The number of unknowns without a low rank."""
        return self.dim * (self.dim + 1) // 2

    def readings(self, limit: int | None) -> Readings:
        """Return the latest readings without the base load and the linear part.

        Parameters
        ----------
        limit : int or None
            The largest number of rows; None for all that are kept.
        """
        rows = self.rows.latest(limit)
        return Readings(place(rows), self.hitting_cost(rows))

    def hitting_cost(self, rows: Array) -> Array:
        """Return readings without the base load.

        Parameters
        ----------
        rows : Array, shape (..., d + 2)
            The readings.
        """
        return hitting_cost(rows, self.load)

    def noise(self, cap: float | None) -> float:
        """Return the deviation of the noise.

        Parameters
        ----------
        cap : float or None
            A bound on the noise, if one is known.
        """
        if self.factored is not None:
            return float(np.sqrt(self.factored.noise2))
        return self.sigma if cap is None else cap / 3.0**0.5
