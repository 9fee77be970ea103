r"""The best size of SCaLE's probes: the level gamma^2 with the least expected regret.

Probes and noise are drawn once. For each level the readings, the estimates and (by Proposition 1, conditionally on the
probes) the expected regret over all paths of v follow; the mean over the draws is what is minimized, on the same draws
for all levels. In full rank the regret of exploitation is of second order in the error of the estimate, the error is of
order eta / gamma^2, and probing costs of order gamma^2; so the sum a gamma^2 + b T / gamma^4 is least at gamma^2 ~
T^(1/3), and regret grows as T^(1/3): less than the T^(1/2) of the paper's schedule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from soqo._arguments import finite_array, integer, number
from soqo._problem import Problem
from soqo._spectrum import positive_semidefinite, quadratic_form
from soqo.errors import ArgumentError
from soqo.estimators._recovery import Recovery
from soqo.noise import Noise, Uniform
from soqo.theory._moments import step_moments
from soqo.theory._scale_regret import exact_scale_regret, two_phases
from soqo.typing import Array

__all__ = ["Estimator", "ExpectedRegret", "expected_scale_regret", "optimal_gamma2"]

Estimator = Callable[[Array, Array], tuple[Array, Any]]
"""Probes (*batch, m, d) and readings (*batch, m) to estimates (*batch, d, d) and anything else."""

FACTOR = 4.0
"""From one level of the first search to the next."""

PATIENCE = 2
"""How many levels without an improvement end the first search, in each direction."""

FARTHEST = 12
"""How many levels up or down it goes at most."""


@dataclass(frozen=True, eq=False)
class ExpectedRegret:
    """Expected regret of SCaLE at one level or several.

    Attributes
    ----------
    mean, standard_error : Array, shape (levels,)
        Over draws of probes and noise; the expectation over v is exact.
    draws : Array, shape (levels, draws)
    """

    mean: Array
    standard_error: Array
    draws: Array = field(repr=False)


@dataclass(frozen=True, eq=False)
class Luck:
    """What is drawn once: A (draws, d, d), directions z (draws, m, d) and noise variates (draws, m)."""

    A: Array
    z: Array
    variates: Array
    noise: Noise

    @classmethod
    def draw(cls, A: Any, m: int, noise: Any, draws: int, seed: int) -> Luck:
        matrices, _ = positive_semidefinite("A", A)
        if matrices.ndim not in (2, 3):
            raise ArgumentError(f"A must have shape (d, d) or (k, d, d), got {matrices.shape}")
        matrices = matrices.reshape(-1, *matrices.shape[-2:])
        integer("draws", draws, least=2)
        noise = noise_model(noise)
        rngs = np.random.default_rng(integer("seed", seed, least=0)).spawn(draws)
        chosen = matrices[np.arange(draws) % len(matrices)]
        z = np.stack([rng.standard_normal((m, matrices.shape[-1])) for rng in rngs])
        return cls(chosen, z, np.stack([noise.variates(rng, m) for rng in rngs]), noise)

    @cached_property
    def problems(self) -> list[Problem]:
        """One for each draw, for noise that looks at it."""
        return [Problem(A) for A in self.A]

    def readings(self, gamma2: float) -> tuple[Array, Array]:
        """Where the player stands and what it hears, (draws, m, d) and (draws, m)."""
        u = math.sqrt(gamma2) * self.z
        draws = zip(self.variates, u, self.problems, strict=True)
        noise = np.stack([self.noise.perturb(*draw) for draw in draws])
        return u, quadratic_form(self.A[:, None], u) + noise


@dataclass(frozen=True, eq=False)
class Trial:
    """SCaLE on draws of probes and noise, at any level; the arguments are those of :func:`expected_scale_regret`."""

    luck: Luck
    covariance: Any
    horizon: int
    m: int
    estimator: Estimator
    handover: str

    @classmethod
    def of(
        cls,
        A: Any,
        covariance: Any,
        horizon: int,
        m: int,
        noise: Any,
        estimator: Estimator | None,
        handover: str,
        draws: int,
        seed: int,
    ) -> Trial:
        """Checked before the work, not after."""
        horizon, m = two_phases(horizon, m)
        luck = Luck.draw(A, m, noise, draws, seed)
        step_moments(covariance, luck.z.shape[-1], horizon)
        recover = Recovery(luck.noise.cap) if estimator is None else estimator
        return cls(luck, covariance, horizon, m, recover, handover)

    def regret(self, gamma2: float) -> Array:
        """Expected over v, for each draw."""
        estimates, _ = self.estimator(*self.luck.readings(gamma2))
        given = (self.luck.A, estimates, self.covariance, self.horizon, self.m, gamma2)
        found = exact_scale_regret(*given, handover=self.handover, probes=self.luck.z)
        return np.asarray(found.total)


def expected_scale_regret(
    gamma2: Any,
    A: Any,
    covariance: Any,
    horizon: int,
    m: int,
    noise: Any,
    *,
    estimator: Estimator | None = None,
    handover: str = "direct",
    draws: int = 64,
    seed: int = 0,
) -> ExpectedRegret:
    """The expected regret of SCaLE at given levels of probing.

    Parameters
    ----------
    gamma2 : float or array_like
        The level, or several: the same draws serve for all.
    A : array_like, shape (d, d) or (k, d, d)
        The curvature, or equally likely ones: a prior.
    covariance, horizon, m, handover
        As in :func:`exact_scale_regret`.
    noise : Noise or float
        Of the readings; a number is the cap of uniform noise.
    estimator : callable, optional
        From probes and readings to estimates; SCaLE's own if not given.
    draws, seed
        How many draws of probes and noise, and from which seed.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 2.0]]
    >>> found = expected_scale_regret([10.0, 100.0, 1000.0], A, 100.0, horizon=1000, m=12, noise=1.0, draws=32)
    >>> found.mean.round(), found.standard_error.round()
    (array([  827.,  4321., 39699.]), array([  28.,  263., 2627.]))
    """
    levels = np.atleast_1d(finite_array("gamma2", gamma2))
    if levels.ndim != 1 or not levels.size:
        raise ArgumentError(f"gamma2 must be a level or several, got shape {levels.shape}")
    trial = Trial.of(A, covariance, horizon, m, noise, estimator, handover, draws, seed)
    values = np.stack([trial.regret(number("gamma2", level, above=0.0)) for level in levels])
    return ExpectedRegret(values.mean(axis=1), values.std(axis=1, ddof=1) / math.sqrt(draws), values)


def optimal_gamma2(
    A: Any,
    covariance: Any,
    horizon: int,
    m: int,
    noise: Any,
    *,
    estimator: Estimator | None = None,
    handover: str = "direct",
    draws: int = 64,
    seed: int = 0,
) -> float:
    """The level of probing with the least expected regret, for a given A or a prior over it.

    Parameters as in :func:`expected_scale_regret`. The paper's schedule is for the worst case and does not look at how
    far v moves; this level does.

    Examples
    --------
    >>> A = [[1.0, 0.0], [0.0, 2.0]]
    >>> given = {"covariance": 2500.0, "m": 24, "noise": 1.0, "draws": 16}
    >>> levels = [optimal_gamma2(A, horizon=T, **given) for T in (10_000, 80_000)]
    >>> round(levels[1] / levels[0], 1)          # eight times the horizon, twice the level: T^(1/3)
    2.0
    """

    from scipy.optimize import (
        minimize_scalar,
    )  # here, because it would double the time of importing soqo

    trial = Trial.of(A, covariance, horizon, m, noise, estimator, handover, draws, seed)

    def regret(log_level: float) -> float:
        return float(trial.regret(math.exp(log_level)).mean())

    guess = math.log(trial.luck.noise.cap) + math.log(trial.horizon) / 3.0
    best = first_search(regret, guess)
    step = math.log(FACTOR)
    found = minimize_scalar(regret, bounds=(best - step, best + step), method="bounded", options={"xatol": 0.01})
    return math.exp(float(found.x))


def noise_model(noise: Any) -> Noise:
    """A model of noise, or uniform noise with this cap."""
    if not isinstance(noise, Noise):
        return Uniform(number("noise", noise, above=0.0))
    if noise.cap == 0.0:
        raise ArgumentError("noise must be above 0: without noise the smallest probes tell all")
    return noise


def first_search(f: Callable[[float], float], start: float) -> float:
    """The best of points a step apart, going up and down until it gets worse."""
    values = {0: f(start)}
    step = math.log(FACTOR)
    for direction in (1, -1):
        worse, k = 0, 0
        while worse < PATIENCE and abs(k) < FARTHEST:
            k += direction
            best = min(values.values())
            values[k] = f(start + k * step)
            worse = 0 if values[k] < best else worse + 1
    return start + step * min(values, key=lambda k: values[k])
