r"""GLIDE: learn A from the movement that optimal play causes.

Every step of LAI leaves u = x - v different from zero, of the size of the steps of v, and the reading 1/2 u'Au + noise
is linear in A. The player therefore need not pay for information: it plays LAI for the current estimate and learns from
each reading. If v is a martingale, the expected regret is exactly the sum of 1/2 E |x_t - x*_t|^2 in the norm of
C_t^{-1}, where x*_t is LAI's step from the player's own x_{t-1}: it is of second order in the error of the estimate.

    filters     Bayesian regression, one filter for each hypothesis     soqo.estimators.bayes
    factored    the same for many dimensions, where A has a low rank    soqo.estimators.factored
    beliefs     posteriors of A that differ in what they take for wrong soqo.policies.glide._beliefs
    observation was a reading wrong, or has A changed?                  soqo.policies.glide._observation
    action      the action of the least expected regret                 soqo.policies.glide._action
    probes      deviations whose information is worth their price       soqo.policies.glide._probes
    drift       the predictable part of the steps of v                  soqo.policies.glide._drift
    forecasts   how far a forecast of v deserves trust                  soqo.policies.glide._forecasts
    faults      meters that repeat themselves                           soqo.policies.glide._meter_faults
    health      does what is told and measured fit together?            soqo.policies.glide._health
    report      what the policy says of itself                          soqo.policies.glide._report
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from soqo._foundation.arguments import number
from soqo._foundation.blas import is_finite_quick
from soqo._foundation.frozen_dataclasses import evolve, set_fields
from soqo._storage.registry import register
from soqo.errors import ArgumentError
from soqo.estimators.bayes import MAX_DISTANCE, Reading, Terms
from soqo.policies._base import Policy, State
from soqo.policies.glide import _report
from soqo.policies.glide._action import action
from soqo.policies.glide._earlier_files import without_options
from soqo.policies.glide._health import EVERY, judge, reached
from soqo.policies.glide._memory import MAX_DENSE_DIM, Memory
from soqo.policies.glide._observation import observe
from soqo.policies.glide._probes import best_probes
from soqo.typing import Array, Rng


@register("GLIDE", version=4, migrations={3: without_options})
@dataclass(frozen=True)
class GLIDE(Policy[Memory]):
    """LAI for an estimate of A that is learned from every reading, without prior knowledge.

    Every option is something that readings cannot show; none is needed.

    Parameters
    ----------
    offset : bool
        Whether the minimizer may differ from v. False if v is exact.
    noise_cap : float, optional
        A bound on the noise of a reading.
    y_max : float, optional
        The limit of the meter: a reading at the limit says only that the cost is at least that.
    switching_included : bool
        Whether the readings contain the switching cost of the round, which is then subtracted.
    trusted_distance : float, optional
        The distance |x - v| at which the hitting cost deviates from a quadratic function by as much as the noise.
        Readings from further away count less. With a switching weight W, the distance is the root of (x - v)'W(x - v).

    See Also
    --------
    soqo.SCaLE : The paper's policy, which pays for its information by probes.

    Notes
    -----
    A round costs O(d^4) up to d = 12. With more dimensions it depends on the rank of A; contexts and offsets that walk
    are not learned, and a reading at ``y_max`` is not used.

    Examples
    --------
    >>> policy = GLIDE()
    >>> state = policy.start(x0=np.zeros(2))
    >>> rng = np.random.default_rng(0)
    >>> A, v = np.diag([2.0, 0.5]), np.zeros(2)
    >>> for _ in range(60):
    ...     v = v + 10.0 * rng.standard_normal(2)
    ...     x, state = policy.act(state, v)
    ...     state = policy.observe(state, 0.5 * (x - v) @ A @ (x - v) + rng.uniform(-1.0, 1.0))
    >>> bool(np.abs(policy.diagnostics(state)["estimate"] - A).max() < 0.02)
    True
    """

    _: KW_ONLY
    offset: bool = True
    noise_cap: float | None = None
    y_max: float | None = None
    switching_included: bool = False
    trusted_distance: float | None = None

    def __post_init__(self) -> None:
        for name in ("offset", "switching_included"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.noise_cap is not None:
            set_fields(self, noise_cap=number("noise_cap", self.noise_cap, least=0.0))
        if self.y_max is not None:
            set_fields(self, y_max=number("y_max", self.y_max))
        if self.trusted_distance is not None:
            set_fields(self, trusted_distance=number("trusted_distance", self.trusted_distance, above=0.0))

    # ---- a round ---------------------------------------------------------------------------------------------------

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> Memory:
        d = x0.shape[-1]
        terms = Terms(d, offset=self.offset, regressors=d + 1)
        return Memory.start(math.prod(x0.shape[:-1]), terms)

    def decide(self, state: State[Memory], v: Array) -> tuple[Array, Memory]:
        told = v.reshape(-1, v.shape[-1])
        memory, context = self._with_context(state, state.memory)
        forecast = None if state.forecast is None else state.forecast.reshape(len(told), *state.forecast.shape[-2:])
        drift, forecasts = memory.drift, memory.forecasts.update(told, forecast)
        if state.round:
            step = np.clip(told - state.v.reshape(told.shape), -MAX_DISTANCE, MAX_DISTANCE)
            if state.began is not None:  # the first minimizer of a run is not a step
                step = np.where(np.reshape(state.own_round, (-1, 1)) > 0, step, 0.0)
            drift = drift.update(step)
        memory = evolve(memory, drift=drift, forecasts=forecasts)
        x, memory = self._with_probes(state, memory, told, action(state, memory, told, context, forecast), v.shape)
        if state.reach is not None:
            limited, outside = reached(state.reach, state.x, v, x)
            memory = evolve(memory, health=memory.health.stopped(limited.reshape(-1), outside.reshape(-1)))
        return x, memory

    def _with_probes(
        self, state: State[Memory], memory: Memory, told: Array, x: Array, shape: tuple[int, ...]
    ) -> tuple[Array, Memory]:
        """Return the actions with the probes that pay, and the memory that counts them."""
        distance = np.clip(state.x.reshape(told.shape) - told, -MAX_DISTANCE, MAX_DISTANCE)
        motion, beliefs = memory.motion.after(distance), memory.beliefs
        may = motion.may_probe(distance)
        if may.any():  # and if there is one belief: otherwise the next reading decides between them
            may &= (np.bincount(beliefs.run) == 1) & beliefs.posterior.started[beliefs.best]
        if may.any():
            index = np.flatnonzero(may)
            # Without a horizon, assume that as many rounds follow as have been played.
            save = motion.rounds[index] if state.horizon is None else np.full(len(index), float(state.rounds_to_go))
            own, planned = beliefs.posterior.take(beliefs.best[index]), (x - told)[index]
            probes = best_probes(own, memory.terms, planned, motion.moment(index), state.rounds_to_go, save)
            x[index] += probes
            motion = motion.considered(index, probes)
        return x.reshape(shape), evolve(memory, motion=motion)

    def learn(self, state: State[Memory], y: Array) -> Memory:
        memory, context = self._with_context(state, state.memory)
        memory, z = self._with_covariates(state, memory)
        u, y = state.u.reshape(-1, state.x.shape[-1]), y.reshape(-1)
        seen: Any = True if is_finite_quick(y) else ~np.isnan(y)
        unit = np.ones(1) if state.unit is None else state.unit.reshape(-1)
        at_limit = y * unit >= (math.inf if self.y_max is None else self.y_max)
        # A meter at a known limit repeats itself without being stuck.
        repeated, faults = memory.faults.update(u, np.where(at_limit, np.nan, y * unit))
        if self.switching_included and state.x_prev is not None:
            step = (state.x - state.x_prev).reshape(u.shape)
            y = y - 0.5 * np.minimum(np.vecdot(step, step), 1e300) / unit
        y = np.where(repeated | (at_limit & (u.shape[1] > MAX_DENSE_DIM)), np.nan, y)
        factor = None if state.factor is None else state.factor.reshape(-1)
        noise = np.ones(len(u))
        if self.trusted_distance is not None:
            noise = 1.0 + np.minimum(np.sqrt(np.vecdot(u, u)) / self.trusted_distance, 1e15) ** 4
        censored = at_limit if self.y_max is not None else None
        resolution = faults.resolution() / unit if faults.repetitions.any() else None
        reading = Reading(u, y, context, factor, noise, censored, z, resolution).clipped()
        before = state.x if state.x_prev is None else state.x_prev
        beliefs = memory.beliefs.begun(memory.terms, reading, (before - state.v).reshape(u.shape))
        beliefs = observe(beliefs, memory.terms, reading, state.round, self.noise_cap)
        best, alarm = beliefs.best, beliefs.has_changed_since(memory.last_alarm)
        last_alarm = np.where(alarm, beliefs.epoch[best], memory.last_alarm)
        memory = evolve(
            memory,
            beliefs=beliefs,
            faults=faults,
            alarms=memory.alarms + alarm,
            last_alarm=last_alarm,
            health=memory.health.heard(state.v.reshape(u.shape), seen, beliefs.wrong[best] > 0.0),
        )
        if state.began is not None or state.round % EVERY == 0:
            due = np.flatnonzero(np.broadcast_to(seen & (np.reshape(state.own_round, -1) % EVERY == 0), len(u)))
            if due.size:
                health = judge(memory, due, state.round, state.rounds_to_go, self.y_max)
                return evolve(memory, health=health)
        return memory

    def _with_context(self, state: State[Memory], memory: Memory) -> tuple[Memory, Array | None]:
        """Return the memory with the terms of this round, and the context, shape (runs, k).

        The first context makes the features longer, and so does a factor before the first reading. A round without a
        context has the context zero. Without ``offset`` and with many dimensions, contexts are ignored.
        """
        terms, runs = memory.terms, len(memory.alarms)
        if not self.offset or terms.dim > MAX_DENSE_DIM:
            return memory, None
        entries = terms.context if state.context is None else state.context.reshape(runs, -1).shape[1]
        if state.factor is not None or entries != terms.context:
            memory = memory.with_terms(evolve(terms, context=entries, factor=terms.factor or state.factor is not None))
        if entries != memory.terms.context:
            raise ArgumentError(
                f"context must have {memory.terms.context} entries as in the first round, got {entries}"
            )
        return memory, np.zeros((runs, entries)) if state.context is None else state.context.reshape(runs, entries)

    def _with_covariates(self, state: State[Memory], memory: Memory) -> tuple[Memory, Array | None]:
        """Return the memory with the terms of this reading, and the regressors of the base load, shape (runs, m).

        They are the minimizer, the number of the round, and the covariates.
        """
        terms, runs = memory.terms, len(memory.alarms)
        if not terms.regressors:
            return memory, None
        d = terms.dim
        z = np.full((runs, terms.regressors), np.nan)
        z[:, :d], z[:, d] = state.v.reshape(runs, -1), state.own_round
        if state.covariates is None:
            return memory, z
        covariates, entries = state.covariates.reshape(runs, -1), terms.regressors - d - 1
        z = np.concatenate([z[:, : d + 1], covariates], axis=1)
        memory = memory.with_terms(evolve(terms, regressors=z.shape[1]))
        if memory.terms.regressors != z.shape[1]:
            raise ArgumentError(
                f"covariates must have {entries} entries as in earlier readings, got {covariates.shape[1]}"
            )
        return memory, z

    # ---- batches that change ---------------------------------------------------------------------------------------

    @property
    def mixes_rounds(self) -> bool:
        return True

    def shift_rounds(self, memory: Memory, by: int) -> Memory:
        return memory.shift_rounds(by)

    # ---- reports ---------------------------------------------------------------------------------------------------

    def diagnostics(self, state: State[Memory]) -> dict[str, Any]:
        """Return what is known about the policy's internals, by name.

        ``estimate`` is the estimate of A, ``uncertainty`` the standard deviation of q'A q for each of its eigenvectors
        q, ``noise`` the deviation of a reading, ``offset`` the estimate of b (the minimizer is v - b), ``base_load``
        that of the base load, the reading at the minimizer, and ``drift`` the correlation of successive steps of v.
        ``probes``, ``alarms`` and ``outliers`` are numbers; ``last_alarm`` is the round of the last alarm (0 for none).
        ``stuck`` and ``saturated`` say whether the meter repeats itself. ``beliefs`` is the number of hypotheses and
        ``weight`` the probability of the best one. ``hypotheses`` has a row for each, the most probable first: the
        probability, the round in which it started to learn (0 for the beginning), the number of readings that it has
        rejected, and the reading that it expects at x = v; NaN for none.

        Parameters
        ----------
        state : State
            The state.
        """
        return {**super().diagnostics(state), **_report.diagnostics(state, self.y_max)}

    def model(self, state: State[Memory]) -> dict[str, Any]:
        return _report.model(state)

    def health(self, state: State[Memory]) -> dict[str, Any]:
        """Return whether what is told and measured fits together: numbers, and a verdict in words.

        ``calibrated`` is the share of the last readings inside the band in which 95 % were expected, ``outliers`` the
        rest, and ``rejected`` the share that was rejected; ``outside`` and ``limited`` are the shares of the last
        rounds in which v was out of the limits, and in which limits stopped the step. ``falling`` says by how many
        deviations readings fall with the distance from v (negative if they rise), ``offset`` how large the offset is in
        units of the range in which v has moved, ``least`` and ``inverse`` are the least eigenvalue of A, relative to
        the switching weight, and the inverse of the largest one, ``shortest`` and ``longest`` the shares of the
        distance to v that a step covers in their directions, and ``deviation`` that of such a share. ``repeated`` and
        ``at_limit`` count equal readings.

        ``wrong`` says whether there is a finding that shows a mistake, ``since`` is the round since which the first
        finding holds (0 for none), ``confident`` whether there is none and the deviation is small, and ``verdict`` is a
        text. ``offset_covariance`` is the covariance of the offset.

        Parameters
        ----------
        state : State
            The state.
        """
        return _report.health(state, self.y_max)

    def uncertainty_of(self, state: State[Memory], directions: Array) -> Array:
        """Return the standard deviation of w'A w for some directions w, shape (*batch, k).

        Parameters
        ----------
        state : State
            The state.
        directions : Array, shape (*batch, k, d)
            The directions w, which need not have length one.
        """
        flat = directions.reshape(-1, *directions.shape[-2:])
        return _report.deviations(state.memory, flat).reshape(directions.shape[:-1])

    def counts(self, state: State[Memory]) -> dict[str, Array]:
        return {"alarms": state.memory.alarms.reshape(state.batch_shape)}

    def explain(self, state: State[Memory]) -> str:
        """Describe whether the policy is testing a reading, restarting, probing, learning or confident.

        Parameters
        ----------
        state : State
            The state of one plant.
        """
        return _report.explain(state, self.y_max)
