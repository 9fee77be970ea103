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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import gammaln, log_ndtr

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators.bayes import OFFSET_SIZE, RELATIVE_ERROR, Posterior, ReadingModel, fit_is_due, frequent_fits
from soqo.policies._runs import join_rows, take_rows
from soqo.typing import Array, BoolArray, IntArray

_MAX_BELIEFS = 6
"""The largest number of beliefs of a run."""

_LOG_EARLY_WRONG, _LOG_FIRST_WRONG, _LOG_NEXT_WRONG = math.log(0.05), math.log(1e-3), math.log(0.8)
"""The logarithms of the probability of a wrong reading after a correct one, while there are fewer readings than
unknowns (a plant that is put into operation) and later, and after a wrong one."""

_LOG_CORRECT_AGAIN = math.log(0.5)
"""The logarithm of the probability of a correct reading after a wrong one; the two need not add up to one."""

_LOG_ERROR_RANGE = math.log(40.0)
"""The range of the logarithm of the error of a wrong reading, both signs."""

_BRANCH_NATS = 8.0
"""Both outcomes, accept and reject, are kept if their log weights differ by less than this."""

_EARLY_PRUNE_NATS, _LATE_PRUNE_NATS = 10.0, 8.0
"""Beliefs this far below the best one are dropped, before and after it has 2p readings."""

_HEDGED_PROBABILITY = 0.03
"""Epochs of lower probability do not influence the action."""

_IMPROBABLE_NATS = 2.0
"""Beliefs this far below the best one are fitted less often."""

_SETTLED_NATS = 3.0
"""After 4p readings, beliefs with a base load that are this far below the best one are dropped."""

_SURPRISE_SQUARE = 16.0
"""A squared normalized innovation above this is a reason to consider a change of A."""

_CHANGE_RATIO, _MAX_SQUARE, _AVERAGING_READINGS = 4.0, 25.0, 10.0
"""A moving average of the squared normalized innovations above the first is evidence of a change; those of uniform
noise are at most 3. Each square is clipped to the second."""

_MAX_CHANGE = 30.0
"""A reading whose error would need a change of A by more than this many times its scale is wrong in any case."""

_LOG_HAZARD = math.log(1e-5)
"""The logarithm of the prior probability of each kind of change in a round."""

_FORCED_NATS = 3.0
"""After such evidence, a belief that starts again is at first this far below the best one."""

_RETURN_NATS = 4.0
"""In each round after a suspected change, the belief from before it is at most this far below the best one."""

_MIN_SCALE_CHANGE = 1.5
"""A change of A to a multiple of itself by less than this factor is not considered: to ignore it costs little."""

_LOG_SCALE_HAZARD = math.log(4e-5)
"""The logarithm of the prior probability of a change of A to a multiple of itself in a round."""

_SAME_GAIN, _SAME_GAIN_AGAIN, _SAME_GAIN_RARELY = 0.32, 0.95, 0.2
"""The probability that a wrong reading is wrong by the same factor as the one before: of the second in a row, and of
later ones if the last one repeated the factor, and if it did not."""

_RESTART_UNITS = (1.0, 0.1)
"""The deviations of A after a change, in units of its scale."""

_RESTART_SCALE_DEVIATION = math.log(2.0)
"""The deviation of the logarithm of the scale after a change."""

_BASE_LOAD_LOG_PRIORS = {"none": math.log(0.9), "constant": math.log(0.08), "walk": math.log(0.02)}
"""The logarithms of the prior probabilities of base loads."""

_SPEEDS = (0.05, 0.3, 2.0, 10.0)
"""The speeds rho of base loads that walk."""

_NOTHING = np.broadcast_to(0.0, (1 << 40, 1))
"""Takes the place of stored rows, without memory."""

_OFFSET_SPEEDS = (0.05, 0.3, 2.0)
"""The speeds of offsets that walk: how far a step changes a typical reading, in units of the noise."""

_LOG_WALKING_OFFSET = math.log(0.02)
"""The logarithm of the prior probability that an offset walks."""

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

