"""What policies that know A have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Self

import numpy as np

from soqo._foundation.frozen_dataclasses import freeze, set_fields
from soqo._model.coordinates import Coordinates
from soqo._model.problem import Problem
from soqo._model.spectrum import Spectrum, positive_semidefinite
from soqo.errors import ArgumentError
from soqo.policies._base import Policy, State
from soqo.typing import Array, ArrayLike, IntArray, Rng


@dataclass(frozen=True)
class KnownCurvature(Policy[Spectrum]):
    """A policy that knows A, which is validated and diagonalized once.

    Parameters
    ----------
    A : array_like, shape (d, d) or (*batch, d, d)
        The curvature in coordinates where the switching cost is unweighted.
    plain_for : None, float or array_like of shape (d,) or (d, d), optional
        The switching weight W for which A was converted to these coordinates, W^{-1/2} A W^{-1/2}; ``for_problem``
        sets it. A plant with another switching weight is refused.
    """

    A: ArrayLike
    spectrum: Spectrum = field(init=False, repr=False)
    _: KW_ONLY
    plain_for: ArrayLike | None = None

    def __post_init__(self) -> None:
        A, spectrum = positive_semidefinite("A", self.A)
        coordinates = Coordinates(self.plain_for)
        if coordinates.dim not in (None, A.shape[-1]):
            raise ArgumentError(f"plain_for must be for dimension {A.shape[-1]} as A is, got {coordinates.dim}")
        set_fields(self, A=freeze(A), spectrum=spectrum, plain_for=coordinates.switching_weight)

    @classmethod
    def for_problem(cls, problem: Problem) -> Self:
        """Return the policy for a problem; a simulation that draws an A for each run calls this by itself.

        Parameters
        ----------
        problem : Problem
            The problem, whose A is taken in coordinates where the switching cost is unweighted.

        Examples
        --------
        >>> from soqo import LAI, Controller, Problem
        >>> problem = Problem([[4.0]], switching_weight=2.0)    # A in the units of the plant
        >>> controller = Controller(LAI.for_problem(problem), [0.0], switching_weight=2.0)
        """
        return cls(problem.plain.A, plain_for=problem.switching_weight)

    def has_curvature_for(self, switching_weight: ArrayLike | None) -> bool:
        """Return whether A is in the coordinates of a plant with this switching weight.

        Parameters
        ----------
        switching_weight : None, float, array_like of shape (d,) or (d, d)
            The weight W of the plant.
        """
        dim = np.shape(self.A)[-1]
        own, plant = _full_matrix(self.plain_for, dim), _full_matrix(switching_weight, dim)
        return own.shape == plant.shape and np.allclose(own, plant, rtol=1e-9, atol=0.0)

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> Spectrum:
        dim = x0.shape[-1]
        if (shape := np.shape(self.A)) not in ((dim, dim), (*x0.shape, dim)):
            raise ArgumentError(
                f"A must be one matrix {(dim, dim)} or one per run to play from an x0 of shape {x0.shape}, "
                f"got shape {shape}"
            )
        return self.spectrum

    def take_runs(self, memory: Spectrum, index: IntArray) -> Spectrum:
        return memory if memory.values.ndim == 1 else super().take_runs(memory, index)

    def join_runs(self, memories: Sequence[Spectrum]) -> Spectrum:
        return memories[0] if memories[0].values.ndim == 1 else super().join_runs(memories)

    @property
    def mixes_rounds(self) -> bool:
        return True

    def explain(self, state: State[Spectrum]) -> str:
        return f"{type(self).__name__} uses the A that it was given and learns nothing."


def _full_matrix(weight: ArrayLike | None, dim: int) -> Array:
    """Return a switching weight as a matrix; one of another dimension has another shape."""
    given = np.asarray(1.0 if weight is None else weight, dtype=np.float64)
    return given if given.ndim == 2 else np.diag(given if given.ndim else np.full(dim, given))
