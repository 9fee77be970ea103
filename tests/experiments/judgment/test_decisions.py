"""Decisions: thresholds against intervals, too few runs, and numbers that are not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest

from soqo.experiments.judgment import Status, decide, measure


def bootstrap(samples: np.ndarray) -> np.ndarray:
    picks = np.random.default_rng(1).integers(samples.size, size=(2000, samples.size))
    return np.concatenate([[samples.mean()], samples[picks].mean(axis=1)])


@pytest.mark.parametrize(("mean", "status"), [(-1.0, "holds"), (1.0, "fails"), (0.02, "cannot be told")])
def test_a_status_is_that_of_the_interval(mean: float, status: str) -> None:
    values = bootstrap(mean + np.random.default_rng(0).standard_normal(20))
    case = decide("mine", values < 0.0, True, 20, measure("difference", values))
    assert case.status == status


def test_intervals_cover_the_mean_about_as_often_as_they_say() -> None:
    """Of 400 samples of 20 normal numbers with mean zero, the sign is decided in about 5 to 10 percent."""
    decided = 0
    for seed in range(400):
        samples = np.random.default_rng(seed).standard_normal(20)
        picks = np.random.default_rng(10_000 + seed).integers(20, size=(400, 20))
        values = np.concatenate([[samples.mean()], samples[picks].mean(axis=1)])
        decided += decide("mine", values < 0.0, True, 20).status is not Status.UNKNOWN
    # The percentile bootstrap of 20 runs is somewhat narrow; three standard errors around 7 %.
    assert 0.03 < decided / 400 < 0.12


def test_few_runs_tell_nothing() -> None:
    values = np.full(100, -1.0)
    assert decide("mine", values < 0.0, True, 5).status is Status.UNKNOWN
    assert decide("mine", values < 0.0, True, 6).status is Status.HOLDS


def test_a_test_without_an_answer_is_unknown() -> None:
    known = np.zeros(100, np.bool_)
    assert decide("mine", np.ones(100, np.bool_), known, 20).status is Status.UNKNOWN
    known[1:] = True
    assert decide("mine", np.ones(100, np.bool_), known, 20).status is Status.UNKNOWN


def test_numbers_that_are_not_finite_have_no_interpolated_interval() -> None:
    number = measure("regret", np.array([math.inf, 1.0, math.inf, math.inf]))
    assert (number.value, number.low, number.high) == (math.inf, 1.0, math.inf)
    nothing = measure("exponent", np.full(4, math.nan))
    assert math.isnan(nothing.value)
    assert math.isnan(nothing.low)
    assert str(nothing) == "exponent nan"


def test_one_failure_decides_and_one_unknown_leaves_it_open() -> None:
    assert Status.all([Status.HOLDS, Status.HOLDS]) is Status.HOLDS
    assert Status.all([Status.HOLDS, Status.UNKNOWN]) is Status.UNKNOWN
    assert Status.all([Status.UNTESTED, Status.UNKNOWN]) is Status.UNTESTED
    assert Status.all([Status.UNKNOWN, Status.FAILS]) is Status.FAILS


def test_resamples_without_an_answer_count_for_neither_side() -> None:
    passed, known = np.ones(100, np.bool_), np.ones(100, np.bool_)
    known[-10:] = False
    assert decide("mine", passed, known, 20).status is Status.UNKNOWN
    assert decide("mine", ~passed, known, 20).status is Status.UNKNOWN
    known[-10:-1] = True
    assert decide("mine", passed, known, 20).status is Status.HOLDS
    assert decide("mine", ~passed, known, 20).status is Status.FAILS
