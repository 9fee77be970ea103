"""The estimates before there is a factor."""

from __future__ import annotations

import numpy as np
from streams import curvature, taught

from soqo._foundation.frozen_dataclasses import evolve
from soqo.policies.glide._large._estimates import combine, soft_deviations, sweep
from soqo.policies.glide._large._row import make_row


def test_sums_take_over_from_rows_without_a_jump() -> None:
    A = curvature(13, 13)
    stream = taught(A, 91)
    assert stream.representation == "rows"
    stream = evolve(stream, seen=92, rows=stream.rows.append(make_row(np.ones(13), 0.5 * A.sum()), limit=2000))
    rows, sums = sweep(stream, 6.0, keep_sums=False), sweep(stream, 6.0, keep_sums=True)
    assert sums.representation == "sums"
    assert rows.soft is not None
    assert sums.soft is not None
    np.testing.assert_allclose(sums.soft, rows.soft, rtol=1e-4, atol=1e-4)


def test_more_readings_reduce_error_and_deviation() -> None:
    A, directions = curvature(13, 13), np.eye(13)
    streams = [taught(A, n) for n in (20, 60, 150)]
    errors = [np.linalg.norm(combine(stream) - A) for stream in streams]
    spreads = [soft_deviations(stream, 6.0, directions).mean() for stream in streams]
    assert errors[0] > errors[1] > 10.0 * errors[2]
    assert spreads[0] > spreads[1] > 10.0 * spreads[2]
