r"""GLIDE: learn A from the movement that optimal play causes.

Every step of LAI leaves u = x - v different from zero, of the size of the steps of v, and the reading 1/2 u'Au + noise
is linear in A. The player therefore need not pay for information: it plays LAI for the current estimate and learns from
each reading by least squares. If v is a martingale, the expected regret is exactly the sum of 1/2 E |x_t - x*_t|^2 in
the norm of C_t^{-1}, where x*_t is LAI's step from the player's own x_{t-1}: it is of second order in the error of the
estimate.

    posterior   recursive least squares with unknown noise and scale    soqo.estimators.bayes
    estimate    the MAP estimate in the cone                            soqo.estimators.bayes
    outliers    tests for outliers and changes of A                     soqo.policies.glide._outliers
    probes      deviations that are worth their cost                    soqo.policies.glide._probes
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
from soqo._foundation.frozen_dataclasses import Value, evolve, set_fields
from soqo._model.gains import advance
from soqo._model.planner import anticipation, towards
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import compose, map_field, register, rename_fields
from soqo.errors import ArgumentError
from soqo.estimators.bayes import MAX_DISTANCE, Posterior, ReadingModel, clip_inputs, map_estimate
from soqo.policies._base import Policy, State
from soqo.policies.glide._drift import Drift
from soqo.policies.glide._forecasts import ForecastTrust
from soqo.policies.glide._outliers import OutlierMonitor
from soqo.policies.glide._probes import EXPLORATION_ROUNDS, best_probe, exploratory_spectrum
from soqo.typing import Array, Rng

_EARLY_PROBE_PERIOD, _LATE_PROBE_PERIOD, _EARLY_ROUNDS = 4, 16, 64
"""A probe is considered in every fourth round up to round 64, and in every sixteenth later."""

_MAX_BIAS_DIM = 12
"""Up to this dimension, a bias for each direction costs little time."""

_CONFIDENT_DEVIATION = 0.05
"""GLIDE reports itself as confident if the deviation of the gain is at most this."""

_UNKNOWNS_PER_PAUSE = 100
"""With more unknowns than this, the estimate is not computed in every round."""


def _add_forecasts(fields: dict[str, Any]) -> dict[str, Any]:
    runs, dim, _ = fields["moment"].shape
    return {**fields, "forecasts": ForecastTrust.start(runs, dim)}


@register(
    "GLIDE.memory",
    version=2,
    migrations={0: rename_fields(belief="posterior", suspicion="monitor"), 1: _add_forecasts},
)
@dataclass(frozen=True)
class GlideMemory(Value):
    """The memory of GLIDE. The batch of any shape is flattened: arrays have the shape (runs, ...).

    Attributes
    ----------
    posterior : Posterior
        The posterior of A.
    spectrum : Spectrum
        The spectrum of the estimate.
    moment : Array, shape (runs, d, d)
        The mean of (x_prev - v)(x_prev - v)', which determines the value of a better estimate.
    monitor : OutlierMonitor
        The test for outliers and changes.
    probes, alarms, last_probe, last_alarm : Array, shape (runs,)
        The numbers of probes and alarms, and the rounds of the last ones (0 for none).
    drift : Drift
        The predictable part of the steps of v.
    forecasts : ForecastTrust
        How far forecasts of v have come true.
    """

    posterior: Posterior
    spectrum: Spectrum
    moment: Array
    monitor: OutlierMonitor
    probes: Array
    alarms: Array
    last_probe: Array
    last_alarm: Array
    drift: Drift
    forecasts: ForecastTrust


@register(
    "GLIDE", migrations={0: compose(rename_fields(memory="window"), map_field("drift", lambda drift: drift == "auto"))}
)
@dataclass(frozen=True)
class GLIDE(Policy[GlideMemory]):
    """LAI for the current estimate of A, which is learned from every reading without prior knowledge.

    With p = d(d+1)/2 unknowns a round costs O(p^2) = O(d^4). It costs O(p^3) if the noise and the scale are estimated
    again (ever more rarely) or if the estimate is near the boundary of the cone (in every round while there are fewer
    than 4p readings, in every fourth round later, and less often with more than a hundred unknowns).

    Parameters
    ----------
    noise_cap : float, optional
        A bound on the noise of a reading, if one is known; otherwise the noise is estimated.
    bias : {"auto", "direction", "constant", "none"}
        The bias of the readings in addition to independent noise: one that depends on the direction of x - v, the same
        bias everywhere, or none. ``"auto"`` is ``"direction"`` up to d = 12, where it costs little time, and
        ``"constant"`` above.
    robust : bool
        Whether this bias may be several times as large as the noise, as for an adversary.
    probing : bool
        Whether to deviate from LAI if the information is worth its cost, and to explore in the first rounds if the
        readings do not show the scale of A.
    alarms : bool
        Whether to detect outliers and changes of A.
    window : float, optional
        The number of rounds after which a reading has lost most of its weight, for an A that changes slowly; None for
        no forgetting.
    drift : bool
        Whether to use the predictable part of the steps of v.

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

    def __post_init__(self) -> None:
        if self.noise_cap is not None:
            set_fields(self, noise_cap=number("noise_cap", self.noise_cap, least=0.0))
        if self.window is not None:
            set_fields(self, window=number("window", self.window, least=2.0))
        choice("bias", self.bias, ("auto", "direction", "constant", "none"))
        for name in ("robust", "probing", "alarms", "drift"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.robust and self.bias == "none":
            raise ArgumentError("bias must be 'auto', 'direction' or 'constant' if robust is True, got 'none'")

    def _model(self, dim: int) -> ReadingModel:
        return _reading_model(dim, self.bias, self.robust, self.noise_cap, self.window)

    # ---- a round ---------------------------------------------------------------------------------------------------

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> GlideMemory:
        d, runs = x0.shape[-1], math.prod(x0.shape[:-1])
        posterior = Posterior.start(self._model(d), runs)
        zeros = np.zeros(runs)
        return GlideMemory(
            posterior=posterior,
            spectrum=Spectrum.of(posterior.scale[:, None, None] * posterior.prior_mean),
            moment=np.zeros((runs, d, d)),
            monitor=OutlierMonitor.start(runs, d),
            probes=zeros,
            alarms=zeros,
            last_probe=zeros,
            last_alarm=zeros,
            drift=Drift.start(runs, d),
            forecasts=ForecastTrust.start(runs, d),
        )

    def decide(self, state: State[GlideMemory], v: Array) -> tuple[Array, GlideMemory]:
        d, memory = v.shape[-1], state.memory
        x_prev, target = state.x.reshape(-1, d), v.reshape(-1, d)
        drift, spectrum = memory.drift, memory.spectrum
        if self.probing and state.round in EXPLORATION_ROUNDS:
            spectrum = exploratory_spectrum(memory.posterior, self._model(d), spectrum)
        aim = target
        advances = advance(spectrum.values, state.rounds_to_go)
        if self.drift:
            if state.round:
                step = target - state.v.reshape(-1, d)
                drift = drift.update(np.clip(step, -MAX_DISTANCE, MAX_DISTANCE))
            aim = target + drift.target_offset(spectrum, advances, state.rounds_to_go)
        forecast = None if state.forecast is None else state.forecast.reshape(len(target), *state.forecast.shape[-2:])
        forecasts = memory.forecasts.update(target, forecast)
        if forecast is None or not forecast.shape[1]:
            x = towards(spectrum, advances, x_prev, aim)
        else:
            # A forecast that is believed takes the place of the autoregression.
            aim = target + (1.0 - forecasts.trust()[:, :1]) * (aim - target)
            expected = forecasts.expected(target, forecast)
            x = towards(spectrum, advances, x_prev, aim)
            x = x + anticipation(spectrum, state.rounds_to_go, target, expected)
        moment = _update_moment(memory.moment, np.clip(x_prev - target, -MAX_DISTANCE, MAX_DISTANCE), state.round)
        probes, last_probe = memory.probes, memory.last_probe
        if self.probing and _may_probe(state.round):
            probe = best_probe(
                memory.posterior,
                self._model(d),
                memory.spectrum,
                np.clip(x - target, -MAX_DISTANCE, MAX_DISTANCE),
                moment=moment,
                rounds_to_go=state.rounds_to_go,
                # Without a horizon, assume that as many rounds follow as have been played.
                rounds_to_save=max(state.round, 100) if state.horizon is None else state.rounds_to_go - 1,
            )
            probed = probe.any(axis=1)
            x, probes = x + probe, probes + probed
            last_probe = np.where(probed, float(state.round + 1), last_probe)
        memory = evolve(memory, moment=moment, probes=probes, last_probe=last_probe, drift=drift, forecasts=forecasts)
        return x.reshape(v.shape), memory

    def learn(self, state: State[GlideMemory], y: Array) -> GlideMemory:
        d, memory = state.x.shape[-1], state.memory
        model = self._model(d)
        u, reading = clip_inputs((state.x - state.v).reshape(-1, d), y.reshape(-1))
        features = model.features(u)
        posterior, monitor = memory.posterior, memory.monitor
        alarms, last_alarm = memory.alarms, memory.last_alarm
        if self.alarms:
            changed, corrupted, withheld, monitor = memory.monitor.assess(
                model, posterior, u, reading, features, state.round
            )
            reading = np.where(withheld, np.nan, reading)
            if changed.any():
                posterior = posterior.restart(changed, memory.spectrum.matrix())
                for kept_u, kept_y in memory.monitor.kept_readings():
                    posterior = posterior.update(model, kept_u, np.where(changed, kept_y, np.nan))
                alarms = alarms + changed
                last_alarm = np.where(changed, float(state.round), last_alarm)
            if corrupted.any():
                posterior = posterior.reset(corrupted)
        posterior = posterior.update(model, u, reading, features)
        # With many times more readings than unknowns, one more changes little: every fourth round suffices.
        pause = 1 + model.unknowns // _UNKNOWNS_PER_PAUSE
        now, fourth = (state.round % (k * pause) == 0 for k in (1, 4))
        which = ~np.isnan(reading) & now & (fourth | (posterior.readings <= 4 * model.unknowns))
        return evolve(
            memory,
            posterior=posterior,
            spectrum=map_estimate(model, posterior, memory.spectrum, which),
            monitor=monitor,
            alarms=alarms,
            last_alarm=last_alarm,
        )

    # ---- reports ---------------------------------------------------------------------------------------------------

    def diagnostics(self, state: State[GlideMemory]) -> dict[str, Any]:
        """Return what is known about the policy's internals, by name.

        ``estimate`` is the estimate of A, ``uncertainty`` the standard deviation of q'A q for each of its eigenvectors
        q, ``noise`` the deviation of a reading, and ``drift`` the correlation of successive steps of v. ``probes``,
        ``alarms`` and ``outliers`` are numbers, and ``last_alarm`` is the round of the last alarm (0 for none).

        Parameters
        ----------
        state : State
            The state.
        """
        memory, batch = state.memory, state.batch_shape
        return {
            **super().diagnostics(state),
            "estimate": memory.spectrum.matrix().reshape(*state.x.shape, -1),
            "uncertainty": self._eigenvalue_deviations(memory).reshape(state.x.shape),
            "noise": memory.posterior.noise.reshape(batch),
            "probes": memory.probes.reshape(batch),
            "outliers": memory.monitor.outliers.reshape(batch),
            "alarms": memory.alarms.reshape(batch),
            "last_alarm": memory.last_alarm.reshape(batch),
            "drift": memory.drift.correlation().reshape(batch),
        }

    def uncertainty_of(self, state: State[GlideMemory], directions: Array) -> Array:
        """Return the standard deviation of w'A w for some directions w, shape (*batch, k).

        Parameters
        ----------
        state : State
            The state.
        directions : Array, shape (*batch, k, d)
            The directions w, which need not have length one.
        """
        flat = directions.reshape(-1, *directions.shape[-2:])
        return state.memory.posterior.deviations(flat).reshape(directions.shape[:-1])

    def explain(self, state: State[GlideMemory]) -> str:
        """Describe whether the policy is testing a reading, restarting, probing, learning or confident.

        Parameters
        ----------
        state : State
            The state of the batch ``()``.
        """
        memory, p = state.memory, self._model(state.x.shape[-1]).unknowns
        monitor, posterior = memory.monitor, memory.posterior
        readings, alarm = int(posterior.readings.item()), int(memory.last_alarm.item())
        outliers = int(monitor.outliers.item())
        found = f" Outliers so far: {outliers}." if outliers else ""
        if monitor.withheld.item():
            return (
                f"GLIDE is testing a reading: that of round {int(monitor.last_withheld.item())} does not fit the "
                f"earlier ones. It is withheld until others show whether A has changed or the reading was wrong.{found}"
            )
        if alarm and readings < p:
            return (
                f"GLIDE suspects a change: the reading of round {alarm} does not fit the earlier ones. It has "
                f"restarted learning; readings since: {readings}, unknowns: {p}.{found}"
            )
        if int(memory.last_probe.item()) == state.round > 0:
            return "GLIDE is probing: the reading of this deviation will save more than the deviation costs."
        since = f" since the change it suspected in round {alarm}" if alarm else ""
        if monitor.is_noise_suspicious(posterior).item():
            return (
                f"GLIDE suspects that an earlier reading was wrong (readings{since}: {readings}): the recent ones "
                "differ from its predictions by much less than the noise it estimates. If this continues, it will "
                f"restart learning.{found}"
            )
        deviation = self._gain_deviation(state)
        status = "learning" if deviation > _CONFIDENT_DEVIATION else "confident"
        unknowns = f", unknowns: {p}" if status == "learning" else ""
        return (
            f"GLIDE is {status} (readings{since}: {readings}{unknowns}): the share of the distance to v that a step "
            f"should cover is known within {100.0 * deviation:.2g} %.{found}"
        )

    def _eigenvalue_deviations(self, memory: GlideMemory) -> Array:
        return memory.posterior.deviations(memory.spectrum.vectors.mT)

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
    window: float | None,
) -> ReadingModel:
    """Return the assumptions about the readings; cached, because every round needs them."""
    if bias == "auto":
        bias = "direction" if dim <= _MAX_BIAS_DIM else "constant"
    forgetting = 1.0 if window is None else 1.0 - 1.0 / window
    return ReadingModel(dim, bias, kappa=3.0 if robust else 1.0, noise_cap=noise_cap, forgetting=forgetting)


def _may_probe(rounds: int) -> bool:
    """Return whether a probe is considered after this number of rounds."""
    return rounds > 0 and rounds % (_EARLY_PROBE_PERIOD if rounds <= _EARLY_ROUNDS else _LATE_PROBE_PERIOD) == 0


def _update_moment(moment: Array, w: Array, rounds: int) -> Array:
    """Return the mean of w w' with one more term, clipped to ten times the mean so that no jump dominates it."""
    outer = w[:, :, None] * w[:, None, :]
    if rounds:
        bound = 10.0 * np.trace(moment, axis1=1, axis2=2)
        outer = outer * np.minimum(1.0, bound / np.maximum(np.vecdot(w, w), 1e-300))[:, None, None]
    return np.asarray(moment + (outer - moment) / (rounds + 1))
