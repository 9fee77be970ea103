"""HySCaLE: SCaLE that continues to learn; the paper's Algorithm 2."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np

from soqo._foundation.arguments import choice, number
from soqo._foundation.frozen_dataclasses import evolve, set_fields
from soqo._storage.registry import register
from soqo.estimators import projected_gradient_step
from soqo.policies._base import State
from soqo.policies._scale import FROM_0_1_0, SCaLE, ScaleMemory
from soqo.typing import Array


@register("HySCaLE", migrations={0: FROM_0_1_0})
@dataclass(frozen=True)
class HySCaLE(SCaLE):
    """SCaLE that continues to learn while it exploits, by one projected gradient step per reading.

    Parameters
    ----------
    noise_cap, rank, min_eigenvalue, c1, gamma2, radius, handover, fallback, probe_limit, covariance, prior
        As in :class:`SCaLE`.
    oracle_A
        As in :class:`SCaLE`.
    learning_rate : float
        The step size xi of the gradient.
    gradient : {"exact", "as_printed"}
        As in :class:`soqo.POL`.

    Examples
    --------
    >>> HySCaLE(noise_cap=1.0, rank=1, min_eigenvalue=0.5, learning_rate=1e-8).handover
    'direct'
    """

    _: KW_ONLY
    learning_rate: float = 1e-8
    gradient: Literal["exact", "as_printed"] = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, learning_rate=number("learning_rate", self.learning_rate, above=0.0))
        choice("gradient", self.gradient, ("exact", "as_printed"))

    @classmethod
    def as_printed(cls, noise_cap: float, rank: int, *, min_eigenvalue: float, **options: Any) -> Self:
        """Return the literal variant: that of SCaLE, with the learning rate 1e-6 and the printed gradient.

        Parameters
        ----------
        noise_cap, rank, min_eigenvalue, **options
            As in :meth:`SCaLE.as_printed`.
        """
        printed = {"learning_rate": 1e-6, "gradient": "as_printed", **options}
        return super().as_printed(noise_cap, rank, min_eigenvalue=min_eigenvalue, **printed)

    def refine(self, state: State[ScaleMemory], y: Array) -> ScaleMemory:
        memory = state.memory
        with np.errstate(over="ignore", invalid="ignore"):  # overflow marks the run as diverged
            step = projected_gradient_step(memory.estimate, state.z, y, rate=self.learning_rate, form=self.gradient)
        return evolve(memory, estimate=step)
