"""Noise that is added to the hitting cost before the player observes it.

Noise is made in two steps, so that policies which play differently are compared on the same random numbers: the
variates of a run are drawn once, and ``perturb`` turns the variate of a round into noise when the player's action is
known. To write a noise, subclass :class:`Noise`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from soqo._foundation.arguments import choice, number
from soqo._foundation.frozen_dataclasses import Value, set_fields
from soqo._model.problem import Problem
from soqo._storage.registry import register
from soqo.typing import Array

__all__ = ["Adversarial", "Gaussian", "Noise", "StudentT", "Uniform"]

_Aim = Literal["flatten", "understate", "overstate"]


class Noise(Value, ABC):
    """Feedback noise.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Signs(Noise):
    ...     size: float
    ...     is_martingale = True
    ...
    ...     @property
    ...     def bound(self):
    ...         return self.size
    ...
    ...     @property
    ...     def variance(self):
    ...         return self.size**2
    ...
    ...     def variates(self, rng, horizon):
    ...         return rng.choice([-1.0, 1.0], size=horizon)
    ...
    ...     def perturb(self, variate, u, problem):
    ...         return self.size * variate
    >>> Signs(size=2.0).variance
    4.0
    """

    @property
    def bound(self) -> float:
        """The bound on the absolute value of the noise; infinite if there is none."""
        return math.inf

    @property
    @abstractmethod
    def is_martingale(self) -> bool:
        """Whether the running sum is a martingale: mean zero given the past and the player's action."""

    @property
    @abstractmethod
    def variance(self) -> float | None:
        """The variance of one reading, or None if it does not exist or depends on the player's action."""

    @abstractmethod
    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw the variates of one run.

        Parameters
        ----------
        rng : numpy.random.Generator
            The generator of the run.
        horizon : int
            The number of rounds.

        Returns
        -------
        Array, shape (horizon,)
            The variates; the first ones must not depend on the horizon.
        """

    @abstractmethod
    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        """Return the noise of a round.

        Parameters
        ----------
        variate : Array, shape (*batch,)
            The variates of this round.
        u : Array, shape (*batch, d)
            The player's displacement from the minimizer, x - v.
        problem : Problem
            The problem of this round; only an adversary uses it.

        Returns
        -------
        Array, shape (*batch,)
            The noise.
        """


@dataclass(frozen=True)
class _BoundedNoise(Noise):
    """Noise within [-cap, cap]."""

    cap: float

    def __post_init__(self) -> None:
        set_fields(self, cap=number("cap", self.cap, least=0.0))

    @property
    def bound(self) -> float:
        """The cap."""
        return self.cap


@register("Uniform")
@dataclass(frozen=True)
class Uniform(_BoundedNoise):
    """Independent noise, uniform on [-cap, cap], as in the paper.

    Parameters
    ----------
    cap : float
        The bound on the absolute value of the noise.

    Examples
    --------
    >>> Uniform(cap=3.0).variance
    3.0
    """

    @property
    def is_martingale(self) -> bool:
        """True: the noise is independent of the past and has mean zero."""
        return True

    @property
    def variance(self) -> float:
        """The variance of one reading, cap^2 / 3."""
        return self.cap**2 / 3.0

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw numbers that are uniform on [-1, 1]."""
        return rng.uniform(-1.0, 1.0, size=horizon)

    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        """Return the variates, scaled by the cap."""
        return self.cap * variate


@register("Gaussian noise")
@dataclass(frozen=True)
class Gaussian(Noise):
    """Independent normal noise.

    Parameters
    ----------
    scale : float
        The standard deviation.

    Examples
    --------
    >>> Gaussian(scale=3.0).variance, Gaussian(scale=3.0).bound
    (9.0, inf)
    """

    scale: float

    def __post_init__(self) -> None:
        set_fields(self, scale=number("scale", self.scale, least=0.0))

    @property
    def is_martingale(self) -> bool:
        """True: the noise is independent of the past and has mean zero."""
        return True

    @property
    def variance(self) -> float:
        """The variance of one reading."""
        return self.scale**2

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw standard normal numbers."""
        return rng.standard_normal(horizon)

    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        """Return the variates, multiplied by the scale."""
        return self.scale * variate


@register("StudentT noise")
@dataclass(frozen=True)
class StudentT(Noise):
    """Independent noise with Student's t distribution: mostly small, sometimes far off.

    Parameters
    ----------
    scale : float
        The factor of a standard t variable.
    df : float
        The degrees of freedom; the mean exists above 1, and the variance above 2.

    Examples
    --------
    >>> StudentT(scale=1.0, df=4.0).variance, StudentT(scale=1.0, df=2.0).variance
    (2.0, None)
    """

    scale: float
    df: float = 3.0

    def __post_init__(self) -> None:
        set_fields(self, scale=number("scale", self.scale, least=0.0), df=number("df", self.df, above=0.0))

    @property
    def is_martingale(self) -> bool:
        """Whether the mean exists, which is then zero."""
        return self.df > 1.0

    @property
    def variance(self) -> float | None:
        """The variance of one reading, scale^2 df / (df - 2), or None if it does not exist."""
        return self.scale**2 * self.df / (self.df - 2.0) if self.df > 2.0 else None

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw standard t variables."""
        return rng.standard_t(self.df, size=horizon)

    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        """Return the variates, multiplied by the scale."""
        return self.scale * variate


@register("Adversarial")
@dataclass(frozen=True)
class Adversarial(_BoundedNoise):
    """Noise of full size whose sign is chosen by an adversary who knows A and sees x.

    Parameters
    ----------
    cap : float
        The absolute value of the noise.
    aim : {"flatten", "understate", "overstate"}
        What the adversary makes the player believe. ``"flatten"``: directions of low curvature look costly and those of
        high curvature cheap, so that the player follows v where it should stay and stays where it should follow (in one
        dimension it overstates). ``"understate"``: every cost looks smaller (a bias of -cap). ``"overstate"``: every
        cost looks larger (+cap).

    Examples
    --------
    >>> problem = Problem([[4.0, 0.0], [0.0, 1.0]])
    >>> u = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> Adversarial(cap=2.0).perturb(np.zeros(2), u, problem)
    array([-2.,  2.])
    """

    aim: _Aim = "flatten"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("aim", self.aim, get_args(_Aim))

    @property
    def is_martingale(self) -> bool:
        """Whether the noise is zero; otherwise it depends on the player's action or has a bias."""
        return self.cap == 0.0

    @property
    def variance(self) -> float | None:
        """None if the sign depends on the player's action, otherwise zero."""
        return None if self.aim == "flatten" and self.cap else 0.0

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Return zeros: the adversary uses no random numbers."""
        return np.zeros(horizon)

    def perturb(self, variate: Array, u: Array, problem: Problem) -> Array:
        """Return plus or minus the cap, as the aim requires for this displacement."""
        if self.aim == "flatten":
            # Policies play in the coordinates where switching is plain l2.
            components = np.abs(problem.plain.spectrum.into(problem.coordinates.to_plain(u)))
            upwards = components[..., 0] >= components[..., -1]
        else:
            upwards = np.full(u.shape[:-1], self.aim == "overstate")
        return np.where(upwards, self.cap, -self.cap)
