"""Every policy on the same sample paths, all runs at once."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from soqo._arguments import integer, surely_finite, vector
from soqo._changes import known_path
from soqo._environment import Environment, Paths
from soqo._planner import Plan, contraction, of_path
from soqo._problem import Problem
from soqo._result import Result, Track
from soqo._spectrum import quadratic_form
from soqo._storage.records import describe
from soqo._version import __version__
from soqo.errors import ArgumentError, SoqoError
from soqo.noise import Noise
from soqo.policies._base import Policy, unchecked
from soqo.policies._wrappers import in_plant_units
from soqo.typing import Array, BoolArray

__all__ = ["Trajectory", "play", "simulate"]

Progress = Callable[[int, int, str], None]

TICKS = 100
"""How many times a policy's rounds are cut for the progress callback."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What a policy did on given paths.

    Attributes
    ----------
    x : Array, shape (runs, T, d)
    diverged : BoolArray, shape (runs,)
    diagnostics : dict
        The policy's own, after the last round.
    """

    x: Array
    diverged: BoolArray
    diagnostics: dict[str, Any]


def simulate(
    environment: Environment,
    policies: Mapping[str, object],
    horizon: int,
    runs: int = 20,
    seed: int = 0,
    *,
    first_run: int = 0,
    progress: Progress | None = None,
    record: bool = False,
) -> Result:
    """Play every policy on the same sample paths and compare each with LAI, who knows A.

    Parameters
    ----------
    environment : Environment
    policies : mapping of str to Policy
        The policies by name. In place of a policy there may be a function that makes one from the problem that was
        drawn, such as ``ROBD.for_problem``, for policies that know A. Where the problem has a switching weight, a policy
        plays in coordinates in which switching is plain l2 (:class:`soqo.Weighted`), unless it is ``Weighted`` already.
    horizon, runs : int
        Rounds T, and independent runs.
    seed : int
        The same seed gives the same numbers; run k is the same whatever ``runs`` is.
    first_run : int
        Number of the first run, for a simulation that is cut into pieces.
    progress : callable, optional
        Called as ``progress(done, total, name)`` with policy-rounds done so far and the policy at work.
    record : bool
        Whether the result keeps the paths of v and of every policy.

    Returns
    -------
    Result

    Examples
    --------
    >>> import soqo
    >>> environment = soqo.Environment(
    ...     soqo.Problem(np.diag([1.0, 2.0])), soqo.processes.Gaussian(5.0), soqo.noise.Uniform(1.0)
    ... )
    >>> result = soqo.simulate(environment, {"FTM": soqo.FTM(), "LAI": soqo.LAI.for_problem}, horizon=50, runs=8)
    >>> result.regret("FTM").shape
    (8, 50)
    >>> bool(abs(result.regret("LAI")).max() < 1e-9)
    True
    """
    if not isinstance(environment, Environment):
        raise ArgumentError(f"environment must be an Environment, got {type(environment).__name__}")
    check_names(policies)
    paths = environment.draw(horizon, runs, seed, first_run)
    tracks: dict[str, Track] = {}
    recorded: dict[str, Array] = {}
    total = horizon * len(policies)
    # Overflow is no warning but a state of things: a cost past the largest float makes a run diverged.
    with np.errstate(over="ignore", invalid="ignore"):
        for index, (name, entry) in enumerate(policies.items()):
            tick = offset_progress(progress, index * horizon, total, name)
            try:
                trajectory = play(enter(entry, paths.problem), paths, tick)
            except SoqoError as error:
                raise type(error)(f"policies[{name!r}]: {error}") from error
            except Exception as error:
                error.add_note(f"in policies[{name!r}]")
                raise
            tracks[name] = track(paths, trajectory)
            if record:
                recorded[name] = trajectory.x
        benchmark = lai_path(paths)
        hitting, switching = paths.costs(benchmark)
    return Result(
        tracks=tracks,
        benchmark_hitting=hitting,
        benchmark_switching=switching,
        first_run=first_run,
        configuration=configuration(environment, policies, horizon, runs, seed, first_run),
        v=paths.v if record else None,
        actions={**recorded, Result.BENCHMARK: benchmark} if record else None,
    )


def check_names(policies: Mapping[str, object]) -> None:
    """Policies need names that figures, files and tables can tell apart."""
    if not policies or not isinstance(policies, Mapping):
        raise ArgumentError(f"policies must map names to policies, got {policies!r}")
    names: list[Any] = list(policies)
    for name in names:
        if not isinstance(name, str) or not name.strip(" ,") or name == Result.BENCHMARK:
            raise ArgumentError(
                f"policies must have names that are words, other than {Result.BENCHMARK!r}, got {name!r}"
            )


def track(paths: Paths, trajectory: Trajectory) -> Track:
    """What a policy's actions cost."""
    hitting, switching = paths.costs(trajectory.x)
    finite = np.isfinite(hitting + switching).all(axis=1)
    return Track(
        hitting,
        switching,
        excess(paths, trajectory.x),
        trajectory.diverged | ~finite,
        trajectory.diagnostics,
    )


