r"""What becomes of beliefs with a reading: it was right, it was wrong, or A has changed.

A belief is a posterior of A with a weight. A reading is

- accepted: it follows the posterior, whose predictive density it multiplies the weight with. Its error is normal, and
  sometimes a larger one;
- rejected: it was wrong, by an error of any size or by the same factor as the last wrong one. The posterior is kept;
- explained by a change: A is another matrix from now on, and a posterior that starts again learns the reading.

Each belief that is not clearly right about a reading divides into those which are probable, and the few best beliefs of
each run go on: a multiple-hypothesis filter (Blom and Bar-Shalom, "The interacting multiple model algorithm", 1988;
Fearnhead and Liu, "On-line inference for multiple changepoint problems", 2007).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.bayes import DECADES, RECENT, Expectation, Reading, Terms, begins
from soqo.policies.glide._beliefs import Beliefs
from soqo.typing import Array, BoolArray

WRONG_SHARE = 1e-3
"""The prior mean of the share of readings with which a burst of wrong ones begins; it counts as much as one burst."""

WIDE_SHARE = 0.01
"""The prior mean of the share of readings with a large error, which counts as much as one of them."""

WIDE = 3.0
"""The deviation of a large error, in units of the noise: tails heavier than normal."""

AWAY = 4.0
"""The budget of a round: a reading within two deviations of its expectation, the root of this, is not asked whether its
error was a large one or it was wrong."""

WRONG_AGAIN = 0.7
"""The probability that a wrong reading is followed by another wrong one, and that this is wrong by the same factor."""

DEAD = 0.1
"""The probability that a wrong reading is that of a dead meter, which shows its noise."""

HAZARD = 4e-5
"""The probability of a change in the first round; that of round n is 1 / (1 / HAZARD + n)."""

LARGE_NIS = 4.0
"""A change is considered as well if the mean of the recent normalized innovations squared (NIS) is larger than this; it
is one on average."""

FORCED_NATS = -3.0
"""A change that is considered for this reason is at least as probable as the other explanations, less so many nats."""

MAX_BELIEFS = 4
"""The budget of a run: its largest number of beliefs, beside the one in which the last reading is right."""

KEPT_NATS = -math.log(WRONG_SHARE)
"""A belief that is so many nats behind the best one is dropped; derived: it is as improbable as a wrong reading."""

HEALTH_WINDOW = 50.0
"""Shares that are only reported are means over about so many rounds, and older ones are forgotten. No action depends on
them; derived from what an operator waits for."""

_BAND = 1.96**2
"""The squared deviations within which 95 % of normal readings are; only reported, derived."""


def observe(
    beliefs: Beliefs, terms: Terms, reading: Reading, round_number: int, noise_cap: float | None = None
) -> Beliefs:
    """Return the beliefs after a reading of each run.

    Parameters
    ----------
    beliefs : Beliefs
        The beliefs.
    terms : Terms
        The terms of a reading.
    reading : Reading
        The readings of the runs; y is NaN for none.
    round_number : int
        The round.
    noise_cap : float, optional
        A bound on the noise.
    """
    own = reading.take(beliefs.run)
    seen = ~np.isnan(own.y) & beliefs.posterior.started
    if seen.all():
        return _settled(_hear(beliefs, terms, own, round_number, noise_cap), terms)
    if not seen.any():
        return beliefs
    part = beliefs.take(np.flatnonzero(seen))
    runs, local = np.unique(part.run, return_inverse=True)
    part = _hear(evolve(part, run=local), terms, own.take(np.flatnonzero(seen)), round_number, noise_cap)
    part = evolve(_settled(part, terms), run=runs[part.run])
    both = Beliefs.join([part, beliefs.take(np.flatnonzero(~seen))])
    return both.take(np.argsort(both.run, kind="stable"))


def _settled(beliefs: Beliefs, terms: Terms) -> Beliefs:
    """Return the beliefs with new estimates."""
    return evolve(beliefs, posterior=beliefs.posterior.settled(terms))


def _hear(beliefs: Beliefs, terms: Terms, reading: Reading, round_number: int, noise_cap: float | None) -> Beliefs:
    """Return the beliefs after a reading of each of them."""
    learned, outcome, wide = _learned(beliefs, terms, reading, noise_cap)
    wrong = beliefs.wrong > 0.0
    share = (1.0 + beliefs.bursts) / (1.0 / WRONG_SHARE + beliefs.age - beliefs.rejected + beliefs.bursts)
    share = np.where(wrong, WRONG_AGAIN, share)
    accept = np.log1p(-share) + outcome.log_density
    squares = np.minimum(np.square(outcome.error) / outcome.variance, 25.0)
    outliers = beliefs.outliers + ((squares > _BAND) - beliefs.outliers) / HEALTH_WINDOW
    surprise = beliefs.surprise + (squares - beliefs.surprise) / RECENT
    forced = surprise > LARGE_NIS
    accepted = evolve(
        beliefs,
        posterior=learned,
        log_weight=beliefs.log_weight + accept,
        age=beliefs.age + 1.0,
        wrong=np.zeros(accept.size),
        gain=np.full(accept.size, np.nan),
        surprise=np.where(forced, 1.0, surprise),
        wide=beliefs.wide + wide,
        outliers=outliers,
    )
    doubtful = ((squares > AWAY) | wrong) & (beliefs.age > 0.0)
    if not doubtful.any():
        sole = accepted.run[-1] + 1 == accept.size
        return evolve(accepted, log_weight=np.zeros(accept.size)) if sole else _thin(accepted)
    factor, density = _wrong_density(beliefs, reading, outcome)
    reject = np.log(share) + density
    branches = doubtful & (reject > accept - KEPT_NATS)
    changes = forced | (squares > -_log_hazard(beliefs))
    if changes.any():
        changes &= _may_have_changed(beliefs, terms, reading, outcome)
    beliefs = evolve(beliefs, outliers=outliers)
    parts = [accepted.take(np.flatnonzero(~branches | (accept > reject - KEPT_NATS)))]
    if branches.any():
        rejected = evolve(
            beliefs,
            log_weight=beliefs.log_weight + reject,
            age=beliefs.age + 1.0,
            wrong=beliefs.wrong + 1.0,
            rejected=beliefs.rejected + 1.0,
            bursts=beliefs.bursts + ~wrong,
            gain=factor,
        )
        parts.append(rejected.take(np.flatnonzero(branches)))
    if changes.any():
        index = np.flatnonzero(changes)
        # However improbable, an error that goes on is given to a change.
        least = np.where(forced, np.maximum(accept, reject) + FORCED_NATS, -np.inf)[index]
        parts.append(_changed(beliefs.take(index), terms, reading.take(index), round_number, least, noise_cap))
    return _thin(Beliefs.join(parts))


def _learned(
    beliefs: Beliefs, terms: Terms, reading: Reading, noise_cap: float | None
) -> tuple[Any, Expectation, BoolArray]:
    """Return the posteriors after a reading, what they expected of it, and where its error was probably a large one.

    The noise is a mixture of two normal distributions, whose density is the evidence. Of the two posteriors, that of
    the more probable one is kept: a Gaussian sum (Sorenson and Alspach, "Recursive Bayesian estimation using Gaussian
    sums", 1971), pruned to one term.
    """
    learned, outcome = beliefs.posterior.learn(terms, reading, noise_cap)
    share = (1.0 + beliefs.wide) / (1.0 / WIDE_SHARE + beliefs.age)
    density, wide = np.log1p(-share) + outcome.log_density, np.zeros(share.size, dtype=np.bool_)
    away = np.flatnonzero((np.square(outcome.error) > AWAY * outcome.variance) & (beliefs.age > 0.0))
    if away.size:
        own = reading.take(away)
        other, found = beliefs.posterior.take(away).learn(terms, own._replace(r=WIDE**2 * own.r), noise_cap)
        wide_density = np.log(share[away]) + found.log_density
        wide[away] = wide_density > density[away]
        density[away] = np.logaddexp(density[away], wide_density)
        if wide.any():
            order = np.arange(share.size)
            order[wide] = share.size + np.flatnonzero(wide[away])
            learned = type(learned).join([learned, other]).take(order)
    return learned, outcome._replace(log_density=density), wide


def _wrong_density(beliefs: Beliefs, reading: Reading, outcome: Expectation) -> tuple[Array, Array]:
    """Return the factor of a reading, if it is wrong, and its log density then."""
    y, error, noise, variance = reading.y, outcome.error, outcome.noise, outcome.variance
    expected, deviation = y - error, np.sqrt(variance)
    # The error is that of the reading and that of the prediction.
    density = -math.log(DECADES) - np.log(np.maximum(np.abs(error), deviation))
    dead = -0.5 * np.square(y / noise) - np.log(noise) - 0.5 * math.log(2.0 * math.pi)
    density = np.logaddexp(math.log(DEAD) + dead, math.log1p(-DEAD) + density)
    known = np.abs(expected) > 3.0 * deviation
    factor = np.where(known, y / np.where(known, expected, 1.0), np.nan)
    again = known & ~np.isnan(beliefs.gain)
    if again.any():
        last = np.where(again, beliefs.gain, 1.0)
        spread = 2.0 * np.square(deviation * np.maximum(np.abs(last), 1.0)) + 1e-6 * np.square(last * expected)
        same = -0.5 * (np.square(y - last * expected) / spread + np.log(2.0 * np.pi * spread))
        both = np.logaddexp(math.log(WRONG_AGAIN) + same, math.log1p(-WRONG_AGAIN) + density)
        density = np.where(again, both, density)
    if reading.censored is not None:  # a wrong reading may be at the limit or not: as a censored one, it has no density
        density = np.where(reading.censored, math.log(0.5), density)
    return factor, density


def _may_have_changed(beliefs: Beliefs, terms: Terms, reading: Reading, outcome: Expectation) -> BoolArray:
    """Return the best beliefs for which a change could explain the reading.

    A is known, or the last reading was rejected as well; and y is a possible cost.
    """
    y, values = reading.y, beliefs.posterior.values
    expected, deviation = y - outcome.error, np.sqrt(outcome.variance)
    # Where A is zero a player is far from v: if A turns, the cost is of the order of |A| |u|^2.
    turned = values.max(axis=1) * np.square(reading.u).sum(axis=1)
    best = np.zeros(y.size, dtype=np.bool_)
    best[beliefs.best] = True
    known = (beliefs.posterior.readings > terms.size - terms.extras) | (beliefs.wrong > 0.0)
    possible = (y > -4.0 * outcome.noise) & (outcome.error < 30.0 * (np.abs(expected) + deviation) + turned)
    return np.asarray(best & known & possible)


def _changed(
    beliefs: Beliefs, terms: Terms, reading: Reading, round_number: int, least: Array, noise_cap: float | None
) -> Beliefs:
    """Return beliefs in which A has changed before the reading."""
    learned, outcome = beliefs.posterior.restarted(terms).learn(terms, reading, noise_cap)
    density = np.maximum(_log_hazard(beliefs) + outcome.log_density, least)
    zero = np.zeros(density.size)
    return evolve(
        beliefs,
        posterior=learned,
        log_weight=beliefs.log_weight + density,
        age=beliefs.age + 1.0,
        wrong=zero,
        epoch=zero + round_number,
        surprise=zero + 1.0,
        gain=zero + np.nan,
    )


def _log_hazard(beliefs: Beliefs) -> Array:
    """Return the log probability of a change in this round: the less probable, the longer there was none."""
    return -np.log(1.0 / HAZARD + beliefs.age)


def _thin(beliefs: Beliefs) -> Beliefs:
    """Return the best few beliefs of each run, sorted, with weights relative to the best."""
    order = np.lexsort((-beliefs.log_weight, beliefs.run))
    run, weight = beliefs.run[order], beliefs.log_weight[order]
    first = begins(run)
    begin = np.maximum.accumulate(np.where(first, np.arange(run.size), 0))
    behind = weight[begin] - weight
    rank = np.arange(run.size) - begin
    kept = (rank < MAX_BELIEFS) & (behind <= KEPT_NATS)
    # However improbable, one explanation stays in which the last reading is right: a belief that goes on rejecting
    # loses to it reading by reading.
    right = np.flatnonzero(beliefs.wrong[order] == 0.0)
    kept[right[begins(run[right])]] = True
    index = np.flatnonzero(kept | first)
    thinned = beliefs.take(order[index])
    return evolve(thinned, log_weight=-behind[index])
