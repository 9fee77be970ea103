"""Streams are independent by run and purpose, and a batch draws each run from its own."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._streams import PURPOSES, per_run, stream, streams
from soqo.errors import ArgumentError


def test_no_two_streams_are_alike() -> None:
    draws = {
        (seed, run, purpose): stream(seed, run, purpose).random()
        for seed in range(3)
        for run in range(4)
        for purpose in PURPOSES
    }
    assert len(set(draws.values())) == len(draws)


def test_per_run_draws_each_run_from_its_own_generator() -> None:
    together = per_run(streams(0, range(6), "policy"), (2, 3), lambda g: g.standard_normal(5))
    alone = stream(0, 4, "policy").standard_normal(5)
    assert together.shape == (2, 3, 5)
    np.testing.assert_array_equal(together[1, 1], alone)


def test_per_run_refuses_what_is_no_generator() -> None:
    with pytest.raises(ArgumentError, match=r"rng must be a numpy.random.Generator .* got None"):
        per_run(None, (2,), lambda g: g.standard_normal(1))
    with pytest.raises(ArgumentError, match=r"one generator per run, 3 .* got 2"):
        per_run(streams(0, range(2), "steps"), (3,), lambda g: g.standard_normal(1))


def test_a_bad_seed_or_purpose_is_named() -> None:
    with pytest.raises(ArgumentError, match="seed must be an integer of at least 0, got -1"):
        stream(-1, 0, "steps")
    with pytest.raises(ArgumentError, match="purpose must be one of"):
        stream(0, 0, "fun")
