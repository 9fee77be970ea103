"""What a reading does to the beliefs: accepted, rejected, or a reason to consider a change."""

from __future__ import annotations

import math

import numpy as np

from soqo._foundation.blas import any_entry, is_finite_quick
from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import RELATIVE_ERROR, ReadingModel
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
    mean, variance, noise = before.predict(fb)
    square_length = model.square_length(fb)
    model_error = model.model_error(square_length) * np.square(before.noise)
    variance = variance + np.square(RELATIVE_ERROR * square_length) + model_error
    diffuse = np.isinf(noise)
    error = np.where(diffuse, 0.0, yb - mean)
    deviation = np.where(diffuse, 1.0, np.sqrt(variance + np.square(noise)))
    weights = None
    limited = np.zeros(owner.size, dtype=np.bool_)
    limited_runs = np.zeros(y.size, dtype=np.bool_)
    if censored is not None and censored.any():
        limited_runs = censored
        limited = censored[owner] & observed
        pseudo, tau, log_probability = one_sided(yb, mean, variance, noise)
        yb = np.where(limited, pseudo, yb)
        weights = np.where(limited, tau, 1.0)
    accepted = before.update(
        model, ub, yb, fb, w=wb, precision=weights, fit=beliefs.fits_due(model, beliefs.age + observed)
    )
    density = accepted.log_evidence - before.log_evidence
    after = evolve(beliefs, posterior=accepted, age=beliefs.age + observed)
    if limited.any():
        after = evolve(after, log_weight=beliefs.log_weight + np.where(limited, log_probability - density, 0.0))
        density = np.where(limited, log_probability, density)
        beliefs = evolve(beliefs, log_weight=after.log_weight)
        y = np.where(limited_runs, np.nan, y)  # not among the latest readings
    if not alarms:
        after = review(after.remember(u, y, w, factor), model, seen, base_load=base_load, misled=False)
        return after.choose(model, seen, round_number)
    square = np.square(error / deviation)
    penalty = negative_penalty(model, before, yb, density)
    in_a_row = beliefs.in_a_row > 0.0
    next_wrong = log_next_wrong(beliefs.in_a_row, beliefs.rejected)
    accept = density + penalty + np.where(in_a_row, log_correct_again(next_wrong), 0.0)
    size = np.log(np.maximum(np.maximum(np.abs(error), deviation), 1e-300))
    first_wrong = log_first_wrong(before.readings, beliefs.age, beliefs.rejected, model.unknowns)
    reject = np.where(in_a_row, next_wrong, first_wrong + log_tail(square, beliefs.rejected)) - LOG_ERROR_RANGE - size
    gain, gain_error = gain_of_readings(yb, mean, deviation, diffuse)
    same_gain = np.full(owner.size, SAME_GAIN)
    if in_a_row.any():
        again, repeated = _wrong_again(beliefs, reject, next_wrong, yb, mean, deviation)
        same_gain = np.where(in_a_row, np.where(repeated, SAME_GAIN_AGAIN, SAME_GAIN_RARELY), SAME_GAIN)
        reject = np.where(in_a_row, again, reject)
    tested = observed & ~diffuse & ~limited & ((beliefs.age >= 2.0) | (beliefs.epoch > 0.0))
    nats = branch_nats(before, model.unknowns)
    keep = ~tested | ~(accept <= reject - nats)  # a density that is not a number must not drop every belief
    doubt = tested & (reject > accept - nats)
    # No positive semi-definite A explains a reading far below the base load.
    ready = observed & ~limited & (before.readings >= model.unknowns + 5)
    ready &= (yb >= np.minimum(before.base_load(), 0.0) - 3.0 * noise) | diffuse
    size_of_A = mean_value(spectrum)[owner]
    ready &= np.abs(error) < 0.5 * MAX_CHANGE * size_of_A * square_length + 6.0 * noise
    ratio = beliefs.surprise + (np.minimum(square, MAX_SQUARE) - beliefs.surprise) / AVERAGING_READINGS
    after = evolve(
        after,
        log_weight=beliefs.log_weight + np.where(observed, accept - density, 0.0),
        in_a_row=np.where(observed, 0.0, beliefs.in_a_row),
        surprise=np.where(ready, ratio, beliefs.surprise),
        gain=np.where(observed, np.nan, beliefs.gain),
        gain_error=np.where(observed, np.nan, beliefs.gain_error),
        densities=push(beliefs.densities, accept, observed),
        # Of two outcomes, the more probable one inherits the protection.
        protected=np.where(doubt & (reject > accept), 0.0, beliefs.protected),
    )
    if doubt.any() or not keep.all():
        refused = evolve(
            beliefs,
            posterior=before.skip(),
            log_weight=beliefs.log_weight + reject,
            in_a_row=beliefs.in_a_row + 1.0,
            rejected=beliefs.rejected + 1.0,
            age=beliefs.age + 1.0,
            surprise=np.where(ready, ratio, beliefs.surprise),
            gain=gain,
            gain_error=gain_error,
            same_gain=same_gain,
            densities=push(beliefs.densities, reject, observed),
            protected=np.where(keep & (reject <= accept), 0.0, beliefs.protected),
        )
        after = beliefs.split(after, refused, keep, doubt, model, round_number)
    after = after.remember(u, y, w, factor)
    best = beliefs.best
    forced = ready[best] & (ratio[best] > CHANGE_RATIO)
    surprising = ready[best] & ((square[best] > SURPRISE_SQUARE) | forced)
    if surprising.any():
        estimate = spectrum.matrix()
        after = restart(after, beliefs, model, surprising, forced, u, y, features, w, estimate, round_number)
        change = np.abs(np.log(np.maximum(gain[best], 1e-300)))  # not a number if the gain is unknown
        likely = (change > math.log(MIN_SCALE_CHANGE)) & (change < math.log(MAX_CHANGE))
        scaled = surprising & likely & (beliefs.in_a_row[best] < 2.0)
        if model.offset and not model.context:
            after = release_offsets(after, beliefs, model, surprising, u, y, features)
        after = rescale(after, beliefs, model, scaled, y, gain[best], gain_error[best], round_number)
        below = surprising & (last_probe == round_number) & (error[best] < 0.0)
        after = forget_eigenvalue(after, beliefs, model, below, u, y, features, w, estimate, round_number)
    after = doubt_first_readings(after, model, seen)
    after = review(after, model, seen, base_load=base_load, misled=True).choose(model, seen, round_number)
    not_used = (after.in_a_row[after.best] > 0.0) & ~np.isnan(y)
    recent_refused = np.where(not_used, True, after.recent_refused[:, -1])
    return evolve(after, recent_refused=np.concatenate([after.recent_refused[:, :-1], recent_refused[:, None]], axis=1))


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
