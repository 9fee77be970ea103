"""SCaLE (probe, estimate, plan, exploit) and HySCaLE, which goes on learning: the paper's Algorithms 1 and 2.

For m = ceil(c1 r d) rounds the player stands off the minimizer by gamma z with z normal, hears the cost, and then
solves for A by trace minimization. From there it plays LAI with the estimate. Where the paper's text is open or
contradicts itself, an option says which reading is meant; ``SCaLE.as_printed`` is the text to the letter, the defaults
are what works."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np

from soqo._arguments import choice, finite_array, integer, largest, number
from soqo._planner import Plan, lai_step
from soqo._spectrum import positive_semidefinite
from soqo._storage.registry import compose, map_field, register, rename_fields
from soqo._streams import per_run
from soqo._values import evolve
from soqo.errors import ArgumentError
from soqo.estimators._estimate import Status
from soqo.estimators._gradient import FORMS, GradientEstimate, projected_gradient_step
from soqo.estimators._recovery import Recovery
from soqo.policies._base import Policy, State, quietly
from soqo.theory._probe_variance import optimal_gamma2
from soqo.theory._scale_regret import HANDOVERS
from soqo.typing import Array, BoolArray, Rng

__all__ = ["HySCaLE", "Phase", "SCaLE", "ScaleMemory"]

GAMMA_RULES = ("algorithm", "appendix", "guarantee", "optimal")
DRAWS = 32
"""Of probes and noise, for the optimal level."""


FROM_0_1_0 = compose(
    rename_fields(sigma_floor="min_eigenvalue"),
    map_field("handover", lambda handover: "virtual" if handover == "replay" else handover),
)


class Phase(IntEnum):
    """Where a run stands; ``diagnostics`` gives one for each run."""

    EXPLORING = 0
    """Probing; there is no estimate yet."""
    SOLVED = 1
    """Exploiting the estimate."""
    CONSISTENT_WITH_ZERO = 2
    """Exploiting; M = 0 fits within the radius, so least squares stands in (or zero, if ``fallback`` says so)."""
    INFEASIBLE = 3
    """Exploiting; nothing fits within the radius, so the best fit in l1 stands in."""
    STALLED = 4
    """Exploiting the best point of a solver that round-off stopped."""
    NO_ROOM = 5
    """The horizon is not longer than the probing would be: the player follows v."""
    NO_READINGS = 6
    """No reading arrived while probing: the player follows v."""

    def in_words(self) -> str:
        """What a player in this phase does, and why."""
        return {
            Phase.EXPLORING: "probing around v, to learn A from the readings before it exploits it",
            Phase.SOLVED: "exploiting its estimate of A",
            Phase.CONSISTENT_WITH_ZERO: "exploiting a stand-in: the readings fit A = 0 within its radius",
            Phase.INFEASIBLE: "exploiting the best fit: no A explains the readings within its radius",
            Phase.STALLED: "exploiting the best point of a solver that round-off stopped",
            Phase.NO_ROOM: "following v: the horizon is not longer than probing would take",
            Phase.NO_READINGS: "following v: no reading arrived while it probed",
        }[self]


PHASES = {status: Phase[status.name] for status in Status}


@register("SCaLE.memory")
@dataclass(frozen=True, eq=False)
class ScaleMemory:
    """What SCaLE remembers: its probes and what they told, then its estimate.

    Attributes
    ----------
    probes : Array, shape (*batch, m, d)
        Gaussian directions z, drawn at the start.
    u, v : Array, shape (*batch, m, d)
        Where the player really stood off the minimizer, and the minimizers.
    y : Array, shape (*batch, m)
        The readings; NaN where there was none.
    x0 : Array, shape (*batch, d)
        Where the player started.
    phase : integer array, shape (*batch,)
        See :class:`Phase`.
    estimate : GradientEstimate
        Of A; zero while probing.
    """

    probes: Array
    u: Array
    v: Array
    y: Array
    x0: Array
    phase: np.ndarray[Any, np.dtype[np.int64]]
    estimate: GradientEstimate


@register("SCaLE", migrations={0: FROM_0_1_0})
@dataclass(frozen=True, eq=False)
class SCaLE(Policy[ScaleMemory]):
    """Probe around v, recover A by trace minimization, and play LAI with the estimate.

    Parameters
    ----------
    noise_cap
        The bound of the noise, the paper's eta-bar.
    rank, min_eigenvalue
        The rank of A, and a floor of its smallest nonzero eigenvalue, in coordinates where switching is plain l2.
    c1
        Probes per rank and dimension: m = ceil(c1 rank d).
    gamma2 : {"algorithm", "appendix", "guarantee", "optimal"} or float
        The variance of a probe. ``"algorithm"``: sqrt(eta) max(T^p, 1/sigma), as Algorithm 1 has it, with p = 2/3 where
        rank < d and 1/2 otherwise. ``"appendix"``: sqrt(eta) max((T-m)^p, 2/sigma). ``"guarantee"``: eta max(T^p,
        2/sigma), what the stated error eta/gamma^2 <= min(T^-p, sigma/2) needs. ``"optimal"``: what
        :func:`soqo.theory.optimal_gamma2` finds for ``prior`` and ``covariance`` (a second or two at d = 4; it does
        not know of ``probe_limit``).
    radius : {"residual", "cap"} or float
        The l1 radius of the estimator. ``"residual"``: 1.05 times the least absolute deviations, the smallest radius
        that has a solution; where m is at most 1.5 d(d+1)/2 these interpolate and say nothing, and eta m / 2 is used.
        ``"cap"``: eta m, as printed.
    handover : {"direct", "virtual"}
        Whether exploitation starts from where the player stands, or from where LAI with the estimate would stand.
    fallback : {"least_squares", "none"}
        What stands in for an estimate that is consistent with zero: PSD least squares, or nothing (the player freezes).
    probe_limit : float or array_like of shape (d,), optional
        Bound on |x - v| per actuator while probing; the estimator uses the probes really played.
    covariance : float, array_like or Process, optional
        Of v's steps, for the optimal level.
    prior : array_like, shape (d, d) or (k, d, d), optional
        What A may be, for the optimal level: one matrix, or equally likely ones. If not given, a matrix of this rank
        whose eigenvalues are all ``min_eigenvalue``.

    Examples
    --------
    >>> policy = SCaLE(noise_cap=1.0, rank=1, min_eigenvalue=0.5)
    >>> policy.exploration_rounds(dim=4), round(policy.probe_variance(dim=4, horizon=1000), 6)
    (12, 100.0)
    """

    noise_cap: float
    rank: int
    min_eigenvalue: float
    c1: float = 3.0
    gamma2: Any = "algorithm"
    radius: Any = "residual"
    handover: str = "direct"
    fallback: str = "least_squares"
    probe_limit: Any = None
    covariance: Any = None
    prior: Any = None

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "noise_cap": number("noise_cap", self.noise_cap, least=0.0),
            "rank": integer("rank", self.rank, least=1),
            "min_eigenvalue": number("min_eigenvalue", self.min_eigenvalue, above=0.0),
            "c1": number("c1", self.c1, above=0.0),
        }
        recovery = Recovery(checked["noise_cap"], self.radius, self.fallback)
        checked["radius"] = recovery.radius
        if not isinstance(self.gamma2, str):
            checked["gamma2"] = number("gamma2", self.gamma2, least=0.0)
        elif choice("gamma2", self.gamma2, GAMMA_RULES) == "optimal":
            if self.covariance is None:
                raise ArgumentError("covariance must be given for gamma2 = 'optimal', got None")
            number("noise_cap", self.noise_cap, above=0.0)
        choice("handover", self.handover, HANDOVERS)
        if self.prior is not None:
            checked["prior"] = positive_semidefinite("prior", self.prior)[0]
        if self.probe_limit is not None:
            limit = finite_array("probe_limit", self.probe_limit)
            if limit.ndim > 1 or not (limit > 0.0).all():
                raise ArgumentError(f"probe_limit must be a positive number or vector, got {self.probe_limit!r}")
            checked["probe_limit"] = limit
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def as_printed(cls, noise_cap: float, rank: int, min_eigenvalue: float, **options: Any) -> Any:
        """The text to the letter: radius eta m, a replayed handover, and an estimate used even if it is zero."""
        printed = {"radius": "cap", "handover": "virtual", "fallback": "none", **options}
        return cls(noise_cap, rank, min_eigenvalue, **printed)

    def exploration_rounds(self, dim: int) -> int:
        """The number m of rounds of probing."""
        return math.ceil(self.c1 * self.rank * dim)

    def probe_variance(self, dim: int, horizon: int | None) -> float:
        """The variance gamma^2 of a probe."""
        if not isinstance(self.gamma2, str):
            return float(self.gamma2)
        if horizon is None:
            raise ArgumentError(
                f"horizon must be given for gamma2 = {self.gamma2!r}, got None; if there is no end in sight, give "
                "gamma2 as a number"
            )
        if self.gamma2 == "optimal":
            return best_level(self, dim, horizon)
        rounds = horizon
        if self.gamma2 == "appendix":
            rounds = max(1, horizon - self.exploration_rounds(dim))
        power = float(rounds) ** (2.0 / 3.0 if self.rank < dim else 0.5)
        floor = (1.0 if self.gamma2 == "algorithm" else 2.0) / self.min_eigenvalue
        noise = self.noise_cap if self.gamma2 == "guarantee" else math.sqrt(self.noise_cap)
        return float(noise * max(power, floor))

    @property
    def recovery(self) -> Recovery:
        """How readings become an estimate."""
        return Recovery(self.noise_cap, self.radius, self.fallback)

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> ScaleMemory:
        *batch, d = x0.shape
        if self.rank > d:
            raise ArgumentError(f"rank must be at most the dimension {d} of x0, got {self.rank}")
        if self.probe_limit is not None and self.probe_limit.shape not in ((), (d,)):
            raise ArgumentError(f"probe_limit must have shape {(d,)}, got {self.probe_limit.shape}")
        m = self.exploration_rounds(d)
        room = horizon is None or m < horizon
        phase = np.full(batch, Phase.EXPLORING if room else Phase.NO_ROOM, dtype=np.int64)
        if not room:
            m = 0
        gamma = math.sqrt(self.probe_variance(d, horizon)) if m else 0.0
        draws = per_run(rng, tuple(batch), lambda generator: generator.standard_normal((m, d)))
        probes = gamma * draws
        if self.probe_limit is not None:
            probes = np.clip(probes, -self.probe_limit, self.probe_limit)
        nothing = np.zeros((*batch, m, d))
        readings = np.full((*batch, m), np.nan)
        estimate = GradientEstimate.initial(np.zeros((*batch, d, d)))
        return ScaleMemory(probes, nothing, nothing, readings, x0, phase, estimate)

    def decide(self, state: State[ScaleMemory], v: Array) -> tuple[Array, ScaleMemory]:
        memory, t = state.memory, state.round
        m = memory.probes.shape[-2]
        if t < m:
            minimizers = memory.v.copy()
            minimizers[..., t, :] = v
            return v + memory.probes[..., t, :], evolve(memory, v=minimizers)
        x_prev = state.x
        if m and t == m:
            memory = self.estimated(memory)
            x_prev = self.handed_over(memory, state)
        x = lai_step(memory.estimate.spectrum, state.rounds_to_go, x_prev, v)
        if not memory.phase.size or largest(memory.phase) < Phase.NO_ROOM:
            return x, memory
        return np.where(memory.phase[..., None] >= Phase.NO_ROOM, v, x), memory

    def learn(self, state: State[ScaleMemory], y: Array) -> ScaleMemory:
        memory, t = state.memory, state.round - 1
        if t >= memory.probes.shape[-2]:
            return self.refine(state, y)
        heard = ~np.isnan(y)
        u, readings = memory.u.copy(), memory.y.copy()
        u[..., t, :] = np.where(heard[..., None], state.x - state.v, 0.0)
        readings[..., t] = y
        return evolve(memory, u=u, y=readings)

    def refine(self, state: State[ScaleMemory], y: Array) -> ScaleMemory:
        """What is learned while exploiting: nothing, for SCaLE."""
        return state.memory

    def estimated(self, memory: ScaleMemory) -> ScaleMemory:
        """The end of probing: an estimate for each run, and how it came about."""
        matrices, statuses = self.recovery(memory.u, memory.y)
        phase = memory.phase.copy()
        for run, status in np.ndenumerate(statuses):
            silent = np.isnan(memory.y[run]).all()
            phase[run] = Phase.NO_READINGS if silent else PHASES[status]
        return evolve(memory, phase=phase, estimate=GradientEstimate.initial(matrices))

    def handed_over(self, memory: ScaleMemory, state: State[ScaleMemory]) -> Array:
        """Where exploitation starts from: here, or where LAI with the estimate would have come by now."""
        if self.handover == "direct":
            return state.x
        path = Plan(memory.estimate.matrix, state.horizon).path(memory.x0, memory.v)
        return np.asarray(path[..., -1, :])

    def diverged(self, state: State[ScaleMemory]) -> BoolArray:
        return state.diverged | state.memory.estimate.diverged

    def diagnostics(self, state: State[ScaleMemory]) -> dict[str, Any]:
        """The estimate, and the phase of each run as a number of :class:`Phase`."""
        return {
            **super().diagnostics(state),
            "estimate": state.memory.estimate.matrix,
            "phase": state.memory.phase,
        }

    def explain(self, state: State[ScaleMemory]) -> str:
        m, phase = state.memory.probes.shape[-2], Phase(int(state.memory.phase))
        when = f", round {min(state.round, m)} of {m}" if phase is Phase.EXPLORING else ""
        return f"{type(self).__name__} is {phase.in_words()}{when}."


@lru_cache(maxsize=64)
def best_level(policy: SCaLE, dim: int, horizon: int) -> float:
    """The probing level with the least expected regret, which takes seconds and is asked for by every batch of runs."""
    prior = policy.prior
    if prior is not None and prior.shape[-1] != dim:
        raise ArgumentError(f"prior must be for dimension {dim}, got shape {prior.shape}")
    if prior is None:
        prior = np.diag(np.where(np.arange(dim) < policy.rank, policy.min_eigenvalue, 0.0))
    return optimal_gamma2(
        prior,
        policy.covariance,
        horizon,
        policy.exploration_rounds(dim),
        policy.noise_cap,
        estimator=policy.recovery,
        handover=policy.handover,
        draws=DRAWS,
    )


@register("HySCaLE", migrations={0: FROM_0_1_0})
@dataclass(frozen=True, eq=False)
class HySCaLE(SCaLE):
    """SCaLE that goes on learning while it exploits, by one projected gradient step per reading.

    Parameters
    ----------
    learning_rate
        The step size xi of the gradient.
    gradient : {"exact", "as_printed"}
        As in :class:`soqo.POL`.

    The others are those of :class:`SCaLE`.

    Examples
    --------
    >>> HySCaLE(noise_cap=1.0, rank=1, min_eigenvalue=0.5, learning_rate=1e-8).handover
    'direct'
    """

    learning_rate: float = 1e-8
    gradient: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        rate = number("learning_rate", self.learning_rate, above=0.0)
        object.__setattr__(self, "learning_rate", rate)
        choice("gradient", self.gradient, FORMS)

    @classmethod
    def as_printed(cls, noise_cap: float, rank: int, min_eigenvalue: float, **options: Any) -> Any:
        """The text to the letter: SCaLE's, with the learning rate 1e-6 and the printed gradient."""
        printed = {"learning_rate": 1e-6, "gradient": "as_printed", **options}
        return super().as_printed(noise_cap, rank, min_eigenvalue, **printed)

    observe = quietly(Policy.observe)

    def refine(self, state: State[ScaleMemory], y: Array) -> ScaleMemory:
        step = projected_gradient_step(state.memory.estimate, state.x - state.v, y, self.learning_rate, self.gradient)
        return evolve(state.memory, estimate=step)
