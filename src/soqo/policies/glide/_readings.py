"""What a reading does to the beliefs: accepted, rejected, or a reason to consider a change."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from soqo._foundation.blas import all_entries, any_entry, is_finite_quick
from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import RELATIVE_ERROR, Posterior, ReadingModel
from soqo.policies.glide._beliefs import Beliefs, push
from soqo.policies.glide._changes import (
    MIN_SCALE_CHANGE,
    forget_eigenvalue,
    release_offsets,
    rescale,
    restart,
)
from soqo.policies.glide._outliers import (
    AVERAGING_READINGS,
    CHANGE_RATIO,
    LOG_ERROR_RANGE,
    MAX_CHANGE,
    MAX_SQUARE,
    SAME_GAIN,
    SAME_GAIN_AGAIN,
    SAME_GAIN_RARELY,
    SURPRISE_SQUARE,
    branch_nats,
    gain_of_readings,
    log_correct_again,
    log_first_wrong,
    log_next_wrong,
    log_tail,
    negative_penalty,
    one_sided,
)
from soqo.policies.glide._plain_readings import learn_plain, mean_value
from soqo.policies.glide._reviews import doubt_first_readings, review
from soqo.typing import Array, BoolArray


def learn(
    beliefs: Beliefs,
    model: ReadingModel,
    u: Array,
    y: Array,
    features: Array,
    *,
    w: Array | None,
    factor: Array | None = None,
    censored: BoolArray | None = None,
    spectrum: Spectrum,
    last_probe: Array,
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
        The readings and ``model.features(u, w, factor)``; y is NaN if there is no reading.
    w : Array, shape (runs, k), optional
        The context.
    factor : Array, shape (runs,), optional
        What multiplies the hitting cost; one by default.
    censored : BoolArray, shape (runs,), optional
        The readings that are lower bounds only, since the meter was at its limit.
    spectrum : Spectrum
        The spectrum of the estimate of A that the policy plays for.
    last_probe : Array, shape (runs,)
        The round of the last probe of each run.
    round_number : int
        The number of this round.
    alarms, base_load : bool
        Whether to consider outliers and changes of A, and base loads.
    """
    if alarms and is_finite_quick(y) and (censored is None or not censored.any()):
        plain = learn_plain(
            beliefs, model, u, y, features, w=w, factor=factor, spectrum=spectrum, round_number=round_number
        )
        if plain is not None:
            return plain
    seen = ~np.isnan(y)
    if not any_entry(seen):
        return beliefs
    beliefs = beliefs.allow_return(seen, round_number)
    before, owner = beliefs.posterior, beliefs.owner
    shared = owner.size == y.size
    yb, ub, fb = (y, u, features) if shared else (y[owner], u[owner], features[owner])
    wb = w if w is None or shared else w[owner]
    observed = ~np.isnan(yb)
    expected = _expectation(before, model, fb, yb)
    weights, usable = None, observed
    if censored is not None and censored.any():
        limited = censored[owner] & observed
        pseudo, tau, log_probability = one_sided(yb, expected.mean, expected.variance, expected.noise)
        yb, weights, usable = np.where(limited, pseudo, yb), np.where(limited, tau, 1.0), observed & ~limited
    age = beliefs.age + observed
    accepted = before.update(model, ub, yb, fb, w=wb, precision=weights, fit=beliefs.fits_due(model, age))
    density = accepted.log_evidence - before.log_evidence
    after = evolve(beliefs, posterior=accepted, age=age)
    if weights is not None and censored is not None:
        after = evolve(after, log_weight=beliefs.log_weight + np.where(limited, log_probability - density, 0.0))
        density = np.where(limited, log_probability, density)
        beliefs = evolve(beliefs, log_weight=after.log_weight)
        y = np.where(censored, np.nan, y)  # not among the latest readings
    if not alarms:
        after = review(after.remember(u, y, w, factor), model, seen, base_load=base_load, misled=False)
        return after.choose(model, seen, round_number)
    size_of_A = mean_value(spectrum)[owner]
    readings = BeliefReadings(
        yb, observed, usable, expected, _is_plausible(before, model, yb, usable, expected, size_of_A)
    )
    after = _accept_or_reject(beliefs, after, model, readings, density, round_number).remember(u, y, w, factor)
    after = _consider_changes(
        after,
        beliefs,
        model,
        readings,
        u,
        y,
        features,
        w=w,
        spectrum=spectrum,
        last_probe=last_probe,
        round_number=round_number,
    )
    after = doubt_first_readings(after, model, seen)
    after = review(after, model, seen, base_load=base_load, misled=True).choose(model, seen, round_number)
    not_used = (after.in_a_row[after.best] > 0.0) & ~np.isnan(y)
    if not any_entry(not_used):
        return after
    recent_refused = np.where(not_used, True, after.recent_refused[:, -1])
    return evolve(after, recent_refused=np.concatenate([after.recent_refused[:, :-1], recent_refused[:, None]], axis=1))


