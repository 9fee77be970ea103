"""What plants are run with today, and the benchmark that knows A for every context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soqo._foundation.arguments import finite_array, number
from soqo._foundation.frozen_dataclasses import freeze, set_fields
from soqo._model.gains import contraction
from soqo._model.spectrum import positive_semidefinite
from soqo.errors import ArgumentError
from soqo.policies import Policy, State, register
from soqo.typing import Array, ArrayLike


@register("plants.Deadband")
@dataclass(frozen=True)
class Deadband(Policy[None]):
    """Go to v if it is farther away than a threshold, and stay otherwise, actuator by actuator.

    Parameters
    ----------
    width : float
        The threshold, in coordinates where the switching cost is unweighted: sqrt(W) times that of the plant.

    Examples
    --------
    >>> policy = Deadband(8.0)
    >>> policy.act(policy.start([0.0, 0.0]), v=[7.0, 9.0])[0]
    array([0., 9.])
    """

    width: float

    def __post_init__(self) -> None:
        set_fields(self, width=number("width", self.width, least=0.0))

    def decide(self, state: State[None], v: Array) -> tuple[Array, None]:
        return np.where(np.abs(v - state.x) > self.width, v, state.x), None

    def explain(self, state: State[None]) -> str:
        return "Deadband moves to v where it is far, and learns nothing."


@register("plants.Interpolation")
@dataclass(frozen=True)
class Interpolation(Policy[None]):
    """Go a fixed share of the way to v.

    Parameters
    ----------
    share : float
        The share, in (0, 1].

    Examples
    --------
    >>> policy = Interpolation(0.5)
    >>> policy.act(policy.start([0.0]), v=[4.0])[0]
    array([2.])
    """

    share: float

    def __post_init__(self) -> None:
        set_fields(self, share=number("share", self.share, above=0.0, most=1.0))

    def decide(self, state: State[None], v: Array) -> tuple[Array, None]:
        return state.x + self.share * (v - state.x), None

    def explain(self, state: State[None]) -> str:
        return f"Interpolation moves {100 * self.share:g} % of the way to v, and learns nothing."


@register("plants.ScheduledLAI")
@dataclass(frozen=True)
class ScheduledLAI(Policy[None]):
    """LAI for an A that depends on the context: A(context) now, and the mean A in later rounds.

    It is the benchmark of a plant whose hitting cost changes with the weather or the load. With one level it is LAI
    with a fixed A, whatever factor it is told.

    Parameters
    ----------
    mean : array_like, shape (d, d)
        The mean A, in coordinates where the switching cost is unweighted.
    levels : array_like, shape (n,)
        Increasing values of the first entry of the context.
    tables : array_like, shape (n, d, d)
        A for these values; between them it is interpolated.

    Examples
    --------
    >>> policy = ScheduledLAI([[1.0]], [0.0, 1.0], [[[1.0]], [[3.0]]])
    >>> policy.act(policy.start([0.0], horizon=1), v=[4.0], context=[1.0])[0]      # C = 1 / (1 + 3)
    array([3.])
    """

    mean: ArrayLike
    levels: ArrayLike
    tables: ArrayLike

    def __post_init__(self) -> None:
        mean = positive_semidefinite("mean", self.mean)[0]
        levels = finite_array("levels", self.levels)
        tables = positive_semidefinite("tables", self.tables)[0]
        if levels.ndim != 1 or not levels.size or not (np.diff(levels) > 0.0).all():
            raise ArgumentError(f"levels must be increasing numbers, got {self.levels!r}")
        if tables.shape != (len(levels), *mean.shape):
            raise ArgumentError(f"tables must have shape {(len(levels), *mean.shape)}, got {tables.shape}")
        set_fields(self, mean=freeze(mean), levels=freeze(levels), tables=freeze(tables))

    def decide(self, state: State[None], v: Array) -> tuple[Array, None]:
        now = self._curvature_at(state.context)
        values, vectors = np.linalg.eigh(np.asarray(self.mean))
        later = (vectors * contraction(np.maximum(values, 0.0), max(state.rounds_to_go - 1.0, 0.0))) @ vectors.T
        stiffness = 2.0 * np.eye(v.shape[-1]) + now - later
        return v + np.linalg.solve(stiffness, (state.x - v)[..., None])[..., 0], None

    def explain(self, state: State[None]) -> str:
        return "ScheduledLAI uses the A(context) that it was given and learns nothing."

    def _curvature_at(self, context: Array | None) -> Array:
        """Return A for a context of shape (*batch, k)."""
        levels, tables = np.asarray(self.levels), np.asarray(self.tables)
        if len(levels) == 1:
            return np.asarray(tables[0])
        if context is None:
            raise ArgumentError("context must be given to a ScheduledLAI with several levels, got None")
        place = np.clip(np.interp(context[..., 0], levels, np.arange(len(levels))), 0.0, len(levels) - 1.0)
        below = np.minimum(place.astype(int), len(levels) - 2)
        share = (place - below)[..., None, None]
        return np.asarray((1.0 - share) * tables[below] + share * tables[below + 1])
