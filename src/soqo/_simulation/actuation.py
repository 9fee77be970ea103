"""What a plant makes of an action: actuators with a largest step and a deadband, and a plant that follows them late."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from soqo._foundation.arguments import number, numbers
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.typing import Array, ArrayLike


@register("Actuation")
@dataclass(frozen=True)
class Actuation(Value):
    """The plant applies something other than what it is asked for, and may follow its actuators with a lag.

    An actuator stays if it is asked for a step below its deadband, and otherwise makes the step, or the largest one
    that it can make. The hitting cost is felt at f_t = x_t + exp(-1 / lag) (f_{t-1} - x_t). Policies hear where the
    actuators went and where the reading was felt.

    Parameters
    ----------
    rate : float or array_like of shape (d,), optional
        The largest step of each actuator in a round, above 0; infinite entries for none.
    deadband : float or array_like of shape (d,), optional
        The smallest step of each actuator, at least 0.
    lag : float
        The time constant, in rounds, with which the plant follows its actuators; 0 if it follows at once.

    Examples
    --------
    >>> Actuation(rate=2.0, deadband=0.5).apply(np.zeros(3), np.array([0.4, -1.0, 3.0]))
    array([ 0., -1.,  2.])
    """

    _: KW_ONLY
    rate: ArrayLike | None = None
    deadband: ArrayLike | None = None
    lag: float = 0.0

    def __post_init__(self) -> None:
        rate, deadband = _sizes("rate", self.rate), _sizes("deadband", self.deadband)
        if rate is not None and not (rate > 0.0).all():
            raise ArgumentError(f"rate must be above 0, got {rate.min()}")
        if deadband is not None and not ((deadband >= 0.0) & np.isfinite(deadband)).all():
            raise ArgumentError(f"deadband must be finite and at least 0, got {deadband}")
        set_fields(self, rate=rate, deadband=deadband, lag=number("lag", self.lag, least=0.0))

    @property
    def keep(self) -> float:
        """The share of the old position that is still felt, exp(-1 / lag); 0 without a lag."""
        return math.exp(-1.0 / self.lag) if self.lag else 0.0

    def check_dim(self, dim: int) -> None:
        """Refuse limits that are not for this number of actuators.

        Parameters
        ----------
        dim : int
            The number of actuators.
        """
        for name in ("rate", "deadband"):
            if (limit := getattr(self, name)) is not None and np.shape(limit) not in ((), (dim,)):
                raise ArgumentError(f"{name} must be a number or have shape {(dim,)}, got {np.shape(limit)}")

    def apply(self, x_prev: Array, x: Array) -> Array:
        """Return where the actuators go from x_prev if they are asked to go to x.

        Parameters
        ----------
        x_prev, x : Array, shape (..., d)
            The positions.
        """
        moved: Any = x
        if self.rate is not None:
            moved = np.clip(x, np.subtract(x_prev, self.rate), np.add(x_prev, self.rate))
        return moved if self.deadband is None else np.where(np.abs(x - x_prev) < self.deadband, x_prev, moved)


def _sizes(name: str, value: ArrayLike | None) -> Array | None:
    """Return a number or a vector as an array."""
    if value is None:
        return None
    sizes = numbers(name, value)
    if sizes.ndim > 1:
        raise ArgumentError(f"{name} must be a number or a vector, got shape {sizes.shape}")
    return freeze(sizes)
