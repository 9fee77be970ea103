r"""Shadow mode: what another policy would have done on a recorded log, and what that would have cost.

The readings of the log say what A may be (`_evidence`). For the most likely A and for a number of
draws, the policy plays the log's minimizers from where the plant stood. In the world of a draw A_s, the noise of round
t was y_t - 1/2 u_t'A_s u_t, with u = x - v as recorded; so the policy hears 1/2 w_t'A_s w_t plus that same noise at its
own w = x - v, and no reading where the log has none. What the draws differ by is what the log does not say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from scipy.special import stdtrit

from soqo._arguments import integer
from soqo._controller import on_plant
from soqo._log import Log
from soqo._problem import Coordinates
from soqo._streams import streams
from soqo.errors import ArgumentError
from soqo.estimators.bayes._evidence import Evidence
from soqo.policies._base import Policy
from soqo.typing import Array, BoolArray

__all__ = ["Information", "Replay", "replay"]


class Information(Enum):
    """What a log says about A."""

    FULL = "full"
    """Something about every direction."""
    PARTIAL = "partial"
    """Nothing about some directions, in which the interval rests on the prior alone."""
    NONE = "none"
    """Nothing at all: no saving can be estimated."""


@dataclass(frozen=True, eq=False)
class Replay:
    """What a policy would have done on a log.

    Attributes
    ----------
    policy : str
    rounds : int
    information : Information
    learned, unknowns : int
        Directions of A about which the log says something, of d(d+1)/2.
    estimate : Array, shape (d, d)
        The most likely A, in the plant's units.
    noise : float
        The deviation of a reading, as estimated.
    actions : Array, shape (T, d)
        What the policy would have done if A were the estimate.
    recorded, cost : Array, shape (draws,)
        The total cost of the log, and of the policy, in the world of each draw.
    low_rank : BoolArray, shape (draws,)
        In which of these worlds the eigenvalues of A that cannot be told from zero are zero.
    diverged : BoolArray, shape (draws,)
        In which of these worlds the policy diverged.
    """

    policy: str
    rounds: int
    information: Information
    learned: int
    unknowns: int
    estimate: Array
    noise: float
    actions: Array = field(repr=False)
    recorded: Array = field(repr=False)
    cost: Array = field(repr=False)
    low_rank: BoolArray = field(repr=False)
    diverged: BoolArray = field(repr=False)

    @property
    def saving(self) -> float:
        """What the policy would have saved in all: the mean over the draws; NaN where the log says nothing."""
        return float(np.mean(self.recorded - self.cost)) if self._says_something else np.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Where the saving is, 95 times out of 100; everywhere, if the log says nothing.

        Where eigenvalues of A cannot be told from zero, it reaches from what holds if they are not zero to what holds
        if they are.
        """
        if not self._says_something:
            return -np.inf, np.inf
        saved = self.recorded - self.cost
        ends = [spread(saved[kind]) for kind in (~self.low_rank, self.low_rank) if kind.any()]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def _says_something(self) -> bool:
        return self.information is not Information.NONE

    def __str__(self) -> str:
        if not self._says_something:
            return (
                f"The log of {self.rounds} rounds says nothing about A, since the plant never stood off v by enough to "
                f"be heard above the noise; what {self.policy} would have saved cannot be estimated. Let the plant go "
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
                f" The log says something about {self.learned} of {self.unknowns} directions of A only; in the others "
                "the interval rests on a guess."
            )
        if self.diverged.any():
            text += f" The policy diverged in {int(self.diverged.sum())} of {self.diverged.size} possible worlds."
        return text


