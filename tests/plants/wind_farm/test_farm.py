"""The wind farm: its reference, its readings, and its disturbances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.plants import GaussianWake, WindFarm

PAIR = np.array([[0.0, 0.0], [5.0, 0.0]])


def test_cost_is_the_power_lost_against_the_table() -> None:
    farm = WindFarm(layout=PAIR)
    now = farm.draw(30, [0, 1])[12]
    x = now.best + np.array([[6.0, -4.0], [0.0, 9.0]])
    nodes = np.array([-8.0, -4.0, 0.0, 4.0, 8.0])
    weights = np.exp(-0.5 * (nodes / 5.0) ** 2)
    weights /= weights.sum()
    expected = np.zeros(2)
    for run in range(2):
        for node, weight in zip(nodes, weights, strict=True):
            wind = np.array([now.physics["direction"][run] + node]), np.array([now.physics["speed"][run]])
            for sign, heading in ((1.0, now.best[run]), (-1.0, x[run])):
                yaw = wind[0][:, None] - heading
                expected[run] += sign * weight * GaussianWake().power(farm.places, *wind, yaw).sum()
    np.testing.assert_allclose(farm.lost(now, x), expected, rtol=1e-9, atol=1e-9)


def test_reading_compares_the_meter_with_a_model_that_is_off() -> None:
    farm = WindFarm(layout=PAIR, noise=0.02, offset=0.05)
    now = farm.draw(5, [0])[2]
    reference, lost = now.physics["reference"], np.array([30.0])
    expected = 1.05 * reference - (reference - lost) * (1.0 + 0.02 * now.noise)
    np.testing.assert_allclose(farm.read(now, lost), expected)


def test_cost_is_nearly_quadratic_around_v_and_follows_the_factor() -> None:
    farm = WindFarm()
    conditions = farm.draw(300, [0])
    u = np.full(9, 6.0)
    rows = conditions[np.arange(300), 0]
    both = 0.5 * (farm.lost(rows, rows.best + u) + farm.lost(rows, rows.best - u))
    assert rows.factor is not None
    # How far wakes matter depends on the direction; the mean over directions follows the factor.
    groups = np.array_split(np.argsort(rows.factor), 6)
    means = [(both[part].mean(), rows.factor[part].mean()) for part in groups]
    assert np.corrcoef(np.transpose(means))[0, 1] > 0.98
    assert rows.factor.mean() == pytest.approx(1.0)


def test_outages_have_the_stated_share_and_stop_turbines() -> None:
    farm = WindFarm(layout=PAIR, unavailability=0.05)
    conditions = farm.draw(6000, [0, 1])
    active = conditions.active
    assert active is not None
    # 24,000 turbine rounds in outages of 24 rounds: a thousand effective draws.
    assert 1.0 - active.mean() == pytest.approx(0.05, abs=4.0 * np.sqrt(0.05 * 0.95 / 1000.0))
    t, run = np.argwhere(~active[:, :, 0] & active[:, :, 1])[0]
    now = conditions[t]
    moved = farm.move(now, now.best, now.best + 3.0)
    np.testing.assert_allclose(moved[run] - now.best[run], [0.0, 3.0])


def test_missing_and_calm_rounds_have_no_reading() -> None:
    farm = WindFarm(layout=PAIR, missing=0.2)
    noise = farm.draw(2000, [0]).noise
    assert np.isnan(noise).mean() == pytest.approx(0.2, abs=0.04)
    calm = WindFarm(layout=PAIR, constant_speed=3.0).draw(5, [0])
    assert np.isnan(farm.read(calm[0], np.zeros(1))).all()


def test_vane_bias_is_the_same_in_all_rounds_and_compass_stays_below_360() -> None:
    farm = WindFarm(layout=PAIR, vane_bias=4.0, compass=False)
    conditions = farm.draw(50, [0])
    bias = conditions.told - conditions.best
    np.testing.assert_allclose(bias, np.broadcast_to(bias[:1], bias.shape), atol=1e-9)
    assert np.abs(bias[0]).max() > 0.1
    compass = WindFarm(layout=PAIR).draw(500, [0]).told
    assert compass.min() >= 0.0
    assert compass.max() < 360.0


def test_delays_are_within_their_bounds() -> None:
    delay = WindFarm(layout=PAIR, delays=(1, 6)).draw(400, [0]).delay
    assert delay is not None
    assert set(np.unique(delay)) == {1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layout": [1.0]}, r"layout must have shape \(d, 2\)"),
        ({"model": 3}, "model must have a method power, got int"),
        ({"wind": 3}, "wind must be a Wind, got int"),
        ({"wear": 0.0}, "wear must be a finite number above 0"),
        ({"missing": 1.0}, "missing must be a finite number"),
        ({"delays": (3, 1)}, "delays must be an integer of at least 3"),
        ({"constant_speed": -1.0}, "constant_speed must be"),
    ],
)
def test_farm_names_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        WindFarm(**arguments)


def test_describe_says_what_the_farm_does() -> None:
    farm = WindFarm(layout=PAIR)
    text = farm.describe(farm.draw(20, [0]))
    assert text.startswith("2 turbines of the NREL 5 MW type")
    assert "1.5 % noise" in text
    assert farm.title == "A wind farm with 2 turbines"
