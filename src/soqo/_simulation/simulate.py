"""Simulation of every policy on the same sample paths, all runs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.arguments import integer, vector
from soqo._foundation.blas import is_finite_quick
from soqo._foundation.frozen_dataclasses import Value
from soqo._foundation.text import check_label
from soqo._model.gains import contraction, gains_of_factors, gains_of_rounds
from soqo._model.planner import Plan, factored_path, known_path
from soqo._model.problem import Problem
from soqo._model.spectrum import quadratic_form
from soqo._simulation.environment import Environment, Paths
from soqo._simulation.result import PolicyResult, Result, package_versions
from soqo._storage.plain_data import describe
from soqo.errors import ArgumentError, SoqoError
from soqo.meters import Transmission
from soqo.noise import Noise
from soqo.policies import Policy, match_switching_weight
from soqo.typing import Array, BoolArray, IntArray

Progress = Callable[[int, int, str], None]
"""A callback ``progress(done, total, name)``."""

_PROGRESS_CALLS = 100
"""The number of progress calls per policy."""


@dataclass(frozen=True)
class Trajectory(Value):
    """The actions of a policy on given paths.

    Attributes
    ----------
    x : Array, shape (runs, T, d)
        The actions.
    diverged : BoolArray, shape (runs,)
        Which runs have diverged.
    diagnostics : dict
        The diagnostics of the policy after the last round.
    """

    x: Array
    diverged: BoolArray
    diagnostics: dict[str, Any]


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
        ``Weighted`` already.
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
            yield name, play(make_policy(entry, paths.problem), paths, progress=report)
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
        _low_variance_regret(paths, trajectory.x),
        trajectory.diverged | ~finite,
        trajectory.diagnostics,
    )


def play(policy: Policy[Any], paths: Paths, *, progress: Callable[[int], None] | None = None) -> Trajectory:
    """Play one policy on given sample paths, all runs at once.

    Parameters
    ----------
    policy : Policy
        The policy, in the coordinates of the problem (``Weighted`` if the problem has a switching weight).
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
    told = v if paths.offset is None and paths.shift is None else paths.told.swapaxes(0, 1)
    variates = np.ascontiguousarray(paths.variates.T)
    x = np.empty_like(v)
    every = max(1, horizon // _PROGRESS_CALLS)
    noise = None if policy.exact_feedback else paths.noise
    chain = _MeterChain(paths) if paths.meters and not policy.exact_feedback else None
    position = paths.x0
    mail = None if paths.delays is None else _Mail(paths.delays, paths.max_delay)
    state = policy.start(paths.x0, horizon, paths.policy_generators(), max_delay=paths.max_delay)
    # A non-finite action or cost marks the run as diverged, so warnings are suppressed.
    with np.errstate(over="ignore", invalid="ignore"):
        for t, target in enumerate(v):
            problem = changes.get(t, problem)
            known = _known(paths, t)
            action, state = policy.act_unchecked(state, told[t].copy(), **known)  # a copy, which the policy may keep
            x[t] = action
            y = _reading(problem, action - target, noise, variates[t], known.get("factor"))
            if chain is not None:
                y = chain.read(y, t, problem.switching_cost(action, position))
                position = action
            if mail is None:
                state = policy.observe_unchecked(state, y)
            else:
                for number, arrived in mail.exchange(t, y):
                    state = policy.observe_unchecked(state, arrived, number)
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


class _Mail:
    """The readings on their way to the player."""

    def __init__(self, delays: IntArray, max_delay: int) -> None:
        self.delays = np.ascontiguousarray(delays.T)
        self.max_delay = max_delay
        self.sent: dict[int, Array] = {}

    def exchange(self, t: int, y: Array) -> Iterator[tuple[int, Array]]:
        """Send the readings of a round, which is counted from zero; return those that arrive in it, with their rounds.

        The rounds are in order and counted from one. Runs for which no reading arrives have NaN.
        """
        self.sent[t] = y
        self.sent.pop(t - self.max_delay - 1, None)
        for k, sent in self.sent.items():
            arrives = self.delays[k] == t - k
            if arrives.any():
                yield k + 1, np.where(arrives, sent, np.nan)


def _reading(problem: Problem, u: Array, noise: Noise | None, variate: Array, factor: Array | None) -> Array:
    """Return the readings at u = x - v; a cost that overflows gives no reading."""
    y = quadratic_form(problem.A, u)
    if factor is not None:
        y = factor * y
    if noise is not None:
        y = y + noise.perturb(variate, u, problem)
        if y.shape != variate.shape:
            raise ArgumentError(f"noise must return one number per run, shape {variate.shape}, got {y.shape}")
    return y if is_finite_quick(y) else np.where(np.isfinite(y), y, np.nan)


class _MeterChain:
    """The meters of some runs, each with its last output."""

    def __init__(self, paths: Paths) -> None:
        self.meters = [(meter, np.ascontiguousarray(variates.T)) for meter, variates in paths.meters]
        self.last = [np.full(paths.runs, np.nan) for _ in self.meters]

    def read(self, y: Array, t: int, switching: Array) -> Array:
        """Return what the meters make of the readings of a round, which is counted from zero."""
        for index, (meter, variates) in enumerate(self.meters):
            y = meter.read(y, Transmission(t + 1, variates[t], self.last[index], switching))
            if y.shape != switching.shape:
                raise ArgumentError(f"meters must return one number per run, shape {switching.shape}, got {y.shape}")
            self.last[index] = y
        return y


def make_policy(entry: object, problem: Problem) -> Policy[Any]:
    """Return the policy of an entry, made for the problem if it is a function, in the problem's coordinates.

    Parameters
    ----------
    entry : Policy, or a function that makes one from a problem
        An entry of the policies of :func:`simulate`.
    problem : Problem
        The problem that was drawn.
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
    return match_switching_weight(policy.for_simulation(problem), problem.switching_weight)


def benchmark_path(paths: Paths) -> Array:
    """Return the actions of the benchmark LAI, shape (runs, T, d).

    Parameters
    ----------
    paths : Paths
        The sample paths.
    """
    coordinates = paths.problem.coordinates
    if paths.later:
        gains, _ = paths.gains
        x0, v = coordinates.to_plain(paths.x0), coordinates.to_plain(paths.v)
        return coordinates.from_plain(known_path(gains, v, x0))
    if paths.factor is not None:
        x0, v = coordinates.to_plain(paths.x0), coordinates.to_plain(paths.v)
        return coordinates.from_plain(factored_path(paths.problem.plain.spectrum, paths.factor, v, x0))
    plan = Plan(paths.problem.plain.A, paths.horizon)
    x = plan.path(coordinates.to_plain(paths.x0), coordinates.to_plain(paths.v))
    return coordinates.from_plain(x)


def _low_variance_regret(paths: Paths, x: Array) -> Array:
    """Return the expected extra cost of each action over LAI's action from the same position, shape (runs, T).

    It is 1/2 |x_t - x*_t|^2 in the norm of C_t^{-1}, with x*_t = C_t x_{t-1} + (I - C_t) v_t. If v is a martingale, its
    sum over the rounds differs from the regret by a term of mean zero.
    """
    coordinates, plain = paths.problem.coordinates, paths.problem.plain
    actions, v = coordinates.to_plain(x), coordinates.to_plain(paths.v)
    start = coordinates.to_plain(paths.x0)[:, None, :]
    before = np.concatenate([start, actions[:, :-1]], axis=1)
    if paths.later:
        gains, inverses = (np.moveaxis(C, 0, 1) for C in paths.gains)
        error = actions - v - np.matvec(gains, before - v)
        return np.asarray(0.5 * np.vecdot(error, np.matvec(inverses, error)))
    if paths.factor is not None:
        shrink, _ = gains_of_factors(plain.spectrum.values, paths.factor.T)
    else:
        shrink = gains_of_rounds(contraction, plain.spectrum.values, paths.horizon, slice(0, paths.horizon))
    shrink = np.moveaxis(shrink, 0, -2)
    off = np.matmul(actions - v, plain.spectrum.vectors)
    best = shrink * np.matmul(before - v, plain.spectrum.vectors)
    result: Array = 0.5 * (np.square(off - best) / shrink).sum(axis=-1)
    return result


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
