"""Where the numbers of a run and of a belief are in the rows of two tables, so that a call passes few arrays.

A belief has a row of numbers, followed by the mean, the level, the second moment and the prior mean of its posterior. A
run has a row with its spectra, shift, moment, meter faults, drift and counts.
"""

from __future__ import annotations

from typing import NamedTuple

from soqo.typing import Array, IntArray

LOG_WEIGHT, EPOCH, IN_A_ROW, REJECTED, AGE, PROTECTED, SURPRISE = range(7)
GAIN, GAIN_ERROR, SAME_GAIN_CHANCE = range(7, 10)
DENSITIES = 10
"""The first of five."""
NOISE, SCALE, READINGS, TOTAL_READINGS, BUFFER_ROWS, MAX_ABS_READING, PRIOR_UNIT = range(15, 22)
SCALE_DEVIATION, NOISE_CAP, KNOWN_NOISE, LEVEL_VARIANCE, LEVEL_SPEED, OFFSET_STEP = range(22, 28)
FIRST_READING, LOG_EVIDENCE, LOG_MARGINAL, LOG_JACOBIAN = range(28, 32)
VARIANTS = 32
"""The first of four."""
LOG_SIZE = 36
BELIEF_NUMBERS = 37

PROBES, ALARMS, LAST_PROBE, LAST_ALARM, BEST = range(5)
LAST_READING, COUNT_READINGS, REPETITIONS, STUCK, MAX_READING, MAX_COUNT = range(5, 11)
PRODUCTS, SQUARES, SQUARED_PRODUCTS = range(11, 14)
RUN_NUMBERS = 14


class BeliefColumns(NamedTuple):
    """The first columns of the arrays of a belief, and the number of columns."""

    mean: int
    level: int
    second_moment: int
    prior_mean: int
    end: int


class RunColumns(NamedTuple):
    """The first columns of the arrays of a run, and the number of columns."""

    values: int
    vectors: int
    played_values: int
    played_vectors: int
    shift: int
    moment: int
    last_u: int
    last_step: int
    end: int


def belief_columns(d: int, m: int) -> BeliefColumns:
    """Return the columns for this dimension and number of unknowns."""
    level = BELIEF_NUMBERS + m
    second_moment = level + m + 1
    return BeliefColumns(BELIEF_NUMBERS, level, second_moment, second_moment + d * d, second_moment + 2 * d * d)


def run_columns(d: int) -> RunColumns:
    """Return the columns for this dimension."""
    values = RUN_NUMBERS
    played = values + d + d * d
    shift = played + d + d * d
    last_u = shift + d + d * d
    return RunColumns(values, values + d, played, played + d, shift, shift + d, last_u, last_u + d, last_u + 2 * d)


class Constants(NamedTuple):
    """A model in the form that compiled functions use.

    Attributes
    ----------
    sizes : IntArray, shape (5,)
        d, p, q, e and m: the dimension, the unknowns in A and N, the terms of the offset, and all unknowns.
    bias : int
        0 for no bias, 1 for a constant one, 2 for one that depends on the direction.
    kappa, optional_bias, trusted_distance : float, bool and float
        As in the model; NaN for no trusted distance.
    diagonal : IntArray, shape (d,)
        The entries of svec(A) on the diagonal.
    first, frequent : int
        The number of readings that are each followed by a fit: from the start, and after a suspected change.
    fit_ages, busy_ages : Array
        The ages at which there is a fit from the start, and at which there may be a fit or a review. Ages are sorted
        and end with infinity.
    review_ages, base_load_ages, offset_ages, fresh_ages, fresh_counts : Array, Array, Array, Array and IntArray
        The ages of all reviews and of each kind, and the number of readings of fresh fits.
    fresh : Array
        The row of a belief before the first reading.
    """

    sizes: IntArray
    bias: int
    kappa: float
    optional_bias: bool
    trusted_distance: float
    diagonal: IntArray
    first: int
    frequent: int
    fit_ages: Array
    busy_ages: Array
    review_ages: Array
    base_load_ages: Array
    offset_ages: Array
    fresh_ages: Array
    fresh_counts: IntArray
    fresh: Array
