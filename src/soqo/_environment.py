"""The world that a player meets: a problem, a way for v to move, and noise; drawn as coupled sample paths."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from soqo._arguments import finite_array, integer
from soqo._changes import Change, Segment, known_contractions
from soqo._problem import Problem, RandomProblem
from soqo._storage.registry import register
from soqo._streams import streams
from soqo._values import freeze
from soqo.errors import ArgumentError
from soqo.noise import Noise
from soqo.processes import Process
from soqo.typing import Array

__all__ = ["Environment", "Paths"]


@dataclass(frozen=True, eq=False)
class Paths:
    """Sample paths that every policy of a comparison meets alike.

    Attributes
    ----------
    problem : Problem
        With one A for all runs, or one per run.
    v : Array, shape (runs, T, d)
    noise : Noise
        Turns a round's variates into noise.
    variates : Array, shape (runs, T)
    x0 : Array, shape (runs, d)
    seed, first_run : int
        Where the paths came from; a policy's own probing draws from the same seed, in streams of its own.
    later : tuple of (round, Problem)
        Where A changes: rounds, counted from zero, and the problem from there on.
    """

    problem: Problem
    v: Array
    noise: Noise
    variates: Array
    x0: Array
    seed: int
    first_run: int = 0
    later: tuple[tuple[int, Problem], ...] = ()

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.v.shape[0])

    @property
    def horizon(self) -> int:
        """The number of rounds T."""
        return int(self.v.shape[1])

    @property
    def segments(self) -> list[Segment]:
        """The rounds and the problem that is theirs: first, one past the last, problem."""
        known = [(0, self.problem), *((t, p) for t, p in self.later if t < self.horizon)]
        ends = [*(t for t, _ in known[1:]), self.horizon]
        return [(first, end, problem) for (first, problem), end in zip(known, ends, strict=True)]

    @cached_property
    def contractions(self) -> tuple[Array, Array]:
        """The gains of the best player who knows all that A will be, and their inverses, once for all policies."""
        return known_contractions(self.segments)

    def costs(self, x: Array) -> tuple[Array, Array]:
        """Hitting and switching cost of every round of a path x, each of shape (runs, T)."""
        hitting, switching = self.problem.path_costs(x, self.v, self.x0)
        for first, stop, problem in self.segments[1:]:
            here = slice(first, stop)
            hitting[:, here] = problem.path_costs(x[:, here], self.v[:, here], self.x0)[0]
        return hitting, switching

    def policy_generators(self) -> list[np.random.Generator]:
        """Fresh generators for a policy's own draws, one per run, the same for every policy."""
        return streams(self.seed, range(self.first_run, self.first_run + self.runs), "policy")


