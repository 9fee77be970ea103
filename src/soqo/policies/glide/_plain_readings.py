"""A reading that every belief expects: it is accepted by all of them, and nothing else follows.

Most readings are of this kind, once the first ones are over. :func:`learn_plain` does what ``_readings.learn`` does in
this case, in a fraction of the time: one product with the root of the covariance serves prediction and update, and no
alternative is built only to be dropped.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from soqo._foundation.blas import any_entry, as_array, max_entry, min_entry, numbers_of
from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import ReadingModel, fit_ages
from soqo.policies.glide._ages import Ages
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._outliers import (
    AVERAGING_READINGS,
    BRANCH_NATS,
    CHANGE_RATIO,
    LOG_ERROR_RANGE,
    MAX_CHANGE,
    SURPRISE_SQUARE,
    branch_nats,
    log_first_wrong,
    negative_penalty,
)
from soqo.policies.glide._reviews import review_ages
from soqo.typing import Array


def learn_plain(
    beliefs: Beliefs,
    model: ReadingModel,
    u: Array,
    y: Array,
    features: Array,
    *,
    w: Array | None,
    factor: Array | None,
    spectrum: Spectrum,
    round_number: int,
) -> Beliefs | None:
    """Return the beliefs after one more reading of each run, or None if one of the readings needs more than this.

    Parameters
    ----------
    beliefs, model, u, y, features, w, factor, spectrum, round_number
        As for ``_readings.learn``; no reading is missing or censored.
    """
    age = beliefs.age + 1.0
    if not _is_quiet(beliefs, model, age):
        return None
    if max_entry(beliefs.protected) >= round_number:
        beliefs = beliefs.allow_return(np.ones(y.size, dtype=np.bool_), round_number)
    before, owner = beliefs.posterior, beliefs.owner
    shared = owner.size == y.size
    yb, ub, fb = (y, u, features) if shared else (y[owner], u[owner], features[owner])
    found, unknowns = before.innovation(model, fb, yb), model.unknowns
    reading, evidence, surprise, first_wrong = numbers_of(
        yb,
        before.log_evidence,
        beliefs.surprise,
        log_first_wrong(before.readings, beliefs.age, beliefs.rejected, unknowns),
    )
    least, largest = (min_entry, max_entry) if yb.size > 1 else (float, float)
    distance, deviation, noise = abs(reading - found.mean), found.deviation, found.noise
    square = np.square(distance / deviation)
    # As in ``_readings.learn``, to the last bit: a run must not depend on the others of its batch.
    density = found.log_evidence - evidence
    accept, lowest = density, least(reading)
    if lowest < 0.0:
        accept = density + numbers_of(negative_penalty(model, before, yb, as_array(density)))[0]
    fewest = min_entry(before.readings)
    size = np.log(np.maximum(np.maximum(distance, deviation), 1e-300))
    nats = BRANCH_NATS if fewest >= 2 * unknowns else numbers_of(branch_nats(before, unknowns))[0]
    margin = accept - ((first_wrong - LOG_ERROR_RANGE) - size) - nats
    if not least(margin) >= 0.0 or largest(square) > SURPRISE_SQUARE:  # also if it is not a number
        return None
    ratio = surprise + (square - surprise) / AVERAGING_READINGS  # no square is above MAX_SQUARE
    if largest(ratio) > CHANGE_RATIO:
        return None
    if fewest < unknowns + 5 or lowest < 0.0 or least(6.0 * noise - distance) <= 0.0:
        # Otherwise all are ready: base loads lower the first bound, and the size of A raises the second one.
        ready = before.readings >= unknowns + 5
        ready &= yb >= np.minimum(before.base_load(), 0.0) - 3.0 * noise
        size_of_A = mean_value(spectrum) if shared else mean_value(spectrum)[owner]
        ready &= distance < 0.5 * MAX_CHANGE * size_of_A * found.square_length + 6.0 * noise
        ratio = np.where(ready, ratio, beliefs.surprise)
    accepted = as_array(accept)
    after = evolve(
        beliefs,
        posterior=before.assimilate(model, ub, found, w if w is None or shared else w[owner]),
        age=age,
        log_weight=beliefs.log_weight if accept is density else beliefs.log_weight + (accept - density),
        surprise=as_array(ratio),
        densities=np.concatenate([beliefs.densities[:, 1:], accepted[:, None]], axis=1),
        **beliefs.with_recent(u, y, w, factor),
    )
    return after if shared else after.choose(model, np.ones(y.size, dtype=np.bool_), round_number)


def _is_quiet(beliefs: Beliefs, model: ReadingModel, age: Array) -> bool:
    """Return whether no belief rejected the last reading, and no fit or review is due, as it is at the first ages."""
    return (
        model.forgetting == 1.0
        and not any_entry(beliefs.in_a_row)
        and not _busy_ages(model).contain_any(age)
        and beliefs.posterior.can_assimilate()
    )


def mean_value(spectrum: Spectrum) -> Array:
    """Return the mean of the eigenvalues, shape (runs,); for small arrays, in a third of the time of ``mean``."""
    return np.asarray(np.add.reduce(spectrum.values, axis=1) / spectrum.values.shape[1])


@cache
def _busy_ages(model: ReadingModel) -> Ages:
    """Return the ages at which there is a fit or a review."""
    return Ages({*fit_ages(model, restarted=True), *review_ages(model.unknowns)})
