"""An environment: a problem, a process that moves v, and noise; it draws sample paths that policies share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from soqo._foundation.arguments import instance, integer, vector
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._foundation.random_streams import streams
from soqo._model.changing_curvature import Change
from soqo._model.gains import recursive_gains
from soqo._model.problem import Problem, RandomProblem
from soqo._simulation.context import Context
from soqo._simulation.delay import Delay
from soqo._simulation.factor import Factor
from soqo._simulation.offset import Offset
from soqo._storage.registry import add_fields, register
from soqo.errors import ArgumentError
from soqo.meters import Meter
from soqo.noise import Noise
from soqo.processes import Process
from soqo.typing import Array, ArrayLike, IntArray


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

    @property
    def told(self) -> Array:
        """The minimizers that the player is told, shape (runs, T, d): v plus the offset minus the shift."""
        told = self.v if self.offset is None else self.v + self.offset
        return told if self.shift is None else told - self.shift

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

    def costs(self, x: Array) -> tuple[Array, Array]:
        """Return the hitting and the switching cost of every round.

        Parameters
        ----------
        x : Array, shape (runs, T, d)
            The actions.

        Returns
        -------
        hitting, switching : Array, shape (runs, T)
            The costs.
        """
        hitting, switching = self.problem.path_costs(x, self.v, x0=self.x0)
        for first, stop, problem in self.segments[1:]:
            here = slice(first, stop)
            hitting[:, here] = problem.path_costs(x[:, here], self.v[:, here], x0=self.x0)[0]
        return (hitting if self.factor is None else hitting * self.factor), switching

    def policy_generators(self) -> list[np.random.Generator]:
        """Return new generators for a policy's own draws, one per run, which are the same for every policy."""
        return streams(self.seed, range(self.first_run, self.first_run + self.runs), "policy")


