"""Evidence about estimates: how far SCaLE's own are from A, against what the proof of Theorem 3 takes for granted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.experiments.judgment._probed_estimates import ProbedEstimates
from soqo.typing import Array


@dataclass(frozen=True)
class EstimateErrors(Value):
    """The errors of SCaLE's estimates.

    Attributes
    ----------
    setting : str
        The name of the setting.
    gamma2, radius : str
        The reading.
    horizon : int
        The horizon that gamma^2 is chosen for.
    error : Array, shape (runs,)
        The nuclear norm of the estimate's error.
    guaranteed : Array, shape (runs,)
        What the proof of Theorem 3 bounds it by: the l1 norm of the noise over m gamma^2.
    """

    setting: str
    gamma2: str
    radius: str
    horizon: int
    error: Array = field(repr=False)
    guaranteed: Array = field(repr=False)


def measure_errors(probed: ProbedEstimates) -> EstimateErrors:
    """Return the errors of SCaLE's estimates, and their bounds.

    Parameters
    ----------
    probed : ProbedEstimates
        The estimates.

    Examples
    --------
    >>> from soqo.experiments.judgment._probed_estimates import estimate_by_probes
    >>> from soqo.experiments.settings import find
    >>> found = measure_errors(estimate_by_probes(find("gaussian_r4_1")[0], "algorithm", "cap", 2000, runs=2))
    >>> bool((found.error > found.guaranteed).all())
    True
    """
    place = probed.setting.name, probed.gamma2, probed.radius, probed.horizon
    return EstimateErrors(
        *place, nuclear_norm(probed.estimate - probed.A), probed.noise / (probed.m * probed.probe_variance)
    )


def nuclear_norm(matrices: Array) -> Array:
    """Return the nuclear norm of symmetric matrices.

    Parameters
    ----------
    matrices : Array, shape (..., d, d)
        The matrices; what is not a number counts as zero, and an infinite entry as a large one.

    Examples
    --------
    >>> float(nuclear_norm(np.diag([3.0, -4.0])))
    7.0
    """
    return np.asarray(np.abs(np.linalg.eigvalsh(np.nan_to_num(matrices))).sum(axis=-1))
