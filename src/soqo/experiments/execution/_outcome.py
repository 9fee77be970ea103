"""The outcome of a setting: its result for each horizon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._simulation.result import Result
from soqo._simulation.summary import Summary
from soqo.errors import ArgumentError
from soqo.experiments.settings import Setting
from soqo.typing import Array


@dataclass(frozen=True)
class Outcome(Value):
    """The results of a setting by horizon.

    Attributes
    ----------
    setting : Setting
        The setting.
    results : mapping of int to Result
        The result for each horizon. The setting's own ``horizon`` is recorded in every round, the others are totals
        (:meth:`soqo.Result.total`).
    """

    setting: Setting
    results: Mapping[int, Result] = field(repr=False)

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, in order."""
        return tuple(self.setting.policies)

    @property
    def runs(self) -> int:
        """The number of runs that were simulated, which may differ from the setting's."""
        return self._result(None).runs

    @property
    def horizons(self) -> tuple[int, ...]:
        """The horizons that were simulated, in increasing order."""
        return tuple(sorted(self.results))

    def regret(self, policy: str, horizon: int | None = None) -> Array:
        """Return the regret after the last round, shape (runs,).

        Parameters
        ----------
        policy : str
            The policy's name.
        horizon : int, optional
            The setting's own horizon by default.
        """
        return self._result(horizon).regret(policy)[:, -1]

    def curve(self, policy: str) -> Array:
        """Return the regret up to each round of the setting's own horizon, shape (runs, horizon).

        Parameters
        ----------
        policy : str
            The policy's name.
        """
        return self._result(None).regret(policy)

    def median(self, policy: str, horizon: int | None = None) -> float:
        """Return the median over the runs of the regret after the last round.

        Parameters
        ----------
        policy : str
            The policy's name.
        horizon : int, optional
            The setting's own horizon by default.
        """
        return float(np.median(self.regret(policy, horizon)))

    def summary(self, horizon: int | None = None) -> Summary:
        """Summarize the regret after the last round for each policy.

        Parameters
        ----------
        horizon : int, optional
            The setting's own horizon by default.

        Returns
        -------
        Summary
            The summary of every policy; printing it gives a table.
        """
        return self._result(horizon).summary()

    def _result(self, horizon: int | None) -> Result:
        wanted = self.setting.horizon if horizon is None else horizon
        if wanted not in self.results:
            raise ArgumentError(f"horizon must be one of {list(self.horizons)}, got {horizon!r}")
        return self.results[wanted]
