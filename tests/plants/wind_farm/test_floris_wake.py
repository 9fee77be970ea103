"""FLORIS as a wake model."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.plants import FlorisWake, WindFarm

pytest.importorskip("floris")


def test_secondary_effects_change_the_power_of_a_yawed_farm_a_little() -> None:
    places = np.array([[0.0, 0.0], [630.0, 0.0], [1260.0, 0.0]])
    wind = np.array([270.0]), np.array([8.0])
    yaw = np.array([[20.0, 15.0, 0.0]])
    with_curl = FlorisWake().power(places, *wind, yaw).sum()
    without = FlorisWake(curl=False).power(places, *wind, yaw).sum()
    assert with_curl != without
    assert with_curl == pytest.approx(without, rel=0.2)


def test_stopped_turbines_have_no_power() -> None:
    places = np.array([[0.0, 0.0], [630.0, 0.0]])
    running = np.array([[False, True]])
    power = FlorisWake().power(places, np.array([270.0]), np.array([8.0]), np.zeros((1, 2)), running=running)
    assert power[0, 0] == 0.0
    assert power[0, 1] == pytest.approx(1754.0, abs=5.0)  # as much as a turbine alone
    again = FlorisWake().power(places, np.array([270.0]), np.array([8.0]), np.zeros((1, 2)))
    assert again[0, 0] == pytest.approx(1754.0, abs=5.0)  # runs again


def test_power_is_finite_where_floris_has_no_answer() -> None:
    places = WindFarm().places
    direction = np.linspace(0.0, 355.0, 72)
    yaw = np.full((72, 9), 60.0)
    power = FlorisWake().power(places, direction, np.full(72, 9.0), yaw)
    assert np.isfinite(power).all()
    assert power.max() < 0.5 * 2518.6  # a turbine alone loses 1 - cos(60 deg)^1.88 = 73 %


def test_a_farm_with_floris_loses_nothing_at_its_reference() -> None:
    farm = WindFarm(layout=[[0.0, 0.0], [5.0, 0.0]], model=FlorisWake())
    conditions = farm.draw(3, [0])
    np.testing.assert_allclose(farm.lost(conditions[1], conditions.best[1]), 0.0, atol=1e-9)


def test_floris_wake_names_what_is_wrong() -> None:
    with pytest.raises(ArgumentError, match="curl must be True or False, got 1"):
        FlorisWake(curl=1)  # type: ignore[arg-type]  # wrong on purpose
