"""SCaLE's own estimates after its probes, which do not depend on later rounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.execution import play_jointly
from soqo.experiments.settings import Setting, captions_c1, scale_arguments
from soqo.policies import SCaLE
from soqo.typing import Array

SHORTEST = 200
"""The shortest horizon of the paper's figures."""

LONGEST = 2000
"""The longest horizon of the paper's figures."""

BEYOND = 200_000
"""A horizon so long that gamma^2 grows with it at every sigma_r; up to 2,000, 1/sigma_r = 100 is above T^(1/2)."""


@dataclass(frozen=True)
class ProbedEstimates(Value):
    """The estimates of SCaLE in a setting, with the c1 of the caption.

    Attributes
    ----------
    setting, gamma2, radius
        The setting, and the reading.
    horizon, m : int
        The horizon that gamma^2 is chosen for, and the number of probes.
    probe_variance : float
        The value of gamma^2.
    A, estimate : Array, shape (runs, d, d)
        The curvature of each run, and its estimate.
    noise : Array, shape (runs,)
        The l1 norm of the noise of the probes.
    """

    setting: Setting
    gamma2: str
    radius: str
    horizon: int
    m: int
    probe_variance: float
    A: Array = field(repr=False)
    estimate: Array = field(repr=False)
    noise: Array = field(repr=False)


def estimate_by_probes(setting: Setting, gamma2: str, radius: str, horizon: int, runs: int) -> ProbedEstimates:
    """Return SCaLE's estimates after its probes for a horizon.

    Parameters
    ----------
    setting : Setting
        The setting.
    gamma2, radius : str
        As in :class:`soqo.experiments.settings.Reading`.
    horizon : int
        The horizon.
    runs : int
        The number of runs.

    Examples
    --------
    >>> from soqo.experiments.settings import find
    >>> found = estimate_by_probes(find("gaussian_r1_0.01")[0], "algorithm", "cap", 2000, runs=2)
    >>> bool(np.abs(found.estimate).max() < 1e-3)        # M = 0 satisfies the constraint, and has the least trace
    True
    """
    policy = SCaLE(**scale_arguments(setting, gamma2, radius), c1=captions_c1(setting))
    environment = setting.environment
    m = policy.exploration_rounds(environment.dim)
    paths = environment.draw(m + 1, runs, seed=setting.seed)
    probing = replace(policy, gamma2=policy.probe_variance(environment.dim, horizon))
    estimate = play_jointly({"SCaLE": probing}, paths)["SCaLE"].diagnostics["estimate"]
    noise = np.abs(environment.noise.bound * paths.variates[:, :m]).sum(axis=1)
    assert isinstance(probing.gamma2, float)
    A = np.broadcast_to(paths.problem.A, estimate.shape)
    return ProbedEstimates(setting, gamma2, radius, horizon, m, probing.gamma2, A, estimate, noise)
