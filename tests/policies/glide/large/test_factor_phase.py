"""Filter, fits and repairs of a factor."""

from __future__ import annotations

import numpy as np
from streams import OPTIONS, curvature, row, taught

from soqo._foundation.frozen_dataclasses import evolve
from soqo.estimators.lowrank import Factored
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
