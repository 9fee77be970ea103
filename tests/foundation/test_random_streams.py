"""Streams are independent by run and purpose, and each run of a batch draws from its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo._foundation.random_streams import as_generators, draw_per_run, stream, streams
from soqo.errors import ArgumentError


def test_no_two_streams_are_equal() -> None:
    draws = {
        (seed, run, purpose): stream(seed, run, purpose).random()
        for seed in range(3)
        for run in range(4)
        for purpose in ("curvature", "steps", "noise", "policy")
    }
    assert len(set(draws.values())) == len(draws)


def test_the_order_of_purposes_is_part_of_every_seed() -> None:
    for k, purpose in enumerate(("curvature", "steps", "noise", "policy")):
        expected = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(3, k)))
        assert stream(7, 3, purpose).random() == expected.random()  # type: ignore[arg-type]  # names in a list


def test_each_run_of_a_batch_draws_from_its_own_generator() -> None:
    together = draw_per_run(streams(0, range(6), "policy"), (2, 3), lambda g: g.standard_normal(5))
    alone = stream(0, 4, "policy").standard_normal(5)
    assert together.shape == (2, 3, 5)
    np.testing.assert_array_equal(together[1, 1], alone)


@pytest.mark.parametrize("seed", [5, np.int64(5)])
def test_a_seed_is_a_generator_that_all_runs_use_in_turn(seed: int) -> None:
    together = draw_per_run(seed, (4,), lambda g: g.standard_normal(3))
    np.testing.assert_array_equal(together, np.random.default_rng(5).standard_normal((4, 3)))
    assert len({id(generator) for generator in as_generators(seed, (4,))}) == 1


@pytest.mark.parametrize("rng", [None, 1.5, "0", [0, 1]])
def test_other_types_than_generators_are_refused(rng: Any) -> None:
    with pytest.raises(ArgumentError, match=r"rng must be an int, a numpy.random.Generator or .*, got "):
        draw_per_run(rng, (2,), lambda g: g.standard_normal(1))


def test_bad_seeds_and_numbers_of_generators_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"one generator per run, 3 .* got 2"):
        draw_per_run(streams(0, range(2), "steps"), (3,), lambda g: g.standard_normal(1))
    for seed in (-1, True):
        with pytest.raises(ArgumentError, match="rng must be an integer of at least 0, got "):
            draw_per_run(seed, (), lambda g: g.standard_normal(1))


def test_a_bad_seed_or_purpose_is_named() -> None:
    with pytest.raises(ArgumentError, match="seed must be an integer of at least 0, got -1"):
        stream(-1, 0, "steps")
    with pytest.raises(ArgumentError, match="purpose must be one of"):
        stream(0, 0, "fun")  # type: ignore[arg-type]  # on purpose
