"""Filter, fits and repairs of a factor."""

from __future__ import annotations

import numpy as np
import pytest
from streams import OPTIONS, curvature, row, taught

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import Factored
from soqo.policies.glide._large._factor_phase import _is_far
from soqo.policies.glide._large._learning import learn


def test_a_direction_that_the_factor_lacks_is_added() -> None:
    A = curvature(13, 3)
    stream = taught(A, 120)
    assert stream.factored is not None
    vectors, roots, _ = np.linalg.svd(stream.factored.L, full_matrices=False)
    rows = stream.readings(None)
    lacking = Factored.start(vectors[:, :2] * roots[:2], rows.Z, rows.y, stream.factored.noise2)
    stream = taught(A, 40, stream=evolve(stream, factored=lacking), seed=1)
    assert stream.factored is not None
    assert stream.factored.L.shape[1] == 3
    assert np.linalg.norm(stream.estimate - A) < 0.01 * np.linalg.norm(A)


def test_a_reading_far_out_corrects_a_small_error_at_once() -> None:
    A = curvature(13, 2)
    stream = taught(A, 100)
    null = np.linalg.eigh(A)[1][:, 0]

    after = learn(stream, row(A, 1e5 * null + stream.spectrum.vectors[:, 0], 3.0), OPTIONS, 102)
    assert not len(after.suspects)
    assert after.seen == stream.seen + 1


@pytest.mark.parametrize("seed", range(4))
def test_readings_far_out_where_a_is_almost_zero_are_no_change(seed: int) -> None:
    A, rng = curvature(13, 3), np.random.default_rng(seed)
    stream = taught(A, 150, seed=seed)
    null = np.linalg.eigh(A)[1][:, 0]
    for t in range(12):
        z = 3e4 * null + 20.0 * rng.standard_normal(13)
        stream = learn(stream, row(A, z, rng.uniform(-10.0, 10.0)), OPTIONS, 152 + t)
    assert stream.epoch == 0
    assert stream.factored is not None
    assert stream.noise(None) < 9.0
    assert null @ stream.estimate @ null < 1e-6


def test_a_place_is_far_compared_with_the_others() -> None:
    Z = np.random.default_rng(3).standard_normal((100, 13))
    assert not _is_far(Z)
    assert _is_far(np.vstack([Z, 4.0 * Z[-1:]]))
    assert not _is_far(np.vstack([4.0 * Z, 4.0 * Z[-1:]]))