_DECISIVE_NATS, _DECISIVE_READINGS = 8.0, 5
"""A fit of the latest readings replaces the others if it predicts this many of them better by this much."""


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
    recent_u, recent_w, recent_y : Array, shape (runs, rows, d), (runs, rows, k) and (runs, rows)
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
    recent_y: Array
    recent_refused: BoolArray
    best: IntArray

    @classmethod
    def start(cls, model: ReadingModel, runs: int, *, base_load: bool) -> Beliefs:
        """Return the beliefs before the first reading: without a base load and, if wanted, with a constant one."""
        kinds = 2 if base_load else 1
        posterior = Posterior.start(model, runs)
        log_weight = np.full(runs, _BASE_LOAD_LOG_PRIORS["none"])
        if base_load:
            posterior = Posterior.concatenate([posterior, Posterior.start(model, runs, base_load=0.0)])
            log_weight = np.concatenate([log_weight, np.full(runs, _BASE_LOAD_LOG_PRIORS["constant"])])
        order = np.arange(kinds * runs).reshape(kinds, runs).T.ravel()
        zeros = np.zeros(kinds * runs)
        rows = _recent_rows(model)
        return cls(
            owner=np.repeat(np.arange(runs), kinds),
            posterior=posterior.take(order),
            log_weight=log_weight[order],
            epoch=zeros,
            in_a_row=zeros,
            rejected=zeros,
            age=zeros,
            protected=zeros,
            surprise=np.ones(kinds * runs),
            gain=np.full(kinds * runs, np.nan),
            gain_error=np.full(kinds * runs, np.nan),
            same_gain=np.full(kinds * runs, _SAME_GAIN),
            densities=np.zeros((kinds * runs, _DECISIVE_READINGS)),
            recent_u=np.zeros((runs, rows, model.dim)),
            recent_w=np.zeros((runs, rows, model.context)),
            recent_y=np.full((runs, rows), np.nan),
            recent_refused=np.zeros((runs, rows), dtype=np.bool_),
            best=kinds * np.arange(runs),
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
            same_gain=np.full(runs, _SAME_GAIN),
            densities=np.zeros((runs, _DECISIVE_READINGS)),
            recent_u=np.zeros((runs, rows, d)),
            recent_w=np.zeros((runs, rows, posterior.log_sizes.shape[1] - 1)),
            recent_y=np.full((runs, rows), np.nan),
            recent_refused=np.zeros((runs, rows), dtype=np.bool_),
            best=np.arange(runs),
        )

    def best_probability(self) -> Array:
        """Return the probability of the best belief of each run, shape (runs,)."""
        total = self.total
        relative = np.exp(total - total[self.best][self.owner])
        return np.asarray(1.0 / np.add.reduceat(relative, _first(self.owner)))

    @property
    def total(self) -> Array:
        """The log weight of each belief with the evidence of its readings."""
        total = self.log_weight + self.posterior.log_evidence
        # A density that overflows or is not a number is no evidence for a belief.
        return np.nan_to_num(total, nan=-1e250, posinf=-1e250, neginf=-1e250)

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
        return evolve(self.posterior, factor=_NOTHING, buffer=_NOTHING).take(self.best)

    def _take(self, index: IntArray | BoolArray | slice) -> dict[str, Any]:
        """Return the fields of some of the beliefs."""
        fields: dict[str, Any] = {name: getattr(self, name)[index] for name in _OF_A_BELIEF}
        return {**fields, "posterior": self.posterior.take(index)}

    def _join(self, *others: dict[str, Any]) -> Beliefs:
        """Return these beliefs and others, in the order of the runs."""
        parts = [{name: getattr(self, name) for name in (*_OF_A_BELIEF, "posterior")}, *others]
        owner = np.concatenate([part["owner"] for part in parts])
        if self.best.size == 1:
            order = None
        else:
            order = np.empty(owner.size, dtype=np.int64)
            order[np.argsort(owner, kind="stable")] = np.arange(owner.size)
        fields = {name: _interleave([part[name] for part in parts], order) for name in _OF_A_BELIEF}
        posteriors = [part["posterior"].__dict__ for part in parts]
        joined = {name: _interleave([part[name] for part in posteriors], order) for name in posteriors[0]}
        return evolve(self, **fields, posterior=evolve(self.posterior, **joined))

    # ---- runs ------------------------------------------------------------------------------------------------------

    def take_runs(self, index: IntArray) -> Beliefs:
        """Return the beliefs of some of the runs.

        Parameters
        ----------
        index : IntArray, shape (k,)
            The runs.
        """
        start = _first(self.owner)
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

    # ---- a reading ---------------------------------------------------------------------------------------------------

    def learn(
        self,
        model: ReadingModel,
        u: Array,
        y: Array,
        features: Array,
        *,
        w: Array | None,
        precision: Array | None = None,
        censored: BoolArray | None = None,
        estimate: Array,
        round_number: int,
        alarms: bool,
        base_load: bool,
    ) -> Beliefs:
        """Return the beliefs after one more reading of each run.

        Parameters
        ----------
        model : ReadingModel
            The assumptions about the readings.
        u, y, features : Array, shape (runs, d), (runs,) and (runs, m)
            The readings and ``model.features(u, w)``; y is NaN if there is no reading.
        w : Array, shape (runs, k), optional
            The context.
        precision : Array, shape (runs,), optional
            The precision of each reading in units of that of the noise; one by default.
        censored : BoolArray, shape (runs,), optional
            The readings that are lower bounds only, since the meter was at its limit.
        estimate : Array, shape (runs, d, d)
            The estimate of A that the policy plays for.
        round_number : int
            The number of this round.
        alarms, base_load : bool
            Whether to consider outliers and changes of A, and base loads.
        """
        seen = ~np.isnan(y)
        if not seen.any():
            return self
        self = self._allow_return(seen, round_number)
        before, owner = self.posterior, self.owner
        shared = owner.size == y.size
        yb, ub, fb = (y, u, features) if shared else (y[owner], u[owner], features[owner])
        wb = w if w is None or shared else w[owner]
        observed = ~np.isnan(yb)
        mean, variance, noise = before.predict(fb)
        if precision is not None:
            noise = noise / np.sqrt(precision if shared else precision[owner])
        variance = variance + np.square(RELATIVE_ERROR * np.vecdot(ub, ub))
        diffuse = np.isinf(noise)
        error = np.where(diffuse, 0.0, yb - mean)
        deviation = np.where(diffuse, 1.0, np.sqrt(variance + np.square(noise)))
        weights = None if precision is None else (precision if shared else precision[owner])
        limited = np.zeros(owner.size, dtype=np.bool_)
        limited_runs = np.zeros(y.size, dtype=np.bool_)
        if censored is not None and censored.any():
            limited_runs = censored
            limited = censored[owner] & observed
            pseudo, tau, log_probability = _one_sided(yb, mean, variance, noise)
            yb = np.where(limited, pseudo, yb)
            weights = np.where(limited, tau, 1.0 if weights is None else weights)
        accepted = before.update(
            model, ub, yb, fb, w=wb, precision=weights, fit=self._fit_is_due(model, self.age + observed)
        )
        density = accepted.log_evidence - before.log_evidence
        after = evolve(self, posterior=accepted, age=self.age + observed)
        if limited.any():
            after = evolve(after, log_weight=self.log_weight + np.where(limited, log_probability - density, 0.0))
            density = np.where(limited, log_probability, density)
            self = evolve(self, log_weight=after.log_weight)
            y = np.where(limited_runs, np.nan, y)  # not among the latest readings
        if not alarms:
            return (
                after._remember(u, y, w)
                ._review(model, seen, base_load=base_load, misled=False)
                ._choose(model, seen, round_number)
            )
        square = np.square(error / deviation)
        penalty = _negative_penalty(model, before, yb, density)
        in_a_row = self.in_a_row > 0.0
        accept = density + penalty + np.where(in_a_row, _LOG_CORRECT_AGAIN, 0.0)
        size = np.log(np.maximum(np.maximum(np.abs(error), deviation), 1e-300))
        first_wrong = np.where(before.readings < model.unknowns, _LOG_EARLY_WRONG, _LOG_FIRST_WRONG)
        reject = np.where(in_a_row, _LOG_NEXT_WRONG, first_wrong) - _LOG_ERROR_RANGE - size
        gain, gain_error = _gain(yb, mean, deviation, diffuse)
        same_gain = np.full(owner.size, _SAME_GAIN)
        if in_a_row.any():
            wrong_again, repeated = self._wrong_again(reject, yb, mean, deviation)
            same_gain = np.where(in_a_row, np.where(repeated, _SAME_GAIN_AGAIN, _SAME_GAIN_RARELY), _SAME_GAIN)
            reject = np.where(in_a_row, wrong_again, reject)
        tested = observed & ~diffuse & ~limited & ((self.age >= 2.0) | (self.epoch > 0.0))
        nats = np.where(before.readings >= 2 * model.unknowns, 5.0, _BRANCH_NATS)
        keep = ~tested | (accept > reject - nats)
        doubt = tested & (reject > accept - nats)
        # No positive semi-definite A explains a reading far below the base load.
        ready = observed & ~limited & (before.readings >= model.unknowns + 5)
        ready &= (yb >= np.minimum(before.base_load(), 0.0) - 3.0 * noise) | diffuse
        size_of_A = np.trace(estimate, axis1=1, axis2=2)[owner] / model.dim
        ready &= np.abs(error) < _MAX_CHANGE * size_of_A * 0.5 * np.vecdot(ub, ub) + 6.0 * noise
        ratio = self.surprise + (np.minimum(square, _MAX_SQUARE) - self.surprise) / _AVERAGING_READINGS
        after = evolve(
            after,
            log_weight=self.log_weight + np.where(observed, accept - density, 0.0),
            in_a_row=np.where(observed, 0.0, self.in_a_row),
            surprise=np.where(ready, ratio, self.surprise),
            gain=np.where(observed, np.nan, self.gain),
            gain_error=np.where(observed, np.nan, self.gain_error),
            densities=_push(self.densities, accept, observed),
            # Of two outcomes, the more probable one inherits the protection.
            protected=np.where(doubt & (reject > accept), 0.0, self.protected),
        )
        doubt = self._worth_keeping(model, keep, doubt, after.total, self.total + reject)
        if doubt.any() or not keep.all():
            refused = evolve(
                self,
                posterior=before.skip(),
                log_weight=self.log_weight + reject,
                in_a_row=self.in_a_row + 1.0,
                rejected=self.rejected + 1.0,
                age=self.age + 1.0,
                surprise=np.where(ready, ratio, self.surprise),
                gain=gain,
                gain_error=gain_error,
                same_gain=same_gain,
                densities=_push(self.densities, reject, observed),
                protected=np.where(keep & (reject <= accept), 0.0, self.protected),
            )._take(doubt)
            after = evolve(after, **after._take(keep))._join(refused)
        after = after._remember(u, y, w)
        best = self.best
        forced = ready[best] & (ratio[best] > _CHANGE_RATIO)
        surprising = ready[best] & ((square[best] > _SURPRISE_SQUARE) | forced)
        if surprising.any():
            after = after._restart(self, model, surprising, forced, u, y, features, w, estimate, round_number)
            change = np.abs(np.log(np.maximum(gain[best], 1e-300)))  # not a number if the gain is unknown
            likely = (change > math.log(_MIN_SCALE_CHANGE)) & (change < math.log(_MAX_CHANGE))
            scaled = surprising & likely & (self.in_a_row[best] < 2.0)
            if model.offset and not model.context:
                after = after._release_offsets(self, model, surprising, u, y, features)
            after = after._rescale(self, model, scaled, y, gain[best], gain_error[best], round_number)
        after = after._first_readings(model, seen)
        after = after._review(model, seen, base_load=base_load, misled=True)._choose(model, seen, round_number)
        not_used = (after.in_a_row[after.best] > 0.0) & ~np.isnan(y)
        recent_refused = np.where(not_used, True, after.recent_refused[:, -1])
        return evolve(
            after, recent_refused=np.concatenate([after.recent_refused[:, :-1], recent_refused[:, None]], axis=1)
        )

    def _wrong_again(self, reject: Array, y: Array, mean: Array, deviation: Array) -> tuple[Array, BoolArray]:
        """Return the log density of a wrong reading after another, and whether it repeats the factor of that one."""
        known = ~np.isnan(self.gain) & ~np.isnan(y)
        y = np.where(known, y, 0.0)
        g, error = np.where(known, self.gain, 1.0), np.where(known, self.gain_error, 0.0)
        spread = np.maximum(np.abs(g) * np.hypot(deviation, mean * error), 1e-300)
        same = -0.5 * np.square((y - g * mean) / spread) - np.log(spread) - 0.5 * math.log(2.0 * math.pi)
        same = same + _LOG_NEXT_WRONG + np.log(self.same_gain)
        other = np.where(known, reject, 0.0) + np.log1p(-self.same_gain)
        return np.where(known, np.logaddexp(other, same), reject), known & (same > other)

    def _worth_keeping(
        self, model: ReadingModel, keep: BoolArray, doubt: BoolArray, accepted: Array, rejected: Array
    ) -> BoolArray:
        """Return which beliefs that reject a reading would not be dropped at once, from the log weights after it."""
        if not doubt.any():
            return doubt
        kept, new = np.flatnonzero(keep), np.flatnonzero(doubt)
        owner = np.concatenate([self.owner[kept], self.owner[new]])
        total = np.concatenate([accepted[kept], rejected[new]])
        order = np.argsort(owner, kind="stable")
        rank, gap = np.empty(order.size), np.empty(order.size)
        rank[order], gap[order] = _rank_and_gap(owner[order], total[order])
        stays = (rank < _MAX_BELIEFS) & (gap <= _prune_nats(model, self.posterior.readings[self.best])[owner])
        worth = np.zeros(doubt.size, dtype=np.bool_)
        worth[new] = stays[kept.size :] | (self.protected[new] > 0.0)
        return worth

    def _fit_is_due(self, model: ReadingModel, age: Array) -> BoolArray:
        """Return which beliefs are fitted at this age. All of a run are fitted in the same rounds."""
        due = fit_is_due(model, age)
        if self.owner.size > self.best.size:
            # The evidence of an improbable belief is exact at every fourth of the first readings only.
            total = self.total
            improbable = (total < total[self.best][self.owner] - _IMPROBABLE_NATS) & (age > 4.0)
            due &= ~improbable | (age % 4.0 == 0.0)
        return due

    def _allow_return(self, seen: BoolArray, round_number: int) -> Beliefs:
        """Let a belief from before a suspected change keep a small probability: what has changed may change back."""
        protected = (self.protected >= round_number) & seen[self.owner]
        if not protected.any():
            return self
        gap = _best_total(self, self.owner) - self.total
        return evolve(self, log_weight=self.log_weight + np.where(protected, np.maximum(gap - _RETURN_NATS, 0.0), 0.0))

    def _remember(self, u: Array, y: Array, w: Array | None) -> Beliefs:
        """Return the beliefs with one more row among the latest readings."""
        seen = ~np.isnan(y)
        if not seen.any():
            return self
        recent_w = self.recent_w if w is None else _shift(self.recent_w, w, seen)
        return evolve(
            self,
            recent_u=_shift(self.recent_u, u, seen),
            recent_w=recent_w,
            recent_y=_shift(self.recent_y, y, seen),
            recent_refused=_shift(self.recent_refused, np.zeros(seen.size, dtype=np.bool_), seen),
        )

    def _restart(
        self,
        before: Beliefs,
        model: ReadingModel,
        which: BoolArray,
        forced: BoolArray,
        u: Array,
        y: Array,
        features: Array,
        w: Array | None,
        estimate: Array,
        round_number: int,
    ) -> Beliefs:
        """Add beliefs that start again around the estimate, with this reading as their first."""
        runs = np.flatnonzero(which)
        old = before.best[runs]
        parent = before.posterior.take(old)
        everywhere = np.ones(runs.size, dtype=np.bool_)
        # Noise that seems to grow may be a change that goes on: it is believed after many readings only.
        shown = np.where(parent.readings >= 3 * model.unknowns, parent.noise, np.nan)
        known = np.where(parent.readings >= 12 * model.unknowns, shown, np.fmin(shown, parent.known_noise))
        fresh = evolve(
            parent.reset(everywhere),
            prior_mean=estimate[runs],
            scale_deviation=np.full(runs.size, _RESTART_SCALE_DEVIATION),
            known_noise=known,
            noise=np.where(np.isnan(known), parent.noise, known),
        )
        scale = np.maximum(np.trace(estimate[runs], axis1=1, axis2=2) / model.dim, 1e-150)
        context = None if w is None else w[runs]
        total = before.total[old] + _LOG_HAZARD
        parts = []
        for unit in _RESTART_UNITS:
            start = evolve(fresh, prior_unit=unit * scale)
            learned = start.update(model, u[runs], y[runs], features[runs], w=context)
            penalty = _negative_penalty(model, start, y[runs], learned.log_evidence)
            weight = np.where(
                forced[runs], _best_total(self, runs) - _FORCED_NATS - learned.log_evidence, total + penalty
            )
            zeros = np.zeros(runs.size)
            parts.append(
                {
                    "owner": runs,
                    "posterior": learned,
                    "log_weight": weight,
                    "epoch": np.full(runs.size, float(round_number)),
                    "in_a_row": zeros,
                    "rejected": zeros,
                    "age": zeros + 1.0,
                    "protected": zeros,
                    "surprise": zeros + 1.0,
                    "gain": zeros + np.nan,
                    "gain_error": zeros + np.nan,
                    "same_gain": zeros + _SAME_GAIN,
                    "densities": _push(before.densities[old], learned.log_evidence, everywhere),
                }
            )
        # The old beliefs of these runs are kept for a while, and their averages begin again.
        mine = which[self.owner]
        until = round_number + 3.0 * model.unknowns + 10.0
        leading = np.zeros(mine.size, dtype=np.bool_)
        leading[_best_index(self)] = which
        kept = evolve(
            self,
            protected=np.where(leading, np.maximum(self.protected, until), self.protected),
            surprise=np.where(mine & forced[self.owner], 1.0, self.surprise),
        )
        return kept._join(*parts)

    def _release_offsets(
        self, before: Beliefs, model: ReadingModel, which: BoolArray, u: Array, y: Array, features: Array
    ) -> Beliefs:
        """Add beliefs whose offset, if there is one, walks from now on."""
        posterior, best = before.posterior, before.best
        known = which & (posterior.variants[best][:, [1, 3]].sum(axis=1) > 0.5) & (posterior.offset_step[best] == 0.0)
        runs = np.flatnonzero(known & (posterior.readings[best] > frequent_fits(model)))
        if not runs.size:
            return self
        parts = []
        for speed in _OFFSET_SPEEDS:
            part = before._take(best[runs])
            start = part["posterior"].release_offset(model, speed)
            learned = start.update(model, u[runs], y[runs], features[runs], fit=np.zeros(runs.size, dtype=np.bool_))
            density = learned.log_evidence - start.log_evidence
            part |= {
                "posterior": learned,
                "log_weight": part["log_weight"] + _LOG_WALKING_OFFSET,
                "in_a_row": np.zeros(runs.size),
                "age": part["age"] + 1.0,
                "protected": np.zeros(runs.size),
                "surprise": np.ones(runs.size),
                "gain": np.full(runs.size, np.nan),
                "gain_error": np.full(runs.size, np.nan),
                "densities": _push(part["densities"], density, np.ones(runs.size, dtype=np.bool_)),
            }
            parts.append(part)
        return self._join(*parts)

    def _rescale(
        self,
        before: Beliefs,
        model: ReadingModel,
        which: BoolArray,
        y: Array,
        gain: Array,
        gain_error: Array,
        round_number: int,
    ) -> Beliefs:
        """Add beliefs in which A is now a multiple of what it was, as this reading says."""
        many = before.posterior.readings[before.best] > frequent_fits(model)
        runs = np.flatnonzero(which & many & (before.posterior.offset_step[before.best] == 0.0))
        if not runs.size:
            return self
        old = before.best[runs]
        part = before._take(old)
        density = _LOG_SCALE_HAZARD - math.log(2.0 * math.log(_MAX_CHANGE)) - np.log(np.abs(y[runs]))
        part |= {
            "posterior": part["posterior"].rescale(model, gain[runs], gain_error[runs]),
            "log_weight": part["log_weight"] + density,
            "epoch": np.full(runs.size, float(round_number)),
            "in_a_row": np.zeros(runs.size),
            "age": part["age"] + 1.0,
            "protected": np.zeros(runs.size),
            "surprise": np.ones(runs.size),
            "gain": np.full(runs.size, np.nan),
            "gain_error": np.full(runs.size, np.nan),
            "same_gain": np.full(runs.size, _SAME_GAIN),
            "densities": _push(part["densities"], density, np.ones(runs.size, dtype=np.bool_)),
        }
        return self._join(part)

    def _first_readings(self, model: ReadingModel, seen: BoolArray) -> Beliefs:
        """Add beliefs in which the first or the second reading was wrong, at the fifth."""
        first = _first(self.owner)
        runs = np.flatnonzero(seen & (self.age[first] == 5.0) & (self.epoch[first] == 0.0))
        if not runs.size:
            return self
        parts = []
        for wrong in (0, 1):
            rows = slice(-5, None)
            y = self.recent_y[runs, rows].copy()
            # A negative reading is wrong as well: without a base load only the noise explains it.
            dropped = y < 0.0
            dropped[:, wrong] = True
            size = np.log(np.maximum(np.abs(y), 1e-300))
            follows = np.pad(dropped[:, :-1], ((0, 0), (1, 0)))
            cost = np.where(follows, _LOG_NEXT_WRONG, _LOG_FIRST_WRONG) - _LOG_ERROR_RANGE - size
            y[dropped] = np.nan
            start = Posterior.start(model, runs.size)
            learned = _fit_rows(model, start, self.recent_u[runs, rows], self.recent_w[runs, rows], y)
            weight = _BASE_LOAD_LOG_PRIORS["none"] + np.where(dropped, cost, 0.0).sum(axis=1)
            parts.append(_new(runs, learned, weight, age=5.0, rejected=1.0))
        return self._join(*parts)

    def _review(self, model: ReadingModel, seen: BoolArray, *, base_load: bool, misled: bool) -> Beliefs:
        """Add fits of the latest readings, with other base loads and in case of a misled start, at some ages."""
        after, best = self, _best_index(self)
        age, in_a_row = np.where(seen, self.age[best], -1.0), np.where(seen, self.in_a_row[best], 0.0)
        base_load_ages, fresh_ages = _review_ages(model.unknowns)
        now = set(age.tolist())
        if base_load and not now.isdisjoint(base_load_ages):
            due = np.flatnonzero(np.isin(age, list(base_load_ages)))
            after = after._add_base_loads(model, due[self.posterior.offset_step[best[due]] == 0.0], best)
        if base_load and model.offset and not model.context and not now.isdisjoint(_offset_ages(model.unknowns)):
            due = np.flatnonzero(np.isin(age, list(_offset_ages(model.unknowns))))
            after = after._add_walking_offsets(model, due, _best_index(after))
        if not misled:
            return after
        for when, count in fresh_ages.items():
            if when in now:
                after = after._add_fresh_fit(model, np.flatnonzero(age == when), _best_index(after), count)
        if in_a_row.any():
            few = after.posterior.readings[_best_index(after)] < model.unknowns + 5
            stuck = ((in_a_row == 14.0) & few) | (in_a_row == 28.0) | (in_a_row == 56.0)
            if stuck.any():
                count = next(iter(fresh_ages.values()))
                after = after._add_fresh_fit(model, np.flatnonzero(stuck), _best_index(after), count)
        return after

    def _latest(self, runs: IntArray, chosen: IntArray) -> tuple[Array, Array, Array]:
        """Return the latest u, w and y of some runs, with NaN for readings that the chosen belief has not accepted."""
        rows = self.recent_y.shape[1]
        earlier = np.arange(rows) < rows - self.age[chosen][:, None]  # before the belief started to learn
        y = np.where(self.recent_refused[runs] | earlier, np.nan, self.recent_y[runs])
        return self.recent_u[runs], self.recent_w[runs], y

    def _add_walking_offsets(self, model: ReadingModel, runs: IntArray, best: IntArray) -> Beliefs:
        """Add beliefs whose offset walks, where there is an offset, if the latest readings support them."""
        posterior = self.posterior
        offset = posterior.variants[best[runs]][:, [1, 3]].sum(axis=1)
        known = (
            (offset > 0.5) & (posterior.level_variance[best[runs]] > 0.0) & (posterior.offset_step[best[runs]] == 0.0)
        )
        runs = runs[known]
        if not runs.size:
            return self
        chosen = best[runs]
        u, w, y = self._latest(runs, chosen)
        start = evolve(Posterior.start(model, runs.size, base_load=0.0), level_speed=posterior.level_speed[chosen])
        size = np.maximum(posterior.sizes[chosen, 0], 1e-150)
        deviation = OFFSET_SIZE * size * posterior.scale[chosen] / np.maximum(posterior.noise[chosen], 1e-150)
        speeds = (0.0, *_OFFSET_SPEEDS)
        starts = Posterior.concatenate([start.let_offset_walk(rho / size, deviation) for rho in speeds])
        repeated = (len(speeds), 1)
        fits = _fit_rows(model, starts, np.tile(u, (*repeated, 1)), np.tile(w, (*repeated, 1)), np.tile(y, repeated))
        evidence = fits.log_evidence.reshape(len(speeds), runs.size)
        fastest = evidence[1:].argmax(axis=0) + 1
        gain = evidence[fastest, np.arange(runs.size)] - evidence[0] + _LOG_WALKING_OFFSET
        where = np.flatnonzero(gain > 0.0)
        if not where.size:
            return self
        learned = fits.take(fastest[where] * runs.size + where)
        part = _new(
            runs[where], learned, self.total[chosen[where]] + gain[where] - learned.log_evidence, age=0.0, rejected=0.0
        )
        part["age"], part["epoch"] = self.age[chosen[where]], self.epoch[chosen[where]]
        return self._join(part)

    def _add_base_loads(self, model: ReadingModel, runs: IntArray, best: IntArray) -> Beliefs:
        """Add beliefs with a constant base load and with ones that walk, fitted to the latest readings."""
        if not runs.size:
            return self
        chosen = best[runs]
        u, w, y = self._latest(runs, chosen)
        mode = self.posterior.level_variance[chosen] > 0.0
        speeds = self.posterior.level_speed[chosen]

        kinds: tuple[float | None, ...] = (None, 0.0, *_SPEEDS)
        starts = Posterior.concatenate([Posterior.start(model, runs.size, base_load=rho) for rho in kinds])
        repeated = (len(kinds), 1)
        fits = _fit_rows(model, starts, np.tile(u, (*repeated, 1)), np.tile(w, (*repeated, 1)), np.tile(y, repeated))
        candidates = {rho: fits.take(slice(k * runs.size, (k + 1) * runs.size)) for k, rho in enumerate(kinds)}
        evidence = {rho: found.log_evidence + _log_prior(rho) for rho, found in candidates.items()}
        reference = np.zeros(runs.size)
        for rho, value in evidence.items():
            same = (mode & (speeds == rho)) if rho is not None else ~mode
            reference = np.where(same, value, reference)
        reference_total = self.total[chosen]
        walk_top = np.max(np.stack([evidence[speed] for speed in _SPEEDS]), axis=0)
        # The first time, the latest readings are all that there are.
        first = self.age[chosen] <= y.shape[1]
        least, cost = np.where(first, -6.0, 8.0), np.where(first, 0.0, 6.0)
        parts = []
        for rho, learned in candidates.items():
            gain = evidence[rho] - reference
            same = (mode & (speeds == rho)) if rho is not None else ~mode
            # One belief for each base load that the latest readings support better than the best belief's.
            wanted = ~same & (evidence[rho] >= walk_top) & (gain > least) & (rho is not None)
            if wanted.any():
                where = np.flatnonzero(wanted)
                weight = (reference_total + gain - cost - learned.log_evidence)[where]
                age = self.age[chosen][where]
                part = _new(runs[where], learned.take(where), weight, age=0.0, rejected=0.0)
                part["age"], part["epoch"] = age, self.epoch[chosen][where]
                parts.append(part)
        return self._join(*parts) if parts else self

    def _add_fresh_fit(self, model: ReadingModel, runs: IntArray, best: IntArray, count: int) -> Beliefs:
        """Add a fit of the latest readings alone, where it predicts the last of them far better."""
        y = self.recent_y[runs, -count:]
        enough = np.isfinite(y).sum(axis=1) >= count
        runs, y = runs[enough], y[enough]
        if not runs.size:
            return self
        chosen = best[runs]
        kind = self.posterior.level_variance[chosen] > 0.0
        rows = slice(-count, None)
        u, w = self.recent_u[runs, rows], self.recent_w[runs, rows]
        start = Posterior.start(model, runs.size)
        start = evolve(
            start, level_variance=np.where(kind, np.inf, 0.0), level_speed=self.posterior.level_speed[chosen]
        )
        if self.posterior.offset_step[chosen].any():
            parent = self.posterior.take(chosen)
            deviation = OFFSET_SIZE * parent.sizes[:, 0] * parent.scale / np.maximum(parent.noise, 1e-150)
            start = start.let_offset_walk(parent.offset_step, deviation)
        learned = _fit_rows(
            model, start, u[:, :-_DECISIVE_READINGS], w[:, :-_DECISIVE_READINGS], y[:, :-_DECISIVE_READINGS]
        )
        won, never = -self.densities[chosen].sum(axis=1), np.zeros(runs.size, dtype=np.bool_)
        for k in range(_DECISIVE_READINGS, 0, -1):
            context = w[:, -k] if model.context else None
            next_one = learned.update(model, u[:, -k], y[:, -k], w=context, fit=never)
            won = won + next_one.log_evidence - learned.log_evidence
            learned = next_one
        # A start that was misled seems to have large noise, unless its belief rejects all later readings.
        misled = (learned.noise < 0.2 * self.posterior.noise[chosen]) | (self.in_a_row[chosen] > _DECISIVE_READINGS)
        better = (won > _DECISIVE_NATS) & misled
        where = np.flatnonzero(better)
        if not where.size:
            return self
        learned = learned.take(where)
        learned = learned.fit(model, np.ones(where.size, dtype=np.bool_))
        weight = self.total[chosen[where]] + 1.0 - learned.log_evidence
        return self._join(_new(runs[where], learned, weight, age=float(count), rejected=0.0))

    # ---- weights ---------------------------------------------------------------------------------------------------

    def _choose(self, model: ReadingModel, seen: BoolArray, round_number: int) -> Beliefs:
        """Drop beliefs of low weight, and choose the best of each run."""
        if self.owner.size == self.best.size:
            return evolve(self, best=np.arange(self.best.size))
        best = _best_index(self)
        total = self.total
        runs_best = best[self.owner]
        rank, gap = _rank_and_gap(self.owner, total)
        keep = gap <= _prune_nats(model, self.posterior.readings[runs_best])
        # A base load that many readings have not shown is too small to matter.
        settled = self.posterior.readings[runs_best] >= 4 * model.unknowns
        keep &= ~(settled & (gap > _SETTLED_NATS) & (self.posterior.level_variance > 0.0))
        keep |= self.protected >= round_number
        # At most so many beliefs of a run.
        keep &= (rank < _MAX_BELIEFS) | (self.protected >= round_number)
        keep &= rank < 2 * _MAX_BELIEFS
        keep |= ~seen[self.owner]
        after = self
        if not keep.all():
            after = evolve(self, **self._take(keep))
            best = _best_index(after)
        return evolve(after, best=best)


