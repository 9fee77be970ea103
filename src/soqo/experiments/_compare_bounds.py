"""Comparison of SCaLE's simulated regret with its exact expectation and all bounds, over several horizons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, TypeVar

import numpy as np

from soqo._foundation.arguments import integer
from soqo._model.problem import Problem
from soqo._simulation.environment import Environment
from soqo._simulation.paths import Paths
from soqo._simulation.simulate import Progress, simulate
from soqo.errors import ArgumentError
from soqo.experiments.execution import BoundName, BoundsTable
from soqo.experiments.settings import Setting, known_arguments
from soqo.policies import SCaLE
from soqo.theory import bounds, exact_regret, exact_scale_regret
from soqo.typing import Array, BoolArray, IntArray

_Key = TypeVar("_Key")

_MAX_HORIZONS = 6
"""The largest number of default horizons."""

_ROUND_OFF = 1e-12
"""Relative differences below this are round-off."""

_RANK_TOLERANCE = 1e-10
"""Eigenvalues above this share of the largest count as nonzero, as in the bounds."""


def bound_setting(
    setting: Setting,
    horizons: Iterable[int] | None = None,
    *,
    runs: int | None = None,
    progress: Progress | None = None,
) -> BoundsTable:
    """Compare SCaLE's simulated regret with its exact expectation and with every bound, for several horizons.

    The policy is the first SCaLE among the setting's policies, or soqo's default one if there is none. Exact regret is
    the expectation over v, given each run's own A, probes and estimate, so that its mean over the runs differs from the
    simulated mean only by the randomness of v. Bounds are those of :func:`soqo.theory.bounds`, for each run's A. There
    are none if v is not a martingale, if its steps have no covariance, if A or the factor of the hitting cost changes
    during a run, or if the player is not told v itself.

    Parameters
    ----------
    setting : Setting
        The setting.
    horizons : iterable of int, optional
        Increasing horizons, instead of the setting's own; if it has none, its ``horizon`` is halved repeatedly.
    runs : int, optional
        The number of runs, instead of the setting's own.
    progress : callable, optional
        As in :func:`soqo.simulate`.

    Returns
    -------
    BoundsTable
        The regret of each run and the bounds, for each horizon.

    See Also
    --------
    format_bounds : Format the table as text.
    save_bounds : Write the numbers and a picture to files.

    Examples
    --------
    >>> from soqo.experiments import find
    >>> table = bound_setting(find("gaussian_r4_1")[0], horizons=[100, 200], runs=3)
    >>> table.simulated.shape, table.exact.shape, bool((table.bounds["Theorem 1", "corrected"] > 0.0).all())
    ((2, 3), (2, 3), True)
    """
    environment = setting.environment
    count = integer("runs", setting.runs if runs is None else runs, least=1)
    # A, the start and a policy's own draws do not depend on the horizon.
    model = _Model(environment, environment.draw(1, count, seed=setting.seed))
    name, policy = _choose_scale(setting, model)
    m = policy.exploration_rounds(environment.dim)
    chosen = _choose_horizons(horizons if horizons is not None else setting.horizons or None, setting, m)
    columns = [
        _compute_column(model, policy, T, _shift_progress(progress, sum(chosen[:index]), sum(chosen)))
        for index, T in enumerate(chosen)
    ]
    rule = policy.gamma2
    return BoundsTable(
        setting=setting.name,
        title=setting.title,
        policy=name,
        probe_rule=f"by the rule {rule!r}" if isinstance(rule, str) else f"= {rule:g}",
        handover=policy.handover,
        m=m,
        horizons=chosen,
        bounds=_join_columns([means for _, means, _ in columns]),
        schedules=_join_columns([schedule for _, _, schedule in columns]),
        no_exact=model.no_exact,
        no_bounds=model.no_bounds,
        **{name: np.stack([numbers[name] for numbers, _, _ in columns]) for name in columns[0][0]},
    )


def _join_columns(columns: Sequence[Mapping[_Key, float]]) -> dict[_Key, Array]:
    """Return an array over the horizons for each key, with NaN where a horizon does not have it."""
    keys = dict.fromkeys(key for column in columns for key in column)
    return {key: np.array([column.get(key, np.nan) for column in columns]) for key in keys}


def _choose_horizons(given: Iterable[int] | None, setting: Setting, m: int) -> tuple[int, ...]:
    """Return the given horizons, or the longest one halved as long as it exceeds the exploration rounds."""
    if given is None:
        halved = [setting.horizon >> k for k in range(_MAX_HORIZONS)]
        return tuple(sorted({T for T in halved if m < T} | {setting.horizon}))
    chosen = tuple(integer("horizons", T, least=1) for T in given)
    if not chosen or sorted(set(chosen)) != list(chosen):
        raise ArgumentError(f"horizons must be increasing numbers of rounds, got {list(chosen)}")
    return chosen


def _choose_scale(setting: Setting, model: _Model) -> tuple[str, SCaLE]:
    """Return the first SCaLE of a setting, or the default one, and its description."""
    for name, policy in setting.policies.items():
        # Subclasses such as HySCaLE change the estimate during exploitation, which the theorems do not cover.
        if type(policy) is SCaLE:
            return f"{name} of the setting", policy
    arguments = model.scale_arguments
    if arguments["rank"] == 0:
        raise ArgumentError(
            f"policies of {setting.name!r} must hold a SCaLE if A is zero, got {', '.join(setting.policies)}"
        )
    listed = ", ".join(f"{key} {value:g}" for key, value in arguments.items())
    return f"SCaLE by default, since the setting has none ({listed})", SCaLE(**arguments)


def _shift_progress(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Return a callback for one horizon that reports progress over all of them."""
    if progress is None:
        return None
    return lambda done, _, name: progress(before + done, total, name)


