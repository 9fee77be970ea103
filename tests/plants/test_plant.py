"""The contract of a plant: conditions by round and run, moves and switching costs."""

from __future__ import annotations

import numpy as np

from soqo.plants import Quadratic, WindFarm


def test_conditions_can_be_taken_by_round_and_by_round_and_run() -> None:
    conditions = WindFarm(layout=[[0.0, 0.0]], unavailability=0.1, delays=(0, 2)).draw(12, [3, 4])
    assert len(conditions) == 12
    one = conditions[5]
    assert one.best.shape == (2, 1)
    np.testing.assert_array_equal(one.physics["speed"], conditions.physics["speed"][5])
    rows = conditions[np.array([1, 5]), np.array([0, 1])]
    assert rows.active is not None
    assert rows.delay is not None
    assert rows.active.shape == (2, 1)
    np.testing.assert_array_equal(rows.told[1], conditions.told[5, 1])


def test_switching_cost_is_half_the_weight_times_the_squared_step() -> None:
    plant = Quadratic(np.eye(2), wear=3.0)
    cost = plant.switching_cost(np.zeros((1, 2)), np.array([[1.0, 2.0]]))
    np.testing.assert_allclose(cost, [7.5])


def test_a_run_does_not_depend_on_the_other_runs() -> None:
    plant = Quadratic(np.eye(2))
    together, alone = plant.draw(9, [1, 2]), plant.draw(9, [2])
    np.testing.assert_array_equal(together.best[:, 1], alone.best[:, 0])
    np.testing.assert_array_equal(together.noise[:, 1], alone.noise[:, 0])