@cache
def _review_ages(unknowns: int) -> tuple[frozenset[float], dict[float, int]]:
    """Return the ages at which base loads are reviewed, and those of fresh fits with their number of readings."""
    p = max(unknowns, 5)
    first = math.ceil(2.4 * p)
    fresh = {2.6: 2.0, 3.3: 2.0, 4.0: 2.0, 5.0: 3.0, 8.0: 3.0, 16.0: 3.0}
    return (
        frozenset(first * 4.0**k for k in range(10)),
        {float(math.ceil(age * p)): math.ceil(count * p) for age, count in fresh.items()},
    )


@cache
def _offset_ages(unknowns: int) -> frozenset[float]:
    """Return the ages at which it is reviewed whether an offset walks."""
    return frozenset(4.0 * max(unknowns, 5) * 2.0**k for k in range(20))


def _log_prior(rho: float | None) -> float:
    return _BASE_LOAD_LOG_PRIORS["none" if rho is None else "walk" if rho else "constant"]


def _recent_rows(model: ReadingModel) -> int:
    return min(3 * max(model.unknowns, 10), 600)


def _shift(rows: Any, new: Any, seen: BoolArray) -> Any:
    """Return the rows without the oldest and with a new one, in the runs that have one."""
    shifted = np.concatenate([rows[:, 1:], new[:, None]], axis=1)
    if seen.all():
        return shifted
    return np.where(seen.reshape(-1, *(1,) * (rows.ndim - 1)), shifted, rows)


