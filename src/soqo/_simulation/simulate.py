"""Simulation of every policy on the same sample paths, all runs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from soqo._foundation.arguments import integer
from soqo._foundation.text import check_label
from soqo._model.problem import Problem
from soqo._simulation.benchmark import benchmark_path, low_variance_regret
from soqo._simulation.environment import Environment
from soqo._simulation.paths import Paths
from soqo._simulation.play import Trajectory, play
from soqo._simulation.result import PolicyResult, Result, package_versions
from soqo._storage.plain_data import describe
from soqo.errors import ArgumentError, SoqoError
from soqo.policies import Periodic, Policy, match_switching_weight
from soqo.typing import Array, ArrayLike

Progress = Callable[[int, int, str], None]
"""A callback ``progress(done, total, name)``."""


def simulate(
    environment: Environment,
    policies: Mapping[str, object],
    *,
    horizon: int,
    runs: int = 20,
    seed: int = 0,
    first_run: int = 0,
    progress: Progress | None = None,
    record: bool = False,
) -> Result:
    """Play every policy on the same sample paths, and compare each with LAI, which knows A.

    Parameters
    ----------
    environment : Environment
        The problem, the process and the noise.
    policies : mapping of str to Policy
        The policies by name. A function that makes a policy from the problem that was drawn, such as
        ``ROBD.for_problem``, may take the place of a policy that knows A. If the problem has a switching weight, each
        policy plays in coordinates in which the switching cost is unweighted (:class:`soqo.Weighted`), unless it is
        ``Weighted`` already. If positions are angles, it is made :class:`soqo.Periodic`.
    horizon, runs : int
        The number of rounds T, and of independent runs.
    seed : int
        The same seed gives the same numbers; run k does not depend on the number of runs.
    first_run : int
        The number of the first run, for a simulation that is computed in pieces.
    progress : callable, optional
        Called as ``progress(done, total, name)`` with the number of policy-rounds done and the policy being played.
    record : bool
        Whether the result keeps the paths of v and of every policy.

    Returns
    -------
    Result
        The costs and the regret of every policy.

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
    paths = environment.draw(horizon, runs, seed=seed, first_run=first_run)
    configuration = make_configuration(environment, policies, horizon, runs, seed, first_run)
    return account(paths, _play_each(policies, paths, progress), configuration, record=record)


def _play_each(
    policies: Mapping[str, object], paths: Paths, progress: Progress | None
) -> Iterator[tuple[str, Trajectory]]:
    """Play one policy after the other, so that only one trajectory at a time is in memory."""
    total = paths.horizon * len(policies)
    for index, (name, entry) in enumerate(policies.items()):
        report = _shift_progress(progress, index * paths.horizon, total, name)
        try:
            yield name, play(make_policy(entry, paths.problem, paths.period), paths, progress=report)
        except SoqoError as error:
            raise type(error)(f"policies[{name!r}]: {error}") from error
        except Exception as error:
            error.add_note(f"in policies[{name!r}]")
            raise


def account(
    paths: Paths, played: Iterable[tuple[str, Trajectory]], configuration: dict[str, Any], *, record: bool = False
) -> Result:
    """Return the costs of what policies did on given paths.

    Parameters
    ----------
    paths : Paths
        The sample paths.
    played : iterable of (str, Trajectory)
        The policies by name, and what each of them did.
    configuration : dict
        Everything that determines the result, as plain data.
    record : bool
        Whether the result keeps the paths of v and of every policy.

    Returns
    -------
    Result
        The costs and the regret of every policy.
    """
    # A cost that overflows marks the run as diverged, so warnings are suppressed.
    with np.errstate(over="ignore", invalid="ignore"):
        records: dict[str, PolicyResult] = {}
        actions: dict[str, Array] = {}
        for name, trajectory in played:
            records[name] = _account(paths, trajectory)
            if record:
                actions[name] = trajectory.x
        benchmark = benchmark_path(paths)
        hitting, switching = paths.costs(benchmark)
    return Result(
        records=records,
        benchmark_hitting=hitting,
        benchmark_switching=switching,
        first_run=paths.first_run,
        configuration=configuration,
        v=paths.v if record else None,
        actions={**actions, Result.BENCHMARK: benchmark} if record else None,
    )


def check_names(policies: Mapping[str, object]) -> None:
    """Refuse names that figures, files and tables cannot tell apart."""
    if not policies or not isinstance(policies, Mapping):
        raise ArgumentError(f"policies must map names to policies, got {policies!r}")
    names: list[Any] = list(policies)
    for name in names:
        if not isinstance(name, str) or not name.strip(" ,") or name == Result.BENCHMARK:
            raise ArgumentError(
                f"policies must have names that are not blank and not {Result.BENCHMARK!r}, got {name!r}"
            )
        if check_label("a name of a policy", name).startswith("_"):
            raise ArgumentError(f"a name of a policy must not begin with _, which legends leave out, got {name!r}")


def _account(paths: Paths, trajectory: Trajectory) -> PolicyResult:
    """Return the costs of a policy's actions."""
    hitting, switching = paths.costs(trajectory.x)
    finite = np.isfinite(hitting + switching).all(axis=1)
    return PolicyResult(
        hitting,
        switching,
        low_variance_regret(paths, trajectory.x),
        trajectory.diverged | ~finite,
        trajectory.diagnostics,
    )


def make_policy(entry: object, problem: Problem, period: ArrayLike | None = None) -> Policy[Any]:
    """Return the policy of an entry, made for the problem if it is a function, in the problem's coordinates.

    Parameters
    ----------
    entry : Policy, or a function that makes one from a problem
        An entry of the policies of :func:`simulate`.
    problem : Problem
        The problem that was drawn.
    period : array_like, optional
        The period of positions that are angles.
    """
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
    matched = match_switching_weight(policy.for_simulation(problem), problem.switching_weight)
    return matched if period is None or isinstance(matched, Periodic) else Periodic(matched, period)


def _shift_progress(progress: Progress | None, before: int, total: int, name: str) -> Callable[[int], None] | None:
    """Return the progress callback for the rounds of one policy."""
    if progress is None:
        return None
    return lambda done: progress(before + done, total, name)


def make_configuration(
    environment: Environment,
    policies: Mapping[str, object],
    horizon: int,
    runs: int,
    seed: int,
    first_run: int,
) -> dict[str, Any]:
    """Return everything that determines a result, as plain data."""
    return {
        "environment": describe(environment),
        "policies": {name: describe(entry) for name, entry in policies.items()},
        "horizon": integer("horizon", horizon, least=1),
        "runs": integer("runs", runs, least=1),
        "seed": integer("seed", seed, least=0),
        "first_run": integer("first_run", first_run, least=0),
        "versions": package_versions(),
    }
