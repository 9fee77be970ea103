"""What policies that know A have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from soqo._foundation.frozen_dataclasses import freeze, set_fields
from soqo._model.problem import Problem
from soqo._model.spectrum import Spectrum, positive_semidefinite
from soqo.errors import ArgumentError
from soqo.policies._base import Policy, State
from soqo.typing import Array, ArrayLike, IntArray, Rng


@dataclass(frozen=True)
class KnownCurvature(Policy[Spectrum]):
    """A policy that knows A, which is validated and diagonalized once."""

    A: ArrayLike
    spectrum: Spectrum = field(init=False, repr=False)

    def __post_init__(self) -> None:
        A, spectrum = positive_semidefinite("A", self.A)
        set_fields(self, A=freeze(A), spectrum=spectrum)

    @classmethod
    def for_problem(cls, problem: Problem) -> Self:
        """Return the policy for a problem; a simulation that draws an A for each run calls this by itself.

        Parameters
        ----------
        problem : Problem
            The problem, whose A is taken in coordinates where the switching cost is unweighted.
        """
        return cls(problem.plain.A)

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
