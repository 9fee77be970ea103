r"""An estimate for an A whose entries are independent, around a multiple of the identity.

The prior is A ~ N(t I, a^2 per entry). The scale t and the deviation a come from the marginal likelihood
(:mod:`soqo.estimators.lowrank._evidence`). A large a says that A is not near a multiple of the identity; for a low rank
the other estimates are better then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.estimators.lowrank._evidence import LevelFit
from soqo.estimators.lowrank._readings import Moments, Readings
from soqo.typing import Array


def _without_spread(fields: dict[str, object]) -> dict[str, object]:
    """Return the fields of the first version, which chose the deviation from a list."""
    return {name: value for name, value in fields.items() if name != "spread"}


@register("lowrank.flat", version=2, migrations={1: _without_spread})
@dataclass(frozen=True)
class Flat(Value):
    """The estimate.

    Attributes
    ----------
    matrix : Array, shape (d, d)
        The posterior mean, which need not be in the cone.
    scale : float
        The scale t.
    """

    matrix: Array
    scale: float


def fit_flat(data: Readings | Moments, noise2: float, levels: LevelFit, *, least_spread: float = 1e-3) -> Flat:
    """Return the estimate from readings.

    Parameters
    ----------
    data : Readings or Moments
        The readings.
    noise2 : float
        The variance of the noise.
    levels : LevelFit
        The scale of A, and the deviation of its entries.
    least_spread : float
        The least deviation of an entry of A, in units of the scale.

    Examples
    --------
    >>> from soqo.estimators.lowrank._evidence import fit_levels
    >>> Z = 10.0 * np.random.default_rng(0).standard_normal((40, 3))
    >>> readings = Readings(Z, np.vecdot(Z, Z))
    >>> found = fit_flat(readings, 1e-4, fit_levels(Z, np.ones(40), readings.y, np.zeros(3)))
    >>> found.matrix.diagonal().round(3)
    array([2., 2., 2.])
    """
    t = levels.scale
    a = max(levels.deviation, least_spread * t)
    return Flat(data.posterior_mean(a * np.eye(levels.dim), t / a, noise2), t)
