"""Streams that have learned from readings at random places, for the tests of GLIDE with many dimensions."""

from __future__ import annotations

import numpy as np

import soqo
from soqo.policies.glide._large._learning import Options, learn
from soqo.policies.glide._large._row import make_row
from soqo.policies.glide._large._stream import Stream
from soqo.typing import Array

OPTIONS = Options(noise_cap=None, alarms=True, window=None, base_load=True)


def curvature(d: int, rank: int) -> Array:
    return soqo.random_curvature(d, rank, min_eigenvalue=1.0, max_eigenvalue=4.0 if rank > 1 else None, rng=0)


def row(A: Array, z: Array, noise: float) -> Array:
    return make_row(z, 0.5 * z @ A @ z + noise)


def taught(
    A: Array,
    readings: int,
    *,
    size: float = 50.0,
    stream: Stream | None = None,
    options: Options = OPTIONS,
    seed: int = 0,
) -> Stream:
    """Return a stream after a reading of the noise and some readings at random places."""
    rng = np.random.default_rng(seed)
    if stream is None:
        stream = learn(Stream.start(len(A)), make_row(np.zeros(len(A)), 6.0), options, 1)
    for t in range(readings):
        z = size * rng.standard_normal(len(A))
        stream = learn(stream, row(A, z, rng.uniform(-10.0, 10.0)), options, stream.seen + 2 + t)
    return stream
