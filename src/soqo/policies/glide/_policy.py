r"""GLIDE: learn A from the movement that happens anyway.

Every step of LAI leaves u = x - v different from zero, of the size of v's own steps, and the reading 1/2 u'Au + noise
is linear in A. So the player need not pay for information: it plays LAI with what it believes so far, and learns from
each reading by least squares. When v is a martingale, expected regret is exactly the sum of 1/2 E |x_t - x*_t|^2 in the
norm of C_t^{-1}, where x*_t is LAI's step from the player's own x_{t-1}: second order in the error of the estimate.

    belief     recursive least squares with unknown noise and scale     soqo.estimators.bayes._recursive
    cone       the most likely positive semi-definite matrix            soqo.estimators.bayes._cone
    suspicion  has A changed, or was a reading wrong?                   soqo.policies.glide._outliers
    probing    steps aside, only where they pay                         soqo.policies.glide._probes
    drift      the predictable part of v's steps                        soqo.policies.glide._drift
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soqo._arguments import choice, number
from soqo._planner import advance, towards
from soqo._spectrum import Spectrum
from soqo._storage.registry import compose, map_field, register, rename_fields
from soqo.errors import ArgumentError
from soqo.estimators._measurements import smat
from soqo.estimators.bayes._cone import most_likely_in_cone
from soqo.estimators.bayes._recursive import (
    FARTHEST,
    Belief,
    Model,
    eigenvalue_deviations,
    tamed,
)
from soqo.policies._base import Policy, State
from soqo.policies.glide._drift import Drift
from soqo.policies.glide._outliers import CALM, Suspicion
from soqo.policies.glide._probes import BOLD, boldly, worthwhile_probe
from soqo.typing import Array, BoolArray, Rng

__all__ = ["GLIDE", "GlideMemory"]

OFTEN, SELDOM, YOUNG = 4, 16, 64
"""Whether a probe pays is asked every fourth round up to the 64th, and every sixteenth later."""

ALPHA = 0.1
"""The weight of the Wishart density that keeps the estimate inside of the cone."""

FIRST_STEPS, LATER_STEPS = 12, 6
"""Steps to the most likely matrix: while everything is new, and once the last one is a good start."""

CONFIDENT = 0.05
"""Where the gain is known within this, GLIDE calls itself confident."""

INSIDE = 6.0
"""By how many deviations a mean must be inside of the cone to stand for itself."""


@register("GLIDE.memory")
@dataclass(frozen=True, eq=False)
class GlideMemory:
    """What GLIDE remembers, for each run.

    Attributes
    ----------
    belief : Belief
        What the readings say about A.
    spectrum : Spectrum
        Of the estimate: the most likely positive semi-definite matrix.
    moment : Array, shape (runs, d, d)
        The mean of (x_prev - v)(x_prev - v)': how much there is to win by a better estimate.
    suspicion : Suspicion
        Which readings do not fit, and are held back until it is clear whether A has changed.
    probes, alarms, last_probe, last_alarm : Array, shape (runs,)
        How many there were, and the rounds of the last ones (0 for none).
    drift : Drift
        What is predictable in the steps of v.
    """

    belief: Belief
    spectrum: Spectrum
    moment: Array
    suspicion: Suspicion
    probes: Array
    alarms: Array
    last_probe: Array
    last_alarm: Array
    drift: Drift


@register(
    "GLIDE", migrations={0: compose(rename_fields(memory="window"), map_field("drift", lambda drift: drift == "auto"))}
)
@dataclass(frozen=True, eq=False)
class GLIDE(Policy[GlideMemory]):
    """Play LAI with the current belief, and learn from every reading; nothing needs to be known beforehand.

    With p = d(d+1)/2 unknowns a round costs O(p^2) = O(d^4), and O(p^3) where the scales are weighed anew (ever more
    seldom) or the estimate is found anew near the cone's boundary (in every round while the readings are fewer than
    4p, in every fourth later; above a hundred unknowns, less often).

    Parameters
    ----------
    noise_cap : float, optional
        A bound on the noise of a reading, if one is known; otherwise the noise is estimated.
    bias : {"auto", "direction", "constant", "none"}
        What may be wrong with the readings beside independent noise: a bias that depends on the direction of x - v, the
        same bias everywhere, or nothing. ``"auto"`` is ``"direction"`` up to d = 12, where it costs little, and
        ``"constant"`` above.
    robust : bool
        Whether such a bias may be several times as large as the noise; for an adversary.
    probing : bool
        Whether to step aside where the information is worth its price, and to play the first rounds boldly where the
        readings do not show how large A is.
    alarms : bool
        Whether to look out for changes of A.
    window : float, optional
        The number of rounds after which a reading counts for little, where A drifts slowly; None remembers all.
    drift : bool
        Whether to use what turns out to be predictable in v's steps.

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

    noise_cap: float | None = None
    bias: str = "auto"
    robust: bool = False
    probing: bool = True
    alarms: bool = True
    window: float | None = None
    drift: bool = True

    def __post_init__(self) -> None:
        if self.noise_cap is not None:
            cap = number("noise_cap", self.noise_cap, least=0.0)
            object.__setattr__(self, "noise_cap", cap)
        if self.window is not None:
            object.__setattr__(self, "window", number("window", self.window, least=2.0))
        choice("bias", self.bias, ("auto", "direction", "constant", "none"))
        for name in ("robust", "probing", "alarms", "drift"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if self.robust and self.bias == "none":
            raise ArgumentError("bias must not be 'none' where robust is True: there is nothing to bound")

    def model(self, dim: int) -> Model:
        """What is assumed about the readings."""
        bias = self.bias
        if bias == "auto":
            bias = "direction" if dim <= 12 else "constant"
        forgetting = 1.0 if self.window is None else 1.0 - 1.0 / self.window
        return Model(dim, bias, 3.0 if self.robust else 1.0, self.noise_cap, forgetting)

    # ---- a round ---------------------------------------------------------------------------------------------------

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> GlideMemory:
        d, runs = x0.shape[-1], math.prod(x0.shape[:-1])
        belief = Belief.start(self.model(d), runs)
        zeros = np.zeros(runs)
        return GlideMemory(
            belief=belief,
            spectrum=Spectrum.of(belief.scale[:, None, None] * belief.prior_mean),
            moment=np.zeros((runs, d, d)),
            suspicion=Suspicion.none(runs, d),
            probes=zeros,
            alarms=zeros,
            last_probe=zeros,
            last_alarm=zeros,
            drift=Drift.start(runs, d),
        )

    def decide(self, state: State[GlideMemory], v: Array) -> tuple[Array, GlideMemory]:
        d, memory = v.shape[-1], state.memory
        x_prev, target = state.x.reshape(-1, d), v.reshape(-1, d)
        drift, spectrum = memory.drift, memory.spectrum
        if self.probing and state.round in BOLD:
            spectrum = boldly(memory.belief, self.model(d), spectrum)
        aim = target
        go = advance(spectrum.values, state.rounds_to_go)
        if self.drift:
            if state.round:
                step = target - state.v.reshape(-1, d)
                drift = drift.seen(np.clip(step, -FARTHEST, FARTHEST))
            aim = target + drift.lead(spectrum, go, state.rounds_to_go)
        x = towards(spectrum, go, x_prev, aim)
        w = np.clip(x_prev - target, -FARTHEST, FARTHEST)
        moment = averaged_moment(memory.moment, w, state.round)
        probes, last_probe = memory.probes, memory.last_probe
        if self.probing and asks_for_probes(state.round):
            # Without a horizon, it is as likely as not that there is as much to come as there was.
            left = max(state.round, 100) if state.horizon is None else state.rounds_to_go - 1
            step = worthwhile_probe(
                memory.belief,
                self.model(d),
                memory.spectrum,
                np.clip(x - target, -FARTHEST, FARTHEST),
                moment,
                state.rounds_to_go,
                left,
            )
            probed = step.any(axis=1)
            x, probes = x + step, probes + probed
            last_probe = np.where(probed, float(state.round + 1), last_probe)
        return x.reshape(v.shape), replace(memory, moment=moment, probes=probes, last_probe=last_probe, drift=drift)

    def learn(self, state: State[GlideMemory], y: Array) -> GlideMemory:
        d, memory, model = state.x.shape[-1], state.memory, self.model(state.x.shape[-1])
        u, reading = tamed((state.x - state.v).reshape(-1, d), y.reshape(-1))
        belief, suspicion = memory.belief, memory.suspicion
        alarms, last_alarm = memory.alarms, memory.last_alarm
        if self.alarms:
            changed, misled, withheld, suspicion = memory.suspicion.weighed(model, belief, u, reading, state.round)
            reading = np.where(withheld, np.nan, reading)
            if changed.any():
                belief = belief.restarted(changed, memory.spectrum.matrix())
                for u_held, y_held in memory.suspicion.kept():
                    belief = belief.update(model, u_held, np.where(changed, y_held, np.nan))
                alarms = alarms + changed
                last_alarm = np.where(changed, float(state.round), last_alarm)
            if misled.any():
                belief = belief.taken_back(misled)
        belief = belief.update(model, u, reading)
        # Once the readings are many times the unknowns, one more changes little: every fourth round will do.
        turn, fourth = (state.round % (k * model.pause) == 0 for k in (1, 4))
        which = ~np.isnan(reading) & turn & (fourth | (belief.readings <= 4 * model.unknowns))
        spectrum = estimate(model, belief, memory.spectrum, which)
        return replace(
            memory,
            belief=belief,
            spectrum=spectrum,
            suspicion=suspicion,
            alarms=alarms,
            last_alarm=last_alarm,
        )

    # ---- what it says ----------------------------------------------------------------------------------------------

    def diagnostics(self, state: State[GlideMemory]) -> dict[str, Any]:
        """The estimate, its deviation per eigenvector (``uncertainty``), the noise, the drift, and how often it probed,
        raised an alarm, or found a reading wrong (``outliers``)."""
        memory, batch = state.memory, state.batch_shape
        belief = memory.belief
        return {
            **super().diagnostics(state),
            "estimate": memory.spectrum.matrix().reshape(*state.x.shape, -1),
            "uncertainty": eigenvalue_deviations(
                belief.root[:, : self.model(state.x.shape[-1]).unknowns], memory.spectrum
            ).reshape(state.x.shape),
            "noise": belief.noise.reshape(batch),
            "probes": memory.probes.reshape(batch),
            "outliers": memory.suspicion.outliers.reshape(batch),
            "alarms": memory.alarms.reshape(batch),
            "last_alarm": memory.last_alarm.reshape(batch),
            "drift": memory.drift.correlation().reshape(batch),
        }

    def explain(self, state: State[GlideMemory]) -> str:
        """Whether it suspects a change or a wrong reading, is probing, learning, or confident: the first that is so."""
        memory, p = state.memory, self.model(state.x.shape[-1]).unknowns
        suspicion, belief = memory.suspicion, memory.belief
        readings, alarm = int(belief.readings.item()), int(memory.last_alarm.item())
        wrong = int(suspicion.outliers.item())
        found = f" Found wrong so far: {wrong}." if wrong else ""
        doubt = self.doubt(state).item()
        known = f"how far to go towards v is known to {100.0 * doubt:.2g} % of the way"
        if suspicion.held.item():
            return (
                f"GLIDE is in doubt: the reading of round {int(suspicion.last.item())} does not fit what was learned "
                f"before. It is held back until others tell whether A has changed or it was wrong.{found}"
            )
        if alarm and readings < p:
            return (
                f"GLIDE suspects a change: the reading of round {alarm} does not fit what was learned before. It is "
                f"learning anew; readings since: {readings}, unknowns: {p}.{found}"
            )
        if int(memory.last_probe.item()) == state.round > 0:
            return "GLIDE is probing: this step aside costs less than what its reading will save."
        since = f" since the change it suspected in round {alarm}" if alarm else ""
        if suspicion.calm(belief, CALM).item():
            return (
                f"GLIDE is in doubt (readings{since}: {readings}): they are much calmer than it expects, as if an "
                f"earlier one had been wrong. If they stay so, it will start anew.{found}"
            )
        if doubt > CONFIDENT:
            return f"GLIDE is learning (readings{since}: {readings}, unknowns: {p}): {known}.{found}"
        return f"GLIDE is confident (readings{since}: {readings}): {known}.{found}"

    def doubt(self, state: State[GlideMemory]) -> Array:
        """The deviation of the gain where it is known least: 0 where all is known, 1/2 where nothing is."""
        spectrum = state.memory.spectrum
        root = state.memory.belief.root[:, : self.model(state.x.shape[-1]).unknowns]
        deviations = eigenvalue_deviations(root, spectrum)
        n = max(1.0, state.rounds_to_go)
        lowest = advance(np.maximum(spectrum.values - deviations, 0.0), n)
        highest = advance(spectrum.values + deviations, n)
        return np.asarray(0.5 * (highest - lowest).max(axis=-1).reshape(state.batch_shape))


def asks_for_probes(rounds: int) -> bool:
    """Whether this is a round in which a probe may be played."""
    return rounds > 0 and rounds % (OFTEN if rounds <= YOUNG else SELDOM) == 0


def estimate(model: Model, belief: Belief, last: Spectrum, which: BoolArray) -> Spectrum:
    """The spectrum of the most likely positive semi-definite matrix in some of the runs, the last one in the others.

    Where the mean is inside of the cone by many deviations and the readings determine it, it is the mean itself.
    """
    runs = np.flatnonzero(which)
    if not runs.size:
        return last
    p = model.unknowns
    mean, root = smat(belief.mean[runs, :p]), belief.root[runs, :p]
    values, vectors = last.values.copy(), last.vectors.copy()
    new = Spectrum.of(mean)
    values[runs], vectors[runs] = new.values, new.vectors
    lowest = Spectrum(new.values[:, :1], new.vectors[:, :, :1])
    margin = INSIDE * eigenvalue_deviations(root, lowest)[:, 0]
    young = belief.readings[runs] <= 2.0 * p
    near = np.flatnonzero(young | (new.values[:, 0] < margin))
    if near.size:
        among, root = runs[near], root[near]
        # An eigenvalue far below its own doubt would take many steps to come back.
        begin = Spectrum(last.values[among], last.vectors[among])
        doubts = eigenvalue_deviations(root, begin)
        begin = Spectrum(np.maximum(begin.values, 1e-2 * doubts + 1e-150), begin.vectors)
        steps = np.where(young[near], FIRST_STEPS, LATER_STEPS)
        covariance = root @ root.mT
        inside = most_likely_in_cone(mean[near], covariance, begin, ALPHA, belief.scale[among], steps)
        values[among], vectors[among] = inside.values, inside.vectors
    return Spectrum(values, vectors)


def averaged_moment(moment: Array, w: Array, rounds: int) -> Array:
    """The mean of w w' with one more; a giant counts as ten times the mean, or one jump would rule for ever."""
    outer = w[:, :, None] * w[:, None, :]
    if rounds:
        usual = 10.0 * np.trace(moment, axis1=1, axis2=2)
        size = np.vecdot(w, w)
        outer = outer * np.minimum(1.0, usual / np.maximum(size, 1e-300))[:, None, None]
    return np.asarray(moment + (outer - moment) / (rounds + 1))
