"""The cost of set points and its solver, against finite differences and SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from soqo.plants import DataCenter
from soqo.typing import Array

COST = DataCenter(units=3, rows=2, racks_per_row=4).cost
POWER = np.random.default_rng(0).uniform(3.0, 12.0, (6, 8))
SETS = np.random.default_rng(1).uniform(12.0, 24.0, (6, 3))


def test_cooling_power_is_heat_over_the_published_efficiency() -> None:
    x, power = SETS[0], POWER[0]
    heat = COST.room.heat @ power
    expected = sum(q / (0.0068 * t**2 + 0.0008 * t + 0.458) for q, t in zip(heat, x, strict=True))
    assert COST.cooling_power(x, power) == pytest.approx(expected)


def test_penalty_is_half_the_steepness_times_the_squared_excess_far_above_the_knee() -> None:
    x = np.full(3, 60.0)
    excess = COST.room.inlet(x, POWER[0]) - COST.warm
    expected = 0.5 * COST.steepness * np.sum(excess**2)
    assert COST.penalty(x, POWER[0]) == pytest.approx(expected, rel=1e-12)


def test_derivatives_agree_with_finite_differences() -> None:
    gradient, hessian = COST.derivatives(SETS, POWER)
    h = 1e-4
    for k in range(3):
        step = h * np.eye(3)[k]
        slope = (COST.value(SETS + step, POWER) - COST.value(SETS - step, POWER)) / (2.0 * h)
        np.testing.assert_allclose(gradient[:, k], slope, rtol=1e-6, atol=1e-7)
        bend = (COST.derivatives(SETS + step, POWER)[0] - COST.derivatives(SETS - step, POWER)[0]) / (2.0 * h)
        np.testing.assert_allclose(hessian[:, k], bend, rtol=1e-5, atol=1e-6)
    assert np.linalg.eigvalsh(hessian).min() > 0.0


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0])  # set points at the upper limit, inside, and at the lower limit
def test_minimize_finds_what_scipy_finds(scale: float) -> None:
    found = COST.minimize(scale * POWER)
    bounds = [(COST.low, COST.high)] * 3
    for x, power in zip(found, scale * POWER, strict=True):

        def value(z: Array, power: Array = power) -> float:
            return float(COST.value(z, power))

        other = minimize(value, np.full(3, 16.0), bounds=bounds, method="L-BFGS-B", tol=1e-14)
        np.testing.assert_allclose(x, other.x, atol=2e-3)
        assert COST.value(x, power) <= other.fun + 1e-9
    assert (found >= COST.low).all()
    assert (found <= COST.high).all()