@register(
    "Environment",
    version=3,
    migrations={1: add_fields(offset=None, meters=()), 2: add_fields(delay=None, context=None, factor=None)},
)
@dataclass(frozen=True)
class Environment(Value):
    """A problem, a process and a noise.

    Parameters
    ----------
    problem : Problem or RandomProblem
        The problem; a :class:`RandomProblem` draws an A for each run.
    process : Process
        The process that moves v.
    noise : Noise
        The noise of the feedback.
    x0, v0 : array_like, shape (d,), optional
        The action and the minimizer before the first round; zero by default, because the paper leaves them open.
    changes : Change or sequence of Change
        The changes of A during a run, in the order of their rounds. The benchmark knows all of them in advance.
    offset : Offset, optional
        The error of the minimizer that the player is told. The benchmark knows it.
    meters : Meter or sequence of Meter
        What happens to a reading on its way to the player, in this order (:mod:`soqo.meters`). Policies with exact
        feedback do not see it.
    delay : Delay, optional
        The number of rounds by which readings are late. Every policy is started with the largest one.
    context : Context, optional
        A part of the minimizer that the player is not told, but could learn from what it sees. The benchmark knows it.
    factor : Factor, optional
        What multiplies the hitting cost. The player is told it round by round; the benchmark knows it in advance.

    Raises
    ------
    ArgumentError
        If an argument is of the wrong type or dimension, or changes overlap.

    Examples
    --------
    >>> from soqo import noise, processes
    >>> environment = Environment(Problem(np.eye(2)), processes.Gaussian(50.0), noise.Uniform(10.0))
    >>> few = environment.draw(horizon=5, runs=2, seed=1)
    >>> many = environment.draw(horizon=9, runs=3, seed=1)
    >>> bool((few.v == many.v[:2, :5]).all())
    True
    """

    problem: Problem | RandomProblem
    process: Process
    noise: Noise
    x0: Array = field(repr=False)
    v0: Array = field(repr=False)
    changes: tuple[Change, ...] = ()
    offset: Offset | None = None
    meters: tuple[Meter, ...] = ()
    delay: Delay | None = None
    context: Context | None = None
    factor: Factor | None = None

    def __init__(
        self,
        problem: Problem | RandomProblem,
        process: Process,
        noise: Noise,
        *,
        x0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        changes: Change | Iterable[Change] = (),
        offset: Offset | None = None,
        meters: Meter | Iterable[Meter] = (),
        delay: Delay | None = None,
        context: Context | None = None,
        factor: Factor | None = None,
    ) -> None:
        instance("problem", problem, Problem, RandomProblem)
        instance("process", process, Process)
        instance("noise", noise, Noise)
        set_fields(self, problem=problem, process=process, noise=noise, changes=_as_changes(changes, problem))
        if offset is not None:
            instance("offset", offset, Offset)
            offset.paths([np.random.default_rng(0)], 1, dim=problem.dim)  # which checks the dimension
        chain = (meters,) if isinstance(meters, Meter) else tuple(meters)
        for meter in chain:
            instance("meters", meter, Meter)
        if delay is not None:
            instance("delay", delay, Delay)
        if context is not None:
            instance("context", context, Context)
            context.draw([np.random.default_rng(0)], 1, dim=problem.dim)  # which checks the dimension
        if factor is not None:
            instance("factor", factor, Factor)
        set_fields(self, offset=offset, meters=chain, delay=delay, context=context, factor=factor)
        origin = np.zeros(problem.dim)
        for name, start in (("x0", x0), ("v0", v0)):
            set_fields(self, **{name: freeze(vector(name, origin if start is None else start, origin.shape))})

    @property
    def dim(self) -> int:
        """The dimension d of an action."""
        return self.problem.dim

    def draw(self, horizon: int, runs: int, *, seed: int, first_run: int = 0) -> Paths:
        """Draw sample paths.

        Run k of a seed does not depend on the horizon, the number of runs or the first run, so a large simulation can
        be split: ``draw(T, 100, s)`` is ``draw(T, 50, s)`` followed by ``draw(T, 50, s, first_run=50)``.

        Parameters
        ----------
        horizon, runs : int
            The number of rounds and of runs.
        seed : int
            The seed of all random numbers.
        first_run : int
            The number of the first run.

        Returns
        -------
        Paths
            The sample paths.

        Raises
        ------
        ArgumentError
            If the paths do not fit into memory, the process does not give finite paths of the right shape, or there
            are fewer A than runs.
        """
        horizon, runs = integer("horizon", horizon, least=1), integer("runs", runs, least=1)
        first_run = integer("first_run", first_run, least=0)
        _require_memory(horizon, runs, self.dim, 0 if self.context is None else self.context.components)
        numbers = range(first_run, first_run + runs)
        problem, later = self._draw_problems(seed, numbers)
        v = self.process.paths(streams(seed, numbers, "steps"), horizon, v0=self.v0, first_run=first_run)
        if v.shape != (runs, horizon, self.dim):
            raise ArgumentError(f"process must give paths of shape {(runs, horizon, self.dim)}, got {v.shape}")
        if not np.isfinite(v).all():
            run, t, _ = np.argwhere(~np.isfinite(v))[0]
            raise ArgumentError(
                f"process must give finite paths, got {type(self.process).__name__} past the largest float "
                f"in run {first_run + run}, round {t + 1}"
            )
        variates = np.stack([self.noise.variates(rng, horizon) for rng in streams(seed, numbers, "noise")])
        x0 = np.broadcast_to(self.x0, (runs, self.dim))
        offset = None
        if self.offset is not None:
            offset = self.offset.paths(streams(seed, numbers, "offset"), horizon, dim=self.dim)
        meters = self._draw_meters(seed, numbers, horizon)
        delays, max_delay, context, shift, factor = None, 0, None, None, None
        if self.delay is not None:
            delays, max_delay = self.delay.draw(streams(seed, numbers, "delay"), horizon), self.delay.max_rounds
        if self.context is not None:
            context, shift = self.context.draw(streams(seed, numbers, "context"), horizon, dim=self.dim)
        if self.factor is not None:
            factor = self.factor.draw(streams(seed, numbers, "factor"), horizon)
        return Paths(
            problem,
            v,
            self.noise,
            variates,
            x0,
            seed,
            first_run,
            later,
            offset,
            meters,
            delays=delays,
            max_delay=max_delay,
            context=context,
            shift=shift,
            factor=factor,
        )

    def _draw_meters(self, seed: int, numbers: range, horizon: int) -> tuple[tuple[Meter, Array], ...]:
        """Draw the random numbers of the meters; each has streams of its own."""
        spawned = [rng.spawn(len(self.meters)) for rng in streams(seed, numbers, "meter")]
        return tuple(
            (meter, np.stack([meter.variates(rngs[index], horizon) for rngs in spawned]))
            for index, meter in enumerate(self.meters)
        )

    def _draw_problems(self, seed: int, numbers: range) -> tuple[Problem, tuple[tuple[int, Problem], ...]]:
        """Draw the first problem, and the later ones with their rounds."""
        generators = streams(seed, numbers, "curvature")
        if isinstance(self.problem, RandomProblem):
            family, first = self.problem, self.problem.draw(generators)
        else:
            family, first = None, _select_runs(self.problem, numbers)
        later: list[tuple[int, Problem]] = []
        for change in self.changes:
            before = later[-1][1] if later else first
            if isinstance(change.problem, Problem):
                change = replace(change, problem=_select_runs(change.problem, numbers))
            later += change.problems(before, family, generators)
        return first, tuple(later)