def _push(densities: Array, new: Array, observed: BoolArray) -> Array:
    """Return the latest log densities with one more."""
    shifted = np.concatenate([densities[:, 1:], new[:, None]], axis=1)
    return np.where(observed[:, None], shifted, densities)


def _new(runs: IntArray, posterior: Posterior, log_weight: Array, *, age: float, rejected: float) -> dict[str, Any]:
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
        "same_gain": zeros + _SAME_GAIN,
        "densities": np.zeros((runs.size, _DECISIVE_READINGS)),
    }


def _fit_rows(model: ReadingModel, start: Posterior, u: Array, w: Array, y: Array) -> Posterior:
    """Return the posterior of some rows, in their order, with one fit at the end."""
    for k in range(y.shape[1]):
        if np.isnan(y[:, k]).all():
            continue
        start = start.update(model, u[:, k], y[:, k], w=w[:, k] if model.context else None, fit=False)
    fitted = start.fit(model, start.total_readings > 0.0)
    return fitted.with_marginal_evidence()


def _gain(y: Array, mean: Array, deviation: Array, diffuse: BoolArray) -> tuple[Array, Array]:
    """Return the factor by which readings differ from what was expected, and its relative deviation; NaN if unknown."""
    known = ~diffuse & (np.abs(mean) > 3.0 * deviation) & ~np.isnan(y)
    safe = np.where(known, mean, 1.0)
    return np.where(known, y / safe, np.nan), np.where(known, deviation / np.abs(safe), np.nan)


