"""Evidence about heavy tails: the distribution of regret over the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from soqo._foundation.bootstrap_intervals import quantiles_over_runs
from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution import Outcome
from soqo.experiments.judgment._trimmed_means import trimmed_mean

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_TRIMMED = (0.1, 0.25)


@dataclass(frozen=True)
class Tail(Value):
    """The distribution of one policy's regret over the runs, where a mean says little.

    Attributes
    ----------
    setting, policy : str
    quantiles : mapping of float to float
        Quantiles of the regret at the end, by probability.
    trimmed : mapping of float to float
        Trimmed means, by the share that is cut off at each end.
    mean : float
    largest_share : float
        The share of the sum over the runs that the largest run has.
    """

    setting: str
    policy: str
    quantiles: Mapping[float, float]
    trimmed: Mapping[float, float]
    mean: float
    largest_share: float


def measure_tails(outcome: Outcome) -> list[Tail]:
    """Return the distribution of each policy's regret over the runs.

    Parameters
    ----------
    outcome : Outcome
        The outcome of a setting.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from tempfile import TemporaryDirectory
    >>> from soqo import FTM
    >>> from soqo.experiments import find, run
    >>> setting = replace(find("heavy_tails_1")[0], policies={"FTM": FTM()}, horizons=())
    >>> with TemporaryDirectory() as folder:
    ...     (tail,) = measure_tails(run([setting], folder, runs=1, workers=1)[0])
    >>> tail.largest_share
    1.0
    """
    found = []
    for name in outcome.policies:
        regret = outcome.regret(name)
        with np.errstate(invalid="ignore", over="ignore"):
            quantiles = quantiles_over_runs(regret, _QUANTILES)
            size = np.abs(regret).sum()
            found.append(
                Tail(
                    outcome.setting.name,
                    name,
                    {q: float(value) for q, value in zip(_QUANTILES, quantiles, strict=True)},
                    {share: float(trimmed_mean(regret, share)) for share in _TRIMMED},
                    float(regret.mean()),
                    float(np.abs(regret).max() / size) if size else 0.0,
                )
            )
    return found
