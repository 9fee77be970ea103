"""When noise, scale and A are estimated again."""

from __future__ import annotations

import numpy as np

from soqo.estimators.bayes import ReadingModel, estimate_period, fit_is_due


def test_fits_are_in_the_same_rounds_whatever_the_number_of_unknowns() -> None:
    n = np.arange(1.0, 3000.0)
    small, large = fit_is_due(ReadingModel(2), n), fit_is_due(ReadingModel(6), n)
    np.testing.assert_array_equal(small[40:], large[40:])
    # About log 1.6 / log 1.1 fits between readings 40 and 64, and log 47 / log 1.2 up to 3000.
    assert 23 <= small[40:].sum() <= 29


def test_with_a_window_fits_are_no_rarer_than_a_tenth_of_it() -> None:
    due = np.flatnonzero(fit_is_due(ReadingModel(2, forgetting=1.0 - 1.0 / 50.0), np.arange(1.0, 10_000.0)))
    assert np.diff(due).max() <= 5


def test_after_a_suspected_change_more_readings_are_each_followed_by_a_fit() -> None:
    model, n = ReadingModel(4), np.arange(1.0, 30.0)
    first, again = fit_is_due(model, n), fit_is_due(model, n, np.ones(n.size, dtype=np.bool_))
    assert n[~first][0] == 14.0
    assert n[~again][0] == 22.0
    np.testing.assert_array_equal(first[20:], again[20:])


def test_a_is_estimated_more_rarely_the_more_readings_there_are_for_each_unknown() -> None:
    model, n = ReadingModel(2), np.array([12.0, 13.0, 48.0, 49.0])
    np.testing.assert_array_equal(estimate_period(model, n), [1, 4, 4, 8])
    np.testing.assert_array_equal(estimate_period(model, n, np.array([True, True, True, False])), [1, 4, 4, 4])
    # With forgetting, the latest readings matter as much in the end as in the beginning.
    assert estimate_period(ReadingModel(2, forgetting=0.99), 99.0) == 4
