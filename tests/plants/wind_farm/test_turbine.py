"""The turbine: its curves, and the curvature that a turbine alone contributes."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.plants import GaussianWake, Turbine


def test_turbine_reaches_its_rated_power_and_stops_in_a_storm() -> None:
    power = Turbine().power_at(np.array([0.0, 2.0, 11.4, 24.0, 26.0, 80.0]))
    np.testing.assert_allclose(power, [0.0, 0.0, 5000.0, 5000.0, 0.0, 0.0])


def test_thrust_stays_between_zero_and_one() -> None:
    thrust = Turbine().thrust_at(np.linspace(0.0, 60.0, 200))
    assert thrust.min() > 0.0
    assert thrust.max() < 1.0


def test_curvature_is_the_second_difference_of_the_power_of_a_turbine_alone() -> None:
    turbine, model = Turbine(), GaussianWake(shear=0.0)
    speeds = np.random.default_rng(0).normal(9.0, 1.0, 20_000)  # the curve is smoothed over 1 m/s
    angle = 4.0

    def mean_power(yaw: float) -> float:
        rows = np.full((len(speeds), 1), yaw)
        return float(model.power(np.zeros((1, 2)), np.full(len(speeds), 270.0), speeds, rows).mean())

    second = (2.0 * mean_power(0.0) - mean_power(angle) - mean_power(-angle)) / angle**2
    # the curve takes 9 m/s out of the mean: P' is nearly linear here, so that speed P' is off by P'' / P' per (m/s)^2
    assert turbine.curvature_at(np.array(9.0)) == pytest.approx(second, rel=0.06)


def test_curvature_vanishes_above_rated_wind() -> None:
    assert Turbine().curvature_at(np.array(18.0)) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"speeds": [1.0, 0.0]}, "speeds must be at least two increasing numbers"),
        ({"power": [1.0]}, r"power must have shape \(54,\)"),
        ({"diameter": -1.0}, "diameter must be a finite number above 0"),
    ],
)
def test_turbine_names_what_is_wrong(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Turbine(**arguments)  # type: ignore[arg-type]  # some are wrong on purpose
