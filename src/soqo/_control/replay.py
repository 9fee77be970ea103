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
from scipy.ndimage import median_filter
from scipy.special import stdtrit

from soqo._control.log import Log
from soqo._foundation.arguments import integer
from soqo._foundation.frozen_dataclasses import Value
from soqo._foundation.random_streams import streams
from soqo._model.coordinates import Coordinates
from soqo._model.gains import advance
from soqo.errors import ArgumentError
from soqo.estimators import svec_rows
from soqo.estimators.bayes import BayesianRegression
from soqo.policies import Policy, State, wrap_for_plant
from soqo.typing import Array, BoolArray

_SHARES = np.geomspace(0.02, 1.0, 28)
"""The fixed shares that are compared; from one to the next the cost hardly changes."""

_SPIKE = 8.0
"""A reading so many robust deviations away from its neighbors is a spike."""

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
    rounds_to_learn : float
        About how many rounds of going half of the way to v would inform about them; infinite if v does not move.
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
            names, about = " and ".join(self.uninformed), self.rounds_to_learn
            advice.append(
                f"v of {names} hardly moves, so there is nothing to learn or to save."
                if math.isinf(about)
                else f"Move {names} only half of the way to v for at least {about:.2g} rounds, and repeat."
            )
        elif self._is_informed and low <= 0.0 <= high:
            needed = self.rounds * (0.5 * (high - low) / max(abs(self.saving), 1e-300)) ** 2
            advice.append(
                f"The interval contains 0: about {needed:.2g} rounds like these would decide."
                if self.saving > 0.0 and needed < 100.0 * self.rounds
                else "The interval contains 0: the policy of the log costs no more."
            )
        return " ".join(advice)

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
        low, high = self.interval
        recorded = float(np.mean(self.recorded))
        text = (
            f"Over {self.rounds} rounds {self.policy} would have cost {recorded - self.saving:.4g} instead of "
            f"{recorded:.4g}: a saving of {self.saving:.4g} ({low:.4g} .. {high:.4g}, 95 %)."
        )
        low, high = self.interval_over_share
        text += (
            f" The best fixed share, x += {self.share:.2f} (v - x), would have cost {np.mean(self.share_cost):.4g}: "
            f"{self.policy} saves {self.saving_over_share:.4g} of that ({low:.4g} .. {high:.4g})."
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
    if not isinstance(policy, Policy):
        raise ArgumentError(f"policy must be a Policy, got {type(policy).__name__}")
    if not isinstance(log, Log | str | os.PathLike):
        raise ArgumentError(
            f"log must be a Log or the path of one, got {type(log).__name__}; Log.from_dataframe makes one of a table"
        )
    recorded = log if isinstance(log, Log) else Log.read(log)
    draws, seed = integer("draws", draws, least=4), integer("seed", seed, least=0)
    coordinates = Coordinates(recorded.switching_weight)
    recorded, spikes = without_spikes(recorded, coordinates)
    readings = plain_readings(recorded, coordinates)
    regression = BayesianRegression.fit(*readings)
    learned, p = regression.informed_directions(), regression.unknowns
    worlds = regression.sample(draws, np.random.default_rng(seed))
    every = np.concatenate([worlds.mode[None], worlds.draws])
    offsets = np.concatenate([worlds.mode_offset[None], worlds.offsets])
    play = _play(policy, recorded, coordinates, every, offsets, seed)
    many = _SHARES.size
    fixed = _FixedShares(np.repeat(_SHARES, draws))
    shares = _play(
        fixed, recorded, coordinates, np.tile(worlds.draws, (many, 1, 1)), np.tile(worlds.offsets, (many, 1)), seed
    ).cost.reshape(many, draws)
    best = int(shares.mean(axis=1).argmin())
    axes = coordinates.to_plain(np.eye(recorded.dim))
    names = recorded.actuators or [f"actuator {k + 1}" for k in range(recorded.dim)]
    blind = ~regression.informs(axes)
    return Replay(
        policy=type(policy).__name__,
        rounds=len(recorded),
        information=_information(learned, p),
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
        uninformed=tuple(name for name, is_blind in zip(names, blind, strict=True) if is_blind),
        rounds_to_learn=_rounds_to_learn(recorded, coordinates, regression, blind),
        load_of_v=float(regression.driven_load(readings.drivers).std()),
        hitting=float((svec_rows(readings.u) @ regression.posterior(regression.scale)[0]).std()),
        gain_error=_gain_error(worlds.draws[~worlds.low_rank]),
        spikes=spikes,
    )


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


def _information(learned: int, unknowns: int) -> Information:
    if learned == 0:
        return Information.NONE
    return Information.FULL if learned == unknowns else Information.PARTIAL


class _Play(NamedTuple):
    """The actions for the first A, and the costs of the log and of the policy for every A."""

    actions: Array
    recorded: Array
    cost: Array
    diverged: BoolArray


class PlainReadings(NamedTuple):
    """The readings of a log as those of a plant with a factor and a unit of one, in plain coordinates."""

    u: Array
    y: Array
    drivers: list[Array]


def plain_readings(log: Log, coordinates: Coordinates) -> PlainReadings:
    """Return the displacements and readings of a log, and v and its products, which may drive the base load.

    With y = s 1/2 u'A u + r (base load + noise), y / r is a reading at (s / r)^{1/2} u.
    """
    u, y = coordinates.to_plain((log.x if log.at is None else log.at) - log.v), log.y
    if log.factor is not None or log.unit is not None:
        unit = np.ones(len(log)) if log.unit is None else log.unit
        factor = np.ones(len(log)) if log.factor is None else log.factor
        u, y = np.sqrt(factor / unit)[:, None] * u, y / unit
    spread = log.v.std(axis=0)
    w = (log.v - log.v.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return PlainReadings(u, y, [w, svec_rows(w)])


def without_spikes(log: Log, coordinates: Coordinates) -> tuple[Log, int]:
    """Return the log in which spikes are missing readings, and their number."""
    is_spike = _find_spikes(plain_readings(log, coordinates))
    return replace(log, y=np.where(is_spike, np.nan, log.y)), int(is_spike.sum())


def _find_spikes(readings: PlainReadings) -> BoolArray:
    """Return the readings that are far from their neighbors, given a quadratic fit without them."""
    u, y = readings.u, readings.y
    columns = np.column_stack([svec_rows(u), u, *readings.drivers[:1], np.ones(len(u))])
    is_spike = np.zeros(len(u), dtype=bool)
    for _ in range(3):
        used = ~np.isnan(y) & ~is_spike
        if used.sum() < 2 * columns.shape[1]:
            break
        solution, *_ = np.linalg.lstsq(columns[used], y[used])
        known = np.flatnonzero(~np.isnan(y))
        left = (y - columns @ solution)[known]
        left -= median_filter(left, 9, mode="nearest")
        spread = max(1.4826 * float(np.median(np.abs(left))), 0.5 * meter_step(y), 1e-9 * float(np.abs(y[known]).max()))
        is_spike[known] = np.abs(left) > _SPIKE * spread
    return is_spike


def meter_step(y: Array) -> float:
    """Return the step between the values of a meter, 0 if most of them are different."""
    known = y[~np.isnan(y)]
    values = np.unique(known)
    if values.size < 2 or values.size > 0.8 * known.size:
        return 0.0
    steps = np.diff(values)
    return float(steps[steps > 1e-9 * np.abs(values).max()].min(initial=np.inf))


def _rounds_to_learn(log: Log, coordinates: Coordinates, regression: BayesianRegression, blind: BoolArray) -> float:
    """Return how many rounds of half steps would inform about these actuators, if A has the size that was found.

    With steps of v of variance q, half steps have displacements of variance q / 3, and readings of A_kk the information
    E[u^4] / 4 = q^2 / 12, in units of the noise.
    """
    q = np.square(np.diff(coordinates.to_plain(log.v), axis=0)).sum(axis=0)[blind] / max(len(log) - 1, 1)
    if not blind.any():
        return 0.0
    signal = np.square(regression.scale * q / regression.noise) / 12.0
    return float(np.max(_LEARNED_RATIO**2 / signal)) if signal.min() > 0.0 else math.inf


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


def _play(
    policy: Policy[Any], log: Log, coordinates: Coordinates, curvatures: Array, offsets: Array, seed: int
) -> _Play:
    """Play the policy on the log for every A and b, in plain coordinates, at once."""
    A, b = _in_plant_units(coordinates, curvatures), coordinates.from_plain(offsets)

    def hitting_cost(u: Array, t: int) -> Array:
        error = u + b
        if log.active is not None:
            error = np.where(log.active[t], error, 0.0)
        cost = 0.5 * np.vecdot(error, np.matvec(A, error))
        return np.asarray(cost if log.factor is None else log.factor[t] * cost)

    player = wrap_for_plant(
        policy,
        switching_weight=log.switching_weight,
        low=log.low,
        high=log.high,
        rate=log.rate,
        period=log.period,
    )
    many = len(curvatures)
    x = felt = np.tile(log.x0, (many, 1))
    state = player.start(x, log.horizon, streams(seed, range(many), "policy"))
    actions, recorded, cost = np.empty(log.v.shape), np.zeros(many), np.zeros(many)
    logged_before, keep = log.x0, _fit_lag(log)
    for t, (v, logged, y) in enumerate(zip(log.v, log.x, log.y, strict=True)):
        logged_cost = hitting_cost(((logged if log.at is None else log.at[t]) - v)[None], t)
        move = coordinates.to_plain(logged - logged_before)
        recorded += logged_cost + 0.5 * np.vecdot(move, move)
        logged_before, before = logged, x
        x, state = player.act(state, np.broadcast_to(v, x.shape), **_told_before(log, t, many))
        felt = x + keep * (felt - x)
        target = np.broadcast_to(v, x.shape)
        own_cost = hitting_cost(felt - player.nearest(target, felt), t)
        move = coordinates.to_plain(x - before)
        cost += own_cost + 0.5 * np.vecdot(move, move)
        noise = 0.0 * y if player.exact_feedback else y - logged_cost
        told: dict[str, Any] = {} if log.unit is None else {"unit": np.full(many, log.unit[t])}
        if log.covariates is not None and not np.isnan(log.covariates[t]).any():
            told["covariates"] = np.tile(log.covariates[t], (many, 1))
        if keep:
            told["at"] = felt if log.active is None else np.where(log.active[t], felt, x)
        state = player.observe(state, own_cost + noise, **told)
        actions[t] = x[0]
    return _Play(actions, recorded, cost, player.diverged(state))


def _told_before(log: Log, t: int, many: int) -> dict[str, Any]:
    """Return what a policy is told in a round beside v."""
    found: dict[str, Any] = {}
    if log.factor is not None:
        found["factor"] = np.full(many, log.factor[t])
    if log.active is not None:
        found["active"] = log.active[t]
    return found
