"""The table of headings: against a grid search, and its symmetries."""

from __future__ import annotations

import numpy as np

from soqo.plants import GaussianWake, WindFarm
from soqo.typing import Array

NODES = np.array([-8.0, -4.0, 0.0, 4.0, 8.0])
WEIGHTS = np.exp(-0.5 * (NODES / 5.0) ** 2)


def farm_power(farm: WindFarm, direction: float, headings: Array) -> Array:
    """The power for one direction and many headings, averaged over the round, by a plain loop."""
    model = GaussianWake()
    total = np.zeros(len(headings))
    for node, weight in zip(NODES, WEIGHTS / WEIGHTS.sum(), strict=True):
        wind = np.full(len(headings), direction + node)
        yaw = wind[:, None] - headings
        total += weight * model.power(farm.places, wind, np.full(len(headings), 8.0), yaw).sum(axis=1)
    return total


def test_table_is_as_good_as_a_grid_search_for_two_turbines() -> None:
    farm = WindFarm(layout=[[0.0, 0.0], [5.0, 0.0]])
    direction = 273.0
    first, second = np.meshgrid(np.arange(-25.0, 26.0, 2.5), np.arange(-10.0, 11.0, 2.5))
    grid = direction - np.stack([first.ravel(), second.ravel()], axis=1)
    found = farm.table().headings(np.array([direction]), np.array([8.0]))
    straight = farm_power(farm, direction, np.full((1, 2), direction))[0]
    best = farm_power(farm, direction, grid).max()
    reached = farm_power(farm, direction, found)[0]
    # The table is smoothed over 4 degrees of direction, which costs a part of the gain.
    assert reached - straight > 0.6 * (best - straight) > 0.0


def test_table_of_a_square_is_the_same_with_and_without_its_symmetry() -> None:
    square = np.array([(5.0 * k, 5.0 * j) for j in range(2) for k in range(2)])
    broken = square + np.array([[0.02, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])  # 2.5 m: no longer symmetric
    symmetric, full = WindFarm(layout=square).table(), WindFarm(layout=broken).table()
    assert len(symmetric.angles) == len(full.angles) == 120
    difference = np.abs(symmetric.angles - full.angles)
    assert np.mean(difference) < 0.5  # searches end on one of two equal optima where the wind blows along a row


def test_headings_are_continuous_over_north_and_count_turns() -> None:
    table = WindFarm().table()
    direction = np.array([359.9, 360.1, 719.9, 720.1])
    headings = table.headings(direction, np.full(4, 8.0))
    assert np.abs(headings[1] - headings[0]).max() < 1.5
    np.testing.assert_allclose(headings[2:] - headings[:2], 360.0)


def test_headings_face_the_wind_above_rated_speed() -> None:
    direction = np.array([17.0, 100.0])
    headings = WindFarm().table().headings(direction, np.array([12.5, 15.0]))
    np.testing.assert_allclose(headings, np.repeat(direction[:, None], 9, axis=1))
