"""Summaries against NumPy, the coverage of the bootstrap interval, and the table as text and HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from soqo import PolicyResult, Result, Summary
from soqo.errors import ArgumentError, UnknownNameError
from soqo.typing import Array


def summarize(samples: Mapping[str, Array], diverged: int = 0, **options: Any) -> Summary:
    """Summarize the result of a single round whose costs are the samples, with a benchmark that pays nothing."""
    (runs,) = {sample.size for sample in samples.values()}
    zeros = np.zeros((runs, 1))
    records = {
        name: PolicyResult(sample[:, None], zeros, zeros, np.arange(runs) < diverged)
        for name, sample in samples.items()
    }
    result = Result(records=records, benchmark_hitting=zeros, benchmark_switching=zeros, first_run=0, configuration={})
    return result.summary(**options)


def test_the_numbers_are_those_of_numpy() -> None:
    sample = np.random.default_rng(0).standard_normal(31)
    row = summarize({"X": sample}, diverged=3)["X"]
    assert row.mean == pytest.approx(sample.mean())
    assert row.median == pytest.approx(np.median(sample))
    assert row.lower_quartile == pytest.approx(np.quantile(sample, 0.25))
    assert row.upper_quartile == pytest.approx(np.quantile(sample, 0.75))
    assert (row.diverged, row.runs) == (3, 31)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_the_interval_has_about_the_coverage_of_its_level(statistic: str) -> None:
    rng = np.random.default_rng(1)
    repeats, hits = 300, 0
    for _ in range(repeats):
        sample = rng.standard_normal(40)
        row = summarize({"X": sample}, interval_of=statistic, level=0.9, resamples=400)["X"]
        hits += row.interval[0] <= 0.0 <= row.interval[1]
    # The percentile bootstrap of 40 runs is a little short; three standard errors are 0.052.
    assert 0.83 <= hits / repeats <= 0.96


def test_the_same_sample_has_one_summary() -> None:
    sample = np.random.default_rng(2).standard_normal(20)
    assert summarize({"X": sample}) == summarize({"X": sample})
    assert summarize({"X": sample}) != summarize({"X": sample}, level=0.9)
    assert hash(summarize({"X": sample})) == hash(summarize({"X": sample}))
    assert summarize({"X": sample[:1]}) == summarize({"X": sample[:1]})  # though its interval is NaN


def test_one_run_has_no_interval() -> None:
    assert np.isnan(summarize({"X": np.array([3.0])})["X"].interval).all()


def test_infinite_regret_is_summarized_without_a_warning() -> None:
    row = summarize({"X": np.array([1.0, 2.0, 3.0, np.inf])})["X"]
    assert (row.mean, row.median) == (np.inf, 2.5)


def test_the_table_has_a_line_per_policy() -> None:
    summary = summarize({"A": np.arange(4.0), "a long name": 1e6 * np.arange(4.0)})
    lines = str(summary).splitlines()
    assert len(lines) == 3
    assert len({len(line) for line in lines}) == 1
    assert lines[2].startswith("a long name   1.5e6")
    assert list(summary) == ["A", "a long name"]
    assert len(summary) == 2
    with pytest.raises(UnknownNameError, match="policy must be one of 'A', 'a long name', got 'B'"):
        summary["B"]


def test_a_notebook_shows_a_table_with_escaped_names() -> None:
    html = summarize({"<A & B>": np.arange(4.0)})._repr_html_()
    assert html.count("<tr>") == 2
    assert "<td>&lt;A &amp; B&gt;</td><td>1.5</td>" in html


@pytest.mark.parametrize("value", [0.0, 1.0, -2.5, 123456.0, 1e-7, 3.2e100, -4e-200])
def test_printed_numbers_have_three_right_digits(value: float) -> None:
    (cell,) = {row[4] for row in summarize({"X": np.array([value])}).table()[1]}
    assert float(cell) == pytest.approx(value, rel=5e-3)
    assert len(cell) <= 9


def test_bad_options_are_refused() -> None:
    sample = {"X": np.zeros(3)}
    with pytest.raises(ArgumentError, match="interval_of must be one of 'median', 'mean', got 'x'"):
        summarize(sample, interval_of="x")
    with pytest.raises(ArgumentError, match="level must be a finite number above 0 and at most 1"):
        summarize(sample, level=2.0)
    with pytest.raises(ArgumentError, match="resamples must be a positive integer, got 0"):
        summarize(sample, resamples=0)