def _negative_penalty(model: ReadingModel, posterior: Posterior, y: Array, density: Array) -> Array:
    """Return what a negative reading costs: without a base load only noise explains it, whose tails may be heavy."""
    negative = (y < 0.0) & ((posterior.total_readings >= 2.0) | ~np.isnan(posterior.known_noise))
    negative &= (posterior.base_load() > -posterior.noise) | (posterior.readings < model.unknowns + 5)
    if not negative.any():
        return np.zeros(y.size)
    nu = np.where(np.isnan(posterior.known_noise), np.maximum(3.0, posterior.readings / 2.0), 20.0)
    scale = 1.5 * posterior.noise * math.sqrt(1.0 + model.kappa**2)
    z2 = np.square(y / scale) / nu
    constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(nu * math.pi) - np.log(scale)
    bound = constant - 0.5 * (nu + 1.0) * np.log1p(z2)
    return np.where(negative, np.minimum(0.0, bound - density), 0.0)


def _one_sided(limit: Array, mean: Array, variance: Array, noise: Array) -> tuple[Array, Array, Array]:
    """Return a reading and its relative precision that have the effect of "at least the limit", and its probability.

    The posterior of the cost f given f + noise >= limit is not normal. The normal distribution with the same mean and
    variance is what a reading of this value and precision leads to. Where the limit was expected, it has no effect.
    """
    S = np.sqrt(variance + np.square(noise))
    z = np.where(np.isfinite(S), (mean - limit) / S, 0.0)
    log_probability = np.maximum(log_ndtr(z), -1e6)
    ratio = np.exp(-0.5 * np.square(z) - 0.5 * math.log(2.0 * math.pi) - log_probability)
    share = np.minimum(variance / np.square(S) * ratio * (ratio + z), 1.0 - 1e-9)
    tau = np.square(noise) * share / (np.maximum(variance, 1e-300) * (1.0 - share))
    used = np.isfinite(S) & (tau > 1e-6)
    # With m' = m + V ratio / S and V' = V (1 - share): (m'/V' - m/V) / (1/V' - 1/V).
    reading = mean + variance * ratio / (S * np.maximum(share, 1e-12))
    return np.where(used, reading, np.nan), np.where(used, tau, 1.0), log_probability


