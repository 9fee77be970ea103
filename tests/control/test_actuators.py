"""Names and units of actuators in errors and reports, and positions out of limits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, Controller, Log
from soqo.errors import ArgumentError

ZONES: dict[str, Any] = {"actuators": ["zone 1", "zone 2"], "units": "degC"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"actuators": ["a"]}, "actuators must have one entry for each of the 2 actuators, got 1"),
        ({"actuators": "ab"}, "actuators must be a list of texts, one for each actuator, got 'ab'"),
        ({"actuators": [1, 2]}, "actuators must be a list of texts"),
        ({"actuators": ["a", "a"]}, "actuators must have different names"),
        ({"units": ["degC"]}, "units must have one entry for each of the 2 actuators"),
        ({"units": 3}, "units must be a list of texts"),
        ({"v_limits": 3.0}, "v_limits must be a lowest and a highest value, got 3.0"),
        ({"v_limits": (1.0, 1.0)}, "v_limits must be increasing"),
        ({"v_limits": (math.nan, 1.0)}, "v_limits must be increasing"),
        (
            {"v_limits": (0.0, [1.0, 1.0, 1.0])},
            r"v_limits must be numbers or vectors of shape \(2,\), got shape \(3,\)",
        ),
        ({"low": [21.0, 15.0]}, "x0 must be within low and high, got 20 for actuator 1, which has 21 to inf"),
        ({"high": 19.0, **ZONES}, "x0 must be within low and high, got 20 degC for zone 1, which has -inf degC to 19"),
    ],
)
def test_an_invalid_setting_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Controller(FTM(), [20.0, 18.0], **settings)


@pytest.mark.parametrize(
    ("v", "forecast", "message"),
    [
        ([20.0, -999.0], None, "v must be within v_limits, got -999 degC for zone 2, which has 5 degC to 40 degC"),
        ([20.0, math.nan], None, "v must be finite, got nan for zone 2 at"),
        ([math.inf, 20.0], None, "v must be finite, got inf for zone 1 at"),
        ([20.0, 20.0], [[20.0, 20.0], [55.0, 20.0]], "forecast must be within v_limits, got 55 degC for zone 1"),
    ],
)
def test_an_implausible_minimizer_is_refused_by_name_and_changes_nothing(
    v: Any, forecast: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "journal"
    controller = Controller(GLIDE(), [20.0, 20.0], v_limits=([10.0, 5.0], 40.0), journal=path, **ZONES)
    controller.act([21.0, 19.0])
    state, written = controller.state, path.read_bytes()
    with pytest.raises(ArgumentError, match=message):
        controller.act(v, forecast)
    assert controller.state is state
    assert path.read_bytes() == written
    controller.observe(0.5)
    assert controller.round == 1


def test_units_may_differ_between_actuators() -> None:
    controller = Controller(FTM(), [20.0, 0.5], v_limits=(0.0, [40.0, 1.0]), units=["degC", "kW"])
    with pytest.raises(ArgumentError, match="got 2 kW for actuator 2, which has 0 kW to 1 kW"):
        controller.act([20.0, 2.0])


def test_names_and_units_are_in_files(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Controller(FTM(), [20.0, 20.0], v_limits=(10.0, 30.0), journal=path, **ZONES) as controller:
        controller.act([21.0, 19.0])
        saved = controller.save(tmp_path / "saved")
    log = Log.read(path)
    assert (log.actuators, log.units) == (("zone 1", "zone 2"), "degC")
    for again in (Controller.resume(path), Controller.load(saved)):
        with pytest.raises(ArgumentError, match="got 31 degC for zone 1"):
            again.act([31.0, 19.0])
    np.testing.assert_array_equal(log.v, [[21.0, 19.0]])
