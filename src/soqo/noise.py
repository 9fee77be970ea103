"""What is added to the hitting cost before the player hears it: always within [-cap, cap].

Noise comes in two steps, so that policies which play differently still meet the same luck: a run's variates are drawn
once, and ``perturb`` turns the variate of a round into noise when the player's action is known. A new noise is a
subclass of :class:`Noise`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from soqo._arguments import choice, number
from soqo._problem import Problem
from soqo._storage.registry import register
from soqo.typing import Array

__all__ = ["Adversarial", "Noise", "Uniform"]


@dataclass(frozen=True)
class Noise(ABC):
    """Bounded feedback noise."""

    cap: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "cap", number("cap", self.cap, least=0.0))

    @property
    @abstractmethod
    def is_martingale(self) -> bool:
        """Whether its running sum is a martingale: mean zero, whatever came before and wherever the player stands."""

    @property
    @abstractmethod
    def variance(self) -> float | None:
        """The variance of one reading, or None where it depends on what the player does."""

    @abstractmethod
    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw one run's variates, shape (horizon,); the first must not depend on the horizon."""

    @abstractmethod
    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        """The noise of a round.

        Parameters
        ----------
        variate : Array, shape (*batch,)
            This round's variates.
        u : Array, shape (*batch, d)
            How far the player stands off the minimizer, x - v.
        problem : Problem
            The problem at hand; only an adversary looks at it.

        Returns
        -------
        Array, shape (*batch,)
        """


@register("Uniform")
@dataclass(frozen=True)
class Uniform(Noise):
    """Independent noise, uniform on [-cap, cap]: the paper's.

    Examples
    --------
    >>> Uniform(cap=3.0).variance
    3.0
    """

    @property
    def is_martingale(self) -> bool:
        return True

    @property
    def variance(self) -> float:
        return self.cap**2 / 3.0

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        return rng.uniform(-1.0, 1.0, size=horizon)

    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        return self.cap * variate


@register("Adversarial")
@dataclass(frozen=True)
class Adversarial(Noise):
    """Noise of full size whose sign is chosen against the player by somebody who knows A and sees x.

    Parameters
    ----------
    cap
        The size of the noise.
    aim
        What the player shall come to believe. ``"flatten"``: directions of little curvature are made to look costly and
        those of much curvature cheap, so that the player follows v where it should stay and stays where it should
        follow (in one dimension there is nothing to flatten, and it overstates). ``"understate"``: every cost looks
        smaller (a bias of -cap). ``"overstate"``: larger (+cap).

    Examples
    --------
    >>> problem = Problem([[4.0, 0.0], [0.0, 1.0]])
    >>> u = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> Adversarial(cap=2.0).perturb(np.zeros(2), u, problem)
    array([-2.,  2.])
    """

    aim: str = "flatten"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("aim", self.aim, ("flatten", "understate", "overstate"))

    @property
    def is_martingale(self) -> bool:
        return self.cap == 0.0

    @property
    def variance(self) -> float | None:
        return None if self.aim == "flatten" and self.cap else 0.0

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        return np.zeros(horizon)

    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        if self.aim == "flatten":
            # As the player sees it: in the coordinates where switching is plain l2.
            seen = problem.coordinates.to_plain(u)
            coordinates = np.abs(problem.plain.spectrum.into(seen))
            upwards = coordinates[..., 0] >= coordinates[..., -1]
        else:
            upwards = np.full(u.shape[:-1], self.aim == "overstate")
        return np.where(upwards, self.cap, -self.cap)
