r"""Shadow mode: what another policy would have done on a recorded log, and what that would have cost.

The readings of the log determine a posterior of A, and of an error b of the minimizers if they show one. The policy
plays the minimizers of the log, from the position of the plant, for the most likely A and for a number of draws. If A
is the draw A_s, then base load and noise of round t were y_t - 1/2 u_t'A_s u_t, with u = x - v + b as recorded; so the
policy observes 1/2 w_t'A_s w_t plus that same base load and noise at its own w = x - v + b, and no reading where the
log has none. The spread over the draws is the uncertainty that the log leaves.

The base load may be a function of v, linear or quadratic, if the readings support it. The yardstick of every policy is
the best fixed share in hindsight: x += share (v - x), with the share that costs least on these draws.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from soqo._control.actuators import check_names
from soqo._control.log import Log
from soqo._control.log_columns import told
from soqo._control.predictions import player_on
from soqo._control.readings import as_log, plain_readings, without_spikes
from soqo._foundation.arguments import instance, integer
from soqo._foundation.frozen_dataclasses import Value
from soqo._foundation.random_streams import streams
from soqo._model.coordinates import Coordinates
from soqo._model.gains import advance
from soqo.estimators import svec_rows
from soqo.estimators.bayes import BayesianRegression
from soqo.policies import Policy, State
from soqo.typing import Array, BoolArray

_SHARES = np.geomspace(0.02, 1.0, 28)
"""The fixed shares that are compared; from one to the next the cost hardly changes."""

_LEARNED_RATIO = 4.0
"""A curvature of the size of A's is learned when it is so many deviations away from zero."""


class Information(Enum):
    """How much information about A a log holds."""

    FULL = "full"
    """The readings inform about every direction."""
    PARTIAL = "partial"
    """Some directions are not informed; there, the interval relies on the prior alone."""
    NONE = "none"
    """The readings carry no information: no saving can be estimated."""