class Expectation(NamedTuple):
    """What beliefs expect of their readings, and how far these are from it; each of shape (beliefs,).

    Attributes
    ----------
    mean, variance, noise : Array
        The mean, its variance with the errors that grow with |u|^2, and the deviation of noise and base load.
    square_length : Array
        |u|^2 times the factor of the hitting cost.
    diffuse : BoolArray
        Whether the base load is unknown.
    error, deviation, square : Array
        The reading minus its mean, its standard deviation, and the square of their ratio; 0, 1 and 0 if the base load
        is unknown.
    """

    mean: Array
    variance: Array
    noise: Array
    square_length: Array
    diffuse: BoolArray
    error: Array
    deviation: Array
    square: Array


def _expectation(posterior: Posterior, model: ReadingModel, features: Array, y: Array) -> Expectation:
    """Return what beliefs expect."""
    mean, variance, noise = posterior.predict(features)
    square_length = model.square_length(features)
    variance = variance + np.square(RELATIVE_ERROR * square_length)
    if model.trusted_distance is not None:
        variance = variance + model.model_error(square_length) * np.square(posterior.noise)
    diffuse, error, deviation = np.isinf(noise), y - mean, np.sqrt(variance + np.square(noise))
    if any_entry(diffuse):
        error, deviation = np.where(diffuse, 0.0, error), np.where(diffuse, 1.0, deviation)
    return Expectation(mean, variance, noise, square_length, diffuse, error, deviation, np.square(error / deviation))


class BeliefReadings(NamedTuple):
    """The reading of each belief.

    Attributes
    ----------
    y : Array, shape (beliefs,)
        The readings; NaN for none.
    observed, usable, plausible : BoolArray, shape (beliefs,)
        Whether there is a reading; whether it is more than a lower bound; and whether a change of A could explain it.
    expected : Expectation
        What the beliefs expect.
    """

    y: Array
    observed: BoolArray
    usable: BoolArray
    expected: Expectation
    plausible: BoolArray


def _is_plausible(
    posterior: Posterior, model: ReadingModel, y: Array, usable: BoolArray, expected: Expectation, size_of_A: Array
) -> BoolArray:
    """Return whether a belief with enough readings could explain its reading by a change of A."""
    noise = expected.noise
    plausible = usable & (posterior.readings >= model.unknowns + 5)
    # No positive semi-definite A explains a reading far below the base load.
    plausible &= (y >= np.minimum(posterior.base_load(), 0.0) - 3.0 * noise) | expected.diffuse
    plausible &= np.abs(expected.error) < 0.5 * MAX_CHANGE * size_of_A * expected.square_length + 6.0 * noise
    return np.asarray(plausible)


def _accept_or_reject(
    beliefs: Beliefs, after: Beliefs, model: ReadingModel, readings: BeliefReadings, density: Array, round_number: int
) -> Beliefs:
    """Return the beliefs that have accepted their readings, and those that have rejected them, if both are probable."""
    before, observed, expected = beliefs.posterior, readings.observed, readings.expected
    accept, reject, same_gain = _log_outcomes(beliefs, model, readings, density)
    tested = readings.usable & ~expected.diffuse & ((beliefs.age >= 2.0) | (beliefs.epoch > 0.0))
    nats = branch_nats(before, model.unknowns)
    keep = ~tested | ~(accept <= reject - nats)  # a density that is not a number must not drop every belief
    doubt = tested & (reject > accept - nats)
    surprise = np.where(readings.plausible, _average_square(beliefs.surprise, expected.square), beliefs.surprise)
    after = evolve(
        after,
        log_weight=beliefs.log_weight + np.where(observed, accept - density, 0.0),
        surprise=surprise,
        densities=push(beliefs.densities, accept, observed),
    )
    if any_entry(beliefs.in_a_row):
        after = evolve(
            after,
            in_a_row=np.where(observed, 0.0, beliefs.in_a_row),
            gain=np.where(observed, np.nan, beliefs.gain),
            gain_error=np.where(observed, np.nan, beliefs.gain_error),
        )
    if not any_entry(doubt) and all_entries(keep):
        return after
    # Of two outcomes, the more probable one inherits the protection.
    after = evolve(after, protected=np.where(doubt & (reject > accept), 0.0, beliefs.protected))
    gain, gain_error = gain_of_readings(readings.y, expected.mean, expected.deviation, expected.diffuse)
    refused = evolve(
        beliefs,
        posterior=before.skip(),
        log_weight=beliefs.log_weight + reject,
        in_a_row=beliefs.in_a_row + 1.0,
        rejected=beliefs.rejected + 1.0,
        age=beliefs.age + 1.0,
        surprise=surprise,
        gain=gain,
        gain_error=gain_error,
        same_gain=same_gain,
        densities=push(beliefs.densities, reject, observed),
        protected=np.where(keep & (reject <= accept), 0.0, beliefs.protected),
    )
    return beliefs.split(after, refused, keep, doubt, model, round_number)


