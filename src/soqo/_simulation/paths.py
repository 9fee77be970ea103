"""Sample paths: everything that happens in some runs, whatever a policy does, and what its actions cost there."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo._foundation.random_streams import streams
from soqo._model.gains import recursive_gains
from soqo._model.lagging_gains import lagging_gains
from soqo._model.problem import Problem
from soqo._simulation.actuation import Actuation
from soqo.meters import Meter
from soqo.noise import Noise
from soqo.typing import Array, BoolArray, IntArray


@dataclass(frozen=True)
class Paths(Value):
    """Sample paths that are the same for every policy of a comparison.

    Attributes
    ----------
    problem : Problem
        The problem, with one A for all runs or one per run.
    v : Array, shape (runs, T, d)
        The minimizers.
    noise : Noise
        The noise, which turns the variates of a round into a perturbation of the readings.
    variates : Array, shape (runs, T)
        The random numbers of the noise.
    x0 : Array, shape (runs, d)
        The action before the first round.
    seed, first_run : int
        The seed and the number of the first run; a policy's own random numbers are drawn from the same seed, in
        separate streams.
    later : tuple of (int, Problem)
        The rounds (counted from zero) in which A changes, and the problem from each of them on.
    offset : Array of shape (runs, T, d), or None
        The error of the minimizer that the player is told.
    meters : tuple of (Meter, Array of shape (runs, T))
        The meters through which a reading goes, in this order, and their random numbers.
    delays : IntArray of shape (runs, T), or None
        The number of rounds by which each reading is late.
    max_delay : int
        The largest delay that is possible.
    context : Array of shape (runs, T, k), or None
        What the player sees beside the minimizer that it is told.
    shift : Array of shape (runs, T, d), or None
        The part of v that depends on the context, which the player is not told.
    factor : Array of shape (runs, T), or None
        What multiplies the hitting cost, which the player is told; None for 1.
    unit : Array of shape (runs, T), or None
        The unit of the meter in each round, which the player is told; None for 1.
    active : BoolArray of shape (runs, T, d), or None
        The actuators that can move and count; None for all.
    actuation : Actuation, or None
        What the plant makes of an action; None if it applies it at once.
    period : Array of shape () or (d,), or None
        The period of positions that are angles; None if there are none.
    covariates : Array of shape (runs, T, k), or None
        What the player is told with each reading.
    load : Array of shape (runs, T), or None
        The part of the base load that depends on the covariates, in the unit of the meter.
    """

    problem: Problem
    v: Array = field(repr=False)
    noise: Noise
    variates: Array = field(repr=False)
    x0: Array = field(repr=False)
    seed: int
    first_run: int = 0
    later: tuple[tuple[int, Problem], ...] = field(default=(), repr=False)
    offset: Array | None = field(default=None, repr=False)
    meters: tuple[tuple[Meter, Array], ...] = field(default=(), repr=False)
    delays: IntArray | None = field(default=None, repr=False)
    max_delay: int = 0
    context: Array | None = field(default=None, repr=False)
    shift: Array | None = field(default=None, repr=False)
    factor: Array | None = field(default=None, repr=False)
    unit: Array | None = field(default=None, repr=False)
    active: BoolArray | None = field(default=None, repr=False)
    actuation: Actuation | None = None
    period: Array | None = None
    covariates: Array | None = field(default=None, repr=False)
    load: Array | None = field(default=None, repr=False)

    @property
    def told(self) -> Array:
        """The minimizers that the player is told, shape (runs, T, d): v plus the offset minus the shift.

        Angles are told modulo their period.
        """
        told = self.v if self.offset is None else self.v + self.offset
        told = told if self.shift is None else told - self.shift
        if self.period is None:
            return told
        # A tiny negative angle would be rounded to the period itself.
        wrapped = told - whole_turns(told - 0.5 * np.where(np.isfinite(self.period), self.period, 0.0), self.period)
        return np.where(wrapped < self.period, wrapped, 0.0)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.v.shape[0])

    @property
    def horizon(self) -> int:
        """The number of rounds T."""
        return int(self.v.shape[1])

    @property
    def segments(self) -> list[tuple[int, int, Problem]]:
        """The segments of rounds with the same A, each as (first, stop, problem), counted from zero."""
        known = [(0, self.problem), *((t, p) for t, p in self.later if t < self.horizon)]
        ends = [*(t for t, _ in known[1:]), self.horizon]
        return [(first, end, problem) for (first, problem), end in zip(known, ends, strict=True)]

    @cached_property
    def gains(self) -> tuple[Array, Array]:
        """The gains C_t of the optimal player who knows all changes of A and all factors, and their inverses."""
        return recursive_gains(
            [(first, stop, problem.plain.A) for first, stop, problem in self.segments],
            None if self.factor is None else self.factor.T,
        )

    @property
    def keep(self) -> float:
        """The share of the old position that is still felt in a round; 0 if the plant does not lag."""
        return 0.0 if self.actuation is None else self.actuation.keep

    @property
    def is_direct(self) -> bool:
        """Whether the hitting cost is that of the action itself: no lag, no outages, no angles."""
        return self.active is None and self.period is None and not self.keep

    @cached_property
    def lagging_gains(self) -> tuple[Array, Array]:
        """The gains of the optimal player for a plant that lags or has outages, and the Hessians of its cost."""
        root = self.problem.coordinates.to_plain(np.eye(self.problem.dim))
        return lagging_gains(
            [(first, stop, problem.A) for first, stop, problem in self.segments],
            root.T @ root,
            keep=self.keep,
            factors=None if self.factor is None else self.factor.T,
            active=None if self.active is None else self.active.swapaxes(0, 1),
        )

    def felt(self, x: Array) -> Array:
        """Return where the actions are felt, shape (runs, T, d): at the actions, unless the plant lags.

        Parameters
        ----------
        x : Array, shape (runs, T, d)
            The actions, as applied.
        """
        if not self.keep:
            return x
        felt, last = np.empty_like(x), self.x0
        for t in range(x.shape[1]):
            last = felt[:, t] = x[:, t] + self.keep * (last - x[:, t])
        return felt

    def displacements(self, felt: Array, rounds: int | slice = slice(None)) -> Array:
        """Return the displacements that cause the hitting cost, shape (runs, T, d): of the active actuators.

        Parameters
        ----------
        felt : Array, shape (runs, T, d), or (runs, d) for one round
            Where the actions are felt.
        rounds : int or slice
            The round or the rounds, counted from zero; all by default.
        """
        u = felt - self.v[:, rounds]
        if self.period is not None:
            u = u - whole_turns(u, self.period)
        return u if self.active is None else np.where(self.active[:, rounds], u, 0.0)

    def costs(self, x: Array) -> tuple[Array, Array]:
        """Return the hitting and the switching cost of every round.

        Parameters
        ----------
        x : Array, shape (runs, T, d)
            The actions, as applied.

        Returns
        -------
        hitting, switching : Array, shape (runs, T)
            The costs.
        """
        hitting, switching = self.problem.path_costs(x, self.v, x0=self.x0)
        segments = self.segments[1:]
        # Where the cost is not that of the action itself, u takes the place of an action for a minimizer of zero.
        action, v = x, self.v
        if not self.is_direct:
            action = self.displacements(self.felt(x))
            v, segments = np.zeros_like(action), self.segments
        for first, stop, problem in segments:
            here = slice(first, stop)
            hitting[:, here] = problem.path_costs(action[:, here], v[:, here], x0=self.x0)[0]
        return (hitting if self.factor is None else hitting * self.factor), switching

    def policy_generators(self) -> list[np.random.Generator]:
        """Return new generators for a policy's own draws, one per run, which are the same for every policy."""
        return streams(self.seed, range(self.first_run, self.first_run + self.runs), "policy")


def whole_turns(angle: Array, period: Array) -> Array:
    """Return the multiples of the period that are nearest to angles; 0 where the period is infinite.

    Examples
    --------
    >>> whole_turns(np.array([-170.0, -190.0, 370.0]), np.array([360.0, 360.0, np.inf]))
    array([  -0., -360.,    0.])
    """
    whole = np.where(np.isfinite(period), period, 1.0)
    return np.where(np.isfinite(period), whole * np.round(angle / whole), 0.0)
