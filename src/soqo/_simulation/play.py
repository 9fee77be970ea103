"""Play of one policy on given sample paths, all runs at once: what the plant applies, and what the policy hears."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.arguments import vector
from soqo._foundation.blas import is_finite_quick
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.problem import Problem
from soqo._model.spectrum import quadratic_form
from soqo._simulation.paths import Paths
from soqo.errors import ArgumentError
from soqo.meters import Transmission
from soqo.policies import Policy, State
from soqo.typing import Array, BoolArray, IntArray

_PROGRESS_CALLS = 100
"""The number of progress calls per policy."""


@dataclass(frozen=True)
class Trajectory(Value):
    """The actions of a policy on given paths.

    Attributes
    ----------
    x : Array, shape (runs, T, d)
        The actions, as the plant applied them.
    diverged : BoolArray, shape (runs,)
        Which runs have diverged.
    diagnostics : dict
        The diagnostics of the policy after the last round.
    """

    x: Array
    diverged: BoolArray
    diagnostics: dict[str, Any]


def play(policy: Policy[Any], paths: Paths, *, progress: Callable[[int], None] | None = None) -> Trajectory:
    """Play one policy on given sample paths, all runs at once.

    Parameters
    ----------
    policy : Policy
        The policy, in the coordinates of the problem (``Weighted`` if the problem has a switching weight, ``Periodic``
        if positions are angles).
    paths : Paths
        The sample paths, from :meth:`soqo.Environment.draw`.
    progress : callable, optional
        Called with the number of rounds done, about a hundred times.

    Returns
    -------
    Trajectory
        The actions.

    See Also
    --------
    simulate : Play several policies, and compare them with the benchmark.

    Examples
    --------
    >>> import soqo
    >>> environment = soqo.Environment(
    ...     soqo.Problem(np.diag([1.0, 2.0])), soqo.processes.Gaussian(5.0), soqo.noise.Uniform(1.0)
    ... )
    >>> paths = environment.draw(horizon=9, runs=3, seed=0)
    >>> bool((play(soqo.FTM(), paths).x == paths.v).all())
    True
    """
    problem, horizon = paths.problem, paths.horizon
    changes = dict(paths.later)
    v = vector("v", paths.v.swapaxes(0, 1), (horizon, *paths.x0.shape))
    is_told = paths.offset is None and paths.shift is None and paths.period is None
    told = v if is_told else np.ascontiguousarray(paths.told.swapaxes(0, 1))
    x = np.empty_like(v)
    every = max(1, horizon // _PROGRESS_CALLS)
    meter = _Meter(paths, exact=policy.exact_feedback)
    plant = None if paths.is_direct and paths.actuation is None else _Plant(paths)
    mail = None if paths.delays is None else _Mail(paths.delays, paths.max_delay)
    post = _Post(policy, plant, meter, paths.max_delay)
    state = policy.start(paths.x0, horizon, paths.policy_generators(), max_delay=paths.max_delay)
    position = paths.x0
    # A non-finite action or cost marks the run as diverged, so warnings are suppressed.
    with np.errstate(over="ignore", invalid="ignore"):
        for t, target in enumerate(v):
            problem = changes.get(t, problem)
            known = _known(paths, t)
            v_told = told[t].copy()  # a copy, which the policy may keep
            if paths.active is None:
                action, state = policy.act_unchecked(state, v_told, **known)
            else:
                action, state = policy.act(state, v_told, active=paths.active[:, t], **known)
            if plant is not None:
                action = plant.apply(action, t)
            x[t] = action
            u = action - target if plant is None else plant.displacement(t)
            y = meter.read(problem, u, t, action, position)
            position = action
            if mail is None:
                state = post.deliver(state, t, y)
            else:
                for number, arrived in mail.exchange(t, y, always=plant is not None):
                    state = post.deliver(state, t, arrived, number)
            if progress is not None and ((t + 1) % every == 0 or t + 1 == horizon):
                progress(t + 1)
    by_run = np.ascontiguousarray(x.swapaxes(0, 1))
    return Trajectory(by_run, policy.diverged(state), policy.diagnostics(state))


def _known(paths: Paths, t: int) -> dict[str, Array]:
    """Return what a policy is told in a round beside v, as copies, which it may keep."""
    found = {}
    if paths.context is not None:
        found["context"] = paths.context[:, t].copy()
    if paths.factor is not None:
        found["factor"] = paths.factor[:, t].copy()
    return found


class _Plant:
    """The plant of some runs: where its actuators go, and where that is felt."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.x = self.felt = paths.x0

    def apply(self, asked: Array, t: int) -> Array:
        """Return where the actuators go in a round, which is counted from zero."""
        paths = self.paths
        moved = asked if paths.actuation is None else paths.actuation.apply(self.x, asked)
        if paths.active is not None:
            moved = np.where(paths.active[:, t], moved, self.x)
        self.felt = moved + paths.keep * (self.felt - moved)
        self.x = moved
        return moved

    def displacement(self, t: int) -> Array:
        """Return the displacement that causes the hitting cost of a round."""
        return self.paths.displacements(self.felt, t)

    def report(self, t: int) -> dict[str, Array]:
        """Return what a policy is told about the position, for the arguments of ``observe``."""
        if self.paths.actuation is None:
            return {}
        found = {"applied": self.x}
        if self.paths.keep:
            # Actuators that are out of order do not count, wherever they are felt.
            active = self.paths.active
            found["at"] = self.felt if active is None else np.where(active[:, t], self.felt, self.x)
        return found


