"""The line search for c1 that the paper describes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from soqo.experiments.execution import RegretTable
from soqo.experiments.judgment._samples import Samples
from soqo.experiments.settings import Reading, Setting, TunedC1


def tune_c1(settings: Iterable[Setting], table: RegretTable, readings: Sequence[Reading]) -> TunedC1:
    """Return the c1 with the least regret at each setting's own horizon, as the paper's line search chooses it.

    Parameters
    ----------
    settings : iterable of Setting
        The settings.
    table : RegretTable
        The regret of the policies of the first stage.
    readings : sequence of Reading
        The readings; those whose c1 is tuned matter.

    Returns
    -------
    TunedC1
        The choices, for means and for medians.

    Examples
    --------
    >>> from soqo.experiments.settings import LITERAL, find
    >>> tune_c1(find("primary"), {}, [LITERAL])         # nothing is tuned in this reading
    {}
    """
    samples = Samples(settings, table, {})
    found: dict[tuple[str, str, str, str], dict[str, float]] = {}
    for reading in readings:
        if reading.c1 != "tuned":
            continue
        for name, setting in samples.settings.items():
            if setting.swept:
                continue
            spectrum = samples.spectrum(name, reading)
            gamma2, radius = str(reading.gamma2), str(reading.radius)
            choices = found.setdefault((name, spectrum, gamma2, radius), {})
            grid, regret = samples.by_c1(name, reading)
            choices[str(reading.statistic)] = float(grid[int(np.argmin(regret[:, 0]))])
    return found
