"""Angles: a policy that is told everything modulo the period plays as one that is told everything unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, POL, Limited, Periodic, Policy, Weighted
from soqo.errors import ArgumentError
from soqo.policies import match_switching_weight

A = np.array([[2.0, 0.3], [0.3, 1.0]])
POLICIES: dict[str, Policy[Any]] = {
    "LAI": LAI(A),
    "POL": POL(1e-3),
    "GLIDE": GLIDE(),
    "Weighted": Weighted(GLIDE(), 2.0),
}


def steer(policy: Any, modulo: float | None, *, late: int = 0) -> Any:
    """Return the actions; with a period, minimizers, forecasts and applied actions are given modulo it."""
    rng = np.random.default_rng(0)

    def told(angle: Any) -> Any:
        return angle if modulo is None else np.mod(angle, modulo)

    v, state, actions, open_readings = np.array([350.0, 5.0]), policy.start([350.0, 5.0], max_delay=late), [], []
    for t in range(60):
        v = v + 20.0 * rng.standard_normal(2)
        forecast = v + 5.0 * rng.standard_normal((2, 2))
        x, state = policy.act(state, told(v), forecast=told(forecast))
        applied = x + 0.1 * rng.standard_normal(2)
        actions.append(x)
        u = applied - v
        y = 0.5 * u @ A @ u + rng.uniform(-1.0, 1.0)
        open_readings.append((t + 1, y, applied))
        if not late:
            state = policy.observe(state, y, applied=told(applied))
        elif t >= late:
            number, y, _ = open_readings[t - late]
            state = policy.observe(state, y, round=number)
    return np.array(actions)


@pytest.mark.parametrize("name", POLICIES)
def test_what_is_told_modulo_the_period_is_unrolled(name: str) -> None:
    policy = POLICIES[name]
    unrolled = steer(policy, None)
    assert np.abs(unrolled).max() > 360.0  # the walk leaves the circle
    np.testing.assert_allclose(steer(Periodic(policy, 360.0), 360.0), unrolled, rtol=0, atol=1e-7)


def test_a_largest_step_begins_where_the_plant_is_reported_modulo_the_period() -> None:
    limits: dict[str, Any] = {"rate": 15.0, "high": 400.0}
    unrolled = steer(Limited(GLIDE(), **limits), None)
    found = steer(Limited(Periodic(GLIDE(), 360.0), **limits), 360.0)
    np.testing.assert_allclose(found, unrolled, rtol=0, atol=1e-7)


def test_late_readings_belong_to_the_same_turn() -> None:
    np.testing.assert_allclose(
        steer(Periodic(GLIDE(), 360.0), 360.0, late=3), steer(GLIDE(), None, late=3), rtol=0, atol=1e-7
    )


def test_an_actuator_with_an_infinite_period_is_not_periodic() -> None:
    policy = Periodic(FTM(), [360.0, np.inf])
    x, _ = policy.act(policy.start([350.0, 350.0]), [10.0, 10.0])
    np.testing.assert_array_equal(x, [370.0, 10.0])


def test_a_reading_felt_elsewhere_is_taken_to_the_nearest_turn() -> None:
    cases: list[tuple[Any, float]] = [(GLIDE(), 0.0), (Periodic(GLIDE(), 360.0), 720.0)]
    states = []
    for policy, turn in cases:
        state = policy.start([350.0])
        for v in (350.0, 365.0, 340.0):
            _, state = policy.act(state, [v])
            state = policy.observe(state, 3.0, at=[v + 2.0 + turn])
        states.append(policy.diagnostics(state)["estimate"])
    np.testing.assert_allclose(states[1], states[0], rtol=1e-9)


def test_a_switching_weight_goes_inside() -> None:
    policy = match_switching_weight(Limited(Periodic(FTM(), 360.0), rate=5.0), 2.0)
    assert policy == Limited(Periodic(Weighted(FTM(), 2.0), 360.0), rate=5.0)


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan, [[360.0]]])
def test_a_period_that_is_none_is_refused(period: Any) -> None:
    with pytest.raises(ArgumentError, match="period must"):
        Periodic(FTM(), period)


def test_a_period_for_other_actuators_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"period must have shape \(3,\), got \(2,\)"):
        Periodic(FTM(), [360.0, 360.0]).start(np.zeros(3))
