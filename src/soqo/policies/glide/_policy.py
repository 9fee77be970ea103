r"""GLIDE: learn A from the movement that optimal play causes.

Every step of LAI leaves u = x - v different from zero, of the size of the steps of v, and the reading 1/2 u'Au + noise
is linear in A. The player therefore need not pay for information: it plays LAI for the current estimate and learns from
each reading by least squares. If v is a martingale, the expected regret is exactly the sum of 1/2 E |x_t - x*_t|^2 in
the norm of C_t^{-1}, where x*_t is LAI's step from the player's own x_{t-1}: it is of second order in the error of the
estimate.

    posterior   recursive least squares with unknown noise, scale,      soqo.estimators.bayes
                offset and base load
    estimate    the MAP estimate in the cone                            soqo.estimators.bayes
    minimizer   where the minimizer is, if v is told with an offset     soqo.policies.glide._minimizer
    beliefs     hypotheses about outliers, changes and base loads       soqo.policies.glide._beliefs
    readings    what a reading does to them                             soqo.policies.glide._readings
    outliers    densities of wrong readings                             soqo.policies.glide._outliers
    changes     beliefs that start again after a suspected change       soqo.policies.glide._changes
    reviews     fits of the latest readings                             soqo.policies.glide._reviews
    base loads  which other ones the latest readings support            soqo.policies.glide._base_loads
    hedge       what to play for while A may have changed               soqo.policies.glide._hedge
    faults      meters that are stuck or saturated                      soqo.policies.glide._meter_faults
    probes      deviations that are worth their cost                    soqo.policies.glide._probes
    verify      deviations that verify a large eigenvalue               soqo.policies.glide._verification
    drift       the predictable part of the steps of v                  soqo.policies.glide._drift
    forecasts   how far a forecast of v deserves trust                  soqo.policies.glide._forecasts
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from soqo._foundation.arguments import choice, number
from soqo._foundation.blas import any_entry, min_entry, sum_of_squares
from soqo._foundation.frozen_dataclasses import evolve, set_fields
from soqo._model.gains import MAX_ROUNDS, advance, advance_remembered, advance_with_factor
from soqo._model.planner import anticipation, towards
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import add_fields, compose, map_field, register, rename_fields
from soqo.errors import ArgumentError
from soqo.estimators.bayes import (
    MAX_DISTANCE,
    STEADY_RATIO,
    Posterior,
    ReadingModel,
    clip_inputs,
    estimate_period,
    map_estimate,
)
from soqo.policies._base import Policy, State
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._drift import Drift
from soqo.policies.glide._forecasts import ForecastTrust
from soqo.policies.glide._hedge import hedge
from soqo.policies.glide._large._companion import COMPANION_DIMS, Companion
from soqo.policies.glide._large._learning import Options
from soqo.policies.glide._large._memory import LargeMemory
from soqo.policies.glide._large._reports import deviations as stream_deviations
from soqo.policies.glide._large._reports import diagnostics as stream_diagnostics
from soqo.policies.glide._large._reports import explain as explain_stream
from soqo.policies.glide._large._rounds import decide as decide_streams
from soqo.policies.glide._large._rounds import observe as observe_streams
from soqo.policies.glide._memory import GlideMemory
from soqo.policies.glide._meter_faults import MeterFaults
from soqo.policies.glide._minimizer import minimizer_shift
from soqo.policies.glide._moment import update_moment
from soqo.policies.glide._probes import best_probe, exploratory_spectrum, explores, may_probe
from soqo.policies.glide._readings import learn as learn_reading
from soqo.policies.glide._verification import is_due, verification_probe
from soqo.typing import Array, BoolArray, Rng

_MAX_DENSE_DIM = 12
"""Up to this dimension A is represented by a dense posterior, and above by what the evidence supports."""

_MAX_BIAS_DIM = 12
"""Up to this dimension, a bias for each direction costs little time."""

_CONFIDENT_DEVIATION = 0.05
"""GLIDE reports itself as confident if the deviation of the gain is at most this."""

_NOWHERE = np.zeros((), dtype=np.bool_)
"""No run."""


_without_plants = add_fields(offset=False, base_load=False, y_max=None, switching_included=False)
"""A policy that an earlier version wrote goes on without what its memory does not hold."""


@register(
    "GLIDE",
    version=3,
    migrations={
        0: compose(rename_fields(memory="window"), map_field("drift", lambda drift: drift == "auto")),
        1: _without_plants,
        2: add_fields(trusted_distance=None),
    },
)
@dataclass(frozen=True)
class GLIDE(Policy[Any]):
    """LAI for the current estimate of A, which is learned from every reading without prior knowledge.

    With p = d(d+1)/2 unknowns a round costs O(p^2) = O(d^4). It costs O(p^3) if the noise and the scale are estimated
    again (ever more rarely) or if the estimate is near the boundary of the cone (in every round while there are no more
    than 4p readings, and in every fourth round later).

    With more than 12 dimensions, A is represented by the latest readings, by sums over all of them or by a factor
    A = L L', as the evidence supports. A base load is then learned from the latest readings until A is known as a
    factor, and kept from then on. Offsets and contexts are not learned and contexts are ignored, ``robust`` and
    ``bias`` have no effect, and a reading at ``y_max`` is not used. ``probing`` deviates along single directions if v
    moves in few directions only; large eigenvalues are not verified. While readings are mostly noise and do not show
    the scale of A, it plays for an A no larger than the switching weight, in the first hundred rounds at most.

    Parameters
    ----------
    noise_cap : float, optional
        A bound on the noise of a reading, if one is known; otherwise the noise is estimated.
    bias : {"auto", "direction", "constant", "none"}
        The bias of the readings in addition to independent noise: one that depends on the direction of x - v, the same
        bias everywhere, or none. ``"auto"`` is ``"direction"`` up to d = 12, where it costs little time, and
        ``"constant"`` above, until the readings show that there is none.
    robust : bool
        Whether this bias may be several times as large as the noise, as for an adversary.
    probing : bool
        Whether to deviate from LAI if the information is worth its cost, and to explore in the first rounds if the
        readings do not show the scale of A.
    alarms : bool
        Whether to detect outliers, stuck meters and changes of A.
    window : float, optional
        The number of rounds after which a reading has lost most of its weight, for an A that changes slowly; None for
        no forgetting.
    drift : bool
        Whether to use the predictable part of the steps of v.
    offset : bool
        Whether the minimizer may differ from v by a constant, which is then learned; it needs ``base_load``.
    base_load : bool
        Whether the readings may contain a base load, constant or slowly varying, if the evidence supports it.
    y_max : float, optional
        The limit of the meter: a reading at the limit says only that the cost is at least that.
    switching_included : bool
        Whether the readings contain the switching cost of the round, which is then subtracted.
    trusted_distance : float, optional
        The distance |x - v| at which the hitting cost deviates from a quadratic function by as much as the noise. The
        deviation is assumed to grow with the square of the distance, and readings further away have less weight. None
        for a quadratic function. For a plant with a switching weight W, it is the square root of (x - v)'W(x - v).

    See Also
    --------
    soqo.SCaLE : The paper's policy, which pays for its information by probes.
    soqo.estimators.bayes.Posterior : The posterior of A.

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
    noise_cap: float | None = None
    bias: Literal["auto", "direction", "constant", "none"] = "auto"
    robust: bool = False
    probing: bool = True
    alarms: bool = True
    window: float | None = None
    drift: bool = True
    offset: bool = True
    base_load: bool = True
    y_max: float | None = None
    switching_included: bool = False
    trusted_distance: float | None = None

    def __post_init__(self) -> None:
        if self.noise_cap is not None:
            set_fields(self, noise_cap=number("noise_cap", self.noise_cap, least=0.0))
        if self.window is not None:
            set_fields(self, window=number("window", self.window, least=2.0))
        if self.trusted_distance is not None:
            set_fields(self, trusted_distance=number("trusted_distance", self.trusted_distance, above=0.0))
        if self.y_max is not None:
            set_fields(self, y_max=number("y_max", self.y_max))
        choice("bias", self.bias, ("auto", "direction", "constant", "none"))
        for name in ("robust", "probing", "alarms", "drift", "offset", "base_load", "switching_included"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.robust and self.bias == "none":
            raise ArgumentError("bias must be 'auto', 'direction' or 'constant' if robust is True, got 'none'")

    def _model(self, dim: int, context: int = 0, factor: bool = False) -> ReadingModel:
        offset = self.offset and self.base_load
        return _reading_model(
            dim, self.bias, self.robust, self.noise_cap, self.trusted_distance, self.window, offset, context, factor
        )

    def _model_of(self, memory: GlideMemory) -> ReadingModel:
        """Return the model of a memory, which the first round has chosen."""
        _, d, columns = memory.shift.shape
        model = self._model(d, columns - 1)
        if memory.beliefs.posterior.mean.shape[1] > model.size:
            model = self._model(d, columns - 1, factor=True)
        return model

    # ---- a round ---------------------------------------------------------------------------------------------------

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> GlideMemory | LargeMemory:
        if x0.shape[-1] > _MAX_DENSE_DIM:
            return LargeMemory.start(x0.shape[:-1], x0.shape[-1])
        return self._fresh_memory(math.prod(x0.shape[:-1]), x0.shape[-1], 0)

    def _fresh_memory(self, runs: int, d: int, context: int, factor: bool = False) -> GlideMemory:
        beliefs = Beliefs.start(self._model(d, context, factor), runs, base_load=self.base_load)
        posterior = beliefs.played()
        zeros = np.zeros(runs)
        spectrum = Spectrum.of(posterior.scale[:, None, None] * posterior.prior_mean)
        return GlideMemory(
            beliefs=beliefs,
            spectrum=spectrum,
            played=spectrum,
            shift=np.zeros((runs, d, 1 + context)),
            moment=np.zeros((runs, d, d)),
            faults=MeterFaults.start(runs, d),
            probes=zeros,
            alarms=zeros,
            last_probe=zeros,
            last_alarm=zeros,
            drift=Drift.start(runs, d),
            forecasts=ForecastTrust.start(runs, d),
            companion=Companion.start(runs, d) if d in COMPANION_DIMS else None,
        )

    def decide(self, state: State[Any], v: Array) -> tuple[Array, Any]:
        if isinstance(state.memory, LargeMemory):
            return decide_streams(state, v, drift=self.drift, probing=self.probing, noise_cap=self.noise_cap)
        return self._decide_dense(state, v)

    def _decide_dense(self, state: State[Any], v: Array) -> tuple[Array, GlideMemory]:
        d, memory = v.shape[-1], state.memory
        x_prev, told = state.x.reshape(-1, d), v.reshape(-1, d)
        memory, w = self._with_context(state, memory)
        drift, spectrum = memory.drift, memory.played
        rounds = state.own_round
        exploring, probing = _NOWHERE, _NOWHERE
        # Most rounds are neither; one number answers without arrays.
        if self.probing and (not isinstance(rounds, int) or explores(rounds) or may_probe(rounds)):
            exploring, probing = np.asarray(explores(rounds)), np.asarray(may_probe(rounds))
        exploration = exploring is not _NOWHERE and any_entry(exploring)
        considers = probing is not _NOWHERE and any_entry(probing)
        posterior = memory.beliefs.played_estimate() if exploration or considers else None
        if posterior is not None and exploration:
            explored = exploratory_spectrum(posterior, self._model_of(memory), spectrum)
            spectrum = Spectrum(np.where(exploring[..., None], explored.values, spectrum.values), spectrum.vectors)
        shift = memory.shift[:, :, 0]
        if w is not None:
            shift = shift + np.matvec(memory.shift[:, :, 1:], w)
        target = told - shift
        aim = target
        factor = None if state.factor is None else state.factor.reshape(-1)
        if factor is None:
            advances = advance_remembered(spectrum.values, min(state.rounds_to_go, MAX_ROUNDS))
        else:
            advances = advance_with_factor(spectrum.values, state.rounds_to_go, factor)
        if self.drift:
            if state.round:
                step = told - state.v.reshape(-1, d)
                if state.began is not None:  # the first minimizer of a run is not a step
                    step = np.where(np.asarray(rounds)[:, None] > 0, step, 0.0)
                drift = drift.update(_clip(step))
            if drift.is_predictable():
                aim = target + drift.target_offset(spectrum, advances, state.rounds_to_go)
        forecast = None if state.forecast is None else state.forecast.reshape(len(target), *state.forecast.shape[-2:])
        forecasts = memory.forecasts.update(told, forecast)
        if forecast is None or not forecast.shape[1]:
            x = towards(spectrum, advances, x_prev, aim)
        else:
            # A forecast that is believed takes the place of the autoregression.
            aim = target + (1.0 - forecasts.trust()[:, :1]) * (aim - target)
            expected = forecasts.expected(told, forecast) - shift[:, None]
            x = towards(spectrum, advances, x_prev, aim)
            x = x + anticipation(spectrum, state.rounds_to_go, target, expected, factor)
        moment = update_moment(memory.moment, _clip(x_prev - target), rounds)
        memory = evolve(memory, moment=moment, drift=drift, forecasts=forecasts)
        probe = self._probe(state, memory, x, told, w, posterior, probing) if self.probing else None
        if probe is not None:
            probed = probe.any(axis=1)
            x = x + probe
            memory = evolve(
                memory,
                probes=memory.probes + probed,
                last_probe=np.where(probed, float(state.round + 1), memory.last_probe),
            )
        return x.reshape(v.shape), memory

    def _probe(
        self,
        state: State[GlideMemory],
        memory: GlideMemory,
        x: Array,
        v: Array,
        w: Array | None,
        posterior: Posterior | None,
        probing: BoolArray,
    ) -> Array | None:
        """Return the probe of each run, zero for none: one that pays, or one that verifies the estimate.

        A run that plays for its companion does not probe: the dense posterior does not know what that knows.
        """
        due = is_due(memory.beliefs, state.round, memory.last_probe) if self.alarms else _NOWHERE
        if posterior is None and not any_entry(due):
            return None
        if memory.companion is not None:
            follows = memory.companion.leads
            due, probing = due & ~follows, probing & ~follows
            posterior = posterior if any_entry(probing) else None
        if posterior is None and not any_entry(due):
            return None
        planned = x - v
        probe = np.zeros_like(planned)
        rounds = state.own_round
        # Without a horizon, assume that as many rounds follow as have been played.
        save = np.broadcast_to(
            np.maximum(rounds, 100) if state.horizon is None else state.rounds_to_go - 1, len(planned)
        )
        model = self._model_of(memory)
        if posterior is not None and probing.any():
            where = np.flatnonzero(np.broadcast_to(probing, len(probe)))
            every = where.size == len(probe)
            probe[where] = best_probe(
                posterior if every else posterior.take(where),
                model,
                memory.spectrum if every else Spectrum(memory.spectrum.values[where], memory.spectrum.vectors[where]),
                _clip(planned)[where],
                moment=memory.moment[where],
                rounds_to_go=state.rounds_to_go,
                rounds_to_save=save[where],
                w=None if w is None else w[where],
            )
        due = due & ~probe.any(axis=1)
        if due.any():
            where = np.flatnonzero(due)
            probe[where] = verification_probe(
                memory.beliefs,
                model,
                memory.spectrum,
                where,
                moment=memory.moment,
                rounds_to_go=state.rounds_to_go,
                rounds_to_save=save[where],
            )
        return probe

    def _with_context(self, state: State[GlideMemory], memory: GlideMemory) -> tuple[GlideMemory, Array | None]:
        """Return the memory for the context and the factor of this round, and the context, shape (runs, k).

        The first context makes the model larger, and so does a factor before the first reading. A round without a
        context has the context zero. Without ``base_load`` and ``offset``, contexts are ignored.
        """
        known = memory.shift.shape[2] - 1
        runs, d, _ = memory.shift.shape
        learns_offset = self.offset and self.base_load
        age = memory.beliefs.age
        first = not age.item(0) and not any_entry(age)
        w = np.zeros((runs, known)) if known else None
        if state.context is not None and learns_offset:
            w = np.clip(state.context.reshape(runs, -1), -MAX_DISTANCE, MAX_DISTANCE)
            if w.shape[1] != known and (known or not first):
                raise ArgumentError(f"context must have {known} entries as in the first round, got {w.shape[1]}")
        if not (first and learns_offset):
            return memory, w
        entries = 0 if w is None else w.shape[1]
        with_factor = state.factor is not None or self._model_of(memory).factor
        model = self._model(d, entries, with_factor)
        if memory.beliefs.posterior.mean.shape[1] != model.size:
            fresh = self._fresh_memory(runs, d, entries, with_factor)
            memory = evolve(memory, beliefs=fresh.beliefs, shift=fresh.shift)
        return memory, w

    def _learn_many_dimensions(self, state: State[LargeMemory], y: Array) -> LargeMemory:
        switching: Array | float = 0.0
        if self.switching_included and state.x_prev is not None:
            step, unit = state.x - state.x_prev, 1.0 if state.unit is None else state.unit
            with np.errstate(over="ignore"):
                switching = np.reshape(np.minimum(0.5 * np.vecdot(step, step), 1e300) / unit, -1)
        options = Options(self.noise_cap, self.alarms, self.window, self.base_load, self.trusted_distance)
        return observe_streams(state, y, options, y_max=self.y_max, switching=switching)

    def _companion_options(self) -> Options:
        """Return what companions of a dense posterior are told about the readings."""
        return Options(self.noise_cap, self.alarms, self.window, False, self.trusted_distance, flat=False)

    def learn(self, state: State[Any], y: Array) -> Any:
        if isinstance(state.memory, LargeMemory):
            return self._learn_many_dimensions(state, y)
        return self._learn_dense(state, y)

    def _learn_dense(self, state: State[Any], y: Array) -> GlideMemory:
        d = state.x.shape[-1]
        memory, w = self._with_context(state, state.memory)
        model = self._model_of(memory)
        reading, faults = y.reshape(-1), memory.faults
        unit = 1.0 if state.unit is None else state.unit.reshape(-1)
        measured = reading if state.unit is None else reading * unit
        censored = None if self.y_max is None else measured >= self.y_max
        if self.switching_included and state.x_prev is not None:
            step = (state.x - state.x_prev).reshape(-1, d)
            with np.errstate(over="ignore"):
                reading = reading - np.minimum(0.5 * np.vecdot(step, step), 1e300) / unit
        displacement = state.u.reshape(-1, d)
        if self.alarms:
            # A meter that is at a known limit is not stuck.
            shown = measured if censored is None else np.where(censored, np.nan, measured)
            repeated, faults = faults.update(displacement, shown)
            if any_entry(repeated):
                reading = np.where(repeated, np.nan, reading)
        u, reading = clip_inputs(displacement, reading)
        factor = None if state.factor is None else state.factor.reshape(-1)
        before, features = memory.beliefs, model.features(u, w, factor)
        beliefs = learn_reading(
            before,
            model,
            u,
            reading,
            features,
            w=w,
            factor=factor,
            censored=censored,
            spectrum=memory.spectrum,
            last_probe=memory.last_probe,
            round_number=state.round,
            alarms=self.alarms,
            base_load=self.base_load,
        )
        alarms, last_alarm, spectrum, shift = memory.alarms, memory.last_alarm, memory.spectrum, memory.shift
        which = self._needs_estimate(state, model, before, beliefs, reading)
        if any_entry(beliefs.epoch):
            epoch = beliefs.epoch[beliefs.best]
            # A change is reported when a second reading supports it: a single one that does not fit is usually wrong.
            alarm = (epoch > last_alarm) & (epoch < state.round) & ~np.isnan(reading)
            alarms, last_alarm = alarms + alarm, np.where(alarm, epoch, last_alarm)
        if which is not None and any_entry(which):
            posterior, best = beliefs.posterior, None if beliefs.owner.size == beliefs.best.size else beliefs.best
            spectrum = map_estimate(model, posterior, spectrum, which, best)
            if model.extras:
                shift = np.where(which[:, None, None], minimizer_shift(model, posterior, spectrum, best), shift)
        played, companion = hedge(model, beliefs, spectrum, state.round), memory.companion
        if companion is not None and not companion.is_idle:
            expected = before.posterior.predicted_mean(features[before.owner])[before.best]
            companion = companion.observe(u, reading, factor, expected, self._companion_options(), state.round)
            leads = companion.leads
            if leads.any():
                # The offset belongs to an estimate that predicts worse than the companion, which has none.
                played, shift = companion.spectrum(played, leads), np.where(leads[:, None, None], 0.0, shift)
        result: GlideMemory = evolve(
            memory,
            beliefs=beliefs,
            spectrum=spectrum,
            played=played,
            companion=companion,
            shift=shift,
            faults=faults,
            alarms=alarms,
            last_alarm=last_alarm,
        )
        return result

    @staticmethod
    def _needs_estimate(
        state: State[GlideMemory], model: ReadingModel, before: Beliefs, beliefs: Beliefs, reading: Array
    ) -> BoolArray | None:
        """Return the runs whose estimate is computed after this reading: in time, or since the best belief differs.

        None is returned if there is clearly none.
        """
        rounds, posterior = state.own_round, beliefs.posterior
        epoch, rejected, best, last = beliefs.epoch, beliefs.rejected, beliefs.best, before.best
        same = epoch is before.epoch and rejected is before.rejected and best.size == beliefs.owner.size
        if same and isinstance(rounds, int) and rounds % estimate_period(model, min_entry(posterior.readings), False):
            return None
        # Close to the boundary of the cone, or if the offset walks, the estimate changes faster than the mean of A.
        values = state.memory.spectrum.values
        steady = (values[:, 0] > STEADY_RATIO * values[:, -1]) & (posterior.offset_step[best] == 0.0)
        due = np.asarray(rounds % estimate_period(model, posterior.readings[best], steady) == 0)
        if not same:
            due = due | (epoch[best] != before.epoch[last]) | (rejected[best] != before.rejected[last])
        return np.asarray(due & ~np.isnan(reading))

    # ---- batches that change ---------------------------------------------------------------------------------------

    @property
    def mixes_rounds(self) -> bool:
        return True

    def shift_rounds(self, memory: Any, by: int) -> GlideMemory | LargeMemory:
        if isinstance(memory, LargeMemory):
            return memory.shift_rounds(by)

        def shift(rounds: Array) -> Array:
            return np.where(rounds > 0.0, rounds + by, rounds)

        beliefs = memory.beliefs
        companion = memory.companion
        shifted: GlideMemory = evolve(
            memory,
            companion=None if companion is None else companion.shift_rounds(by),
            beliefs=evolve(beliefs, epoch=shift(beliefs.epoch), protected=shift(beliefs.protected)),
            last_probe=shift(memory.last_probe),
            last_alarm=shift(memory.last_alarm),
        )
        return shifted

    # ---- reports ---------------------------------------------------------------------------------------------------

    def diagnostics(self, state: State[Any]) -> dict[str, Any]:
        """Return what is known about the policy's internals, by name.

        ``estimate`` is the estimate of A, ``uncertainty`` the standard deviation of q'A q for each of its eigenvectors
        q, ``noise`` the deviation of a reading, ``offset`` the estimate of b (the minimizer is v - b), ``base_load``
        that of the base load, the reading at the minimizer, and ``drift`` the correlation of successive steps of v.
        ``probes``, ``alarms`` and ``outliers`` are numbers, and ``last_alarm`` is the round of the last alarm (0 for
        none). ``stuck`` and ``saturated`` say whether the meter repeats itself. ``beliefs`` is the number of hypotheses
        and ``weight`` the probability of the one that the policy plays for. ``hypotheses`` has a row for each, the most
        probable first: the probability, the round in which it started to learn (0 for the beginning), the number of
        readings that it has rejected, and the reading that it expects at x = v; NaN for none.

        Parameters
        ----------
        state : State
            The state.
        """
        if isinstance(state.memory, LargeMemory):
            return {**super().diagnostics(state), **stream_diagnostics(state, self.noise_cap)}
        memory, batch = state.memory, state.batch_shape
        beliefs = memory.beliefs
        posterior = beliefs.played()
        last_alarm = memory.last_alarm
        if state.began is not None:
            last_alarm = np.where(last_alarm > 0.0, last_alarm - state.began, 0.0)
        counts = np.bincount(beliefs.owner, minlength=beliefs.best.size).astype(np.float64)
        trail = beliefs.trail()
        if state.began is not None:
            started = trail[:, :, 1]
            trail[:, :, 1] = np.where(started > 0.0, started - np.reshape(state.began, (-1, 1)), started)
        estimate, offset = memory.spectrum.matrix(), memory.shift[:, :, 0]
        # The constant of the fit is the reading at x = v, which contains the hitting cost of the offset.
        base_load = posterior.base_load() - 0.5 * np.vecdot(offset, np.matvec(estimate, offset))
        return {
            **super().diagnostics(state),
            "estimate": estimate.reshape(*state.x.shape, -1),
            "uncertainty": self._eigenvalue_deviations(memory).reshape(state.x.shape),
            "noise": posterior.noise.reshape(batch),
            "offset": offset.reshape(state.x.shape),
            "base_load": base_load.reshape(batch),
            "probes": memory.probes.reshape(batch),
            "outliers": beliefs.rejected[beliefs.best].reshape(batch),
            "alarms": memory.alarms.reshape(batch),
            "last_alarm": last_alarm.reshape(batch),
            "drift": memory.drift.correlation().reshape(batch),
            "stuck": memory.faults.is_stuck().reshape(batch),
            "saturated": self._is_saturated(memory).reshape(batch),
            "beliefs": counts.reshape(batch),
            "weight": beliefs.best_probability().reshape(batch),
            "hypotheses": trail.reshape(*batch, *trail.shape[1:]),
        }

    def _is_saturated(self, memory: GlideMemory) -> BoolArray:
        """Return the runs whose meter has a limit that the policy was not told."""
        return memory.faults.is_saturated() & (self.y_max is None)

    def uncertainty_of(self, state: State[Any], directions: Array) -> Array:
        """Return the standard deviation of w'A w for some directions w, shape (*batch, k).

        Parameters
        ----------
        state : State
            The state.
        directions : Array, shape (*batch, k, d)
            The directions w, which need not have length one.
        """
        flat = directions.reshape(-1, *directions.shape[-2:])
        if isinstance(state.memory, LargeMemory):
            found = [stream_deviations(s, self.noise_cap, w) for s, w in zip(state.memory.streams, flat, strict=True)]
            return np.array(found).reshape(directions.shape[:-1])
        return np.asarray(state.memory.beliefs.played().deviations(flat)).reshape(directions.shape[:-1])

    def counts(self, state: State[Any]) -> dict[str, Array]:
        return {"alarms": state.memory.alarms.reshape(state.batch_shape)}

    def explain(self, state: State[Any]) -> str:
        """Describe whether the policy is testing a reading, restarting, probing, learning or confident.

        Parameters
        ----------
        state : State
            The state of one plant.
        """
        if isinstance(state.memory, LargeMemory):
            return explain_stream(state, self.noise_cap)
        memory, p = state.memory, self._model(state.x.shape[-1]).unknowns
        beliefs = memory.beliefs
        posterior, best = beliefs.played(), int(beliefs.best.item())
        readings, alarm = int(posterior.readings.item()), int(memory.last_alarm.item())
        if beliefs.epoch[best] > 0.0:
            readings = min(readings, state.round - int(beliefs.epoch[best]) + 1)
        outliers, in_a_row = int(beliefs.rejected[best]), int(beliefs.in_a_row[best])
        found = f" Outliers so far: {outliers}." if outliers else ""
        if self._is_saturated(memory).item():
            limit, count = memory.faults.max_reading.item(), int(memory.faults.max_count.item())
            return (
                f"GLIDE does not trust the meter: its largest reading, {limit:.4g}, came {count} times. If this is the "
                f"limit of the meter, give it as y_max.{found}"
            )
        if memory.faults.is_stuck().item():
            times = int(memory.faults.stuck.item())
            return f"GLIDE ignores the meter, which has repeated its last reading {times} times.{found}"
        if in_a_row:
            return (
                f"GLIDE is testing a reading: that of round {state.round} does not fit the earlier ones (the last "
                f"{in_a_row} did not). Others will show whether A has changed or the reading was wrong.{found}"
            )
        if alarm and readings < 2 * p + 4 and beliefs.epoch[best] > 0.0:
            return (
                f"GLIDE suspects a change: the reading of round {alarm} does not fit the earlier ones. It has "
                f"adapted its estimate; readings since: {readings}, unknowns: {p}.{found}"
            )
        if int(memory.last_probe.item()) == state.round > 0:
            return "GLIDE is probing: the reading of this deviation will save more than the deviation costs."
        since = f" since the change it suspected in round {alarm}" if alarm else ""
        deviation = self._gain_deviation(state)
        status = "learning" if deviation > _CONFIDENT_DEVIATION else "confident"
        unknowns = f", unknowns: {p}" if status == "learning" else ""
        return (
            f"GLIDE is {status} (readings{since}: {readings}{unknowns}): the share of the distance to v that a step "
            f"should cover is known within {100.0 * deviation:.2g} %.{found}"
        )

    def _eigenvalue_deviations(self, memory: GlideMemory) -> Array:
        return memory.beliefs.played().deviations(memory.spectrum.vectors.mT)

    def _gain_deviation(self, state: State[GlideMemory]) -> float:
        """Return the largest deviation of an eigenvalue of the gain, between 0 (known) and 1/2 (unknown)."""
        values, deviations = state.memory.spectrum.values, self._eigenvalue_deviations(state.memory)
        n = max(1.0, state.rounds_to_go)
        lower, upper = advance(np.maximum(values - deviations, 0.0), n), advance(values + deviations, n)
        return float(0.5 * (upper - lower).max())


@cache
def _reading_model(
    dim: int,
    bias: Literal["auto", "direction", "constant", "none"],
    robust: bool,
    noise_cap: float | None,
    trusted_distance: float | None,
    window: float | None,
    offset: bool,
    context: int,
    factor: bool,
) -> ReadingModel:
    """Return the assumptions about the readings; cached, because every round needs them."""
    optional = bias == "auto"
    if bias == "auto":
        bias = "direction" if dim <= _MAX_BIAS_DIM else "constant"
    forgetting = 1.0 if window is None else 1.0 - 1.0 / window
    return ReadingModel(
        dim,
        bias,
        kappa=3.0 if robust else 1.0,
        optional_bias=optional and not robust,
        noise_cap=noise_cap,
        trusted_distance=trusted_distance,
        forgetting=forgetting,
        offset=offset,
        context=context,
        factor=factor and offset,
    )


def _clip(vectors: Array) -> Array:
    """Return vectors whose fourth powers do not overflow."""
    if sum_of_squares(vectors) < MAX_DISTANCE**2:
        return vectors
    return np.clip(vectors, -MAX_DISTANCE, MAX_DISTANCE)
