"""The noise and the base load of a stream."""

from __future__ import annotations

import numpy as np
import pytest
from streams import OPTIONS, curvature, taught

from soqo.policies.glide._large._learning import learn
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