# ---- the quantities of the theorems --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Model:
    """An environment as the theorems need it, in coordinates where the switching cost is unweighted.

    ``paths`` has a single round; it holds the problems of the runs, their starts and their streams.
    """

    environment: Environment
    paths: Paths

    @property
    def plain(self) -> Problem:
        """The problems of the runs."""
        return self.paths.problem.plain

    @property
    def no_exact(self) -> str:
        """The reason why Proposition 1 does not apply, or an empty string."""
        process = self.environment.process
        name = type(process).__name__
        if self.environment.changes:
            return "A changes during a run, and the theorems are about one A"
        if self.environment.factor is not None:
            return "the hitting cost has a factor that changes, and the theorems are about one A"
        if self.environment.offset is not None or self.environment.context is not None:
            return "the player is not told v itself, and the theorems are about one who is"
        if any(part is not None for part in (self.environment.outages, self.environment.actuation)):
            return "the plant does not apply every action at once, and the theorems are about one that does"
        if self.environment.period is not None:
            return "positions are angles, and the theorems are about a quadratic cost"
        if not process.is_martingale:
            return f"{name} steps are not known to make v a martingale, without which LAI need not be the optimum"
        if process.covariance(self.environment.dim) is None:
            return f"{name} steps have no variance, so that expected regret is infinite"
        return ""

    @property
    def no_bounds(self) -> str:
        """The reason why the bounds do not apply, or an empty string."""
        if self.no_exact:
            return self.no_exact
        if not (self.plain.spectrum.values[..., -1] > 0.0).all():
            return "A is zero, and they divide by its smallest nonzero eigenvalue"
        if np.ptp(self.ranks):
            return "the rank of A differs between runs, and the theorems depend on it"
        return ""

    @property
    def nonzero(self) -> BoolArray:
        """Whether each eigenvalue of the runs' A counts as nonzero."""
        values = self.plain.spectrum.values
        return np.asarray(values > _RANK_TOLERANCE * values[..., -1:])

    @property
    def ranks(self) -> IntArray:
        """The ranks of the runs' A."""
        return np.asarray(self.nonzero.sum(axis=-1))

    @property
    def covariance(self) -> Array:
        """The covariance of v's steps, which must exist."""
        covariance = self.environment.process.covariance(self.environment.dim)
        assert covariance is not None
        to_plain = self.paths.problem.coordinates.to_plain
        return to_plain(to_plain(covariance).T)

    @property
    def matrices(self) -> Array:
        """The runs' A, or only the first if the bounds are the same for all of them."""
        values, Sigma = np.atleast_2d(self.plain.spectrum.values), self.covariance
        same_values = np.allclose(values, values[0], rtol=0.0, atol=_ROUND_OFF * values.max())
        isotropic = np.allclose(Sigma, Sigma[0, 0] * np.eye(len(Sigma)), rtol=_ROUND_OFF, atol=0.0)
        matrices = self.plain.A.reshape(-1, *Sigma.shape)
        return np.asarray(matrices[:1] if same_values and isotropic else matrices)

    def plain_estimate(self, estimate: Array) -> Array:
        """Return estimates of A that a policy reports in the coordinates of the plant in plain coordinates."""
        from_plain = self.paths.problem.coordinates.from_plain
        return from_plain(from_plain(estimate).swapaxes(-1, -2))

    @property
    def scale_arguments(self) -> dict[str, Any]:
        """The arguments of SCaLE that are known from the setting or else from the runs' A."""
        known = known_arguments(self.environment)
        if "rank" not in known:
            values = self.plain.spectrum.values[self.nonzero]
            known |= {"rank": int(self.ranks.max()), "min_eigenvalue": float(values.min(initial=np.inf))}
        return {key: known[key] for key in ("noise_cap", "rank", "min_eigenvalue")}