def _average_square(average: Array, square: Array) -> Array:
    """Return the moving average of the squared normalized errors with one more."""
    return average + (np.minimum(square, MAX_SQUARE) - average) / AVERAGING_READINGS


def _log_outcomes(
    beliefs: Beliefs, model: ReadingModel, readings: BeliefReadings, density: Array
) -> tuple[Array, Array, Array]:
    """Return the log probabilities of readings as correct and as wrong ones, and that of the same factor again."""
    before, y, expected = beliefs.posterior, readings.y, readings.expected
    accept = density
    if any_entry(y < 0.0):
        accept = accept + negative_penalty(model, before, y, density)
    size = np.log(np.maximum(np.maximum(np.abs(expected.error), expected.deviation), 1e-300))
    first_wrong = log_first_wrong(before.readings, beliefs.age, beliefs.rejected, model.unknowns)
    reject = first_wrong + log_tail(expected.square, beliefs.rejected)
    same_gain = np.full(y.size, SAME_GAIN)
    in_a_row = beliefs.in_a_row > 0.0
    if not any_entry(in_a_row):
        return accept, reject - LOG_ERROR_RANGE - size, same_gain
    next_wrong = log_next_wrong(beliefs.in_a_row, beliefs.rejected)
    accept = accept + np.where(in_a_row, log_correct_again(next_wrong), 0.0)
    reject = np.where(in_a_row, next_wrong, reject) - LOG_ERROR_RANGE - size
    again, repeated = _wrong_again(beliefs, reject, next_wrong, y, expected.mean, expected.deviation)
    same_gain = np.where(in_a_row, np.where(repeated, SAME_GAIN_AGAIN, SAME_GAIN_RARELY), SAME_GAIN)
    return accept, np.where(in_a_row, again, reject), same_gain


def _consider_changes(
    after: Beliefs,
    beliefs: Beliefs,
    model: ReadingModel,
    readings: BeliefReadings,
    u: Array,
    y: Array,
    features: Array,
    *,
    w: Array | None,
    spectrum: Spectrum,
    last_probe: Array,
    round_number: int,
) -> Beliefs:
    """Add beliefs in which A or the offset has changed, where the best belief before the reading is surprised."""
    best, expected = beliefs.best, readings.expected
    plausible, square = readings.plausible[best], expected.square[best]
    forced = plausible & (_average_square(beliefs.surprise[best], square) > CHANGE_RATIO)
    surprising = plausible & ((square > SURPRISE_SQUARE) | forced)
    if not any_entry(surprising):
        return after
    estimate = spectrum.matrix()
    after = restart(after, beliefs, model, surprising, forced, u, y, features, w, estimate, round_number)
    gain, gain_error = (
        found[best] for found in gain_of_readings(readings.y, expected.mean, expected.deviation, expected.diffuse)
    )
    change = np.abs(np.log(np.maximum(gain, 1e-300)))  # not a number if the gain is unknown
    likely = (change > math.log(MIN_SCALE_CHANGE)) & (change < math.log(MAX_CHANGE))
    scaled = surprising & likely & (beliefs.in_a_row[best] < 2.0)
    if model.offset and not model.context:
        after = release_offsets(after, beliefs, model, surprising, u, y, features)
    after = rescale(after, beliefs, model, scaled, y, gain, gain_error, round_number)
    below = surprising & (last_probe == round_number) & (expected.error[best] < 0.0)
    return forget_eigenvalue(after, beliefs, model, below, u, y, features, w, estimate, round_number)


def _wrong_again(
    beliefs: Beliefs, reject: Array, next_wrong: Array, y: Array, mean: Array, deviation: Array
) -> tuple[Array, BoolArray]:
    """Return the log density of a wrong reading after another, and whether it repeats the factor of that one."""
    known = ~np.isnan(beliefs.gain) & ~np.isnan(y)
    y = np.where(known, y, 0.0)
    g, error = np.where(known, beliefs.gain, 1.0), np.where(known, beliefs.gain_error, 0.0)
    spread = np.maximum(np.abs(g) * np.hypot(deviation, mean * error), 1e-300)
    same = -0.5 * np.square((y - g * mean) / spread) - np.log(spread) - 0.5 * math.log(2.0 * math.pi)
    same = same + next_wrong + np.log(beliefs.same_gain)
    other = np.where(known, reject, 0.0) + np.log1p(-beliefs.same_gain)
    return np.where(known, np.logaddexp(other, same), reject), known & (same > other)
