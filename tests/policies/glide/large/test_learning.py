"""What a reading does to a stream."""

from __future__ import annotations

import numpy as np
from streams import OPTIONS, curvature, taught

from soqo.policies.glide._large._learning import learn
from soqo.policies.glide._large._row import make_row
from soqo.policies.glide._large._stream import Stream


def test_a_reading_at_v_is_noise() -> None:
    stream = learn(Stream.start(13), make_row(np.zeros(13), 4.0), OPTIONS, 1)
    assert stream.seen == 0
    assert stream.noise(None) == 6.0
    np.testing.assert_allclose(stream.estimate, 7.0 * np.eye(13))


def test_a_base_load_is_learned_and_subtracted() -> None:
    A, load, rng = curvature(13, 13), 3000.0, np.random.default_rng(0)
    stream = learn(Stream.start(13), make_row(np.zeros(13), load + 6.0), OPTIONS, 1)
    for t in range(300):
        z = 10.0 * rng.standard_normal(13)
        stream = learn(stream, make_row(z, load + 0.5 * z @ A @ z + rng.uniform(-10.0, 10.0)), OPTIONS, t + 2)
    np.testing.assert_allclose(stream.load, load, atol=60.0)
    assert np.linalg.norm(stream.estimate - A) < 0.2 * np.linalg.norm(A)
    assert abs(taught(A, 300, size=10.0).load) < 1.0


def test_numbers_that_overflow_are_not_used() -> None:
    stream = taught(curvature(13, 2), 10)
    with np.errstate(all="raise"):
        after = learn(stream, make_row(np.full(13, 1e25), float(np.nan_to_num(np.inf))), OPTIONS, 12)
    assert np.isfinite(after.estimate).all()


def test_a_window_keeps_the_latest_rows_only() -> None:
    stream = taught(curvature(13, 13), 300, options=OPTIONS._replace(window=100.0))
    assert stream.moments is None
    assert 100 <= stream.rows.count < 164
