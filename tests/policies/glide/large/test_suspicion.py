"""Outliers, changes of A, and bursts of wrong readings."""

from __future__ import annotations

import numpy as np
import pytest
from streams import OPTIONS, curvature, row, taught

from soqo.estimators.lowrank import predict
from soqo.policies.glide._large._comparison import push, weight
from soqo.policies.glide._large._learning import learn
from soqo.policies.glide._large._row import make_row
from soqo.policies.glide._large._stream import Stream
from soqo.policies.glide._large._suspicion import is_unknown, is_within_noise, usual_error


@pytest.mark.parametrize("rank", [2, 13])
@pytest.mark.parametrize("wrong", [1e7, -1e5, 1.0])
def test_a_wrong_reading_is_rejected(rank: int, wrong: float) -> None:
    A = curvature(13, rank)
    stream = taught(A, 200)
    z = np.full(13, 40.0)
    after = learn(stream, make_row(z, wrong), OPTIONS, 202)
    assert len(after.suspects) == 1
    for t in range(3):
        after = learn(after, row(A, z, 0.0), OPTIONS, 203 + t)
    assert not len(after.suspects)
    assert after.rejected == stream.rejected + 1
    assert np.linalg.norm(after.estimate - A) < 0.01 * np.linalg.norm(A)


@pytest.mark.parametrize("kind", ["another", "one more direction"])
def test_four_readings_that_do_not_fit_are_a_change_and_the_new_a_is_learned(kind: str) -> None:
    before = curvature(13, 2)
    after = before[::-1, ::-1] if kind == "another" else before + np.diag([2.0, *[0.0] * 12])
    stream = taught(after, 90, stream=taught(before, 100), seed=5)
    assert stream.epoch > 100
    assert np.linalg.norm(stream.estimate - after) < 0.01 * np.linalg.norm(after)


def test_a_burst_is_taken_back() -> None:
    A = curvature(13, 2)
    stream = taught(A, 100)
    burst = taught(30.0 * A, 6, stream=stream, seed=3)
    assert burst.epoch > 0
    again = taught(A, 8, stream=burst, seed=4)
    assert again.epoch == 0
    assert again.rejected >= 4
    assert np.linalg.norm(again.estimate - A) < 0.01 * np.linalg.norm(A)


def test_without_alarms_nothing_is_set_aside() -> None:
    stream = taught(curvature(13, 2), 100, options=OPTIONS._replace(alarms=False))
    after = learn(stream, make_row(np.full(13, 40.0), 1e7), OPTIONS._replace(alarms=False), 102)
    assert not len(after.suspects)
    assert after.seen == stream.seen + 1


def test_noise_is_no_outlier_though_most_readings_are_far_larger() -> None:
    A = curvature(13, 13)
    stream = taught(A, 60)
    near = np.full(13, 1e-3)
    # With u almost zero, a reading is nothing but noise, and most errors are a small part of their readings.
    assert is_within_noise(stream, near, 2.5 * stream.sigma, stream.sigma)
    assert not len(learn(stream, make_row(near, 2.5 * stream.sigma), OPTIONS, 62).suspects)
    assert not is_within_noise(stream, near, 30.0 * stream.sigma, stream.sigma)


def test_noise_is_no_change_though_errors_were_a_small_part_of_readings_before() -> None:
    A = curvature(13, 13)
    stream = taught(A, 150)
    assert stream.moments is not None
    near = np.full(13, 0.3)
    for t, noise in enumerate((8.0, -9.0, 7.0, 9.0, -8.0, 7.0)):
        stream = learn(stream, row(A, near, noise), OPTIONS, 152 + t)
    assert stream.epoch == 0
    # Errors that noise does not explain are a change of A, as before.
    assert taught(3.0 * A, 6, stream=stream, seed=1).epoch > 0


def test_one_reading_far_out_does_not_decide_between_estimates() -> None:
    """An estimate that is right by chance where v has jumped to must not win against one that is better elsewhere."""
    stream, rng = taught(curvature(13, 13), 60), np.random.default_rng(1)
    errors = np.full_like(stream.errors, np.nan)
    for t in range(12):
        z = (5e4 if t == 11 else 50.0) * rng.standard_normal(13)
        size = float(z @ z)
        new = {"flat": 0.04 * size, "sharp": (0.01 if t == 11 else 0.5) * size}
        errors = push(errors, new, unit=usual_error(stream, z, stream.sigma))
    assert weight(errors, "sharp", "flat", 12) > 0.99
    assert weight(errors, "sharp", "flat", 12, noise=stream.sigma) < 0.01


def test_with_few_readings_an_error_in_a_new_direction_is_no_suspicion() -> None:
    A, rng = curvature(13, 13), np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((13, 13)))[0]
    stream = learn(Stream.start(13), make_row(np.zeros(13), 6.0), OPTIONS, 1)
    for t in range(40):
        z = basis[:, :4] @ (50.0 * rng.standard_normal(4))
        stream = learn(stream, row(A, z, rng.uniform(-10.0, 10.0)), OPTIONS, t + 2)
    known, new = 50.0 * basis[:, 0], 50.0 * basis[:, 9]
    assert is_unknown(stream, new, predict(A, new), stream.sigma)
    assert not is_unknown(stream, known, 3.0 * predict(A, known), stream.sigma)
    assert not is_unknown(stream, new, 1e3 * predict(A, new), stream.sigma)
