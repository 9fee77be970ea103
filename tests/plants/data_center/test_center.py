"""The data center: v is the minimizer, readings have a base load, and limits count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.plants import DataCenter


def test_every_other_position_costs_more_than_v() -> None:
    center = DataCenter()
    conditions = center.draw(50, [0, 1])
    rng = np.random.default_rng(0)
    for t in (0, 20, 49):
        x = np.clip(conditions.best[t] + rng.standard_normal((10, 2, 6)), center.low, center.high)
        assert center.lost(conditions[t], x).min() > 0.0
    np.testing.assert_allclose(center.lost(conditions[3], conditions.best[3]), 0.0, atol=1e-9)


def test_reading_contains_a_base_load_that_swings_over_the_day() -> None:
    center = DataCenter(base_swing=6.0, noise=0.0)
    conditions = center.draw(288 * 4, [0])
    base = np.array([center.read(conditions[t], np.zeros(1))[0] for t in range(288 * 4)])
    by_time = base.reshape(4, 288).mean(axis=0)
    assert by_time.max() - by_time.min() == pytest.approx(12.0, abs=3.0)


def test_set_points_stay_within_their_limits() -> None:
    center = DataCenter()
    now = center.draw(2, [0])[0]
    moved = center.move(now, now.best, now.best + 50.0)
    assert (moved == center.high).all()


def test_violations_are_the_share_of_racks_above_the_limit() -> None:
    center = DataCenter()
    now = center.draw(2, [0])[0]
    x = now.best + 4.0
    inlet = center.room.inlet(x[0], now.physics["power"][0])
    assert 0.0 < np.mean(inlet > 27.0) == center.violations(now, x)[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": 0}, "units must be a positive integer, got 0"),
        ({"low": 2.0}, "low must be a finite number at least 5"),
        ({"high": 6.0}, "high must be a finite number above 8"),
        ({"load": 3}, "load must be a Load, got int"),
        ({"noise": -1.0}, "noise must be"),
    ],
)
def test_center_names_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        DataCenter(**arguments)


def test_describe_says_what_the_center_does() -> None:
    center = DataCenter()
    assert "swing by 6 kW" in center.describe(center.draw(20, [0]))