@register("Environment")
@dataclass(frozen=True, eq=False)
class Environment:
    """A problem, a process and a noise.

    Parameters
    ----------
    problem : Problem or RandomProblem
        A :class:`RandomProblem` draws a new A for each run.
    process : Process
        How v moves.
    noise : Noise
        What is added to the feedback.
    x0, v0 : array_like, shape (d,), optional
        Where the player and the minimizer start; zero, as the paper leaves it open.
    changes : sequence of Change
        Where A changes in mid-run, in the order of their rounds. The benchmark knows them all beforehand.

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
    x0: Any = None
    v0: Any = None
    changes: Any = ()

    def __post_init__(self) -> None:
        for name, value, kinds in (
            ("problem", self.problem, (Problem, RandomProblem)),
            ("process", self.process, (Process,)),
            ("noise", self.noise, (Noise,)),
        ):
            if not isinstance(value, kinds):
                expected = " or ".join(kind.__name__ for kind in kinds)
                raise ArgumentError(f"{name} must be a {expected}, got {type(value).__name__}")
        for name in ("x0", "v0"):
            value = getattr(self, name)
            start = np.zeros(self.dim) if value is None else finite_array(name, value)
            if start.shape != (self.dim,):
                raise ArgumentError(f"{name} must have shape {(self.dim,)}, got {start.shape}")
            object.__setattr__(self, name, freeze(start))
        self._check_changes()

    def _check_changes(self) -> None:
        changes = (self.changes,) if isinstance(self.changes, Change) else self.changes
        if not isinstance(changes, Iterable):
            raise ArgumentError(f"changes must hold Changes, got {type(changes).__name__}")
        changes = tuple(changes)
        free = 2
        for change in changes:
            if not isinstance(change, Change):
                raise ArgumentError(f"changes must hold Changes, got {type(change).__name__}")
            if change.round < free:
                raise ArgumentError(
                    f"changes must be in order and not overlap, got one at round {change.round} where the one before "
                    f"takes until round {free - 1}"
                )
            if change.problem is None and not isinstance(self.problem, RandomProblem):
                raise ArgumentError(
                    "changes must name their problem where the environment's is no RandomProblem to draw from, "
                    "got a Change without one"
                )
            if change.problem is not None and change.problem.dim != self.dim:
                raise ArgumentError(f"changes must have problems of dimension {self.dim}, got {change.problem.dim}")
            given = getattr(change.problem, "switching_weight", None)
            if given is not None and not np.array_equal(given, self.problem.switching_weight):
                raise ArgumentError("changes must leave the switching weight as it is, got another")
            free = change.round + change.duration
        object.__setattr__(self, "changes", changes)

    @property
    def dim(self) -> int:
        """The dimension d of an action."""
        return self.problem.dim

    def draw(self, horizon: int, runs: int, seed: int, first_run: int = 0) -> Paths:
        """Draw sample paths.

        Run k of seed s is the same whatever the horizon, the number of runs or the first run, so that a large
        simulation can be cut into pieces: ``draw(T, 100, s)`` is ``draw(T, 50, s)`` followed by ``draw(T, 50, s,
        first_run=50)``."""
        integer("horizon", horizon, least=1)
        integer("runs", runs, least=1)
        integer("first_run", first_run, least=0)
        check_room(horizon, runs, self.dim)
        numbers = range(first_run, first_run + runs)
        generators = streams(seed, numbers, "curvature")
        if isinstance(self.problem, RandomProblem):
            problem = self.problem.draw(generators)
        else:
            problem = self._rows_of_given_problem(self.problem, numbers)
        later: list[tuple[int, Problem]] = []
        for change in self.changes:
            family = self.problem if isinstance(self.problem, RandomProblem) else None
            before = later[-1][1] if later else problem
            if isinstance(change.problem, Problem):
                change = replace(change, problem=self._rows_of_given_problem(change.problem, numbers))
            later += change.problems(before, family, generators)
        v = self.process.paths(streams(seed, numbers, "steps"), horizon, self.v0, first_run)
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
        return Paths(problem, v, self.noise, variates, x0, seed, first_run, tuple(later))

    @staticmethod
    def _rows_of_given_problem(problem: Problem, numbers: range) -> Problem:
        if problem.batch_shape == ():
            return problem
        if len(problem.batch_shape) != 1 or problem.batch_shape[0] < numbers.stop:
            raise ArgumentError(
                f"problem must hold one A, or one for each of {numbers.stop} runs, "
                f"got batch shape {problem.batch_shape}"
            )
        return Problem(problem.A[numbers.start : numbers.stop], problem.switching_weight)


def check_room(horizon: int, runs: int, dim: int) -> None:
    """Refuse paths that memory cannot hold, before the system ends the program for want of it."""
    if not hasattr(os, "sysconf"):
        return
    memory = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    # Of each round of a run: v, and a policy's actions in two orders; variates, and the costs in their parts.
    needed = 8.0 * runs * horizon * (3 * dim + 6)
    if needed > memory:
        raise ArgumentError(
            f"runs and horizon must leave room in a memory of {memory / 2**30:.0f} GiB, got {runs} runs of {horizon} "
            f"rounds in {dim} dimensions, which need {needed / 2**30:,.0f} GiB: simulate a few at a time (first_run)"
        )
