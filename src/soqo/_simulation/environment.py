"""An environment: a problem, a process that moves v, noise, and what else a plant does; it draws sample paths."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from soqo._foundation.arguments import instance, integer, numbers, vector
from soqo._foundation.frozen_dataclasses import Value, freeze, set_fields
from soqo._foundation.random_streams import streams
from soqo._model.changing_curvature import Change
from soqo._model.problem import Problem, RandomProblem
from soqo._simulation.actuation import Actuation
from soqo._simulation.context import Context
from soqo._simulation.covariates import Covariates
from soqo._simulation.delay import Delay
from soqo._simulation.factor import Factor
from soqo._simulation.offset import Offset
from soqo._simulation.outages import Outages
from soqo._simulation.paths import Paths
from soqo._storage.registry import add_fields, register
from soqo.errors import ArgumentError
from soqo.meters import Meter
from soqo.noise import Noise
from soqo.processes import Process
from soqo.typing import Array, ArrayLike


@register(
    "Environment",
    version=5,
    migrations={
        1: add_fields(offset=None, meters=()),
        2: add_fields(delay=None, context=None, factor=None),
        3: add_fields(unit=None, outages=None, actuation=None, period=None),
        4: add_fields(covariates=None),
    },
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
    unit : Factor, optional
        The unit of the meter, which the player is told with each reading: noise and meters see the hitting cost in this
        unit, so that a reading is y = s 1/2 u'Au + unit (base load + noise).
    outages : Outages, optional
        Actuators that are out of order: they stay, and do not count. The player is told which ones are active; the
        benchmark knows all outages in advance.
    actuation : Actuation, optional
        What the plant makes of an action: the largest step, a deadband, a lag. The player is told where the actuators
        went, and where the reading was felt. The benchmark knows the lag; its own actions are applied as they are.
    period : float or array_like of shape (d,), optional
        The period of positions that are angles; an infinite entry for one that is not. The player is told v modulo the
        period, and each policy is made :class:`soqo.Periodic` by :func:`soqo.simulate`.
    covariates : Covariates, optional
        A part of the base load that depends on what the player is told with each reading. Policies with exact feedback
        do not see it.

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
    unit: Factor | None = None
    outages: Outages | None = None
    actuation: Actuation | None = None
    period: Array | None = None
    covariates: Covariates | None = None

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
        unit: Factor | None = None,
        outages: Outages | None = None,
        actuation: Actuation | None = None,
        period: ArrayLike | None = None,
        covariates: Covariates | None = None,
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
        parts: dict[str, tuple[Any, type]] = {
            "delay": (delay, Delay),
            "context": (context, Context),
            "factor": (factor, Factor),
            "unit": (unit, Factor),
            "outages": (outages, Outages),
            "actuation": (actuation, Actuation),
            "covariates": (covariates, Covariates),
        }
        for name, (part, kind) in parts.items():
            if part is not None:
                instance(name, part, kind)
            set_fields(self, **{name: part})
        if context is not None:
            context.draw([np.random.default_rng(0)], 1, dim=problem.dim)  # which checks the dimension
        if actuation is not None:
            actuation.check_dim(problem.dim)
        set_fields(self, offset=offset, meters=chain, period=_check_period(period, problem.dim))
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
        seen = (self.context, self.covariates)
        _require_memory(horizon, runs, self.dim, sum(0 if one is None else one.components for one in seen))
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
        delays, max_delay, context, shift, factor, unit, active = None, 0, None, None, None, None, None
        covariates, load = None, None
        if self.delay is not None:
            delays, max_delay = self.delay.draw(streams(seed, numbers, "delay"), horizon), self.delay.max_rounds
        if self.context is not None:
            context, shift = self.context.draw(streams(seed, numbers, "context"), horizon, dim=self.dim)
        if self.factor is not None:
            factor = self.factor.draw(streams(seed, numbers, "factor"), horizon)
        if self.unit is not None:
            unit = self.unit.draw(streams(seed, numbers, "unit"), horizon)
        if self.outages is not None:
            active = self.outages.draw(streams(seed, numbers, "outages"), horizon, dim=self.dim)
        if self.covariates is not None:
            covariates, load = self.covariates.draw(streams(seed, numbers, "covariates"), horizon)
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
            unit=unit,
            active=active,
            actuation=self.actuation,
            period=self.period,
            covariates=covariates,
            load=load,
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


def _check_period(period: ArrayLike | None, dim: int) -> Array | None:
    """Return the periods of the actuators."""
    if period is None:
        return None
    periods = numbers("period", period)
    if periods.shape not in ((), (dim,)) or not (periods > 0.0).all():
        raise ArgumentError(f"period must be a number above 0 or one for each of {dim} actuators, got {period!r}")
    return freeze(periods)


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
    # Per round of a run: v and a policy's actions in two memory layouts; variates and the parts of the costs; contexts.
    needed = 8.0 * runs * horizon * (3 * dim + 6 + components)
    if needed > memory:
        raise ArgumentError(
            f"runs and horizon must fit into a memory of {memory / 2**30:.0f} GiB, got {runs} runs of {horizon} rounds "
            f"in {dim} dimensions, which need {needed / 2**30:,.0f} GiB: simulate fewer at a time (first_run)"
        )