@dataclass(frozen=True)
class Replay(Value):
    """What a policy would have done on a log, and at what cost.

    Attributes
    ----------
    policy : str
        The name of the policy.
    rounds : int
        The number of rounds.
    information : Information
        How much information about A the log holds.
    learned, unknowns : int
        The number of directions of A that the log informs about, of d(d+1)/2.
    estimate : Array, shape (d, d)
        The most likely A, in the units of the plant.
    noise : float
        The estimated standard deviation of the noise.
    actions : Array, shape (T, d)
        The actions of the policy if A is the estimate.
    recorded, cost : Array, shape (draws,)
        The total cost of the log, and of the policy, for each draw of A.
    low_rank : BoolArray, shape (draws,)
        The draws in which the eigenvalues of A that cannot be distinguished from zero are zero.
    diverged : BoolArray, shape (draws,)
        The draws in which the policy diverged.
    offset : Array, shape (d,)
        The most likely difference between the minimizers of the log and the true ones, in the units of the plant; zero
        if the readings do not show one.
    share : float
        The best fixed share of the way to v, in hindsight.
    share_cost, following_cost : Array, shape (draws,)
        The total cost of this share, and of following v, for each draw of A.
    uninformed : tuple of str
        The actuators about whose curvature the log says nothing.
    moved : bool
        Whether the log moves these actuators about as far from v as going half of the way to v does.
    rounds_to_learn : float
        About how many rounds would inform about them, of going half of the way to v, or like those of the log if it
        does; infinite if v does not move.
    load_of_v, hitting : float
        The deviation of the part of the base load that moves with v, zero if the readings show none; and that of the
        hitting cost of the log.
    gain_error : float
        The relative deviation of the optimal gain over the draws.
    spikes : int
        The number of readings that were left out, since they are far from their neighbors.
    """

    policy: str
    rounds: int
    information: Information
    learned: int
    unknowns: int
    estimate: Array = field(repr=False)
    noise: float
    actions: Array = field(repr=False)
    recorded: Array = field(repr=False)
    cost: Array = field(repr=False)
    low_rank: BoolArray = field(repr=False)
    diverged: BoolArray = field(repr=False)
    offset: Array = field(repr=False)
    share: float
    share_cost: Array = field(repr=False)
    following_cost: Array = field(repr=False)
    uninformed: tuple[str, ...]
    moved: bool
    rounds_to_learn: float
    load_of_v: float
    hitting: float
    gain_error: float
    spikes: int = 0

    @property
    def saving(self) -> float:
        """The total saving of the policy: the mean over the draws; NaN if the log holds no information."""
        return float(np.mean(self.recorded - self.cost)) if self._is_informed else np.nan

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % interval of the saving; unbounded if the log holds no information.

        If eigenvalues of A cannot be distinguished from zero, it covers the case that they are zero and the case that
        they are not.
        """
        return self._interval(self.recorded - self.cost)

    @property
    def saving_over_share(self) -> float:
        """The total saving of the policy over the best fixed share; NaN if the log holds no information."""
        return float(np.mean(self.share_cost - self.cost)) if self._is_informed else np.nan

    @property
    def interval_over_share(self) -> tuple[float, float]:
        """A 95 % interval of the saving over the best fixed share, as `interval`."""
        return self._interval(self.share_cost - self.cost)

    @property
    def confounded(self) -> bool:
        """Whether the base load moves with v by more than a fifth of what the hitting cost does."""
        return self.load_of_v > 0.2 * self.hitting

    @property
    def advice(self) -> str:
        """What to do if the log does not decide; empty if it does."""
        advice = []
        if self.confounded:
            advice.append(
                f"The base load moves with v: by {self.load_of_v:.2g}, while the hitting cost moves by "
                f"{self.hitting:.2g}. A policy takes it for hitting cost; subtract what the plant is expected to read "
                "at v before it observes the readings."
            )
        low, high = self.interval
        if self.uninformed:
            advice.append(self._advice_to_learn())
        elif self._is_informed and low <= 0.0 <= high:
            needed = self.rounds * (0.5 * (high - low) / max(abs(self.saving), 1e-300)) ** 2
            advice.append(
                f"The interval contains 0: about {about(needed)} rounds like these would decide."
                if self.saving > 0.0 and needed < 100.0 * self.rounds
                else "The interval contains 0: the policy of the log costs no more."
            )
        return " ".join(advice)

    def _advice_to_learn(self) -> str:
        names, needed = " and ".join(self.uninformed), self.rounds_to_learn
        if math.isinf(needed):
            return f"v of {names} hardly moves, so there is nothing to learn or to save."
        if self.moved:
            return f"The noise hides what {names} cost: record at least {about(needed)} rounds like these, and repeat."
        return f"Move {names} only half of the way to v for at least {about(needed)} rounds, and repeat."

    def _interval(self, saved: Array) -> tuple[float, float]:
        if not self._is_informed:
            return -np.inf, np.inf
        ends = [_prediction_interval(saved[kind]) for kind in (~self.low_rank, self.low_rank) if kind.any()]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def _is_informed(self) -> bool:
        return self.information is not Information.NONE

    def __str__(self) -> str:
        if not self._is_informed:
            text = (
                f"The log of {self.rounds} rounds holds no information about A: the plant was never far enough from v "
                f"for the cost to exceed the noise. The saving of {self.policy} cannot be estimated."
            )
            return f"{text} {self.advice}".rstrip()
        (low, high), (least, most) = self.interval, self.interval_over_share
        recorded, share = float(np.mean(self.recorded)), float(np.mean(self.share_cost))
        text = (
            f"Over {self.rounds} rounds {self.policy} would have cost {recorded - self.saving:.4g} instead of "
            f"{recorded:.4g}: a saving of {self.saving:.4g} ({low:.4g} .. {high:.4g}, 95 %). The best fixed share, "
            f"x += {self.share:.2f} (v - x), would have cost {share:.4g}: {self.policy} saves "
            f"{self.saving_over_share:.4g} of that ({least:.4g} .. {most:.4g})."
        )
        if self.information is Information.PARTIAL:
            text += (
                f" The log informs about {self.learned} of {self.unknowns} directions of A only; in the others the "
                "interval relies on the prior."
            )
        if self.spikes:
            text += f" Readings left out as spikes: {self.spikes}."
        if self.diverged.any():
            text += f" The policy diverged in {int(self.diverged.sum())} of {self.diverged.size} draws of A."
        return f"{text} {self.advice}".rstrip()


@dataclass(frozen=True)
class _FixedShares(Policy[None]):
    """Go a fixed share of the way to v, another one on each plant of a batch."""

    shares: Array

    def decide(self, state: State[None], v: Array) -> tuple[Array, None]:
        return state.x + self.shares[:, None] * (v - state.x), None


def replay(policy: Policy[Any], log: Log | str | os.PathLike[str], *, draws: int = 40, seed: int = 0) -> Replay:
    """Estimate what a policy would have done on a recorded log, and at what cost.

    The estimate assumes that the base load in the readings would have been the same, that A did not change, and that v
    would have moved in the same way. The base load may drift, as a random walk does, and follow v, linearly or as a
    quadratic function; the minimizers of the log may differ from the true ones by a constant. Spikes count as missing
    readings. The policy is told the factors, units, covariates and active actuators of the log. If the log says where
    readings were felt, the plant is taken to follow any policy with the same lag, a first-order one that is fitted to
    the log.

    Parameters
    ----------
    policy : Policy
        As for a :class:`soqo.Controller`: for an unweighted switching cost and without limits, which the log has.
    log : Log or path
        The log, or a file that :meth:`soqo.Log.read` reads: the journal of a controller, a CSV or a Parquet file.
    draws : int
        The number of draws of A, each of which is played in full.
    seed : int
        The seed of these draws and of the random numbers of the policy.

    Returns
    -------
    Replay
        The actions, the costs, and the savings over the log and over the best fixed share, with intervals. ``print``
        shows them with advice.

    See Also
    --------
    soqo.check_log : Whether a plant is suitable at all.

    Examples
    --------
    >>> import soqo
    >>> rng = np.random.default_rng(0)
    >>> v = np.cumsum(10.0 * rng.standard_normal((200, 2)), axis=0)
    >>> x = np.empty_like(v)
    >>> for t in range(200):                    # a plant that moves half of the way
    ...     x[t] = 0.5 * (v[t] + (x[t - 1] if t else 0.0))
    >>> y = 0.1 * ((x - v) ** 2).sum(axis=1) + rng.uniform(-1.0, 1.0, 200)    # A = 0.2 I
    >>> found = replay(soqo.GLIDE(), Log(v, x, y, x0=[0.0, 0.0]))
    >>> found.information.name, bool(found.interval[0] > 0.0)
    ('FULL', True)
    >>> replay(soqo.GLIDE(), Log(v, v, y - y, x0=[0.0, 0.0])).information.name     # always at v
    'NONE'
    """
    instance("policy", policy, Policy)
    recorded, spikes = without_spikes(as_log(log))
    draws, seed = integer("draws", draws, least=4), integer("seed", seed, least=0)
    readings, coordinates = plain_readings(recorded), Coordinates(recorded.switching_weight)
    regression = BayesianRegression.fit(*readings)
    learned, p = regression.informed_directions(), regression.unknowns
    worlds = regression.sample(draws, np.random.default_rng(seed))
    every = np.concatenate([worlds.mode[None], worlds.draws])
    offsets = np.concatenate([worlds.mode_offset[None], worlds.offsets])
    play = _play(policy, recorded, every, offsets, seed)
    many = _SHARES.size
    fixed, tiled = _FixedShares(np.repeat(_SHARES, draws)), np.tile(worlds.draws, (many, 1, 1))
    shares = _play(fixed, recorded, tiled, np.tile(worlds.offsets, (many, 1)), seed).cost.reshape(many, draws)
    best = int(shares.mean(axis=1).argmin())
    names = check_names(recorded.actuators, recorded.units, recorded.dim)
    blind = ~regression.informs(coordinates.to_plain(np.eye(recorded.dim)))
    moved, rounds_to_learn = _rounds_to_learn(recorded, regression, blind)
    return Replay(
        policy=type(policy).__name__,
        rounds=len(recorded),
        information=Information.NONE if not learned else Information.FULL if learned == p else Information.PARTIAL,
        learned=learned,
        unknowns=p,
        estimate=_in_plant_units(coordinates, worlds.mode),
        noise=regression.noise,
        actions=play.actions,
        recorded=play.recorded[1:],
        cost=play.cost[1:],
        low_rank=worlds.low_rank,
        diverged=play.diverged[1:],
        offset=coordinates.from_plain(worlds.mode_offset),
        share=float(_SHARES[best]),
        share_cost=shares[best],
        following_cost=shares[-1],
        uninformed=tuple(names.name(k) for k in np.flatnonzero(blind).tolist()),
        moved=moved,
        rounds_to_learn=rounds_to_learn,
        load_of_v=float(regression.driven_load(readings.drivers).std()),
        hitting=float((svec_rows(readings.u) @ regression.posterior(regression.scale)[0]).std()),
        gain_error=_gain_error(worlds.draws[~worlds.low_rank]),
        spikes=spikes,
    )


def about(count: float) -> str:
    """Return a number of rounds with two digits, at least 1.

    Examples
    --------
    >>> about(5124.3)
    '5,100'
    """
    return f"{max(1.0, float(f'{count:.2g}')):,.0f}"


def _gain_error(draws: Array) -> float:
    """Return the relative deviation of the share of the distance to v that the optimal player covers in a step."""
    values, vectors = np.linalg.eigh(draws)
    gains = (vectors * advance(np.maximum(values, 0.0), np.inf)[:, None, :]) @ vectors.mT
    mean = gains.mean(axis=0)
    return float(np.sqrt(np.square(gains - mean).sum(axis=(1, 2)).mean()) / max(np.linalg.norm(mean), 1e-300))


def _prediction_interval(values: Array) -> tuple[float, float]:
    """Return an interval that holds a further value with a probability of 95 %."""
    n = values.size
    half = float(stdtrit(n - 1, 0.975) * values.std(ddof=1) * np.sqrt(1.0 + 1.0 / n))
    return float(values.mean()) - half, float(values.mean()) + half


class _Play(NamedTuple):
    """The actions for the first A, and the costs of the log and of the policy for every A."""

    actions: Array
    recorded: Array
    cost: Array
    diverged: BoolArray


def _rounds_to_learn(log: Log, regression: BayesianRegression, blind: BoolArray) -> tuple[bool, float]:
    """Return whether the log moves these actuators as half steps do, and how many rounds would inform about them.

    If A has the size that was found, the information about A_kk in a reading is the variance of 1/2 u_k^2, in units of
    the noise.
    """
    if not blind.any():
        return True, 0.0
    from scipy.signal import lfilter  # imported here because it triples the time of importing soqo

    half_steps = log.x0 + lfilter([0.5], [1.0, -0.5], log.v - log.x0, axis=0)
    own, half = (
        np.var(0.5 * np.square(plain_readings(one).u[:, blind]), axis=0)
        for one in (log, replace(log, x=half_steps, at=None))
    )
    moved = bool((own >= 0.5 * half).all())
    signal = float((own if moved else half).min()) * (regression.scale / regression.noise) ** 2
    needed = _LEARNED_RATIO**2 / signal if signal > 0.0 else math.inf
    return moved, max(needed, 2.0 * len(log)) if moved else needed


def _fit_lag(log: Log) -> float:
    """Return the share of the old position that is still felt in a round, by least squares; 0 without a lag."""
    if log.at is None:
        return 0.0
    before = np.vstack([log.x0, log.at[:-1]]) - log.x
    now = log.at - log.x
    if log.active is not None:  # of an actuator that is out of order, the log does not say where it is felt
        known = log.active & np.vstack([np.ones_like(log.active[:1]), log.active[:-1]])
        before = np.where(known, before, 0.0)
    square = float(np.square(before).sum())
    return float(np.clip((before * now).sum() / square, 0.0, 1.0)) if square else 0.0


def _in_plant_units(coordinates: Coordinates, curvature: Array) -> Array:
    """Return A in the units of the plant, shape (..., d, d)."""
    return coordinates.to_plain(coordinates.to_plain(curvature).mT)


def _play(policy: Policy[Any], log: Log, curvatures: Array, offsets: Array, seed: int) -> _Play:
    """Play the policy on the log for every A and b, in plain coordinates, at once."""
    coordinates = Coordinates(log.switching_weight)
    A, b = _in_plant_units(coordinates, curvatures), coordinates.from_plain(offsets)

    def hitting_cost(u: Array, t: int) -> Array:
        error = np.where(True if log.active is None else log.active[t], u + b, 0.0)
        return np.asarray((1.0 if log.factor is None else log.factor[t]) * 0.5 * np.vecdot(error, np.matvec(A, error)))

    def switching_cost(step: Array) -> Array:
        plain = coordinates.to_plain(step)
        return np.asarray(0.5 * np.vecdot(plain, plain))

    player, many = player_on(log, policy), len(curvatures)
    x = felt = np.tile(log.x0, (many, 1))
    state = player.start(x, log.horizon, streams(seed, range(many), "policy"))
    actions, recorded, cost = np.empty(log.v.shape), np.zeros(many), np.zeros(many)
    logged_steps, logged_felt, keep = np.diff(log.x, axis=0, prepend=log.x0[None]), log.x, _fit_lag(log)
    if log.at is not None:
        logged_felt = log.at
    for t, (v, y) in enumerate(zip(log.v, log.y, strict=True)):
        logged_cost = hitting_cost((logged_felt[t] - v)[None], t)
        recorded += logged_cost + switching_cost(logged_steps[t])
        target, before = np.broadcast_to(v, x.shape), x
        x, state = player.act(state, target, **told(log, t, "act", (many,)))
        felt = x + keep * (felt - x)
        own_cost = hitting_cost(felt - player.nearest(target, felt), t)
        cost += own_cost + switching_cost(x - before)
        late = told(log, t, "observe", (many,))
        if log.at is not None:
            late["at"] = np.where(True if log.active is None else log.active[t], felt, x)
        noise = 0.0 * y if player.exact_feedback else y - logged_cost
        state = player.observe(state, own_cost + noise, **late)
        actions[t] = x[0]
    return _Play(actions, recorded, cost, player.diverged(state))