# ---- one horizon ---------------------------------------------------------------------------------------------------


_Column = tuple[dict[str, Any], dict[BoundName, float], dict[str, float]]
"""The numbers for one horizon: of the runs by their names in the table, the bounds, and the variances of probes."""


def _compute_column(model: _Model, policy: SCaLE, T: int, progress: Progress | None) -> _Column:
    """Simulate one horizon, and compute the exact regret and the bounds."""
    paths, A = model.paths, model.plain.A
    result = simulate(
        model.environment, {"SCaLE": policy}, horizon=T, runs=paths.runs, seed=paths.seed, progress=progress
    )
    simulated = result.regret("SCaLE")[:, -1]
    numbers = dict(zip(("exact", "direct", "exploitation", "error"), np.full((4, paths.runs), np.nan), strict=True))
    numbers |= {"simulated": simulated, "gamma2": np.array(math.nan)}
    m = policy.exploration_rounds(model.environment.dim)
    if m < T:
        numbers["gamma2"] = np.array(policy.probe_variance(model.environment.dim, T))
        estimate = model.plain_estimate(result["SCaLE"].diagnostics["estimate"])
        numbers["error"] = np.asarray(np.linalg.norm(A - estimate, "nuc", axis=(-2, -1)))
        if not model.no_exact:
            Sigma = model.covariance
            u0 = paths.problem.coordinates.to_plain(model.environment.x0 - model.environment.v0)
            # The policy draws its probes at the start and multiplies them by gamma: hence gamma2 = 1 here.
            probes = policy.start(paths.x0, T, paths.policy_generators()).memory.probes
            of_handover = partial(
                exact_scale_regret,
                A,
                estimate,
                covariance=Sigma,
                horizon=T,
                m=m,
                gamma2=1.0,
                probes=probes,
                x0_minus_v0=u0,
            )
            numbers["exact"] = of_handover(handover=policy.handover).total
            numbers["direct"] = of_handover(handover="direct").total
            numbers["exploitation"] = exact_regret(A, estimate, covariance=Sigma, horizon=T - m).total
    numbers["epsilon"], means, schedules = _mean_bounds(model, policy, T)
    return numbers, means, schedules


def _mean_bounds(model: _Model, policy: SCaLE, T: int) -> tuple[Array, dict[BoundName, float], dict[str, float]]:
    """Return epsilon for each run, and bounds and probe variances as means over the runs' A.

    There are no bounds if exploration would take the whole horizon.
    """
    runs = model.paths.runs
    if model.no_bounds or math.ceil(policy.c1 * int(model.ranks.max()) * model.environment.dim) >= T:
        return np.full(runs, np.nan), {}, {}
    Sigma = model.covariance
    tables = [bounds(A, Sigma, horizon=T, noise_cap=policy.noise_cap, c1=policy.c1) for A in model.matrices]
    names: list[BoundName] = [(row.statement, row.variant) for row in tables[0] if row.bound is not None]
    values = {name: fmean(table.value(*name) for table in tables) for name in names}
    gamma2: dict[str, float] = {v: fmean(table.schedules[v].gamma2 for table in tables) for v in tables[0].schedules}
    # Epsilon is the same in all variants.
    epsilon = np.array([table.schedules["corrected"].epsilon for table in tables])
    return np.broadcast_to(epsilon, runs), values, gamma2
