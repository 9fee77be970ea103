"""Evidence about the two parts of Proposition 1: eigenvalue and eigenbasis errors of SCaLE's own estimates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.judgment._probed_estimates import ProbedEstimates
from soqo.theory import exact_regret
from soqo.typing import Array


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


def measure_split(probed: ProbedEstimates) -> SpectralSplit:
    """Return the two parts of the exact regret of exploitation, for SCaLE's own estimates.

    Parameters
    ----------
    probed : ProbedEstimates
        The estimates, in a setting whose steps have a covariance.

    Examples
    --------
    >>> from soqo.experiments.judgment._probed_estimates import estimate_by_probes
    >>> from soqo.experiments.settings import find
    >>> measure_split(estimate_by_probes(find("gaussian_r4_1")[0], "algorithm", "cap", 2000, runs=2)).value.shape
    (2,)
    """
    environment = probed.setting.environment
    covariance = environment.process.covariance(environment.dim)
    assert covariance is not None
    parts = exact_regret(probed.A, probed.estimate, covariance=covariance, horizon=probed.horizon - probed.m)
    place = probed.setting.name, probed.gamma2, probed.radius, probed.horizon
    return SpectralSplit(*place, np.asarray(parts.value), np.asarray(parts.basis))
