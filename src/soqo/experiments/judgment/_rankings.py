"""Tests of rankings: whether some policies have less regret than others, in each setting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soqo.experiments.judgment._decisions import decide, highest, lowest, measure
from soqo.experiments.judgment._evidence import Evidence
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.judgment._verdicts import Case
from soqo.experiments.settings import Reading
from soqo.typing import Array

BASELINES = ("FTM", "POL", "OAL")
"""The paper's baselines."""


def outperform(
    samples: Samples,
    _: Evidence,
    reading: Reading,
    *,
    names: Sequence[str],
    players: Sequence[str],
    others: Sequence[str] = BASELINES,
    best_of: str = "the best baseline",
) -> list[Case]:
    """Test in each setting whether the statistic of each player is below those of all others.

    Parameters
    ----------
    samples, reading
        The regret of policies, and the reading.
    names, players, others : sequence of str
        The settings, and the policies.
    best_of : str
        What the best of the others is called.
    """
    cases = []
    for name in names:
        own = [samples.statistic(name, reading, player) for player in players]
        best = lowest(*(samples.statistic(name, reading, other) for other in others))
        worst = highest(*own)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(best > 0.0, worst / best, np.nan)
        who = f"{' and '.join(players)}, the worse," if len(players) > 1 else players[0]
        numbers = [measure(f"{who} as a share of {best_of}", ratio)]
        numbers += [measure(label, values) for label, values in zip((*players, best_of), (*own, best), strict=True)]
        cases.append(decide(name, worst < best, True, samples.runs, *numbers))
    return cases


def lead(samples: Samples, name: str, reading: Reading, player: str, horizon: int | None = None) -> Array:
    """Return the best baseline's statistic over a player's; NaN where one is not positive.

    Parameters
    ----------
    samples, name, reading
        The regret of policies, the setting and the reading.
    player : str
        The player.
    horizon : int, optional
        The horizon; the setting's own by default.
    """
    best = lowest(*(samples.statistic(name, reading, other, horizon) for other in BASELINES))
    own = samples.statistic(name, reading, player, horizon)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((best > 0.0) & (own > 0.0), best / own, np.nan)
