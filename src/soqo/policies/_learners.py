"""POL and OAL: play as if the estimate were right, and improve it by one gradient step per reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._arguments import choice, number
from soqo._planner import lai_step
from soqo._spectrum import positive_semidefinite
from soqo._storage.registry import register
from soqo._values import freeze
from soqo.errors import ArgumentError
from soqo.estimators._gradient import FORMS, GradientEstimate, projected_gradient_step
from soqo.policies._base import Policy, State, quietly
from soqo.typing import Array, BoolArray, Rng

__all__ = ["OAL", "POL"]


@register("POL")
@dataclass(frozen=True, eq=False)
class POL(Policy[GradientEstimate]):
    """Passive online learner: LAI with the current estimate, one projected gradient step per reading.

    The paper has it update on y_t before it plays x_t, which cannot be: here round t's action uses y_1..y_{t-1}.

    Parameters
    ----------
    learning_rate
        The step size xi. A step overshoots, making the error of its own reading larger, where xi |u|^4 / 4 > 2 with
        u = x - v; ``diagnostics`` counts how often.
    initial : array_like, shape (d, d) or (*batch, d, d), optional
        The first estimate; None for the identity, as in the paper (in coordinates where switching is plain l2; on a
        plant with a switching weight W this means A = W).
    gradient
        ``"exact"``, or ``"as_printed"`` for the paper's formula, whose fixed point is A/2.

    Examples
    --------
    >>> policy = POL(learning_rate=0.1)
    >>> state = policy.start(np.zeros(1), horizon=2)
    >>> x, state = policy.act(state, v=[5.0])
    >>> x                                       # the identity's gain with two rounds to go: 2/5
    array([3.])
    >>> state = policy.observe(state, y=np.array(4.0))
    >>> policy.diagnostics(state)["estimate"]   # 1 + 0.1 * 1/2 (4 - 1/2 * 4) * 4
    array([[1.4]])
    """

    learning_rate: float
    initial: Any = None
    gradient: str = "exact"

    def __post_init__(self) -> None:
        rate = number("learning_rate", self.learning_rate, above=0.0)
        object.__setattr__(self, "learning_rate", rate)
        choice("gradient", self.gradient, FORMS)
        if self.initial is not None:
            matrix, _ = positive_semidefinite("initial", self.initial)
            object.__setattr__(self, "initial", freeze(matrix))

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> GradientEstimate:
        dim = x0.shape[-1]
        matrix = np.eye(dim) if self.initial is None else self.initial
        if matrix.shape[-1] != dim or matrix.shape[:-2] not in ((), x0.shape[:-1]):
            raise ArgumentError(
                f"initial must be one matrix {(dim, dim)} or one per run to play from an x0 of shape {x0.shape}, "
                f"got shape {matrix.shape}"
            )
        return GradientEstimate.initial(np.broadcast_to(matrix, (*x0.shape, dim)).copy())

    def decide(self, state: State[GradientEstimate], v: Array) -> tuple[Array, GradientEstimate]:
        x = lai_step(state.memory.spectrum, state.rounds_to_go, state.x, v)
        return x, state.memory

    observe = quietly(Policy.observe)

    def learn(self, state: State[GradientEstimate], y: Array) -> GradientEstimate:
        return projected_gradient_step(state.memory, state.x - state.v, y, self.learning_rate, self.gradient)

    def diverged(self, state: State[GradientEstimate]) -> BoolArray:
        return state.diverged | state.memory.diverged

    def diagnostics(self, state: State[GradientEstimate]) -> dict[str, Any]:
        return {
            **super().diagnostics(state),
            "estimate": state.memory.matrix,
            "overshoots": state.memory.overshoots,
        }

    def explain(self, state: State[GradientEstimate]) -> str:
        overshoots = int(state.memory.overshoots)
        text = f"{type(self).__name__} is learning, by a gradient step from each reading"
        if 10 * overshoots <= state.round:
            return f"{text}."
        return (
            f"{text}, but {overshoots} of {state.round} steps overshot: its learning_rate is too large for how far v "
            "moves."
        )


@register("OAL")
@dataclass(frozen=True, eq=False)
class OAL(POL):
    """Oracle-assisted learner: POL that hears the hitting cost without noise; a simulation gives it that.

    Examples
    --------
    >>> OAL(learning_rate=1e-8).exact_feedback
    True
    """

    @property
    def exact_feedback(self) -> bool:
        return True