class _Meter:
    """The meter of some runs: the hitting cost in its unit, with noise, through a chain of effects."""

    def __init__(self, paths: Paths, *, exact: bool) -> None:
        self.noise = None if exact else paths.noise
        self.variates = np.ascontiguousarray(paths.variates.T)
        self.unit = None if exact or paths.unit is None else np.ascontiguousarray(paths.unit.T)
        factor = None if paths.factor is None else np.ascontiguousarray(paths.factor.T)
        self.load = None if exact or paths.load is None else np.ascontiguousarray(paths.load.T)
        self.covariates = None if exact or paths.covariates is None else paths.covariates.swapaxes(0, 1)
        # Noise and meters see the hitting cost in the unit of the meter.
        self.factor = factor if self.unit is None else (1.0 if factor is None else factor) / self.unit
        self.chain = [(one, np.ascontiguousarray(drawn.T)) for one, drawn in ([] if exact else paths.meters)]
        self.last = [np.full(paths.runs, np.nan) for _ in self.chain]

    def read(self, problem: Problem, u: Array, t: int, x: Array, x_prev: Array) -> Array:
        """Return the readings of a round, which is counted from zero; a cost that overflows gives no reading."""
        y = quadratic_form(problem.A, u)
        if self.factor is not None:
            y = self.factor[t] * y
        if self.load is not None:
            y = y + self.load[t]
        if self.noise is not None:
            y = y + self.noise.perturb(self.variates[t], u, problem)
            if y.shape != self.variates[t].shape:
                shape = self.variates[t].shape
                raise ArgumentError(f"noise must return one number per run, shape {shape}, got {y.shape}")
        if not is_finite_quick(y):
            y = np.where(np.isfinite(y), y, np.nan)
        if self.chain:
            y = self._transmit(y, t, problem.switching_cost(x, x_prev))
        return y if self.unit is None else y * self.unit[t]

    def _transmit(self, y: Array, t: int, switching: Array) -> Array:
        """Return what the chain makes of the readings of a round."""
        if self.unit is not None:
            switching = switching / self.unit[t]
        for index, (meter, variates) in enumerate(self.chain):
            y = meter.read(y, Transmission(t + 1, variates[t], self.last[index], switching))
            if y.shape != switching.shape:
                raise ArgumentError(f"meters must return one number per run, shape {switching.shape}, got {y.shape}")
            self.last[index] = y
        return y


class _Mail:
    """The readings on their way to the player."""

    def __init__(self, delays: IntArray, max_delay: int) -> None:
        self.delays = np.ascontiguousarray(delays.T)
        self.max_delay = max_delay
        self.sent: dict[int, Array] = {}

    def exchange(self, t: int, y: Array, *, always: bool) -> Iterator[tuple[int, Array]]:
        """Send the readings of a round, which is counted from zero; return those that arrive in it, with their rounds.

        The rounds are in order and counted from one. Runs for which no reading arrives have NaN. The current round is
        returned if readings arrive, or ``always``.
        """
        self.sent[t] = y
        self.sent.pop(t - self.max_delay - 1, None)
        for k, sent in self.sent.items():
            arrives = self.delays[k] == t - k
            if arrives.any() or (always and k == t):
                yield k + 1, np.where(arrives, sent, np.nan)


class _Post:
    """What a policy hears with a reading: where the actuators went, where it was felt, its unit and its covariates."""

    def __init__(self, policy: Policy[Any], plant: _Plant | None, meter: _Meter, max_delay: int) -> None:
        self.policy, self.plant, self.max_delay = policy, plant, max_delay
        with_reading = {"unit": meter.unit, "covariates": meter.covariates}
        self.with_reading = {name: part for name, part in with_reading.items() if part is not None}
        self.reports: dict[int, dict[str, Array]] = {}

    def deliver(self, state: State[Any], t: int, y: Array, number: int | None = None) -> State[Any]:
        """Return the state after readings of a round (counted from one), in a round t that is counted from zero."""
        if self.plant is None and not self.with_reading:
            return self.policy.observe_unchecked(state, y, number)
        k = t if number is None else number - 1
        if t not in self.reports:
            self.reports[t] = {} if self.plant is None else self.plant.report(t)
            self.reports.pop(t - self.max_delay - 1, None)
        told = {name: value.copy() for name, value in self.reports.get(k, {}).items() if k == t or name != "applied"}
        told |= {name: part[k].copy() for name, part in self.with_reading.items()}
        if not is_finite_quick(y):
            y = np.where(np.isfinite(y), y, np.nan)
        return self.policy.observe(state, y, round=number, **told)
