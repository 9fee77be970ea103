"""What a run does with a reading apart from its beliefs."""

from __future__ import annotations

import numpy as np

from soqo.policies.glide._compiled._after_reading import check_meter, contains, is_ordinary, push, remember
from soqo.policies.glide._compiled._layout import DENSITIES, run_columns
from soqo.policies.glide._meter_faults import MeterFaults


def test_ages_are_found() -> None:
    ages = np.array([2.0, 5.0, np.inf])
    assert [contains(ages, age) for age in (1.0, 2.0, 3.0, 5.0, 6.0)] == [False, True, False, True, False]


def test_a_meter_is_watched_as_by_numpy() -> None:
    columns = run_columns(2)
    run, faults = np.zeros(columns.end), MeterFaults.start(1, 2)
    run[5], run[9] = np.nan, -np.inf  # no last and no largest reading
    for y in (3.0, 1.0, 4.0, 2.0, 4.0):
        u = np.array([y, -y])
        assert check_meter(run, columns.last_u, u, y)
        _, faults = faults.update(u[None], np.array([y]))
    expected = (faults.last_y, faults.readings, faults.repetitions, faults.stuck, faults.max_reading, faults.max_count)
    np.testing.assert_array_equal(run[5:11], np.concatenate(expected))
    np.testing.assert_array_equal(run[columns.last_u : columns.last_u + 2], faults.last_u[0])
    assert not check_meter(run, columns.last_u, np.ones(2), 4.0)  # it repeats the last reading


def test_numbers_that_need_to_be_clipped_are_left_to_numpy() -> None:
    assert is_ordinary(np.ones(2), 1.0, 2)
    assert not is_ordinary(np.array([1e26, 0.0]), 1.0, 2)
    assert not is_ordinary(np.ones(2), 1e61, 2)
    assert not is_ordinary(np.zeros(2), 1.0, 2)  # no direction
    assert is_ordinary(np.zeros(2), 1.0, 0)


def test_the_oldest_reading_makes_room() -> None:
    old, new = np.arange(12.0).reshape(3, 4), np.empty((3, 4))
    remember(old, new, np.array([7.0, 8.0]), 9.0)
    np.testing.assert_array_equal(new, [[4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0], [7.0, 8.0, 9.0, 0.0]])


def test_the_oldest_density_makes_room() -> None:
    row = np.arange(40.0)
    push(row, -1.0)
    np.testing.assert_array_equal(row[DENSITIES : DENSITIES + 5], [11.0, 12.0, 13.0, 14.0, -1.0])
