"""Resamples: the quick means and medians are those of the drawn runs, and the interval is that of the library."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._foundation.bootstrap_intervals import bootstrap_statistic, percentile_interval
from soqo.experiments.execution import _resampling as resampling
from soqo.experiments.execution import interval, resampled_runs


@pytest.mark.parametrize("runs", [1, 2, 7, 20])
def test_quick_medians_and_means_are_those_of_the_drawn_runs(runs: int) -> None:
    samples = np.random.default_rng(1).standard_cauchy((runs, 5)).round(1)  # with ties
    drawn = samples[resampled_runs(runs)]
    np.testing.assert_allclose(resampling.resampled_medians(samples).T, np.median(drawn, axis=1), rtol=1e-12)
    np.testing.assert_allclose(resampling.resampled_means(samples).T, drawn.mean(axis=1), rtol=1e-9, atol=1e-12)


def test_blocks_of_points_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = np.random.default_rng(1).standard_normal((6, 7))
    whole = resampling.resampled_medians(samples)
    monkeypatch.setattr(resampling, "_MAX_NUMBERS", 2 * 6 * resampling.RESAMPLES)
    np.testing.assert_array_equal(resampling.resampled_medians(samples), whole)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_a_number_has_the_interval_that_a_summary_of_a_simulation_has(statistic: str) -> None:
    samples = np.random.default_rng(2).lognormal(size=20)
    quick = {"mean": resampling.resampled_means, "median": resampling.resampled_medians}[statistic](samples[:, None])
    low, high = interval(quick[0])
    values = bootstrap_statistic(samples, statistic=statistic)  # type: ignore[arg-type]
    assert (float(low), float(high)) == pytest.approx(percentile_interval(values))


def test_an_interval_may_end_at_infinity() -> None:
    values = np.array([1.0] * 90 + [np.inf] * 10)
    low, high = interval(values)
    assert low == 1.0
    assert high == np.inf
