r"""Shadow mode: what another policy would have done on a recorded log, and what that would have cost.

The readings of the log determine a posterior of A, and of an error b of the minimizers if they show one. The policy
plays the minimizers of the log, from the position of the plant, for the most likely A and for a number of draws. If A
is the draw A_s, then base load and noise of round t were y_t - 1/2 u_t'A_s u_t, with u = x - v + b as recorded; so the
policy observes 1/2 w_t'A_s w_t plus that same base load and noise at its own w = x - v + b, and no reading where the
log has none. The spread over the draws is the uncertainty that the log leaves.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from soqo._control.log import Log
from soqo._foundation.arguments import integer
from soqo._foundation.frozen_dataclasses import Value
from soqo._foundation.random_streams import streams
from soqo._model.coordinates import Coordinates
from soqo.errors import ArgumentError
from soqo.estimators.bayes import BayesianRegression
from soqo.policies import Policy, wrap_for_plant
from soqo.typing import Array, BoolArray


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
        if not self._is_informed:
            return -np.inf, np.inf
        saved = self.recorded - self.cost
        ends = [_prediction_interval(saved[kind]) for kind in (~self.low_rank, self.low_rank) if kind.any()]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def _is_informed(self) -> bool:
        return self.information is not Information.NONE

    def __str__(self) -> str:
        if not self._is_informed:
            return (
                f"The log of {self.rounds} rounds holds no information about A: the plant was never far enough from v "
                f"for the cost to exceed the noise. The saving of {self.policy} cannot be estimated. Move the plant "
                "only part of the way to v for some rounds."
            )
        low, high = self.interval
        recorded = float(np.mean(self.recorded))
        text = (
            f"Over {self.rounds} rounds {self.policy} would have cost {recorded - self.saving:.4g} instead of "
            f"{recorded:.4g}: a saving of {self.saving:.4g} ({low:.4g} .. {high:.4g}, 95 %)."
        )
        if self.information is Information.PARTIAL:
            text += (
                f" The log informs about {self.learned} of {self.unknowns} directions of A only; in the others the "
                "interval relies on the prior."
            )
        if self.diverged.any():
            text += f" The policy diverged in {int(self.diverged.sum())} of {self.diverged.size} draws of A."
        return text


def replay(policy: Policy[Any], log: Log | str | os.PathLike[str], *, draws: int = 40, seed: int = 0) -> Replay:
    """Estimate what a policy would have done on a recorded log, and at what cost.

    The estimate assumes that the base load in the readings would have been the same, that A did not change, and that v
    would have moved in the same way. The base load may drift, as a random walk does, and the minimizers of the log may
    differ from the true ones by a constant. The policy is told the factors, units, covariates and active actuators of
    the log. If the log says where readings were felt, the plant is taken to follow any policy with the same lag, a
    first-order one that is fitted to the log.

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
        The actions, the costs and the saving with its interval.

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
    regression = _fit(recorded, coordinates)
    learned, p = regression.informed_directions(), regression.unknowns
    worlds = regression.sample(draws, np.random.default_rng(seed))
    every = np.concatenate([worlds.mode[None], worlds.draws])
    offsets = np.concatenate([worlds.mode_offset[None], worlds.offsets])
    play = _play(policy, recorded, coordinates, every, offsets, seed)
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
    )


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


def _fit(log: Log, coordinates: Coordinates) -> BayesianRegression:
    """Return the regression of the readings of a log.

    With y = s 1/2 u'A u + r (base load + noise), y / r is a reading at (s / r)^{1/2} u.
    """
    u = coordinates.to_plain((log.x if log.at is None else log.at) - log.v)
    if log.factor is None and log.unit is None:
        return BayesianRegression.fit(u, log.y)
    unit = np.ones(len(log)) if log.unit is None else log.unit
    factor = np.ones(len(log)) if log.factor is None else log.factor
    return BayesianRegression.fit(np.sqrt(factor / unit)[:, None] * u, log.y / unit)


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
