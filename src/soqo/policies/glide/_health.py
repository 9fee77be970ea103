r"""Whether what GLIDE is told and measures fits together: a record of each run, and the findings that follow from it.

A finding is a row of :data:`FINDINGS`: a number, the limit beyond which something is wrong, what an operator should
know, and what to do. The numbers are predictive: how many readings were outside of the band in which 95 % were
expected, how many were rejected, whether readings fall with the distance from v, how far the offset is from v. None of
them moves an action.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._model.gains import advance
from soqo._model.spectrum import Spectrum
from soqo._storage.registry import register
from soqo.estimators.bayes import Posterior, Terms
from soqo.policies._base import Reach
from soqo.policies._runs import take_rows
from soqo.policies.glide._observation import HEALTH_WINDOW
from soqo.typing import Array, BoolArray, IntArray

ROUND_OFF = 1e-9
"""Positions are the same if they differ by less than this share of themselves: round-off."""

EVERY = 50
"""The budget: findings are looked for after so many rounds, and so it is known since when they hold."""


class Finding(NamedTuple):
    """Something that is wrong, or that should be checked.

    Attributes
    ----------
    number : str
        The number that shows it, one of those of :func:`numbers`.
    limit : float
        It holds if the number is larger.
    wrong : bool
        Whether it shows a mistake; if not, it may also be right.
    words, advice : str
        What is found, with numbers in braces, and what to do.
    """

    number: str
    limit: float
    wrong: bool
    words: str
    advice: str


FINDINGS = (
    # In repetitions: a meter with coarse steps repeats itself once or twice. A largest reading that came several times.
    Finding(
        "repeated",
        2.0,
        True,
        "the meter is stuck: it has repeated its last reading {repeated:.0f} times although x - v has changed",
        "Check the meter; repeated readings are ignored.",
    ),
    Finding(
        "at_limit",
        0.0,
        True,
        "the largest reading, {max_reading:.4g}, came {at_limit:.0f} times",
        "If this is the limit of the meter, give it as y_max: it is taken for a low cost.",
    ),
    # In deviations, of the least of several eigenvalues: 6 is a probability of 1e-9 each.
    Finding(
        "falling",
        6.0,
        True,
        "readings fall with the distance from v, by {falling:.0f} standard deviations",
        "Check the sign of the reading: it is to be a cost, so that a yield is negated.",
    ),
    # In rounds: most of them.
    Finding(
        "outside",
        0.5,
        True,
        "v was outside of the limits low and high in {outside:.0%} of the last rounds",
        "Check that v and the limits have the same unit, and belong to this plant.",
    ),
    # In ranges of v: where v has not been.
    Finding(
        "offset",
        1.0,
        True,
        "the best position seems to be {offset:.1f} times as far from v as the whole range in which v has moved",
        "Check the unit of v, and that it belongs to this plant.",
    ),
    # In readings: one in a thousand is expected to be wrong, and one in twenty to be outside of the band.
    Finding(
        "rejected",
        0.1,
        True,
        "{rejected:.0%} of the last readings fit none of the others, and were rejected",
        "Check the meter, and what else moves the reading.",
    ),
    Finding(
        "outliers",
        0.25,
        True,
        "{outliers:.0%} of the last readings were outside of the band in which 95 % were expected",
        "Check that v belongs to this plant, and what else moves the reading: give it as covariates or context.",
    ),
    # Eigenvalues of A, relative to W: a step covers more than 3/4 of the way at 2.25, and less than 1/3 at 1/6.
    Finding(
        "least",
        2.25,
        False,
        "a step covers at least {shortest:.0%} of the distance to v in every direction, so that little is saved",
        "Check the unit of the reading (W instead of kW?) and the switching weight W.",
    ),
    Finding(
        "inverse",
        6.0,
        False,
        "a step covers at most {longest:.0%} of the distance to v in every direction",
        "Check the unit of the reading (kW instead of W?) and the switching weight W.",
    ),
    # The relative deviation of the curvature that is known best: three deviations from zero. The deviation of a share
    # of the distance, of which nothing is known at 0.5.
    Finding(
        "unshown",
        1.0 / 3.0,
        False,
        "many readings have not shown that the cost depends on x - v at all",
        "Check that v and the reading belong to this plant; if they do, the meter may be too noisy.",
    ),
    Finding(
        "unknown",
        0.25,
        False,
        "many readings have hardly shown how the cost depends on x - v",
        "Check that v and the reading belong to this plant; if they do, the meter may be too noisy.",
    ),
    Finding(
        "limited",
        0.9,
        False,
        "limits have stopped the step in {limited:.0%} of the last rounds",
        "Check low, high and rate.",
    ),
)
"""What may be wrong, the likely causes first. The limits only decide what is reported."""

CONFIDENT = 0.05
"""GLIDE may report itself as confident if the deviation of the gain is at most this."""

MANY = 20.0
"""Readings are many if there are so many for each unknown; derived from what a quiet meter needs."""


@register("GLIDE.health")
@dataclass(frozen=True)
class Health(Value):
    """The record of each run.

    Attributes
    ----------
    readings : Array, shape (runs,)
        The number of readings.
    rejected, limited, outside : Array, shape (runs,)
        The shares of the last rounds in which the reading was rejected, limits stopped a step, and v was outside of low
        and high.
    low, high : Array, shape (runs, d)
        The range of v.
    since : Array, shape (runs, findings)
        The round in which a finding last became true; 0 if it is not.
    """

    readings: Array
    rejected: Array
    limited: Array
    outside: Array
    low: Array
    high: Array
    since: Array

    @classmethod
    def start(cls, runs: int, dim: int) -> Health:
        """Return the record before the first round: in order, until shown otherwise."""
        zero, infinite = np.zeros(runs), np.full((runs, dim), np.inf)
        return cls(zero, zero, zero, zero, infinite, -infinite, np.zeros((runs, len(FINDINGS))))

    def stopped(self, limited: BoolArray, outside: BoolArray) -> Health:
        """Return the record after a round with limits: which runs they stopped, and where v was out of them."""
        share = self.limited + (limited - self.limited) / HEALTH_WINDOW
        return evolve(self, limited=share, outside=self.outside + (outside - self.outside) / HEALTH_WINDOW)

    def heard(self, v: Array, seen: BoolArray | bool, rejected: BoolArray) -> Health:
        """Return the record after a round with the minimizers v, shape (runs, d), and readings of some or all runs."""
        if seen is not True:
            v = np.where(np.reshape(seen, (-1, 1)), v, np.nan)
        return Health(
            self.readings + seen,
            self.rejected + seen * (rejected - self.rejected) / HEALTH_WINDOW,
            self.limited,
            self.outside,
            np.fmin(self.low, v),
            np.fmax(self.high, v),
            self.since,
        )

    def judged(self, found: BoolArray, round_number: int) -> Array:
        """Return since when findings hold, shape (runs, findings), after they were looked for."""
        return np.where(found, np.where(self.since > 0.0, self.since, round_number), 0.0)


def reached(reach: Reach, position: Array, v: Array, x: Array) -> tuple[BoolArray, BoolArray]:
    """Return whether limits stop the steps from positions to x, and whether v is out of them, shape (*batch,)."""
    ends = [reach(position, x), reach(v, v)]
    stopped = [np.asarray((np.abs(end - one) > ROUND_OFF * np.abs(one)).any(axis=-1)) for end, one in ends]
    return stopped[0], stopped[1]


def judge(memory: Any, index: IntArray, round_number: int, to_go: float, y_max: float | None) -> Health:
    """Return the record of a memory after findings were looked for in some of the runs."""
    health: Health = memory.health
    part, since = memory if len(index) == len(health.since) else take_rows(memory, index), health.since.copy()
    since[index] = part.health.judged(findings(numbers(part, to_go, y_max)), round_number)
    return evolve(health, since=since)


def numbers(memory: Any, to_go: float, y_max: float | None) -> dict[str, Array]:
    """Return the numbers of each run that findings are about, shape (runs,) each.

    Parameters
    ----------
    memory : Memory
        The memory of GLIDE.
    to_go : float
        The rounds to go.
    y_max : float, optional
        The limit of the meter, if it is known.
    """
    health, beliefs, faults, terms = memory.health, memory.beliefs, memory.faults, memory.terms
    best = beliefs.best
    posterior = beliefs.take(best).posterior
    shift, moved, values = posterior.shift[:, :, 0], health.high - health.low, np.maximum(posterior.values, 0.0)
    with np.errstate(all="ignore"):
        (deviation, relative), many = (
            gain_deviation(posterior, terms, to_go),
            posterior.readings >= MANY * terms.unknowns,
        )
        settled, offset = many | (deviation <= CONFIDENT), np.sqrt(np.vecdot(shift, shift) / np.vecdot(moved, moved))
        return {
            "repeated": faults.repeated(),
            "at_limit": np.where(faults.is_saturated() & (y_max is None), faults.max_count, 0.0),
            "max_reading": faults.max_reading,
            "falling": -posterior.lowest(terms),
            "outside": health.outside,
            "offset": np.where(health.readings >= HEALTH_WINDOW, offset, 0.0),
            "rejected": health.rejected,
            "outliers": beliefs.outliers[best],
            "calibrated": 1.0 - beliefs.outliers[best],
            "least": np.where(settled, values.min(axis=1), 0.0),
            "inverse": np.where(settled, 1.0 / values.max(axis=1), 0.0),
            "deviation": deviation,
            "unshown": np.where(many, relative, 0.0),
            "unknown": np.where(many, deviation, 0.0),
            "limited": health.limited,
        }


def findings(known: Mapping[str, Array]) -> BoolArray:
    """Return which findings are true, shape (runs, findings)."""
    return np.stack([known[one.number] > one.limit for one in FINDINGS], axis=1)


def verdict(known: Mapping[str, Any], since: Array) -> str:
    """Return what is wrong with one plant, since when, and what to do; if nothing is, what should be checked.

    Parameters
    ----------
    known : mapping of str to number
        The numbers of the plant.
    since : Array, shape (findings,)
        The round since which a finding is true; 0 if it is not.
    """
    true = [(one, round_number) for one, round_number in zip(FINDINGS, since, strict=True) if round_number]
    grave = [pair for pair in true if pair[0].wrong]
    sentences = []
    for one, round_number in grave or true:
        begin = f"{'Wrong' if one.wrong else 'To check'} since round {round_number:.0f}"
        sentences.append(f"{begin}: {one.words.format(**known)}. {one.advice}")
    return " ".join(sentences) or "In order."


def gain_deviation(posterior: Posterior, terms: Terms, to_go: float) -> tuple[Array, Array]:
    """Return the largest deviation of an eigenvalue of the gain, and the least relative deviation of one of A.

    The first is between 0 (known) and 1/2 (unknown); shape (runs,).
    """
    spectrum = Spectrum.of(Spectrum(posterior.values, posterior.vectors).matrix())
    values, width = np.maximum(spectrum.values, 0.0), posterior.deviations(terms, spectrum.vectors.mT)
    n = max(1.0, to_go)
    lower, upper = advance(np.maximum(values - width, 0.0), n), advance(values + width, n)
    return np.nan_to_num(0.5 * (upper - lower).max(axis=1), nan=0.5), (width / values).min(axis=1)
