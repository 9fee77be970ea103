"""FTM: follow the minimizer."""

from __future__ import annotations

from dataclasses import dataclass

from soqo._storage.registry import register
from soqo.policies._base import Policy, State
from soqo.typing import Array


@register("FTM")
@dataclass(frozen=True)
class FTM(Policy[None]):
    """Follow the minimizer: x_t = v_t, which pays no hitting cost and the whole switching cost.

    Examples
    --------
    >>> policy = FTM()
    >>> policy.act(policy.start([0.0], horizon=5), v=[3.0])[0]
    array([3.])
    """

    def decide(self, state: State[None], v: Array) -> tuple[Array, None]:
        return v, None

    @property
    def mixes_rounds(self) -> bool:
        return True

    def explain(self, state: State[None]) -> str:
        return "FTM moves to v in every round and learns nothing."
