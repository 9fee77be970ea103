"""Simulated regret of SCaLE beside its exact expectation and every bound, over the horizons of a setting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._arguments import integer
from soqo._environment import Environment, Paths
from soqo._problem import Problem
from soqo._simulation import Progress, simulate
from soqo.errors import ArgumentError
from soqo.experiments.presentation._bounds_table import BoundName, BoundsTable
from soqo.experiments.settings._kinds import told
from soqo.experiments.settings._spec import Setting
from soqo.policies._scale import SCaLE
from soqo.theory import bounds, exact_regret, exact_scale_regret
from soqo.typing import Array, BoolArray

__all__ = ["bound_setting", "default_horizons"]

MOST = 6
"""How many horizons there are at most where nobody names them."""

SAME = 1e-12
"""A difference of numbers that is round-off."""

SEEN = 1e-10
"""Eigenvalues above this share of the largest count as nonzero, as they do in the bounds."""


def bound_setting(
    setting: Setting,
    horizons: Iterable[int] | None = None,
    runs: int | None = None,
    progress: Progress | None = None,
) -> BoundsTable:
    """Put SCaLE's simulated regret beside its exact expectation and beside every bound, for several horizons.

    It is the first SCaLE among the setting's policies, or soqo's default one if there is none. Exact regret is the
    expectation over v, given each run's own A, probes and estimate; so its mean over the runs and the simulated mean
    differ by the luck of v only. Bounds are those of :func:`soqo.theory.bounds`, for each run's A. Neither exists where
    v is no martingale, or moves in steps without a covariance, or where A changes in mid-run.

    Parameters
    ----------
    setting : Setting
    horizons : iterable of int, optional
        Increasing, in place of the setting's own; if that has none either, its ``horizon`` and what halving it gives.
    runs : int, optional
        In place of the setting's own.
    progress : callable, optional
        As in :func:`soqo.simulate`.

    Examples
    --------
    >>> from soqo.experiments.settings._catalogue import find
    >>> table = bound_setting(find("gaussian_r4_1")[0], horizons=[100, 200], runs=3)
    >>> table.simulated.shape, table.exact.shape, bool((table.bounds["Theorem 1", "corrected"] > 0.0).all())
    ((2, 3), (2, 3), True)
    """
    environment = setting.environment
    count = integer("runs", setting.runs if runs is None else runs, least=1)
    # A, the start and a policy's own draws do not depend on the horizon.
    world = World(environment, environment.draw(1, count, setting.seed))
    name, policy = scale_of(setting, world)
    m = policy.exploration_rounds(environment.dim)
    wanted = checked(horizons if horizons is not None else setting.horizons or None, setting, m)
    looks = []
    for index, T in enumerate(wanted):
        tick = within(progress, sum(wanted[:index]), sum(wanted))
        looks.append(look(world, policy, T, tick))
    return assembled(setting, world, name, policy, wanted, looks)


def assembled(
    setting: Setting,
    world: World,
    name: str,
    policy: SCaLE,
    horizons: tuple[int, ...],
    looks: Sequence[Look],
) -> BoundsTable:
    """What was found for each horizon, as one table."""
    theory = [look.bounds for look in looks]
    names = list(dict.fromkeys(key for found in theory for key in found.values))
    readings = list(dict.fromkeys(key for found in theory for key in found.gamma2))
    return BoundsTable(
        setting=setting.name,
        title=setting.title,
        policy=name,
        probing=probing(policy),
        m=policy.exploration_rounds(world.environment.dim),
        horizons=horizons,
        simulated=np.stack([look.simulated for look in looks]),
        exact=np.stack([look.exact for look in looks]),
        exploitation=np.stack([look.exploitation for look in looks]),
        error=np.stack([look.error for look in looks]),
        gamma2=np.array([look.gamma2 for look in looks]),
        bounds={k: np.array([found.values.get(k, np.nan) for found in theory]) for k in names},
        epsilon=np.stack([np.broadcast_to(found.epsilon, world.paths.runs) for found in theory]),
        schedules={k: np.array([found.gamma2.get(k, np.nan) for found in theory]) for k in readings},
        no_exact=world.no_exact,
        no_bounds=world.no_bounds,
    )


def probing(policy: SCaLE) -> str:
    """How large its probes are."""
    rule = policy.gamma2
    return f"by the rule {rule!r}" if isinstance(rule, str) else f"= {rule:g}"


def checked(given: Iterable[int] | None, setting: Setting, m: int) -> tuple[int, ...]:
    """The horizons that were asked for, or default ones."""
    if given is None:
        return default_horizons(setting.horizon, m)
    wanted = tuple(integer("horizons", T, least=1) for T in given)
    if not wanted or sorted(set(wanted)) != list(wanted):
        raise ArgumentError(f"horizons must be increasing numbers of rounds, got {list(wanted)}")
    return wanted


def default_horizons(longest: int, m: int) -> tuple[int, ...]:
    """The longest horizon and what halving it gives, as far as that leaves room for exploitation.

    Examples
    --------
    >>> default_horizons(1000, m=48)
    (62, 125, 250, 500, 1000)
    """
    halved = [longest >> k for k in range(MOST)]
    return tuple(sorted({T for T in halved if m < T} | {longest}))


def within(progress: Progress | None, before: int, total: int) -> Progress | None:
    """The progress callback, as seen from one horizon."""
    if progress is None:
        return None
    return lambda done, _, name: progress(before + done, total, name)


# ---- what the theorems are about -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class World:
    """An environment as the theorems need it: in coordinates where switching is plain l2.

    ``paths`` are of a single round, for the problems of the runs, their start and their streams.
    """

    environment: Environment
    paths: Paths

    @property
    def plain(self) -> Problem:
        """The problem of the runs."""
        return self.paths.problem.plain

    @property
    def no_exact(self) -> str:
        """Why Proposition 1 says nothing here; empty if it does."""
        process = self.environment.process
        name = type(process).__name__
        if self.environment.changes:
            return "A changes in mid-run, and the theorems are about one A"
        if not process.is_martingale:
            return f"{name} steps are not known to make v a martingale, without which LAI need not be the optimum"
        if process.covariance(self.environment.dim) is None:
            return f"{name} steps have no variance, so that expected regret is infinite"
        return ""

    @property
    def no_bounds(self) -> str:
        """Why the bounds say nothing here; empty if they do."""
        if self.no_exact:
            return self.no_exact
        if not (self.plain.spectrum.values[..., -1] > 0.0).all():
            return "A is zero, and they divide by its smallest nonzero eigenvalue"
        if np.ptp(self.ranks):
            return "A is of another rank in other runs, and the theorems with it"
        return ""

    @property
    def nonzero(self) -> BoolArray:
        """Which eigenvalues of the runs' A count as nonzero."""
        values = self.plain.spectrum.values
        return np.asarray(values > SEEN * values[..., -1:])

    @property
    def ranks(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The ranks of the runs' A."""
        return np.asarray(self.nonzero.sum(axis=-1))

    @property
    def covariance(self) -> Array:
        """Of v's steps, where the theorems apply."""
        covariance = self.environment.process.covariance(self.environment.dim)
        assert covariance is not None
        to_plain = self.paths.problem.coordinates.to_plain
        return to_plain(to_plain(covariance).T)

    @property
    def matrices(self) -> Array:
        """The runs' A; only the first, where nothing that the bounds depend on tells them apart."""
        values, Sigma = np.atleast_2d(self.plain.spectrum.values), self.covariance
        same_values = np.allclose(values, values[0], rtol=0.0, atol=SAME * values.max())
        same_ways = np.allclose(Sigma, Sigma[0, 0] * np.eye(len(Sigma)), rtol=SAME, atol=0.0)
        matrices = self.plain.A.reshape(-1, *Sigma.shape)
        return np.asarray(matrices[:1] if same_values and same_ways else matrices)

    @property
    def away(self) -> Array:
        """x0 - v0."""
        start = self.environment.x0 - self.environment.v0
        return self.paths.problem.coordinates.to_plain(start)

    def estimate(self, found: Array) -> Array:
        """Estimates of A as a policy reports them, which is in the plant's coordinates."""
        from_plain = self.paths.problem.coordinates.from_plain
        return from_plain(from_plain(found).swapaxes(-1, -2))

    @property
    def facts(self) -> dict[str, Any]:
        """What SCaLE must be told: as a setting tells it, or else from the runs' A."""
        known = told(self.environment)
        if "rank" not in known:
            values = self.plain.spectrum.values[self.nonzero]
            known |= {
                "rank": int(self.ranks.max()),
                "min_eigenvalue": float(values.min(initial=np.inf)),
            }
        return {key: known[key] for key in ("noise_cap", "rank", "min_eigenvalue")}


def scale_of(setting: Setting, world: World) -> tuple[str, SCaLE]:
    """The first SCaLE of a setting, or the default one; and what to call it."""
    for name, policy in setting.policies.items():
        # What inherits from it, as HySCaLE does, goes on learning: then no estimate is given before exploitation.
        if type(policy) is SCaLE:
            return f"{name} as the setting has it", policy
    facts = world.facts
    if facts["rank"] == 0:
        raise ArgumentError(
            f"policies of {setting.name!r} must hold a SCaLE where A is zero, got {', '.join(setting.policies)}"
        )
    said = ", ".join(f"{key} {value:g}" for key, value in facts.items())
    return f"SCaLE by default, since the setting has none ({said})", SCaLE(**facts)


# ---- one horizon ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MeanBounds:
    """The bounds and the variances of probes by variant, as means over the runs' A; and epsilon for each."""

    values: dict[BoundName, float]
    epsilon: Array
    gamma2: dict[str, float]


@dataclass(frozen=True, eq=False)
class Look:
    """What is found for one horizon; arrays have shape (runs,)."""

    simulated: Array
    exact: Array
    exploitation: Array
    error: Array
    gamma2: float
    bounds: MeanBounds


def look(world: World, policy: SCaLE, T: int, progress: Progress | None) -> Look:
    """Simulate one horizon, and compute what the theory says of it."""
    paths, A = world.paths, world.plain.A
    result = simulate(world.environment, {"SCaLE": policy}, T, paths.runs, paths.seed, progress=progress)
    simulated = result.regret("SCaLE")[:, -1]
    exact, exploitation, error = np.full((3, paths.runs), np.nan)
    gamma2 = math.nan
    m = policy.exploration_rounds(world.environment.dim)
    if m < T:
        gamma2 = policy.probe_variance(world.environment.dim, T)
        estimate = world.estimate(result["SCaLE"].diagnostics["estimate"])
        error = np.asarray(np.linalg.norm(A - estimate, "nuc", axis=(-2, -1)))
        if not world.no_exact:
            Sigma, away = world.covariance, world.away
            # The probes are what the policy draws at the start, times gamma: hence gamma = 1 here.
            probes = policy.start(paths.x0, T, paths.policy_generators()).memory.probes
            exact = exact_scale_regret(
                A,
                estimate,
                Sigma,
                T,
                m,
                gamma2=1.0,
                handover=policy.handover,
                probes=probes,
                x0_minus_v0=away,
            ).total
            exploitation = exact_regret(A, estimate, Sigma, T - m).total
    return Look(simulated, exact, exploitation, error, gamma2, mean_bounds(world, policy, T))


def mean_bounds(world: World, policy: SCaLE, T: int) -> MeanBounds:
    """Every bound, as a mean over the runs' A; none where one of the schedules leaves no room for exploitation."""
    nothing = MeanBounds({}, np.array(np.nan), {})
    if world.no_bounds:
        return nothing
    dim = world.environment.dim
    if math.ceil(policy.c1 * int(world.ranks.max()) * dim) >= T:
        return nothing
    Sigma = world.covariance
    tables = [bounds(A, Sigma, T, policy.noise_cap, c1=policy.c1) for A in world.matrices]
    return MeanBounds(
        values={
            (row.statement, row.variant): mean([t.value(row.statement, row.variant) for t in tables])
            for row in tables[0]
            if row.bound is not None
        },
        # It is the same in all readings.
        epsilon=np.array([table.schedules["corrected"].epsilon for table in tables]),
        gamma2={
            variant: mean([table.schedules[variant].gamma2 for table in tables]) for variant in tables[0].schedules
        },
    )


def mean(values: list[float]) -> float:
    """Of numbers."""
    return math.fsum(values) / len(values)
