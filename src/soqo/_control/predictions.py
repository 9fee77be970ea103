"""What a policy expected of each reading of a log, and what it learned from them.

The policy observes the log and does not steer: in each round it acts, and is told the position that was applied and the
reading. What it expects is computed before it is told the reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soqo._control.log_columns import told
from soqo._foundation.frozen_dataclasses import Value
from soqo._model.coordinates import Coordinates
from soqo.policies import Policy, State, wrap_for_plant
from soqo.typing import Array, ArrayLike, BoolArray, IntArray

if TYPE_CHECKING:
    from soqo._control.log import Log


@dataclass(frozen=True)
class Predictions(Value):
    """What a policy expected, round by round, and what it knew at the end.

    Attributes
    ----------
    policy : str
        The name of the policy.
    expected, deviation : Array, shape (T,)
        The expected reading, and the standard deviation of the reading around it (NaN if the policy does not know it).
    hitting, follow_hitting : Array, shape (T,)
        The hitting cost of the plant, and of following v within the limits, by the last estimate before A changed.
    estimate, estimate_deviation : Array, shape (d, d)
        The estimate of A after the last round, and the standard deviations of its entries (NaN if unknown). For
        entries off the diagonal it is an upper bound.
    alarms : IntArray
        The rounds of alarms, counted from 0.
    outliers, guarded : BoolArray, shape (T,)
        The readings that the policy rejected, and the rounds in which the guard followed v.
    """

    policy: str
    expected: Array
    deviation: Array
    hitting: Array
    follow_hitting: Array
    estimate: Array
    estimate_deviation: Array
    alarms: IntArray
    outliers: BoolArray
    guarded: BoolArray


class _Known(NamedTuple):
    """What a policy knows in a round."""

    estimate: Array
    offset: Array
    base_load: float
    noise: float

    @classmethod
    def of(cls, found: dict[str, Any], dim: int) -> _Known:
        """Return what the diagnostics of a policy say."""
        return cls(
            estimate=np.asarray(found["estimate"]),
            offset=np.asarray(found.get("offset", np.zeros(dim))),
            base_load=float(found.get("base_load", 0.0)),
            noise=float(found.get("noise", np.nan)),
        )

    def errors(self, u: Array, active: BoolArray | None) -> Array:
        """Return the displacements from the true minimizer; actuators that are not active do not count."""
        return np.asarray(np.where(True if active is None else active, u + self.offset, 0.0))

    def hitting_cost(self, errors: Array) -> Array:
        return np.asarray(0.5 * np.vecdot(errors, np.matvec(self.estimate, errors)))


def player_on(log: Log, policy: Policy[Any]) -> Policy[Any]:
    """Return a policy for the plant of a log: with its weight, its angles and its limits around it."""
    limits = {name: getattr(log, name) for name in ("low", "high", "rate", "period", "switching_weight")}
    return wrap_for_plant(policy, **limits)


def predict(player: Policy[Any], state: State[Any], log: Log) -> Predictions | None:
    """Return what a policy expects and learns along a log; None if it does not estimate A.

    Parameters
    ----------
    player : Policy
        The policy within the limits and the weight of the plant.
    state : State
        Its state before the first round.
    log : Log
        The log.
    """
    before = player.diagnostics(state)
    if "estimate" not in before:
        return None
    count, dim = log.v.shape
    expected, deviation = np.empty(count), np.empty(count)
    outliers, guarded = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    layers, first = _layers(player), state.round
    is_told = any(getattr(layer, "switching_included", False) for layer in layers)
    switching = is_told * switching_costs(log.x, log.x0, log.switching_weight)  # where the readings contain it
    alarms: list[int] = []
    history: list[_Known] = []  # an alarm comes some rounds after the change, when the estimate has changed as well
    segments: list[tuple[int, _Known]] = []  # the end of each segment without a change of A, and what was known there
    felt = log.x if log.at is None else log.at
    for t in range(count):
        early, late = told(log, t, "act"), told(log, t, "observe")
        scale, size = early.get("factor", 1.0), late.get("unit", 1.0)
        _, state = player.act(state, log.v[t], **early)
        known = _Known.of(before, dim)
        history.append(known)
        error = known.errors(felt[t] - log.v[t], early.get("active"))
        expected[t] = scale * known.hitting_cost(error) + size * known.base_load + switching[t]
        spread = player.uncertainty_of(state, error[None])
        deviation[t] = np.hypot(size * known.noise, np.nan if spread is None else 0.5 * scale * spread[0])
        state = player.observe(state, log.y[t], applied=log.x[t], **late)
        after = player.diagnostics(state)
        outliers[t] = after.get("outliers", 0.0) > before.get("outliers", 0.0)
        guarded[t] = bool(after.get("guarding", False))
        if after.get("alarms", 0.0) > before.get("alarms", 0.0):
            alarms.append(int(np.clip(after["last_alarm"] - first - 1, alarms[-1] if alarms else 0, t)))
            segments.append((alarms[-1], history[alarms[-1]]))
        before = after
    segments.append((count, _Known.of(before, dim)))
    hitting, follow_hitting = (_segment_costs(segments, position, log) for position in (felt, follow_minimizer(log)))
    return Predictions(
        policy=type(layers[-1]).__name__,
        expected=expected,
        deviation=deviation,
        hitting=hitting,
        follow_hitting=follow_hitting,
        estimate=segments[-1][1].estimate,
        estimate_deviation=entry_deviations(player, state, dim),
        alarms=np.array(alarms, dtype=np.int64),
        outliers=outliers,
        guarded=guarded,
    )


def _segment_costs(segments: Sequence[tuple[int, _Known]], positions: Array, log: Log) -> Array:
    """Return the hitting cost of each round, by what was known at the end of the segment that it belongs to."""
    costs, begin = np.empty(len(positions)), 0
    for end, known in segments:
        here = slice(begin, end)
        errors = known.errors(positions[here] - log.v[here], None if log.active is None else log.active[here])
        costs[here] = known.hitting_cost(errors)
        begin = end
    return costs if log.factor is None else costs * log.factor


def follow_minimizer(log: Log) -> Array:
    """Return the positions of a plant that follows v within the limits."""
    low, high = -np.inf if log.low is None else log.low, np.inf if log.high is None else log.high
    return np.asarray(np.clip(log.v, np.asarray(low), np.asarray(high)))


def entry_deviations(player: Policy[Any], state: State[Any], dim: int) -> Array:
    """Return the standard deviations of the entries of the estimate; NaN if the policy does not know them.

    An entry off the diagonal is (p'Ap - q'Aq) / 4 with p = e_i + e_j and q = e_i - e_j. Its deviation is at most the
    sum of the deviations of both terms, which is returned, because the policy does not tell their correlation.
    """
    pairs = [(i, j) for i in range(dim) for j in range(i, dim)]
    unit = np.eye(dim)
    directions = np.array([unit[i] + sign * unit[j] for i, j in pairs for sign in (1.0, -1.0)])
    found = player.uncertainty_of(state, directions)
    result = np.full((dim, dim), np.nan)
    if found is not None:
        for (i, j), bound in zip(pairs, found.reshape(-1, 2).sum(axis=1) / 4.0, strict=True):
            result[i, j] = result[j, i] = bound
    return result


def switching_costs(x: Array, x0: Array, switching_weight: ArrayLike | None) -> Array:
    """Return the switching cost of each round."""
    steps = Coordinates(switching_weight).to_plain(np.diff(x, axis=0, prepend=x0[None]))
    return np.asarray(0.5 * np.vecdot(steps, steps))


def _layers(player: Any) -> list[Any]:
    """Return a policy and those inside of it, from the outermost wrapper inwards."""
    return [player, *_layers(player.policy)] if hasattr(player, "policy") else [player]
