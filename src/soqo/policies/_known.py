"""Policies that know A, or need not: the benchmark LAI, the literature's ROBD, and FTM, which ignores A."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from soqo._arguments import number
from soqo._planner import lai_step, towards
from soqo._problem import Problem
from soqo._spectrum import Spectrum, positive_semidefinite
from soqo._storage.registry import register
from soqo._values import freeze
from soqo.errors import ArgumentError
from soqo.policies._base import Policy, State
from soqo.typing import Array, Rng

__all__ = ["FTM", "LAI", "ROBD"]


@register("FTM")
@dataclass(frozen=True)
class FTM(Policy[None]):
    """Follow the minimizer: x_t = v_t. No hitting cost, all of the switching cost.

    Examples
    --------
    >>> policy = FTM()
    >>> policy.act(policy.start(np.zeros(1), horizon=5), v=[3.0])[0]
    array([3.])
    """

    def decide(self, state: State[None], v: Array) -> tuple[Array, None]:
        return v, None

    def explain(self, state: State[None]) -> str:
        return "FTM goes to v in every round, and learns nothing."


@dataclass(frozen=True, eq=False)
class KnownCurvature(Policy[Spectrum]):
    """What LAI and ROBD share: A, checked and diagonalized once."""

    A: Any
    spectrum: Spectrum = field(init=False, repr=False)

    def __post_init__(self) -> None:
        A, spectrum = positive_semidefinite("A", self.A)
        object.__setattr__(self, "A", freeze(A))
        object.__setattr__(self, "spectrum", spectrum)

    @classmethod
    def for_problem(cls, problem: Problem) -> Self:
        """The policy for a problem; hand ``LAI.for_problem`` to a simulation that draws a new A for each run."""
        return cls(problem.plain.A)

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> Spectrum:
        dim = x0.shape[-1]
        if self.A.shape not in ((dim, dim), (*x0.shape, dim)):
            raise ArgumentError(
                f"A must be one matrix {(dim, dim)} or one per run to play from an x0 of shape {x0.shape}, "
                f"got shape {self.A.shape}"
            )
        return self.spectrum

    def explain(self, state: State[Spectrum]) -> str:
        return f"{type(self).__name__} plays for the A that it was given, and learns nothing."


@register("LAI")
@dataclass(frozen=True, eq=False)
class LAI(KnownCurvature):
    """Lazy adaptive interpolation, the optimal player for a known A when v is a martingale; the benchmark of regret.

    Plays x_t = C_t x_{t-1} + (I - C_t) v_t with the gains of :class:`soqo.Plan` (Bhuyan, Mukherjee and Wierman).

    Parameters
    ----------
    A : array_like, shape (d, d) or (*batch, d, d)
        The curvature in coordinates where switching is plain l2: ``problem.plain.A``, which is A itself where the
        problem has no switching weight. With an estimate in its place this is the paper's LAI(A-hat).

    Examples
    --------
    >>> policy = LAI([[1.0]])
    >>> policy.act(policy.start(np.zeros(1), horizon=1), v=[4.0])[0]   # the last round: C = 1/2
    array([2.])
    """

    def decide(self, state: State[Spectrum], v: Array) -> tuple[Array, Spectrum]:
        spectrum = state.memory
        return lai_step(spectrum, state.rounds_to_go, state.x, v), spectrum


@register("ROBD")
@dataclass(frozen=True, eq=False)
class ROBD(KnownCurvature):
    """Regularized online balanced descent for a known quadratic: the literature's competitor, of worst-case design.

    Plays the minimizer of f_t(x) + lambda1/2 |x - x_{t-1}|^2 + lambda2/2 |x - v_t|^2 (Goel, Lin, Sun and Wierman 2019,
    "Beyond online balanced descent"), here in closed form.

    Parameters
    ----------
    A : array_like, shape (d, d) or (*batch, d, d)
        The curvature in coordinates where switching is plain l2.
    lambda1
        Weight of the movement.
    lambda2
        Weight of the pull towards v; None for the one with the best competitive ratio. With m the smallest eigenvalue
        of A that ratio is (1 + sqrt(1 + 4/m)) / 2, and m + lambda2 = m lambda1 times it, or lambda2 = 0 where that
        would be negative (a small lambda1).

    Examples
    --------
    >>> policy = ROBD([[2.0]])                # m = 2, ratio (1 + sqrt 3) / 2, C = 1 / (1 + 2 ratio)
    >>> policy.act(policy.start(np.zeros(1)), v=[1.0])[0].round(6)
    array([0.732051])
    """

    lambda1: float = 1.0
    lambda2: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "lambda1", number("lambda1", self.lambda1, above=0.0))
        if self.lambda2 is not None:
            object.__setattr__(self, "lambda2", number("lambda2", self.lambda2, least=0.0))

    def decide(self, state: State[Spectrum], v: Array) -> tuple[Array, Spectrum]:
        spectrum = state.memory
        values = spectrum.values
        # m r with r = (1 + sqrt(1 + 4/m)) / 2, written so that m = 0 gives 0.
        m = values[..., :1]
        if self.lambda2 is None:
            pull = values - m + np.maximum(m, self.lambda1 * 0.5 * (m + np.sqrt(m * (m + 4.0))))
        else:
            pull = values + self.lambda2
        return towards(spectrum, pull / (pull + self.lambda1), state.x, v), spectrum
