"""The state of one run."""

from __future__ import annotations

import numpy as np
from streams import curvature, taught

from soqo._storage.plain_data import pack, same, unpack
from soqo.policies.glide._large._stream import Stream, _with_units


def test_a_stream_is_stored_and_continues() -> None:
    A = curvature(13, 2)
    for readings in (5, 40, 80):
        stream = taught(A, readings)
        stored = unpack(*pack(stream))
        assert same(stored, stream)
        assert same(taught(A, 3, stream=stored), taught(A, 3, stream=stream))


def test_a_restart_keeps_the_noise_and_what_was_known() -> None:
    stream = taught(curvature(13, 2), 60)
    after = stream.restart(stream.rows.latest(4), 57)
    assert after.seen == after.rows.count == 4
    assert after.noise(None) == stream.noise(None)
    assert after.previous is not None
    assert after.shift_rounds(3).epoch == 60
    np.testing.assert_array_equal(after.estimate, stream.estimate)
    assert stream.noise(3.0) == stream.noise(None)  # a factor knows better than a cap
    assert taught(curvature(13, 2), 2).noise(3.0) == 3.0 / np.sqrt(3.0)


def test_errors_of_files_of_the_second_version_have_equal_units() -> None:
    migrated = _with_units({"errors": np.full((20, 5), 4.0), "seen": 3})
    assert migrated["errors"].shape == Stream.start(3).errors.shape
    assert (migrated["errors"][:, -1] == 1.0).all()
    assert migrated["seen"] == 3
