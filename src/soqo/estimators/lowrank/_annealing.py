r"""A low-rank estimate by reweighting with a prior that becomes ever narrower.

Each sweep computes the posterior mean under a prior whose shape S is the last estimate P plus a share e of a shape that
is positive everywhere. As e decreases, directions in which P is small are suppressed, as by a penalty on the rank. The
result depends on the path: it must start from scratch, and e must decrease slowly. The sweeps are therefore spread over
many rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._storage.registry import register
from soqo.estimators.lowrank._bases import Bases
from soqo.estimators.lowrank._readings import Data
from soqo.typing import Array

SWEEPS = 140
"""The number of sweeps."""

_LAST_SHARE = 1e-3
"""The share e decreases from 1 to this."""

_FIRST_MEAN = 0.5
"""The prior mean in units of S decreases from this to zero over the first half of the sweeps."""


@register("lowrank.annealing")
@dataclass(frozen=True)
class Annealing(Value):
    """An estimate in the making.

    Attributes
    ----------
    estimate : Array, shape (d, d)
        The estimate so far.
    shape : Array, shape (d, d)
        The shape of which a share is added, with its scale.
    done : int
        The number of sweeps done.
    """

    estimate: Array
    shape: Array
    done: int

    @classmethod
    def start(cls, shapes: Bases) -> Annealing:
        """Return the estimate before the first sweep.

        Parameters
        ----------
        shapes : Bases
            The shapes and scales for the readings.
        """
        return cls(np.zeros_like(shapes.bold), shapes.bold_scale * shapes.bold, 0)

    @property
    def is_finished(self) -> bool:
        """Whether all sweeps are done."""
        return self.done >= SWEEPS

    def advance(self, data: Data, noise2: float, sweeps: int) -> Annealing:
        """Return the estimate after some more sweeps.

        Parameters
        ----------
        data : Data
            The readings.
        noise2 : float
            The variance of the noise.
        sweeps : int
            The number of sweeps.
        """
        estimate, done = self.estimate, self.done
        for done in range(self.done + 1, min(self.done + sweeps, SWEEPS) + 1):
            progress = (done - 1) / (SWEEPS - 1)
            mean = max(_FIRST_MEAN * (1.0 - 2.0 * progress), 0.0)
            S = estimate + _LAST_SHARE**progress * self.shape
            estimate = positive_part(data.posterior_mean(S, mean, noise2))
        return Annealing(estimate, self.shape, done)


def positive_part(M: Array) -> Array:
    """Return the nearest positive semi-definite matrix.

    Parameters
    ----------
    M : Array, shape (d, d)
        A symmetric matrix.

    Examples
    --------
    >>> positive_part(np.diag([1.0, -2.0]))
    array([[1., 0.],
           [0., 0.]])
    """
    values, vectors = np.linalg.eigh(M)
    positive = values > 0.0
    if positive.all():
        return M
    kept = vectors[:, positive]
    return np.asarray((kept * values[positive]) @ kept.T)
