"""The Gaussian wake model: symmetries, the published formula on the center line, and agreement with FLORIS."""

from __future__ import annotations

import math

import numpy as np
import pytest

from soqo.plants import FlorisWake, GaussianWake, Turbine
from soqo.typing import Array

SQUARE = np.array([(630.0 * k, 630.0 * j) for j in range(3) for k in range(3)])


def cases(count: int, turbines: int) -> tuple[Array, Array, Array]:
    """Random directions, speeds and yaw angles, some of them along the rows."""
    rng = np.random.default_rng(0)
    direction = rng.uniform(0.0, 360.0, count)
    direction[:8] = np.arange(8) * 45.0
    return direction, rng.uniform(4.0, 20.0, count), rng.uniform(-30.0, 30.0, (count, turbines))


def test_power_agrees_with_floris_to_round_off() -> None:
    pytest.importorskip("floris")
    direction, speed, yaw = cases(60, 9)
    ours = GaussianWake().power(SQUARE, direction, speed, yaw)
    theirs = FlorisWake(curl=False).power(SQUARE, direction, speed, yaw)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-6)


def test_power_does_not_change_if_farm_and_wind_turn_together() -> None:
    direction, speed, yaw = cases(20, 9)
    turn = np.deg2rad(30.0)  # the compass turns clockwise
    turned = SQUARE @ np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    model = GaussianWake()
    expected = model.power(SQUARE, direction, speed, yaw)
    np.testing.assert_allclose(model.power(turned, direction + 30.0, speed, yaw), expected, rtol=1e-9)


def test_power_is_mirrored_with_the_farm() -> None:
    direction, speed, yaw = cases(20, 9)
    mirrored = SQUARE * [1.0, -1.0]
    model = GaussianWake()
    expected = model.power(SQUARE, direction, speed, yaw)
    np.testing.assert_allclose(model.power(mirrored, 180.0 - direction, speed, -yaw), expected, rtol=1e-9)


def test_a_turbine_that_stands_still_has_no_power_and_no_wake() -> None:
    direction, speed, yaw = cases(20, 9)
    running = np.ones((20, 9), dtype=np.bool_)
    running[:, 4] = False
    others = np.delete(np.arange(9), 4)
    power = GaussianWake().power(SQUARE, direction, speed, yaw, running=running)
    assert (power[:, 4] == 0.0).all()
    alone = GaussianWake().power(SQUARE[others], direction, speed, yaw[:, others])
    np.testing.assert_allclose(power[:, others], alone, rtol=1e-9)


def test_flow_on_the_center_line_is_that_of_bastankhah_and_porte_agel() -> None:
    turbine = Turbine()
    model = GaussianWake(turbulence=0.08)
    distance, speed = 9.0, 8.0
    points = np.array([[distance * turbine.diameter, 0.0]])
    flow = model.flow(np.zeros((1, 2)), 270.0, speed, np.zeros(1), points)[0]
    # rotor-averaged wind: the cubic mean over three heights with the profile (z / hub)^0.12
    heights = 90.0 + np.array([-1.0, 0.0, 1.0]) * turbine.diameter / 4.0
    rotor = np.cbrt(np.mean((speed * (heights / 90.0) ** 0.12) ** 3))
    ct = float(turbine.thrust_at(np.array(rotor)))
    root = math.sqrt(1.0 - ct)
    near = (1.0 + root) / (math.sqrt(2.0) * (4.0 * 0.58 * 0.08 + 2.0 * 0.077 * (1.0 - root)))
    width = (0.38 * 0.08 + 0.004) * (distance - near) + 1.0 / math.sqrt(8.0)
    assert distance > near
    assert flow == pytest.approx(speed * math.sqrt(1.0 - ct / (8.0 * width**2)), rel=1e-12)


def test_yaw_moves_the_wake_to_the_side() -> None:
    points = np.array([[900.0, side] for side in np.linspace(-200.0, 200.0, 81)])
    model = GaussianWake()
    centers = [
        points[model.flow(np.zeros((1, 2)), 270.0, 8.0, np.array([yaw]), points).argmin(), 1]
        for yaw in (-20.0, 0.0, 20.0)
    ]
    assert centers[1] == 0.0
    assert centers[0] == -centers[2] != 0.0


def test_yaw_beyond_a_right_angle_gives_finite_power() -> None:
    power = GaussianWake().power(SQUARE, np.array([270.0]), np.array([8.0]), np.full((1, 9), 150.0))
    assert np.isfinite(power).all()