def _as_changes(changes: Change | Iterable[Change], problem: Problem | RandomProblem) -> tuple[Change, ...]:
    """Return changes as a tuple, after checks that they fit the problem and do not overlap."""
    changes = tuple(changes) if isinstance(changes, Iterable) else (changes,)
    free = 2
    for change in changes:
        if not isinstance(change, Change):
            raise ArgumentError(f"changes must hold Changes, got {type(change).__name__}")
        if change.round < free:
            raise ArgumentError(
                f"changes must be in order and not overlap, got one at round {change.round} where the one before "
                f"takes until round {free - 1}"
            )
        free = change.round + change.duration
        if change.problem is None:
            if not isinstance(problem, RandomProblem):
                raise ArgumentError(
                    "changes must have a problem if the environment has no RandomProblem to draw from, "
                    "got a Change without one"
                )
            continue
        if change.problem.dim != problem.dim:
            raise ArgumentError(f"changes must have problems of dimension {problem.dim}, got {change.problem.dim}")
        weight = change.problem.switching_weight
        # A change without a weight keeps that of the environment.
        if weight is not None and not np.array_equal(weight, np.asarray(problem.switching_weight)):
            raise ArgumentError("changes must not change the switching weight, got another")
    return changes


def _select_runs(problem: Problem, numbers: range) -> Problem:
    """Return the problem of some runs, for a problem with one A for all runs or one per run."""
    if problem.batch_shape == ():
        return problem
    if len(problem.batch_shape) != 1 or problem.batch_shape[0] < numbers.stop:
        raise ArgumentError(
            f"problem must hold one A, or one for each of {numbers.stop} runs, got batch shape {problem.batch_shape}"
        )
    return Problem(problem.A[numbers.start : numbers.stop], problem.switching_weight)


def _require_memory(horizon: int, runs: int, dim: int, components: int) -> None:
    """Raise an error for paths that do not fit into memory, before the operating system kills the process."""
    if not hasattr(os, "sysconf"):
        return
    memory = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    # Per round of a run: v and a policy's actions in two memory layouts; variates and the parts of the costs; context.
    needed = 8.0 * runs * horizon * (3 * dim + 6 + components)
    if needed > memory:
        raise ArgumentError(
            f"runs and horizon must fit into a memory of {memory / 2**30:.0f} GiB, got {runs} runs of {horizon} rounds "
            f"in {dim} dimensions, which need {needed / 2**30:,.0f} GiB: simulate fewer at a time (first_run)"
        )
