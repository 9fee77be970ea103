"""POL and OAL: play LAI with an estimate, and improve it by one gradient step per reading."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from soqo._foundation.arguments import choice, number
from soqo._foundation.frozen_dataclasses import freeze, set_fields
from soqo._model.planner import lai_step
from soqo._model.spectrum import positive_semidefinite
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.estimators import GradientEstimate, projected_gradient_step
from soqo.policies._base import Policy, State
from soqo.typing import Array, ArrayLike, BoolArray, Rng


@register("POL")
@dataclass(frozen=True)
class POL(Policy[GradientEstimate]):
    """Passive online learner: LAI with the current estimate, and one projected gradient step per reading.

    In the paper it learns from y_t before it plays x_t, which is impossible: here the action of round t uses
    y_1..y_{t-1}.

    Parameters
    ----------
    learning_rate : float
        The step size xi. A step overshoots, which makes the error of its own reading larger, if xi |u|^4 / 4 > 2 with
        u = x - v; ``diagnostics`` counts these steps.
    initial : array_like, shape (d, d) or (*batch, d, d), optional
        The first estimate; None for the identity, as in the paper (in coordinates where the switching cost is
        unweighted; on a plant with a switching weight W this means A = W).
    gradient : {"exact", "as_printed"}
        The exact gradient, or the paper's formula, whose fixed point is A/2.

    Examples
    --------
    >>> policy = POL(learning_rate=0.1)
    >>> state = policy.start([0.0], horizon=2)
    >>> x, state = policy.act(state, v=[5.0])
    >>> x                                       # the identity's gain with two rounds to go: 2/5
    array([3.])
    >>> state = policy.observe(state, y=4.0)
    >>> policy.diagnostics(state)["estimate"]   # 1 + 0.1 * 1/2 (4 - 1/2 * 4) * 4
    array([[1.4]])
    """

    learning_rate: float
    _: KW_ONLY
    initial: ArrayLike | None = None
    gradient: Literal["exact", "as_printed"] = "exact"

    def __post_init__(self) -> None:
        set_fields(self, learning_rate=number("learning_rate", self.learning_rate, above=0.0))
        choice("gradient", self.gradient, ("exact", "as_printed"))
        if self.initial is not None:
            matrix, _ = positive_semidefinite("initial", self.initial)
            set_fields(self, initial=freeze(matrix))

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> GradientEstimate:
        dim = x0.shape[-1]
        matrix = np.eye(dim) if self.initial is None else np.asarray(self.initial)
        if matrix.shape[-1] != dim or matrix.shape[:-2] not in ((), x0.shape[:-1]):
            raise ArgumentError(
                f"initial must be one matrix {(dim, dim)} or one per run to play from an x0 of shape {x0.shape}, "
                f"got shape {matrix.shape}"
            )
        return GradientEstimate.initial(np.broadcast_to(matrix, (*x0.shape, dim)).copy())

    def decide(self, state: State[GradientEstimate], v: Array) -> tuple[Array, GradientEstimate]:
        x = lai_step(state.memory.spectrum, state.rounds_to_go, state.x, v, state.factor)
        return x, state.memory

    def learn(self, state: State[GradientEstimate], y: Array) -> GradientEstimate:
        with np.errstate(over="ignore", invalid="ignore"):  # overflow marks the run as diverged
            return projected_gradient_step(state.memory, state.z, y, rate=self.learning_rate, form=self.gradient)

    @property
    def mixes_rounds(self) -> bool:
        return True

    def diverged(self, state: State[GradientEstimate]) -> BoolArray:
        return state.diverged | state.memory.diverged

    def diagnostics(self, state: State[GradientEstimate]) -> dict[str, Any]:
        return {
            **super().diagnostics(state),
            "estimate": state.memory.matrix,
            "overshoots": state.memory.overshoots,
        }

    def explain(self, state: State[GradientEstimate]) -> str:
        overshoots = int(state.memory.overshoots.item())
        text = f"{type(self).__name__} learns by a gradient step from each reading"
        if 10 * overshoots <= state.round:
            return f"{text}."
        return (
            f"{text}, but {overshoots} of {state.round} steps overshot: its learning_rate is too large for the steps "
            "of v."
        )


@register("OAL")
@dataclass(frozen=True)
class OAL(POL):
    """Oracle-assisted learner: POL that observes the hitting cost without noise, which only a simulation can give.

    Parameters
    ----------
    learning_rate, initial, gradient
        As in :class:`POL`.

    Examples
    --------
    >>> OAL(learning_rate=1e-8).exact_feedback
    True
    """

    @property
    def exact_feedback(self) -> bool:
        return True
