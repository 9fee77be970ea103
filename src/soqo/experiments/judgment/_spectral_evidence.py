"""Evidence about the two parts of Proposition 1: eigenvalue and eigenbasis errors of SCaLE's own estimates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution import play_jointly
from soqo.experiments.settings import Setting, captions_c1, scale_arguments
from soqo.policies import SCaLE
from soqo.theory import exact_regret
from soqo.typing import Array

_HORIZON = 2000
"""The longest horizon of the paper's figures."""


@dataclass(frozen=True)
class SpectralSplit(Value):
    """The two parts of Proposition 1 for SCaLE's own estimates.

    Attributes
    ----------
    setting : str
        The name of the setting.
    gamma2, radius : str
        The reading.
    horizon : int
        The horizon.
    value, basis : Array, shape (runs,)
        The parts of the exact regret of exploitation, as Proposition 1 names them.
    """

    setting: str
    gamma2: str
    radius: str
    horizon: int
    value: Array = field(repr=False)
    basis: Array = field(repr=False)


def measure_split(setting: Setting, gamma2: str, radius: str, runs: int) -> SpectralSplit:
    """Return the two parts of the exact regret of exploitation, for SCaLE's own estimates.

    Parameters
    ----------
    setting : Setting
        The setting, whose steps have a covariance.
    gamma2, radius : str
        The reading.
    runs : int
        The number of runs.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> measure_split(find("gaussian_r4_1")[0], "algorithm", "cap", runs=2).value.shape
    (2,)
    """
    policy = SCaLE(**scale_arguments(setting, gamma2, radius), c1=captions_c1(setting))
    environment = setting.environment
    m = policy.exploration_rounds(environment.dim)
    # Probes do not depend on later rounds: what follows exploration is exact, not simulated.
    paths = environment.draw(m + 1, runs, seed=setting.seed)
    probing = replace(policy, gamma2=policy.probe_variance(environment.dim, _HORIZON))
    estimate = play_jointly({"SCaLE": probing}, paths)["SCaLE"].diagnostics["estimate"]
    covariance = environment.process.covariance(environment.dim)
    assert covariance is not None
    parts = exact_regret(paths.problem.A, estimate, covariance=covariance, horizon=_HORIZON - m)
    return SpectralSplit(setting.name, gamma2, radius, _HORIZON, np.asarray(parts.value), np.asarray(parts.basis))
