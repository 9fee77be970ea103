"""Evidence about movement: what each policy pays for hitting, and what it pays for switching."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution import Outcome
from soqo.policies import SCaLE
from soqo.typing import Array

BENCHMARK = "LAI"
"""The name of the benchmark among the policies."""


@dataclass(frozen=True)
class MovementCosts(Value):
    """The two kinds of costs in a setting, by policy; the benchmark is one of them.

    Attributes
    ----------
    setting : str
        The name of the setting.
    hitting, switching : mapping of str to Array of shape (runs,)
        The costs of all rounds of each run.
    probing_hitting, probing_switching : mapping of str to Array of shape (runs,)
        The costs of the rounds in which SCaLE and HySCaLE explore.
    """

    setting: str
    hitting: Mapping[str, Array] = field(repr=False)
    switching: Mapping[str, Array] = field(repr=False)
    probing_hitting: Mapping[str, Array] = field(repr=False)
    probing_switching: Mapping[str, Array] = field(repr=False)


def measure_movement(outcome: Outcome) -> MovementCosts:
    """Return the costs of all policies of an outcome, hitting and switching apart.

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
    >>> setting = replace(find("primary")[0], policies={"FTM": FTM()}, horizons=())
    >>> with TemporaryDirectory() as folder:
    ...     costs = measure_movement(run([setting], folder, runs=1, workers=1)[0])
    >>> float(costs.hitting["FTM"][0]), bool(costs.switching["FTM"][0] > costs.switching["LAI"][0])
    (0.0, True)
    """
    setting = outcome.setting
    result = outcome.results[setting.horizon]
    hitting = {BENCHMARK: result.benchmark_hitting} | {name: result[name].hitting for name in outcome.policies}
    switching = {BENCHMARK: result.benchmark_switching} | {name: result[name].switching for name in outcome.policies}
    rounds = {
        name: policy.exploration_rounds(setting.environment.dim)
        for name, policy in setting.policies.items()
        if isinstance(policy, SCaLE)
    }
    with np.errstate(over="ignore", invalid="ignore"):  # a learner may diverge
        return MovementCosts(
            setting.name,
            {name: costs.sum(axis=1) for name, costs in hitting.items()},
            {name: costs.sum(axis=1) for name, costs in switching.items()},
            {name: hitting[name][:, :m].sum(axis=1) for name, m in rounds.items()},
            {name: switching[name][:, :m].sum(axis=1) for name, m in rounds.items()},
        )
