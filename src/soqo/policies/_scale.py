"""SCaLE: probe, estimate, plan, exploit; the paper's Algorithm 1.

For m = ceil(c1 r d) rounds the player acts at v + gamma z with z normal, and observes the cost. Then it estimates A by
trace minimization, and plays LAI with the estimate. Where the paper's text is incomplete or contradicts itself, an
option selects the variant; ``SCaLE.as_printed`` follows the text literally, and the defaults are what works.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any, Literal, Self

import numpy as np

from soqo._foundation.arguments import choice, finite_array, integer, number
from soqo._foundation.blas import max_entry
from soqo._foundation.frozen_dataclasses import Value, evolve, freeze, set_fields
from soqo._foundation.random_streams import draw_per_run
from soqo._model.planner import Plan, lai_step
from soqo._model.problem import Problem
from soqo._model.spectrum import positive_semidefinite
from soqo._storage.registry import compose, map_field, register, rename_fields
from soqo.errors import ArgumentError
from soqo.estimators import GradientEstimate, Recovery, Status
from soqo.policies._base import Policy, State
from soqo.processes import Process
from soqo.theory import optimal_gamma2
from soqo.typing import Array, ArrayLike, BoolArray, IntArray, Rng

_OPTIMAL_DRAWS = 32
"""The number of draws of probes and noise over which ``gamma2="optimal"`` averages."""

FROM_0_1_0 = compose(
    rename_fields(sigma_floor="min_eigenvalue"),
    map_field("handover", lambda handover: "virtual" if handover == "replay" else handover),
)
"""The migration of SCaLE and HySCaLE from files of 0.1.0."""


class Phase(IntEnum):
    """The phase of a run; ``diagnostics`` has one for each run."""

    EXPLORING = 0
    """Probing; there is no estimate yet."""
    SOLVED = 1
    """Exploiting the estimate."""
    CONSISTENT_WITH_ZERO = 2
    """Exploiting; M = 0 fits within the radius, so least squares replaces it (unless ``fallback`` is "none")."""
    INFEASIBLE = 3
    """Exploiting; nothing fits within the radius, so the best fit in l1 is used."""
    STALLED = 4
    """Exploiting the best iterate of a solver that round-off stopped."""
    NO_ROOM = 5
    """The horizon is too short for probing: the player follows v."""
    NO_READINGS = 6
    """No reading arrived during probing: the player follows v."""

    def describe(self) -> str:
        """Return what a player in this phase does, and why."""
        return {
            Phase.EXPLORING: "probing around v, to learn A from the readings before it exploits it",
            Phase.SOLVED: "exploiting its estimate of A",
            Phase.CONSISTENT_WITH_ZERO: "exploiting a fallback: the readings fit A = 0 within its radius",
            Phase.INFEASIBLE: "exploiting the best fit: no A explains the readings within its radius",
            Phase.STALLED: "exploiting the best iterate of a solver that round-off stopped",
            Phase.NO_ROOM: "following v: the horizon is too short for probing",
            Phase.NO_READINGS: "following v: no reading arrived while it probed",
        }[self]


_PHASES = {status: Phase[status.name] for status in Status}


@register("SCaLE.memory")
@dataclass(frozen=True)
class ScaleMemory(Value):
    """The memory of SCaLE: its probes, their readings, and then its estimate.

    Attributes
    ----------
    probes : Array, shape (*batch, m, d)
        The planned offsets gamma z, drawn at the start.
    u, v : Array, shape (*batch, m, d)
        The offsets x - v that were applied, and the minimizers.
    y : Array, shape (*batch, m)
        The readings; NaN where there was none.
    x0 : Array, shape (*batch, d)
        The position before the first round.
    phase : IntArray, shape (*batch,)
        The phase of each run as a number of :class:`Phase`.
    estimate : GradientEstimate
        The estimate of A; zero while probing.
    """

    probes: Array
    u: Array
    v: Array
    y: Array
    x0: Array
    phase: IntArray
    estimate: GradientEstimate


@register("SCaLE", migrations={0: FROM_0_1_0})
@dataclass(frozen=True)
class SCaLE(Policy[ScaleMemory]):
    """Probe around v, estimate A by trace minimization, and play LAI with the estimate.

    The reading of a probe that arrives after the estimation is not used.

    Parameters
    ----------
    noise_cap : float
        The bound of the noise, the paper's eta-bar.
    rank : int
        The rank of A.
    min_eigenvalue : float
        A lower bound of the smallest nonzero eigenvalue of A, in coordinates where the switching cost is unweighted.
    c1 : float
        The number of probes per rank and dimension: m = ceil(c1 rank d).
    gamma2 : {"algorithm", "appendix", "guarantee", "optimal"} or float
        The variance of a probe. ``"algorithm"``: sqrt(eta) max(T^p, 1/sigma), as in Algorithm 1, with p = 2/3 where
        rank < d and 1/2 otherwise. ``"appendix"``: sqrt(eta) max((T-m)^p, 2/sigma). ``"guarantee"``: eta max(T^p,
        2/sigma), which the stated error eta/gamma^2 <= min(T^-p, sigma/2) needs. ``"optimal"``: the result of
        :func:`soqo.theory.optimal_gamma2` for ``prior`` and ``covariance`` (a second or two at d = 4; it ignores
        ``probe_limit``).
    radius : {"residual", "cap", "exact"} or float
        The l1 radius of the estimator. ``"residual"``: 1.05 times the least absolute deviations, the smallest radius
        with a solution; if m is at most 1.5 d(d+1)/2, they interpolate the readings and carry no information, and
        eta m / 2 is used. ``"cap"``: eta m, as printed. ``"exact"``: the l1 norm of the noise, as in the proof of
        Theorem 3; only :func:`soqo.simulate` can give it.
    handover : {"direct", "virtual"}
        Whether exploitation starts from the current position, or from the position that LAI with the estimate would
        have reached by now.
    fallback : {"least_squares", "none"}
        What replaces an estimate that is consistent with zero: PSD least squares, or nothing (the player then stays
        where it is).
    probe_limit : float or array_like of shape (d,), optional
        A bound on |x - v| per actuator while probing; the estimator uses the probes that were applied.
    covariance : float, array_like or Process, optional
        The covariance of the steps of v, for ``gamma2="optimal"``.
    prior : array_like, shape (d, d) or (k, d, d), optional
        The possible values of A, for ``gamma2="optimal"``: one matrix, or several that are equally likely. The default
        is a matrix of this rank whose nonzero eigenvalues are all ``min_eigenvalue``.
    oracle_A : array_like, shape (d, d) or (*batch, d, d), optional
        The true A, for ``radius="exact"``; a simulation fills it in.

    See Also
    --------
    HySCaLE : Continues to learn while it exploits.
    soqo.theory.exact_scale_regret : The exact expected regret of this policy.

    Examples
    --------
    >>> policy = SCaLE(noise_cap=1.0, rank=1, min_eigenvalue=0.5)
    >>> policy.exploration_rounds(dim=4), round(policy.probe_variance(dim=4, horizon=1000), 6)
    (12, 100.0)
    """

    noise_cap: float
    rank: int
    _: KW_ONLY
    min_eigenvalue: float
    c1: float = 3.0
    gamma2: Literal["algorithm", "appendix", "guarantee", "optimal"] | float = "algorithm"
    radius: Literal["residual", "cap", "exact"] | float = "residual"
    handover: Literal["direct", "virtual"] = "direct"
    fallback: Literal["least_squares", "none"] = "least_squares"
    probe_limit: ArrayLike | None = None
    covariance: ArrayLike | Process | None = None
    prior: ArrayLike | None = None
    oracle_A: ArrayLike | None = None

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "noise_cap": number("noise_cap", self.noise_cap, least=0.0),
            "rank": integer("rank", self.rank, least=1),
            "min_eigenvalue": number("min_eigenvalue", self.min_eigenvalue, above=0.0),
            "c1": number("c1", self.c1, above=0.0),
        }
        recovery = Recovery(checked["noise_cap"], self.radius, fallback=self.fallback)
        checked["radius"] = recovery.radius
        if not isinstance(self.gamma2, str):
            checked["gamma2"] = number("gamma2", self.gamma2, least=0.0)
        elif choice("gamma2", self.gamma2, ("algorithm", "appendix", "guarantee", "optimal")) == "optimal":
            if self.covariance is None:
                raise ArgumentError("covariance must be given for gamma2 = 'optimal', got None")
            number("noise_cap", self.noise_cap, above=0.0)
        choice("handover", self.handover, ("direct", "virtual"))
        if self.prior is not None:
            checked["prior"] = freeze(positive_semidefinite("prior", self.prior)[0])
        if self.oracle_A is not None:
            checked["oracle_A"] = freeze(positive_semidefinite("oracle_A", self.oracle_A)[0])
        if self.probe_limit is not None:
            limit = finite_array("probe_limit", self.probe_limit)
            if limit.ndim > 1 or not (limit > 0.0).all():
                raise ArgumentError(f"probe_limit must be a positive number or vector, got {self.probe_limit!r}")
            checked["probe_limit"] = freeze(limit)
        set_fields(self, **checked)

    @classmethod
    def as_printed(cls, noise_cap: float, rank: int, *, min_eigenvalue: float, **options: Any) -> Self:
        """Return the literal variant: radius eta m, virtual handover, and an estimate that is used even if it is zero.

        Parameters
        ----------
        noise_cap, rank, min_eigenvalue
            As in the constructor.
        **options
            Other parameters of the constructor, which override the printed ones.
        """
        printed: dict[str, Any] = {"radius": "cap", "handover": "virtual", "fallback": "none", **options}
        return cls(noise_cap, rank, min_eigenvalue=min_eigenvalue, **printed)

    def exploration_rounds(self, dim: int) -> int:
        """Return the number m of rounds of probing.

        Parameters
        ----------
        dim : int
            The dimension d.
        """
        return math.ceil(self.c1 * self.rank * dim)

    def probe_variance(self, dim: int, horizon: int | None) -> float:
        """Return the variance gamma^2 of a probe.

        Parameters
        ----------
        dim : int
            The dimension d.
        horizon : int or None
            The number of rounds T, which must be given unless ``gamma2`` is a number.
        """
        if not isinstance(self.gamma2, str):
            return float(self.gamma2)
        if horizon is None:
            raise ArgumentError(
                f"horizon must be given for gamma2 = {self.gamma2!r}, got None; "
                "for an infinite horizon, give gamma2 as a number"
            )
        if self.gamma2 == "optimal":
            return _optimal_gamma2(self, dim, horizon)
        rounds = horizon
        if self.gamma2 == "appendix":
            rounds = max(1, horizon - self.exploration_rounds(dim))
        power = float(rounds) ** (2.0 / 3.0 if self.rank < dim else 0.5)
        floor = (1.0 if self.gamma2 == "algorithm" else 2.0) / self.min_eigenvalue
        noise = self.noise_cap if self.gamma2 == "guarantee" else math.sqrt(self.noise_cap)
        return float(noise * max(power, floor))

    @property
    def recovery(self) -> Recovery:
        """The estimator that turns readings into an estimate of A."""
        known = None if self.oracle_A is None else np.asarray(self.oracle_A)
        return Recovery(self.noise_cap, self.radius, fallback=self.fallback, oracle_A=known)

    def for_simulation(self, problem: Problem) -> SCaLE:
        if self.radius != "exact" or self.oracle_A is not None:
            return self
        return replace(self, oracle_A=problem.plain.A)

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> ScaleMemory:
        *batch, d = x0.shape
        if self.radius == "exact" and self.oracle_A is None:
            raise ArgumentError("radius must not be 'exact' outside of a simulation, which alone knows the noise")
        if self.rank > d:
            raise ArgumentError(f"rank must be at most the dimension {d} of x0, got {self.rank}")
        limit = None if self.probe_limit is None else np.asarray(self.probe_limit)
        if limit is not None and limit.shape not in ((), (d,)):
            raise ArgumentError(f"probe_limit must have shape {(d,)}, got {limit.shape}")
        m = self.exploration_rounds(d)
        room = horizon is None or m < horizon
        phase = np.full(batch, Phase.EXPLORING if room else Phase.NO_ROOM, dtype=np.int64)
        if not room:
            m = 0
        gamma = math.sqrt(self.probe_variance(d, horizon)) if m else 0.0
        draws = draw_per_run(rng, tuple(batch), lambda generator: generator.standard_normal((m, d)))
        probes = gamma * draws
        if limit is not None:
            probes = np.clip(probes, -limit, limit)
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
            memory = self.estimate_from(memory)
            x_prev = self.exploitation_start(memory, state)
        x = lai_step(memory.estimate.spectrum, state.rounds_to_go, x_prev, v, state.factor)
        if not memory.phase.size or max_entry(memory.phase) < Phase.NO_ROOM:
            return x, memory
        return np.where(memory.phase[..., None] >= Phase.NO_ROOM, v, x), memory

    def learn(self, state: State[ScaleMemory], y: Array) -> ScaleMemory:
        memory, t = state.memory, state.round - 1
        if t >= memory.probes.shape[-2]:
            return self.refine(state, y)
        with np.errstate(over="ignore"):
            z = state.z
        observed = ~np.isnan(y) & np.isfinite(z).all(axis=-1)  # a distance that overflows measures nothing
        u, readings = memory.u.copy(), memory.y.copy()
        u[..., t, :] = np.where(observed[..., None], z, u[..., t, :])
        readings[..., t] = np.where(observed, y, readings[..., t])
        return evolve(memory, u=u, y=readings)

    def refine(self, state: State[ScaleMemory], y: Array) -> ScaleMemory:
        """Return the memory after a reading while exploiting: unchanged, for SCaLE.

        Parameters
        ----------
        state : State
            The state after ``act``.
        y : Array, shape (*batch,)
            The reading.
        """
        return state.memory

    def estimate_from(self, memory: ScaleMemory) -> ScaleMemory:
        """Estimate A in each run at the end of probing.

        Parameters
        ----------
        memory : ScaleMemory
            The memory with all probes and readings.

        Returns
        -------
        ScaleMemory
            The memory with the estimates and the phases.
        """
        matrices, statuses = self.recovery(memory.u, memory.y)
        phase = memory.phase.copy()
        for run, status in np.ndenumerate(statuses):
            silent = np.isnan(memory.y[run]).all()
            phase[run] = Phase.NO_READINGS if silent else _PHASES[status]
        return evolve(memory, phase=phase, estimate=GradientEstimate.initial(matrices))

    def exploitation_start(self, memory: ScaleMemory, state: State[ScaleMemory]) -> Array:
        """Return the position from which exploitation starts, shape (*batch, d).

        Parameters
        ----------
        memory : ScaleMemory
            The memory with the estimate.
        state : State
            The state after the last probe.
        """
        if self.handover == "direct":
            return state.x
        path = Plan(memory.estimate.matrix, state.horizon).path(memory.x0, memory.v)
        return np.asarray(path[..., -1, :])

    def diverged(self, state: State[ScaleMemory]) -> BoolArray:
        return state.diverged | state.memory.estimate.diverged

    def diagnostics(self, state: State[ScaleMemory]) -> dict[str, Any]:
        """Return the estimate, and the phase of each run as a number of :class:`Phase`.

        Parameters
        ----------
        state : State
            The state.
        """
        return {
            **super().diagnostics(state),
            "estimate": state.memory.estimate.matrix,
            "phase": state.memory.phase,
        }

    def explain(self, state: State[ScaleMemory]) -> str:
        m, phase = state.memory.probes.shape[-2], Phase(int(state.memory.phase.item()))
        when = f", round {min(state.round, m)} of {m}" if phase is Phase.EXPLORING else ""
        return f"{type(self).__name__} is {phase.describe()}{when}."


@lru_cache(maxsize=64)
def _optimal_gamma2(policy: SCaLE, dim: int, horizon: int) -> float:
    """Return the optimal variance of a probe. It takes seconds, and every batch of runs asks for it."""
    if policy.prior is None:
        prior = np.diag(np.where(np.arange(dim) < policy.rank, policy.min_eigenvalue, 0.0))
    else:
        prior = np.asarray(policy.prior)
    if prior.shape[-1] != dim:
        raise ArgumentError(f"prior must be for dimension {dim}, got shape {prior.shape}")
    assert policy.covariance is not None  # the constructor requires it for gamma2 = "optimal"
    return optimal_gamma2(
        prior,
        policy.covariance,
        horizon=horizon,
        m=policy.exploration_rounds(dim),
        noise=policy.noise_cap,
        estimator=policy.recovery,
        handover=policy.handover,
        draws=_OPTIMAL_DRAWS,
    )