def replay(policy: Policy[Any], log: Any, *, draws: int = 40, seed: int = 0) -> Replay:
    """What a policy would have done on a recorded log, and at what cost.

    It is assumed that the noise of a reading has the same bias everywhere, that A did not change, and that v would have
    moved the same way.

    Parameters
    ----------
    policy : Policy
        As for a :class:`soqo.Controller`: in plain coordinates, without limits, which the log has.
    log : Log or path
        What was recorded, or a controller's journal.
    draws : int
        The number of matrices that A may be, each played in full.
    seed : int
        For these and for what the policy draws.

    Examples
    --------
    >>> import soqo
    >>> rng = np.random.default_rng(0)
    >>> v = np.cumsum(10.0 * rng.standard_normal((200, 2)), axis=0)
    >>> x = np.empty_like(v)
    >>> for t in range(200):                    # a plant that goes half of the way
    ...     x[t] = 0.5 * (v[t] + (x[t - 1] if t else 0.0))
    >>> y = 0.1 * ((x - v) ** 2).sum(axis=1) + rng.uniform(-1.0, 1.0, 200)    # A = 0.2 I
    >>> found = replay(soqo.GLIDE(), Log(v, x, y, x0=[0.0, 0.0]))
    >>> found.information.name, bool(found.interval[0] > 0.0)
    ('FULL', True)
    >>> replay(soqo.GLIDE(), Log(v, v, y - y, x0=[0.0, 0.0])).information.name     # always at v: hears nothing
    'NONE'
    """
    if not isinstance(policy, Policy):
        raise ArgumentError(f"policy must be a Policy, got {type(policy).__name__}")
    recorded = log if isinstance(log, Log) else Log.read(log)
    integer("draws", draws, least=4)
    integer("seed", seed, least=0)
    if not isinstance(policy, Policy):
        raise ArgumentError(f"policy must be a Policy, got {type(policy).__name__}")
    coordinates = Coordinates(recorded.switching_weight)
    u = coordinates.to_plain(recorded.x - recorded.v)
    evidence = Evidence.of(u, recorded.y)
    learned, p = evidence.learned(), evidence.unknowns
    worlds = evidence.worlds(draws, np.random.default_rng(seed))
    every = np.concatenate([worlds.likely[None], worlds.draws])
    play = played(policy, recorded, coordinates, every, seed)
    half = coordinates.to_plain(worlds.likely)
    return Replay(
        policy=type(policy).__name__,
        rounds=len(recorded),
        information=information(learned, p),
        learned=learned,
        unknowns=p,
        estimate=coordinates.to_plain(half.T),
        noise=evidence.noise,
        actions=play.actions,
        recorded=play.recorded[1:],
        cost=play.cost[1:],
        low_rank=worlds.low_rank,
        diverged=play.diverged[1:],
    )


def spread(values: Array) -> tuple[float, float]:
    """Where 95 of 100 more values would be."""
    n = values.size
    half = float(stdtrit(n - 1, 0.975) * values.std(ddof=1) * np.sqrt(1.0 + 1.0 / n))
    return float(values.mean()) - half, float(values.mean()) + half


def information(learned: int, unknowns: int) -> Information:
    """In a word."""
    if learned == 0:
        return Information.NONE
    return Information.FULL if learned == unknowns else Information.PARTIAL


@dataclass(frozen=True, eq=False)
class Play:
    """What came of playing a log in several worlds."""

    actions: Array
    recorded: Array
    cost: Array
    diverged: BoolArray


def played(policy: Policy[Any], log: Log, coordinates: Coordinates, worlds: Array, seed: int) -> Play:
    """Play the policy in every world at once; actions are those of the first."""

    def hitting(u: Array) -> Array:
        return np.asarray(0.5 * np.vecdot(u, np.matvec(worlds, u)))

    player = on_plant(policy, log.low, log.high, log.switching_weight)
    many = len(worlds)
    x = np.tile(log.x0, (many, 1))
    state = player.start(x, log.horizon, streams(seed, range(many), "policy"))
    actions, recorded, cost = np.empty(log.v.shape), np.zeros(many), np.zeros(many)
    log_x = log.x0
    for t, (v, then, y) in enumerate(zip(log.v, log.x, log.y, strict=True)):
        would_be = hitting(coordinates.to_plain(then - v)[None])
        move = coordinates.to_plain(then - log_x)
        recorded += would_be + 0.5 * np.vecdot(move, move)
        log_x, before = then, x
        x, state = player.act(state, np.broadcast_to(v, x.shape))
        own = hitting(coordinates.to_plain(x - v))
        move = coordinates.to_plain(x - before)
        cost += own + 0.5 * np.vecdot(move, move)
        noise = y - would_be if not player.exact_feedback else 0.0 * y
        state = player.observe(state, own + noise)
        actions[t] = x[0]
    return Play(actions, recorded, cost, player.diverged(state))
