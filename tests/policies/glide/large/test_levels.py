"""The noise and the base load of a stream."""

from __future__ import annotations

import numpy as np
import pytest
from streams import OPTIONS, curvature, taught

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import FLAT_LEAD, fit_levels
from soqo.policies.glide._large._comparison import push
from soqo.policies.glide._large._learning import learn
from soqo.policies.glide._large._levels import flat_lead, with_levels
from soqo.policies.glide._large._row import make_row
from soqo.policies.glide._large._stream import Stream


@pytest.mark.parametrize("first", [0.5, 6.0])
def test_a_small_first_reading_is_not_the_size_of_the_noise(first: float) -> None:
    rng = np.random.default_rng(0)
    stream = learn(Stream.start(20), make_row(np.zeros(20), first), OPTIONS, 1)
    for t in range(60):
        z = 0.5 * rng.standard_normal(20)
        stream = learn(stream, make_row(z, 0.5 * z @ z + rng.uniform(-10.0, 10.0)), OPTIONS, t + 2)
    assert 0.7 * 10.0 / np.sqrt(3.0) < stream.sigma < 1.4 * 10.0 / np.sqrt(3.0)


def test_a_base_load_that_dominates_is_subtracted_and_varies() -> None:
    rng = np.random.default_rng(1)
    stream = learn(Stream.start(16), make_row(np.zeros(16), 730.0), OPTIONS, 1)
    loads = np.linspace(700.0, 900.0, 500)
    for t, load in enumerate(loads):
        z = 4.0 * rng.standard_normal(16)
        stream = learn(stream, make_row(z, load + 0.2 * z @ z + 100.0 * rng.standard_normal()), OPTIONS, t + 2)
    assert abs(stream.load - loads[-256:].mean()) < 60.0
    assert abs(np.trace(stream.estimate) / 16.0 - 0.4) < 0.3


def test_a_low_rank_is_not_taken_for_noise() -> None:
    stream = taught(curvature(20, 2), 30)
    assert stream.sigma < 40.0
    assert abs(stream.load) < stream.sigma
    assert stream.levels is not None
    assert not stream.levels.is_flat


def near_identity(*, soft_error: float) -> Stream:
    """Return a stream that takes A as near a multiple of the identity, after 20 predictions by two estimates."""
    rng = np.random.default_rng(0)
    Z = 3.0 * rng.standard_normal((64, 16))
    y = 0.15 * np.vecdot(Z, Z) + 60.0 * rng.standard_normal(64)
    levels = fit_levels(Z, np.ones(64), y, np.zeros(3))
    assert levels.is_flat
    errors = Stream.start(16).errors
    for _ in range(20):
        errors = push(errors, {"soft": soft_error, "flat": 60.0})
    return evolve(Stream.start(16), levels=levels, errors=errors)


def test_many_readings_may_be_evidence_of_a_model_error_only() -> None:
    stream = near_identity(soft_error=57.0)
    assert flat_lead(stream, 64) == FLAT_LEAD
    assert flat_lead(stream, 256) == 8.0
    # What an error could explain keeps no A near the identity that was not taken so, or that predicts worse.
    assert flat_lead(evolve(stream, levels=None), 256) == FLAT_LEAD
    assert stream.levels is not None
    assert flat_lead(evolve(stream, levels=evolve(stream.levels, is_flat=False)), 256) == FLAT_LEAD
    assert flat_lead(near_identity(soft_error=45.0), 256) == FLAT_LEAD


@pytest.mark.parametrize(("soft_error", "stays"), [(57.0, True), (45.0, False)])
def test_a_cost_that_is_not_quite_quadratic_is_no_low_rank(soft_error: float, stays: bool) -> None:
    """Under much noise, weak evidence alone does not lead away from a multiple of the identity."""
    rng = np.random.default_rng(5)
    Z, E = 3.0 * rng.standard_normal((256, 16)), rng.standard_normal((16, 16))
    bent = 0.3 * np.eye(16) + 0.275 * (E + E.T)
    y = np.vecdot(Z @ bent, Z) / 2.0 + 60.0 * rng.standard_normal(256)
    stream = near_identity(soft_error=soft_error)
    rows = type(stream.rows).of(np.column_stack([Z, np.ones(256), y]))
    stream = with_levels(evolve(stream, rows=rows, seen=256, sigma=60.0), float(y[-1]), 60.0, base_load=True)
    assert stream.levels is not None
    assert stream.levels.is_flat == stays


@pytest.mark.parametrize("load", [0.0, 40.0])
def test_many_readings_tell_a_base_load_from_eigenvalues_of_many_sizes(load: float) -> None:
    """A player who follows v where A is large has readings that are nearly alike, as those of a base load."""
    rng, values = np.random.default_rng(0), np.geomspace(0.01, 4.0, 14)
    stream = learn(Stream.start(14), make_row(np.zeros(14), load + 3.0), OPTIONS, 1)
    for t in range(220):
        z = 5.0 * rng.standard_normal(14) * values**-0.25
        y = load + 0.5 * z @ (values * z) + rng.uniform(-10.0, 10.0)
        stream = learn(stream, make_row(z, y), OPTIONS, t + 2)
    assert stream.moments is not None
    assert abs(stream.load - load) < 6.0
    assert 0.6 * 10.0 / np.sqrt(3.0) < stream.sigma < 1.8 * 10.0 / np.sqrt(3.0)


def test_readings_far_out_are_not_taken_for_noise_where_the_estimate_leaves_the_cone() -> None:
    """Far out in a direction in which A is almost zero, the way into the cone costs more than the noise."""
    rng, values = np.random.default_rng(0), np.geomspace(1e-3, 4.0, 14)
    stream = learn(Stream.start(14), make_row(np.zeros(14), 6.0), OPTIONS, 1)
    for t in range(150):
        z = 4.0 * rng.standard_normal(14) * (300.0 if t % 10 == 5 else 1.0)
        stream = learn(stream, make_row(z, 0.5 * z @ (values * z) + rng.uniform(-10.0, 10.0)), OPTIONS, t + 2)
    assert stream.moments is not None
    assert 0.6 * 10.0 / np.sqrt(3.0) < stream.sigma < 2.0 * 10.0 / np.sqrt(3.0)
