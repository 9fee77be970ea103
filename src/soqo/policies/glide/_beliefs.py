r"""A few hypotheses about the readings, run side by side: outliers, changes of A, base loads, a misled start.

Each belief is a posterior with a log weight. Beliefs differ in the readings that they accept, in the round in which
they started to learn, and in the base load that they assume. With each reading,

- every belief may accept it, which adds the logarithm of its predictive density to the weight, or reject it as wrong: a
  wrong reading has an error whose logarithm is uniform on a wide range. A first wrong reading is rare, and one that
  follows another is not, so bursts cost little more than single outliers. Both outcomes are kept while neither is
  much more probable.
- if the best belief predicts a reading badly, two beliefs start again around its estimate, since A may have changed.
- at some ages, the latest readings alone are fitted: with other base loads, and in case that wrong readings at the
  start, which nothing contradicted at that time, have misled all beliefs.

Beliefs of low weight are dropped. The policy plays for the best one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soqo._foundation.blas import all_entries, any_entry, is_finite_quick, max_entry
from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._foundation.one_number import are_one_number, is_one_number, repeat_entry
from soqo._storage.registry import register
from soqo.estimators.bayes import Posterior, ReadingModel, fit_is_due
from soqo.policies._runs import join_rows, take_rows
from soqo.policies.glide._outliers import SAME_GAIN
from soqo.typing import Array, BoolArray, IntArray

MAX_BELIEFS = 6
"""The largest number of beliefs of a run."""


PRUNE_NATS = 8.0
"""Beliefs this far below the best one are dropped."""

_HEDGED_PROBABILITY = 0.03
"""Epochs of lower probability do not influence the action."""

IMPROBABLE_NATS = 2.0
"""Beliefs this far below the best one are fitted less often."""

UNSEEN_NATS, SETTLED_NATS = 6.0, 3.0
"""Beliefs with a base load are dropped if they are this far below the best one, before and after it has 4p readings."""

UNSEEN_READINGS = 4
"""The first of these rules begins with so many readings. A base load that later readings show is found by a review."""


MANY_UNKNOWNS, MANY_READINGS = 30, 1000
"""With so many unknowns, or so many readings, beliefs that predict the same are merged."""

SAME_NATS = 0.1
"""Two beliefs predict the same if the log densities of the latest readings differ by no more than this."""

RETURN_NATS = 4.0
"""In each round after a suspected change, the belief from before it is at most this far below the best one."""


DECISIVE_READINGS = 5
"""The number of latest readings whose densities are kept."""

BASE_LOAD_LOG_PRIORS = {"none": math.log(0.9), "constant": math.log(0.08), "walk": math.log(0.02)}
"""The logarithms of the prior probabilities of base loads."""


_OF_A_BELIEF = (
    "owner",
    "log_weight",
    "epoch",
    "in_a_row",
    "rejected",
    "age",
    "protected",
    "surprise",
    "gain",
    "gain_error",
    "same_gain",
    "densities",
)
"""The fields with one entry for each belief, beside its posterior."""


@dataclass(frozen=True)
class Rows:
    """Some readings of several runs.

    Attributes
    ----------
    u, w, factor, y : Array, shape (runs, n, d), (runs, n, k), (runs, n) and (runs, n)
        The displacements, the contexts, what multiplied the hitting costs, and the readings; y is NaN for none.
    """

    u: Array
    w: Array
    factor: Array
    y: Array

    def __len__(self) -> int:
        return int(self.y.shape[1])

    def features(self, model: ReadingModel) -> Array:
        """Return the features of all readings, shape (runs, n, m)."""
        runs, n, d = self.u.shape
        w = self.w.reshape(runs * n, -1) if model.context else None
        return model.features(self.u.reshape(-1, d), w, self.factor.ravel()).reshape(runs, n, -1)

    @property
    def context(self) -> Array | None:
        """The contexts, None for none."""
        return self.w if self.w.shape[2] else None

    def first(self, count: int) -> Rows:
        """Return the first readings."""
        return Rows(self.u[:, :count], self.w[:, :count], self.factor[:, :count], self.y[:, :count])

    def of_runs(self, index: IntArray) -> Rows:
        """Return the readings of some of the runs."""
        return Rows(self.u[index], self.w[index], self.factor[index], self.y[index])

    def learned(self, model: ReadingModel, start: Posterior, times: int = 1) -> Posterior:
        """Return posteriors after all readings in their order, before a fit.

        Parameters
        ----------
        model : ReadingModel
            The assumptions about the readings.
        start : Posterior
            The posteriors before them: of all runs, one after the other, and again as often as ``times`` says.
        times : int
            How many posteriors share the readings of a run.
        """
        features, rows = self.features(model), self
        if times > 1:
            features, rows = np.tile(features, (times, 1, 1)), self.repeat(times)
        return start.update_rows(model, rows.u, rows.y, features, rows.context)

    def repeat(self, times: int) -> Rows:
        """Return the rows of all runs several times, one after the other."""
        return Rows(
            *(np.tile(part, (times, *(1,) * (part.ndim - 1))) for part in (self.u, self.w, self.factor, self.y))
        )


@register("GLIDE.beliefs")
@dataclass(frozen=True)
class Beliefs(Value):
    """The beliefs of several runs, in the order of the runs.

    Attributes
    ----------
    owner : IntArray, shape (beliefs,)
        The run of each belief.
    posterior : Posterior
        The posterior of each belief.
    log_weight : Array, shape (beliefs,)
        The log weight of each belief without the evidence of the readings that it has accepted.
    epoch : Array, shape (beliefs,)
        The round in which it started to learn.
    in_a_row, rejected : Array, shape (beliefs,)
        The number of readings that it has rejected in a row, and in total.
    age : Array, shape (beliefs,)
        The number of readings since its epoch.
    protected : Array, shape (beliefs,)
        The round until which it is kept whatever its weight.
    surprise : Array, shape (beliefs,)
        The moving average of squared normalized innovations.
    gain, gain_error, same_gain : Array, shape (beliefs,)
        The last reading if it was rejected, divided by what was expected, and its relative deviation; NaN for none. The
        probability that the next wrong reading is wrong by the same factor.
    densities : Array, shape (beliefs, 5)
        The log densities of the latest readings.
    recent_u, recent_w, recent_factor, recent_y : Array, shape (runs, rows, d), (runs, rows, k) and (runs, rows)
        The latest readings, the last one at the end; y is NaN for none.
    best : IntArray, shape (runs,)
        The belief of each run with the largest weight.
    """

    owner: IntArray
    posterior: Posterior
    log_weight: Array
    epoch: Array
    in_a_row: Array
    rejected: Array
    age: Array
    protected: Array
    surprise: Array
    gain: Array
    gain_error: Array
    same_gain: Array
    densities: Array
    recent_u: Array
    recent_w: Array
    recent_factor: Array
    recent_y: Array
    recent_refused: BoolArray
    best: IntArray

    @classmethod
    def start(cls, model: ReadingModel, runs: int, *, base_load: bool) -> Beliefs:
        """Return the beliefs before the first reading: without a base load and, if wanted, with a constant one."""
        kinds = ("none", "constant") if base_load else ("none",)
        speed = np.tile([math.nan, 0.0][: len(kinds)], runs)
        zeros = np.zeros(speed.size)
        rows = _recent_rows(model)
        return cls(
            owner=np.repeat(np.arange(runs), len(kinds)),
            posterior=Posterior.start(model, speed.size, base_load=speed),
            log_weight=np.tile([BASE_LOAD_LOG_PRIORS[kind] for kind in kinds], runs),
            epoch=zeros,
            in_a_row=zeros,
            rejected=zeros,
            age=zeros,
            protected=zeros,
            surprise=zeros + 1.0,
            gain=zeros + np.nan,
            gain_error=zeros + np.nan,
            same_gain=zeros + SAME_GAIN,
            densities=np.zeros((zeros.size, DECISIVE_READINGS)),
            recent_u=np.zeros((runs, rows, model.dim)),
            recent_w=np.zeros((runs, rows, model.context)),
            recent_factor=np.ones((runs, rows)),
            recent_y=np.full((runs, rows), np.nan),
            recent_refused=np.zeros((runs, rows), dtype=np.bool_),
            best=len(kinds) * np.arange(runs),
        )

    @classmethod
    def around(cls, posterior: Posterior) -> Beliefs:
        """Return one belief for each run, with this posterior.

        Parameters
        ----------
        posterior : Posterior
            The posterior of each run.
        """
        runs, d, _ = posterior.second_moment.shape
        zeros = np.zeros(runs)
        rows = 3 * max(d * (d + 1) // 2, 10)
        return cls(
            owner=np.arange(runs),
            posterior=posterior,
            log_weight=zeros,
            epoch=zeros,
            in_a_row=zeros,
            rejected=zeros,
            age=posterior.total_readings.copy(),
            protected=zeros,
            surprise=np.ones(runs),
            gain=np.full(runs, np.nan),
            gain_error=np.full(runs, np.nan),
            same_gain=np.full(runs, SAME_GAIN),
            densities=np.zeros((runs, DECISIVE_READINGS)),
            recent_u=np.zeros((runs, rows, d)),
            recent_w=np.zeros((runs, rows, posterior.log_sizes.shape[1] - 1)),
            recent_factor=np.ones((runs, rows)),
            recent_y=np.full((runs, rows), np.nan),
            recent_refused=np.zeros((runs, rows), dtype=np.bool_),
            best=np.arange(runs),
        )

    def trail(self) -> Array:
        """Return what is known about each belief, most probable first, shape (runs, 6, 4).

        The columns are the probability, the round in which it started to learn, the number of readings that it has
        rejected, and its base load. Rows without a belief are NaN; less probable beliefs are left out.
        """
        total = self.total
        rank = _rank(self.owner, total, first_of_runs(self.owner))
        shown = np.flatnonzero(rank < MAX_BELIEFS)
        weight = np.exp(total - total[self.best][self.owner])
        weight /= np.bincount(self.owner, weight)[self.owner]
        columns = np.stack([weight, self.epoch, self.rejected, self.posterior.base_load()], axis=1)
        found = np.full((self.best.size, MAX_BELIEFS, columns.shape[1]), np.nan)
        found[self.owner[shown], rank[shown].astype(np.int64)] = columns[shown]
        return found

    def best_probability(self) -> Array:
        """Return the probability of the best belief of each run, shape (runs,)."""
        total = self.total
        relative = np.exp(total - total[self.best][self.owner])
        return np.asarray(1.0 / np.add.reduceat(relative, first_of_runs(self.owner)))

    @property
    def total(self) -> Array:
        """The log weight of each belief with the evidence of its readings."""
        total = self.log_weight + self.posterior.log_evidence
        # A density that overflows or is not a number is no evidence for a belief.
        return np.where(np.abs(total) < 1e250, total, -1e250)

    def later_epochs(self, round_number: int) -> tuple[IntArray, Array] | None:
        """Return the best belief of each epoch after the best belief's, with its probability; None for none.

        The probability is that of all beliefs of the epoch, relative to those of the run. An epoch that began in this
        round does not count: a single reading that does not fit is usually wrong.

        Parameters
        ----------
        round_number : int
            The number of this round.
        """
        if self.owner.size == self.best.size or (self.epoch == self.epoch[self.best][self.owner]).all():
            return None
        total = self.total
        order = np.lexsort((-total, self.epoch, self.owner))
        owner, epoch = self.owner[order], self.epoch[order]
        begins = np.concatenate([[True], (owner[1:] != owner[:-1]) | (epoch[1:] != epoch[:-1])])
        leader = order[begins]
        mass = np.add.reduceat(np.exp(total - total[self.best][self.owner])[order], np.flatnonzero(begins))
        probability = mass / np.bincount(self.owner[leader], mass)[self.owner[leader]]
        epoch = self.epoch[leader]
        later = (epoch > self.epoch[self.best][self.owner[leader]]) & (epoch < round_number)
        # A belief that is only kept in case that what has changed changes back has no true probability.
        later &= (probability >= _HEDGED_PROBABILITY) & (self.protected[leader] < round_number)
        return (leader[later], probability[later]) if later.any() else None

    def played(self) -> Posterior:
        """Return the posterior of the best belief of each run."""
        if self.best.size == self.owner.size:
            return self.posterior
        return self.posterior.take(self.best)

    def played_estimate(self) -> Posterior:
        """Return the same without the stored rows, which an estimate does not need; the copy is cheaper."""
        if self.best.size == self.owner.size:
            return self.posterior
        return self.posterior.take_estimates(self.best)

    def take(self, index: IntArray | BoolArray | slice) -> dict[str, Any]:
        """Return the fields of some of the beliefs."""
        fields: dict[str, Any] = {name: self.__dict__[name][index] for name in _OF_A_BELIEF}
        return {**fields, "posterior": self.posterior.take(index)}

    def join(self, *others: dict[str, Any]) -> Beliefs:
        """Return these beliefs and others, in the order of the runs."""
        parts = [{name: getattr(self, name) for name in (*_OF_A_BELIEF, "posterior")}, *others]
        merge = _merger([(part["owner"], None) for part in parts])
        fields = {name: merge([part[name] for part in parts]) for name in _OF_A_BELIEF}
        posteriors = [part["posterior"].__dict__ for part in parts]
        joined = {name: merge([part[name] for part in posteriors]) for name in posteriors[0]}
        return evolve(self, **fields, posterior=evolve(self.posterior, **joined))

    # ---- runs ------------------------------------------------------------------------------------------------------

    def take_runs(self, index: IntArray) -> Beliefs:
        """Return the beliefs of some of the runs.

        Parameters
        ----------
        index : IntArray, shape (k,)
            The runs.
        """
        start = first_of_runs(self.owner)
        counts = np.diff(np.append(start, self.owner.size))[index]
        offsets = np.cumsum(counts) - counts
        mine = np.arange(counts.sum()) + np.repeat(start[index] - offsets, counts)
        # The first axis of an array is that of the runs or of the beliefs. If they are as many, the index is the same.
        fields = {
            name: take_rows(value, index if isinstance(value, np.ndarray) and len(value) == self.best.size else mine)
            for name, value in self.__dict__.items()
        }
        fields["owner"] = np.repeat(np.arange(len(index)), counts)
        fields["best"] = self.best[index] - start[index] + offsets
        return evolve(self, **fields)

    @staticmethod
    def join_runs(parts: Sequence[Beliefs]) -> Beliefs:
        """Return the beliefs of the runs of several.

        Parameters
        ----------
        parts : sequence of Beliefs
            The beliefs.
        """
        fields = {name: join_rows([part.__dict__[name] for part in parts]) for name in parts[0].__dict__}
        for name, sizes in (
            ("owner", [part.best.size for part in parts]),
            ("best", [part.owner.size for part in parts]),
        ):
            offsets = np.cumsum([0, *sizes[:-1]])
            fields[name] = np.concatenate(
                [part.__dict__[name] + offset for part, offset in zip(parts, offsets, strict=True)]
            )
        return evolve(parts[0], **fields)

    # ---- readings ---------------------------------------------------------------------------------------------------

    def split(
        self,
        accepted: Beliefs,
        refused: Beliefs,
        keep: BoolArray,
        doubt: BoolArray,
        model: ReadingModel,
        round_number: int,
    ) -> Beliefs:
        """Return the beliefs that accept a reading and those that reject it, without those of low weight.

        Parameters
        ----------
        accepted, refused : Beliefs
            These beliefs after they have accepted the reading, and after they have rejected it.
        keep, doubt : BoolArray, shape (beliefs,)
            Which of the first and of the second to consider.
        model : ReadingModel
            The assumptions about the readings.
        round_number : int
            The number of this round.
        """
        kept, new = np.flatnonzero(keep), np.flatnonzero(doubt)
        if new.size:
            owner = np.concatenate([self.owner[kept], self.owner[new]])
            order = np.argsort(owner, kind="stable")
            total, readings, level_variance, protected = (
                np.concatenate([of_accepted[kept], of_refused[new]])[order]
                for of_accepted, of_refused in zip(accepted._of_weight(), refused._of_weight(), strict=True)
            )
            stays = np.empty(owner.size, dtype=np.bool_)
            stays[order], _ = _selection(model, owner[order], total, readings, level_variance, protected, round_number)
            kept, new = kept[stays[: kept.size]], new[stays[kept.size :]]
        if not new.size:
            return accepted if kept.size == keep.size else evolve(accepted, **accepted.take(kept))
        chosen = np.concatenate([kept, new])
        chosen = chosen[np.argsort(self.owner[chosen], kind="stable")]
        if np.array_equal(chosen, np.arange(keep.size)):
            return self._replace(accepted, refused, new)
        return self._gather((accepted, kept), (refused, new))

    def _of_weight(self) -> tuple[Array, Array, Array, Array]:
        """Return what decides which beliefs are dropped."""
        return self.total, self.posterior.readings, self.posterior.level_variance, self.protected

    def _replace(self, accepted: Beliefs, refused: Beliefs, index: IntArray) -> Beliefs:
        """Return the beliefs that have accepted a reading, and in some places those that have rejected it.

        A belief from before a suspected change often rejects one reading after another, while all others accept them.
        """

        def replaced(value: Any, other: Any, before: Any) -> Any:
            if value is other or are_one_number([value, other]):
                return value
            # What these beliefs have computed for this reading is not used again, so that large arrays need no copy.
            if value.ndim == 1 or not value.flags.writeable or np.may_share_memory(value, before):
                value = value.copy()
            value[index] = other[index]
            return value

        fields = {
            name: replaced(accepted.__dict__[name], refused.__dict__[name], self.__dict__[name])
            for name in _OF_A_BELIEF
        }
        others, before = refused.posterior.__dict__, self.posterior.__dict__
        posterior = {
            name: replaced(value, others[name], before[name]) for name, value in accepted.posterior.__dict__.items()
        }
        return evolve(accepted, **fields, posterior=evolve(accepted.posterior, **posterior))

    def _gather(self, *parts: tuple[Beliefs, IntArray]) -> Beliefs:
        """Return some of the beliefs of several banks of the same runs, in the order of the runs."""
        merge = _merger([(bank.owner[index], index) for bank, index in parts])
        fields = {name: merge([bank.__dict__[name] for bank, _ in parts]) for name in _OF_A_BELIEF}
        posteriors = [bank.posterior.__dict__ for bank, _ in parts]
        merged = {name: merge([posterior[name] for posterior in posteriors]) for name in posteriors[0]}
        return evolve(parts[0][0], **fields, posterior=evolve(self.posterior, **merged))

    def fits_due(self, model: ReadingModel, age: Array) -> BoolArray:
        """Return which beliefs are fitted at this age. All of a run are fitted in the same rounds."""
        restarted = self.posterior.is_restarted
        due = fit_is_due(model, age, restarted)
        if self.owner.size > self.best.size:
            # The evidence of an improbable belief is exact at every fourth of the first readings only. At the very
            # first ones, what is improbable may still become probable.
            total, first = self.total, np.where(restarted, 4.0, 2.0)
            improbable = (total < total[self.best][self.owner] - IMPROBABLE_NATS) & (age > first)
            due &= ~improbable | (age % 4.0 == 0.0)
        return due

    def allow_return(self, seen: BoolArray, round_number: int) -> Beliefs:
        """Let a belief from before a suspected change keep a small probability: what has changed may change back."""
        protected = self.protected >= round_number
        if any_entry(protected):
            protected &= seen[self.owner]
        if not any_entry(protected):
            return self
        gap = best_total(self, self.owner) - self.total
        return evolve(self, log_weight=self.log_weight + np.where(protected, np.maximum(gap - RETURN_NATS, 0.0), 0.0))

    def remember(self, u: Array, y: Array, w: Array | None, factor: Array | None) -> Beliefs:
        """Return the beliefs with one more row among the latest readings."""
        return evolve(self, **self.with_recent(u, y, w, factor))

    def with_recent(self, u: Array, y: Array, w: Array | None, factor: Array | None) -> dict[str, Any]:
        """Return the fields that hold the latest readings, with one more row in the runs that have a reading."""
        seen = None if is_finite_quick(y) else ~np.isnan(y)
        if seen is not None and not any_entry(seen):
            return {}
        fields = {"recent_u": _shift(self.recent_u, u, seen), "recent_y": _shift(self.recent_y, y, seen)}
        if w is not None:
            fields["recent_w"] = _shift(self.recent_w, w, seen)
        if factor is not None:
            fields["recent_factor"] = _shift(self.recent_factor, factor, seen)
        elif not is_one_number(self.recent_factor):
            fields["recent_factor"] = _shift_constant(self.recent_factor, 1.0, seen)
        if not is_one_number(self.recent_refused):
            fields["recent_refused"] = _shift_constant(self.recent_refused, False, seen)
        return fields

    def latest(self, runs: IntArray, count: int | None = None) -> Rows:
        """Return the latest readings of some runs: all that are kept, or this many."""
        rows = slice(None) if count is None else slice(-count, None)
        u, w, factor, y = self.recent_u, self.recent_w, self.recent_factor, self.recent_y
        return Rows(u[runs, rows], w[runs, rows], factor[runs, rows], y[runs, rows])

    def latest_accepted(self, runs: IntArray, chosen: IntArray) -> Rows:
        """Return the latest readings of some runs, with NaN for those that the chosen belief has not accepted."""
        rows = self.latest(runs)
        earlier = np.arange(len(rows)) < len(rows) - self.age[chosen][:, None]  # before the belief started to learn
        return replace(rows, y=np.where(self.recent_refused[runs] | earlier, np.nan, rows.y))

    # ---- weights ---------------------------------------------------------------------------------------------------

    def choose(self, model: ReadingModel, seen: BoolArray, round_number: int) -> Beliefs:
        """Drop beliefs of low weight, and choose the best of each run."""
        if self.owner.size == self.best.size:
            return evolve(self, best=np.arange(self.best.size))
        keep, best = _selection(model, self.owner, *self._of_weight(), round_number)
        keep |= ~seen[self.owner]
        after = self
        repeats = self._repeats_best(model, best, round_number) & keep
        if repeats.any():
            # Their probability is that of what they share with the best one.
            total = self.total
            share = np.bincount(self.owner, np.where(repeats, np.exp(total - total[best][self.owner]), 0.0))
            log_weight = self.log_weight.copy()
            log_weight[best] += np.log1p(share)
            after, keep = evolve(self, log_weight=log_weight), keep & ~repeats
        if not keep.all():
            after = evolve(after, **after.take(np.flatnonzero(keep)))
            best = np.cumsum(keep)[best] - 1  # it is kept
        return evolve(after, best=best)

    def _repeats_best(self, model: ReadingModel, best: IntArray, round_number: int) -> BoolArray:
        """Return which beliefs differ from the best one only by early readings that no longer matter.

        With many readings, beliefs that have rejected different ones predict the same: nothing can tell them apart. In
        a long run with heavy-tailed noise they would leave no place for a belief in which A has changed. If there are
        few unknowns, they are kept for a while, because heavy-tailed noise causes fewer alarms.
        """
        mine, of_best = self.posterior, best[self.owner]
        many = mine.readings[of_best] >= 2 * model.unknowns
        if model.unknowns < MANY_UNKNOWNS:
            many &= mine.readings[of_best] >= MANY_READINGS
        if not many.any():
            return np.zeros(many.size, dtype=np.bool_)
        same = many & (self.epoch == self.epoch[of_best]) & (self.in_a_row == 0.0) & (self.in_a_row[of_best] == 0.0)
        same &= ((mine.level_variance > 0.0) == (mine.level_variance[of_best] > 0.0)) & (self.protected < round_number)
        same &= (mine.level_speed == mine.level_speed[of_best]) & (mine.offset_step == mine.offset_step[of_best])
        same[best] = False
        if same.any():
            same &= np.abs(self.densities - self.densities[of_best]).max(axis=1) < SAME_NATS
        return np.asarray(same)


def _recent_rows(model: ReadingModel) -> int:
    return min(3 * max(model.unknowns, 10), 600)


def _shift(rows: Any, new: Any, seen: BoolArray | None) -> Any:
    """Return the rows without the oldest and with a new one, in the runs that have one; in all if None is given."""
    shifted = np.empty_like(rows)
    shifted[:, :-1], shifted[:, -1] = rows[:, 1:], new
    if seen is None or all_entries(seen):
        return shifted
    return np.where(seen.reshape(-1, *(1,) * (rows.ndim - 1)), shifted, rows)


def _shift_constant(rows: Any, new: float, seen: BoolArray | None) -> Any:
    """Return the same with a new row of one number; rows of nothing but this number need no memory and no next time."""
    if all_entries(rows == new):
        return np.broadcast_to(rows.dtype.type(new), rows.shape)
    return _shift(rows, new, seen)


def push(densities: Array, new: Array, observed: BoolArray) -> Array:
    """Return the latest log densities with one more."""
    shifted = np.concatenate([densities[:, 1:], new[:, None]], axis=1)
    return np.where(observed[:, None], shifted, densities)


def new_beliefs(
    runs: IntArray, posterior: Posterior, log_weight: Array, *, age: float, rejected: float
) -> dict[str, Any]:
    """Return the fields of new beliefs."""
    zeros = np.zeros(runs.size)
    return {
        "owner": runs,
        "posterior": posterior,
        "log_weight": log_weight,
        "epoch": zeros,
        "in_a_row": zeros,
        "rejected": zeros + rejected,
        "age": zeros + age,
        "protected": zeros,
        "surprise": zeros + 1.0,
        "gain": zeros + np.nan,
        "gain_error": zeros + np.nan,
        "same_gain": zeros + SAME_GAIN,
        "densities": np.zeros((runs.size, DECISIVE_READINGS)),
    }


def _merger(parts: list[tuple[IntArray, IntArray | None]]) -> Callable[[list[Any]], Any]:
    """Return what puts entries of several arrays into one, in the order of their runs.

    Parameters
    ----------
    parts : list of (IntArray, IntArray or None)
        For each array, the runs of its entries, and which entries these are; None for all of them.
    """
    owner = np.concatenate([runs for runs, _ in parts])
    place = np.empty(owner.size, dtype=np.int64)
    place[np.argsort(owner, kind="stable")] = np.arange(owner.size)
    ends = np.cumsum([runs.size for runs, _ in parts])
    places, chosen = np.split(place, ends[:-1]), [index for _, index in parts]
    source = np.zeros(owner.size, dtype=np.int64)
    source[places[0]] = np.arange(ends[0]) if chosen[0] is None else chosen[0]

    def merge(arrays: list[Any]) -> Any:
        if are_one_number(arrays):
            return repeat_entry(arrays[0], owner.size)
        # Most entries are those of the first array: one quick copy, in which those of the others take their places.
        merged = arrays[0].take(source, axis=0)
        for where, index, values in zip(places[1:], chosen[1:], arrays[1:], strict=True):
            merged[where] = values if index is None else values[index]
        return merged

    return merge


def first_of_runs(owner: IntArray) -> IntArray:
    """Return the first belief of each run."""
    return np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))


def _rank(owner: IntArray, total: Array, start: IntArray) -> Array:
    """Return the rank of each belief in its run by its log weight."""
    order = np.lexsort((-total, owner))
    rank = np.empty(order.size)
    rank[order] = np.arange(order.size) - np.repeat(start, np.diff(np.append(start, order.size)))
    return rank


def _selection(
    model: ReadingModel,
    owner: IntArray,
    total: Array,
    readings: Array,
    level_variance: Array,
    protected: Array,
    round_number: int,
) -> tuple[BoolArray, IntArray]:
    """Return which beliefs are kept, and the best of each run."""
    start = first_of_runs(owner)
    best = _first_winner(owner, total, start)
    gap = total[best][owner] - total
    of_best = readings[best][owner]
    keep = gap <= PRUNE_NATS
    # A base load that many readings have not shown is too small to matter.
    shown = gap <= np.where(of_best >= 4 * model.unknowns, SETTLED_NATS, UNSEEN_NATS)
    keep &= shown | (of_best < UNSEEN_READINGS) | ~(level_variance > 0.0)
    guarded = protected >= round_number
    keep |= guarded
    if max_entry(np.bincount(owner)) > MAX_BELIEFS:
        # At most so many beliefs of a run.
        rank = _rank(owner, total, start)
        keep &= (rank < MAX_BELIEFS) | guarded
        keep &= rank < 2 * MAX_BELIEFS
    return keep, best


def best_index(beliefs: Beliefs) -> IntArray:
    """Return the belief of each run with the largest weight."""
    return _first_winner(beliefs.owner, beliefs.total, first_of_runs(beliefs.owner))


def _first_winner(owner: IntArray, total: Array, start: IntArray) -> IntArray:
    """Return the belief of each run with the largest weight, the first of equal ones."""
    if start.size == total.size:
        return start
    winners = np.flatnonzero(total == np.maximum.reduceat(total, start)[owner])
    return winners[first_of_runs(owner[winners])]


def best_total(beliefs: Beliefs, runs: IntArray) -> Array:
    return np.asarray(np.maximum.reduceat(beliefs.total, first_of_runs(beliefs.owner))[runs])
