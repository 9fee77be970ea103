"""Resampled statistics against all resamples that there are, and percentile intervals against a sorted list."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from soqo._foundation import bootstrap_intervals
from soqo._foundation.bootstrap_intervals import bootstrap_statistic, percentile_interval, quantiles_over_runs
from soqo.errors import ArgumentError

RESAMPLES = 4000
STATISTICS: dict[Literal["median", "mean"], Callable[[Any], Any]] = {"median": np.median, "mean": np.mean}


@pytest.mark.parametrize("statistic", STATISTICS)
def test_resampled_statistics_have_the_frequencies_of_all_resamples(statistic: Literal["median", "mean"]) -> None:
    sample = np.array([1.0, 2.0, 4.0, 8.0])
    exact = Counter(float(STATISTICS[statistic](pick)) for pick in itertools.product(sample, repeat=4))
    found = Counter(bootstrap_statistic(sample, statistic=statistic, resamples=RESAMPLES).tolist())
    assert set(found) == set(exact)
    for value, count in exact.items():
        probability = count / 4**4
        error = math.sqrt(probability * (1.0 - probability) / RESAMPLES)
        # The largest of about twenty normal deviations exceeds 4.5 standard errors for one seed in 1e4.
        assert abs(found[value] / RESAMPLES - probability) < 4.5 * error


def test_every_row_is_resampled_with_the_same_runs() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((2, 3, 10))
    rows = np.stack([one, other, one + other])
    found = bootstrap_statistic(rows, statistic="mean", resamples=50)
    assert found.shape == (50, 3, 3)
    np.testing.assert_allclose(found[:, 2], found[:, 0] + found[:, 1], atol=1e-14)
    alone = bootstrap_statistic(one[1], statistic="mean", resamples=50)
    np.testing.assert_allclose(found[:, 0, 1], alone, atol=1e-14)  # the order of summation differs


def test_resampling_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = np.random.default_rng(1).standard_normal((2, 7))
    at_once = bootstrap_statistic(samples, resamples=25)
    monkeypatch.setattr(bootstrap_intervals, "_MAX_NUMBERS", 60)  # four resamples of fourteen numbers at a time
    np.testing.assert_array_equal(bootstrap_statistic(samples, resamples=25), at_once)
    monkeypatch.setattr(bootstrap_intervals, "_MAX_NUMBERS", 1)
    np.testing.assert_array_equal(bootstrap_statistic(samples, resamples=25), at_once)


def test_the_number_of_resamples_must_be_positive() -> None:
    with pytest.raises(ArgumentError, match="resamples must be a positive integer, got 0"):
        bootstrap_statistic(np.ones(3), resamples=0)


def test_an_interval_without_interpolation_leaves_at_most_its_tails_outside() -> None:
    values = np.random.default_rng(2).standard_normal(200)
    low, high = percentile_interval(values, (0.05, 0.9), method="inverted_cdf")
    ordered = sorted(values.tolist())
    assert (low, high) == (ordered[9], ordered[179])  # 10 and 180 of 200 values are at most as large


def test_an_interval_is_interpolated_between_values_by_default() -> None:
    values = np.array([3.0, 0.0, 1.0])
    assert percentile_interval(values, (0.25, 0.75)) == pytest.approx((0.5, 2.0))  # half of the way to each neighbor
    assert percentile_interval(np.linspace(-1.0, 1.0, 41)) == pytest.approx((-0.95, 0.95))  # 95 % is the default


def test_no_values_have_no_interval() -> None:
    assert np.isnan(percentile_interval(np.zeros(0))).all()


def test_quantiles_over_runs_agree_with_the_median_and_are_never_between_a_number_and_infinity() -> None:
    samples = np.array([[3.0, 1.0, 7.0, 4.0], [1.0, np.inf, 2.0, np.inf]])
    found = quantiles_over_runs(samples, [0.25, 0.5, 0.75])
    np.testing.assert_array_equal(found[1], [np.median(samples[0]), 2.0])
    np.testing.assert_array_equal(found[[0, 2], 0], np.quantile(samples[0], [0.25, 0.75]))
    np.testing.assert_array_equal(quantiles_over_runs(samples.T, [0.5], axis=0)[0], found[1])