def play(policy: Policy[Any], paths: Paths, tick: Callable[[int], None] | None = None) -> Trajectory:
    """Run one policy on given paths, all runs at once.

    Parameters
    ----------
    policy : Policy
        In the problem's own coordinates (wrap it in ``Weighted`` where the problem has a switching weight).
    paths : Paths
    tick : callable, optional
        Called with the number of rounds done, about a hundred times.
    """
    problem, horizon = paths.problem, paths.horizon
    changes = dict(paths.later)
    v = vector("v", paths.v.swapaxes(0, 1), (horizon, *paths.x0.shape))
    variates = np.ascontiguousarray(paths.variates.T)
    x = np.empty_like(v)
    every = max(1, horizon // TICKS)
    noise = paths.noise if not policy.exact_feedback else None
    state = policy.start(paths.x0, horizon, paths.policy_generators())
    act, observe = unchecked(policy)  # v is checked, and y is made here
    # Overflow is no warning but a state of things: see `reading`; and a policy that asks for a non-finite action is
    # reported as diverged.
    with np.errstate(over="ignore", invalid="ignore"):
        for t, target in enumerate(v):
            problem = changes.get(t, problem)
            action, state = act(state, target.copy())  # its own, which it may write into
            x[t] = action
            u = action - target
            state = observe(state, reading(problem, u, noise, variates[t]))
            if tick is not None and ((t + 1) % every == 0 or t + 1 == horizon):
                tick(t + 1)
    by_run = np.ascontiguousarray(x.swapaxes(0, 1))
    return Trajectory(by_run, policy.diverged(state), policy.diagnostics(state))


def reading(problem: Problem, u: Array, noise: Noise | None, variate: Array) -> Array:
    """What players hear who stand off the minimizer by u; a cost past the largest float is no reading."""
    y = quadratic_form(problem.A, u)
    if noise is not None:
        y = y + noise.perturb(variate, u, problem)
        if y.shape != variate.shape:
            raise ArgumentError(f"noise must give one number to each run, shape {variate.shape}, got {y.shape}")
    return y if surely_finite(y) else np.where(np.isfinite(y), y, np.nan)


def enter(entry: object, problem: Problem) -> Policy[Any]:
    """The policy that takes part: made for the problem if need be, in the problem's coordinates."""
    policy: Any = entry
    if isinstance(policy, type):
        hint = f"{policy.__name__}(...)"
        hint += f" or {policy.__name__}.for_problem" if hasattr(policy, "for_problem") else ""
        raise ArgumentError(f"it must be a policy, got the class {policy.__name__}: use {hint}")
    if not isinstance(policy, Policy) and callable(policy):
        policy = policy(problem)
    if not isinstance(policy, Policy):
        raise ArgumentError(
            f"it must be a Policy or a function that makes one from a Problem, got {type(policy).__name__}"
        )
    return in_plant_units(policy, problem.switching_weight)


def lai_path(paths: Paths) -> Array:
    """The benchmark's actions, shape (runs, T, d)."""
    coordinates = paths.problem.coordinates
    if paths.later:
        gains, _ = paths.contractions
        x0, v = coordinates.to_plain(paths.x0), coordinates.to_plain(paths.v)
        return coordinates.from_plain(known_path(gains, v, x0))
    plan = Plan(paths.problem.plain.A, paths.horizon)
    x = plan.path(coordinates.to_plain(paths.x0), coordinates.to_plain(paths.v))
    return coordinates.from_plain(x)


def excess(paths: Paths, x: Array) -> Array:
    """What each round's action costs in expectation beyond LAI's own step from the same place, shape (runs, T).

    1/2 |x_t - x*_t|^2 in the norm of C_t^{-1}, with x*_t = C_t x_{t-1} + (I - C_t) v_t. When v is a martingale, its sum
    over rounds differs from regret by a term of mean zero.
    """
    coordinates, plain = paths.problem.coordinates, paths.problem.plain
    actions, v = coordinates.to_plain(x), coordinates.to_plain(paths.v)
    start = coordinates.to_plain(paths.x0)[:, None, :]
    before = np.concatenate([start, actions[:, :-1]], axis=1)
    if paths.later:
        gains, inverses = (np.moveaxis(C, 0, 1) for C in paths.contractions)
        error = actions - v - np.matvec(gains, before - v)
        return np.asarray(0.5 * np.vecdot(error, np.matvec(inverses, error)))
    shrink = of_path(contraction, plain.spectrum.values, paths.horizon, paths.horizon)
    shrink = np.moveaxis(shrink, 0, -2)
    off = np.matmul(actions - v, plain.spectrum.vectors)
    best = shrink * np.matmul(before - v, plain.spectrum.vectors)
    result: Array = 0.5 * (np.square(off - best) / shrink).sum(axis=-1)
    return result


def offset_progress(progress: Progress | None, before: int, total: int, name: str) -> Callable[[int], None] | None:
    """The progress callback, as seen from one policy's rounds."""
    if progress is None:
        return None
    return lambda done: progress(before + done, total, name)


def configuration(
    environment: Environment,
    policies: Mapping[str, object],
    horizon: int,
    runs: int,
    seed: int,
    first_run: int,
) -> dict[str, Any]:
    """All that made a result, as plain data."""
    return {
        "environment": describe(environment),
        "policies": {name: describe(entry) for name, entry in policies.items()},
        "horizon": integer("horizon", horizon, least=1),
        "runs": integer("runs", runs, least=1),
        "seed": integer("seed", seed, least=0),
        "first_run": integer("first_run", first_run, least=0),
        "versions": {
            "soqo": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
    }
