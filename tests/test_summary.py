"""Summaries against NumPy, and the coverage of the bootstrap interval."""

from __future__ import annotations

import numpy as np
import pytest

from soqo._summary import short, summarize
from soqo.errors import ArgumentError


def test_the_numbers_are_numpys() -> None:
    sample = np.random.default_rng(0).standard_normal(31)
    row = summarize({"X": sample}, {"X": 3})["X"]
    assert row.mean == pytest.approx(sample.mean())
    assert row.median == pytest.approx(np.median(sample))
    assert row.lower_quartile == pytest.approx(np.quantile(sample, 0.25))
    assert row.upper_quartile == pytest.approx(np.quantile(sample, 0.75))
    assert (row.diverged, row.runs) == (3, 31)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_the_interval_covers_the_truth_about_as_often_as_it_says(statistic: str) -> None:
    rng = np.random.default_rng(1)
    repeats, hits = 300, 0
    for _ in range(repeats):
        sample = rng.standard_normal(40)
        row = summarize({"X": sample}, {"X": 0}, statistic, level=0.9, resamples=400)["X"]
        hits += row.interval[0] <= 0.0 <= row.interval[1]
    # The percentile bootstrap of 40 runs is a little short; three standard errors are 0.052.
    assert 0.83 <= hits / repeats <= 0.96


def test_the_same_sample_has_one_interval() -> None:
    sample = np.random.default_rng(2).standard_normal(20)
    assert summarize({"X": sample}, {"X": 0}) == summarize({"X": sample}, {"X": 0})


def test_one_run_has_no_interval() -> None:
    assert np.isnan(summarize({"X": np.array([3.0])}, {"X": 0})["X"].interval).all()


def test_the_table_has_a_line_per_policy() -> None:
    summary = summarize({"A": np.arange(4.0), "a long name": 1e6 * np.arange(4.0)}, {"A": 0, "a long name": 1})
    lines = str(summary).splitlines()
    assert len(lines) == 3
    assert len({len(line) for line in lines}) == 1
    assert lines[2].startswith("a long name   1.5e6")
    assert list(summary) == ["A", "a long name"]
    assert len(summary) == 2


def test_short_numbers_are_right_numbers() -> None:
    for value in (0.0, 1.0, -2.5, 123456.0, 1e-7, 3.2e100, -4e-200):
        assert float(short(value)) == pytest.approx(value, rel=5e-3)


def test_bad_settings_are_refused() -> None:
    sample = {"X": np.zeros(3)}
    with pytest.raises(ArgumentError, match="interval_of must be one of 'median', 'mean', got 'x'"):
        summarize(sample, {"X": 0}, "x")
    with pytest.raises(ArgumentError, match="level must be a finite number above 0 and at most 1"):
        summarize(sample, {"X": 0}, level=2.0)
    with pytest.raises(ArgumentError, match="resamples must be a positive integer, got 0"):
        summarize(sample, {"X": 0}, resamples=0)