def _interleave(parts: list[Any], order: IntArray | None) -> Any:
    """Return the entries of several arrays in one, each at its place; one after the other if there is no order."""
    if order is None:
        return np.concatenate(parts)
    joined = np.empty((order.size, *parts[0].shape[1:]), dtype=parts[0].dtype)
    begin = 0
    for part in parts:
        joined[order[begin : begin + len(part)]] = part
        begin += len(part)
    return joined


def _first(owner: IntArray) -> IntArray:
    """Return the first belief of each run."""
    return np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))


def _rank_and_gap(owner: IntArray, total: Array) -> tuple[Array, Array]:
    """Return the rank of each belief in its run by its log weight, and how far it is below the best one."""
    order = np.lexsort((-total, owner))
    start = _first(owner)
    sizes = np.diff(np.append(start, order.size))
    rank = np.empty(order.size)
    rank[order] = np.arange(order.size) - np.repeat(start, sizes)
    return rank, np.repeat(np.maximum.reduceat(total, start), sizes) - total


def _prune_nats(model: ReadingModel, readings: Array) -> Array:
    """Return how far below the best belief, which has so many readings, a belief is dropped."""
    return np.where(readings >= 2 * model.unknowns, _LATE_PRUNE_NATS, _EARLY_PRUNE_NATS)


def _best_index(beliefs: Beliefs) -> IntArray:
    """Return the belief of each run with the largest weight."""
    total, start = beliefs.total, _first(beliefs.owner)
    if start.size == total.size:
        return start
    top = np.maximum.reduceat(total, start)
    winners = np.flatnonzero(total == top[beliefs.owner])
    return winners[_first(beliefs.owner[winners])]


def _best_total(beliefs: Beliefs, runs: IntArray) -> Array:
    return np.asarray(np.maximum.reduceat(beliefs.total, _first(beliefs.owner))[runs])
