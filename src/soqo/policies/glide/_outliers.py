r"""A reading that does not fit: has A changed, or was the reading wrong?

One reading cannot tell. It is held back while the belief stays as it is, and the readings that follow decide, by the
ratio of their likelihoods. If A has changed so that a reading at u was off by e, then one at w is off by about

    tau = |e| |w|^2 / |u|^2,

so its error is normal with deviation tau beside that of the noise; if the reading was wrong, it is that of the noise
alone. Where w is small, so is tau, and the reading speaks for neither. Whether A has changed or not, any reading may be
wrong by anything, but seldom: so an error that no change explains either is no proof of one.

Where a change shows in some directions only, readings that fit may follow each that does not, and acquit it. A few of
these in a short time are proof too; and so are many that are off by less.

While there is hardly any belief, or where two wrong readings confirm each other, they are believed. Then the noise
seems as large as they make it, and the readings that follow are much too calm for that. This is proof that something
was wrong, and all that was learned since the last restart is taken back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from soqo._storage.registry import register
from soqo.estimators.bayes._recursive import RELATIVE_ERROR, Belief, Model
from soqo.typing import Array, BoolArray

__all__ = ["Suspicion", "Verdict"]

FAR = 6.0
"""A reading so many deviations off, the doubt about A included, is explained neither by noise nor by doubt."""

WINDOW, STRANGE, AT_MOST = 10.0, 4.0, 25.0
"""A mean square above STRANGE over the last WINDOW readings is proof of a change; uniform noise has squares of at most
3. None counts for more than AT_MOST, so that it takes more than one."""

CALM, TOO_CALM = 0.2, 0.05
"""The same mean in units of the noise alone is strange below the first of these, and below the second proof that the
noise was overestimated: uniform noise does not come near it."""

ALONE, USUAL = 0.3, 0.1
"""One reading accounts for the noise if it is at most 1 / ALONE times the root of the sum of all squares of the noise,
and if the mean square of late readings is below USUAL times its own."""

CERTAIN = 3.0
"""The logarithm of the odds that settles a suspicion."""

WRONG, SIZES = 1e-3, 20.0
"""How often a reading is wrong, and over how many powers of e the size of such an error is spread."""

FADE, TOO_MANY = 0.9, 2.0
"""Each reading held back counts one and fades by this factor a reading; above this sum, they are no accident."""

KEPT = 2
"""So many of the readings held back are kept, to learn from if A has changed."""


class Verdict(NamedTuple):
    """In which runs A has changed, in which the belief is wrong from the start, which readings must not be learned from
    now, and what is suspected from here on."""

    changed: BoolArray
    misled: BoolArray
    withheld: BoolArray
    suspicion: Suspicion


@register("GLIDE.outliers")
@dataclass(frozen=True, eq=False)
class Suspicion:
    """What speaks against the belief, for each run.

    Attributes
    ----------
    u, y : Array, shape (runs, KEPT, d) and (runs, KEPT)
        The last readings held back; y is NaN where there is none.
    held : Array, shape (runs,)
        How many are held back.
    steepness : Array, shape (runs,)
        The largest of their errors in units of |u|^2.
    odds : Array, shape (runs,)
        The logarithm of the odds that A has changed.
    strain : Array, shape (runs,)
        How many were held back of late.
    surprise, loudness : Array, shape (runs,)
        The mean square of the late errors of the others, in units of what was expected and in units of the noise.
    power : Array, shape (runs,)
        The mean square of late readings themselves.
    outliers, last : Array, shape (runs,)
        How many turned out to be wrong, and the round of the last one that was held back (0 for none).
    """

    u: Array
    y: Array
    held: Array
    steepness: Array
    odds: Array
    strain: Array
    surprise: Array
    loudness: Array
    power: Array
    outliers: Array
    last: Array

    @classmethod
    def none(cls, runs: int, dim: int) -> Suspicion:
        """Before the first reading."""
        zeros = np.zeros(runs)
        u, y = np.zeros((runs, KEPT, dim)), np.full((runs, KEPT), np.nan)
        ones = np.ones(runs)
        return cls(u, y, zeros, zeros, zeros, zeros, ones, ones, zeros, zeros, zeros)

    def weighed(self, model: Model, belief: Belief, u: Array, y: Array, rounds: int) -> Verdict:
        """What one more reading proves in each run.

        Parameters
        ----------
        model, belief
            What is assumed, and what is believed before this reading.
        u, y : Array, shape (runs, d) and (runs,)
            The readings; y is NaN where there is none.
        rounds : int
            The number of this round.
        """
        expected, doubt = belief.prediction(model, u)
        error, size = np.abs(y - expected), np.vecdot(u, u)
        besides = doubt + np.square(RELATIVE_ERROR * size)
        variance = besides + np.square(belief.noise)
        square = np.square(error) / variance
        # As long as there are hardly more readings than unknowns, nobody knows how large the noise is.
        enough = model.unknowns + max(5, model.unknowns // 2)
        heard = ~np.isnan(y)
        ready = heard & (belief.readings >= enough)
        far = square > FAR**2
        if model.noise_cap is not None:
            far |= error > model.noise_cap + 4.0 * np.sqrt(besides)
        far &= ready
        strain = np.where(heard, FADE * self.strain, self.strain) + far
        counts = ready & ~far
        surprise = averaged(self.surprise, np.minimum(square, AT_MOST), counts)
        loud = np.minimum(square * variance / np.square(belief.noise), AT_MOST)
        loudness = averaged(self.loudness, loud, counts)
        power = averaged(self.power, np.square(y), counts)
        after = replace(self, strain=strain, surprise=surprise, loudness=loudness, power=power)
        changed, withheld = far, far
        if far.any() or (self.held > 0.0).any():
            changed, withheld, after = after._tried(u, y, error, np.sqrt(variance), far, rounds)
        changed = changed | (counts & (surprise > STRANGE))
        misled = counts & after.calm(belief, TOO_CALM)
        over = changed | misled
        if over.any():
            after = replace(
                after.settled(over),
                strain=np.where(over, 0.0, strain),
                surprise=np.where(over, 1.0, surprise),
                loudness=np.where(over, 1.0, loudness),
                outliers=after.outliers + misled,
            )
        return Verdict(changed, misled, withheld, after)

    def _tried(
        self, u: Array, y: Array, error: Array, deviation: Array, far: BoolArray, rounds: int
    ) -> tuple[BoolArray, BoolArray, Suspicion]:
        """Where A has changed, what is withheld and what is suspected, given errors and what these would usually be."""
        heard = ~np.isnan(y)
        on_trial, error = heard & (self.held > 0.0), np.where(heard, error, 0.0)
        square = np.maximum(np.vecdot(u, u), 1e-300)
        gained = log_ratio(self.steepness * square, error, deviation, far)
        odds = np.where(on_trial, self.odds + gained, self.odds)
        changed = (on_trial & (odds > CERTAIN)) | (self.strain > TOO_MANY)
        acquitted = on_trial & (odds < -CERTAIN)
        withheld = far & ~changed
        steeper = np.maximum(self.steepness, error / square)
        after = replace(
            self,
            u=np.where(withheld[:, None, None], joined(self.u, u), self.u),
            y=np.where(withheld[:, None], joined(self.y, y), self.y),
            held=self.held + withheld,
            steepness=np.where(withheld, steeper, self.steepness),
            odds=odds,
            outliers=self.outliers + np.where(acquitted, self.held, 0.0),
            last=np.where(withheld, float(rounds), self.last),
        )
        return changed, withheld, after.settled(acquitted)

    def calm(self, belief: Belief, bound: float) -> BoolArray:
        """Where late errors are smaller than the noise would make them, and one reading accounts for that noise."""
        alone = belief.noise * np.sqrt(belief.readings) > ALONE * belief.largest
        usual = self.power < USUAL * np.square(belief.largest)
        return np.asarray((self.loudness < bound) & alone & usual)

    def settled(self, which: BoolArray) -> Suspicion:
        """With nothing held back in some runs."""
        return replace(
            self,
            y=np.where(which[:, None], np.nan, self.y),
            held=np.where(which, 0.0, self.held),
            steepness=np.where(which, 0.0, self.steepness),
            odds=np.where(which, 0.0, self.odds),
        )

    def kept(self) -> list[tuple[Array, Array]]:
        """The readings that are held back, the oldest first, as u and y for all runs."""
        slots = np.flatnonzero(~np.isnan(self.y).all(axis=0))
        return [(self.u[:, slot], self.y[:, slot]) for slot in slots]


def averaged(mean: Array, square: Array, counts: BoolArray) -> Array:
    """The mean over the last WINDOW readings, with one more where it counts."""
    return np.where(counts, mean + (square - mean) / WINDOW, mean)


def joined(kept: Array, new: Array) -> Array:
    """The last ones of those kept and a new one."""
    return np.concatenate([kept[:, 1:], new[:, None]], axis=1)


def log_ratio(tau: Array, error: Array, deviation: Array, far: BoolArray) -> Array:
    """The logarithm of how many times more likely an error is if A has changed."""
    wrong = math.log(WRONG / SIZES) - np.log(np.maximum(error, deviation))
    changed = np.logaddexp(log_normal(error, np.hypot(tau, deviation)), wrong)
    same = np.where(far, wrong, np.logaddexp(log_normal(error, deviation), wrong))
    return np.asarray(changed - same)


def log_normal(error: Array, deviation: Array) -> Array:
    """The logarithm of the normal density."""
    constant = 0.5 * math.log(2.0 * math.pi)
    return np.asarray(-0.5 * np.square(error / deviation) - np.log(deviation) - constant)
