"""A controller in words: limits that were reached, and a table for notebooks."""

from __future__ import annotations

from typing import Any

from soqo import FTM, Controller

ZONES: dict[str, Any] = {"actuators": ["zone 1", "zone 2"], "units": "degC"}


def test_explain_names_the_actuators_at_a_limit() -> None:
    controller = Controller(FTM(), [20.0, 20.0], low=16.0, high=[27.0, 22.0], rate=[2.0, 5.0], **ZONES)
    assert "At a limit" not in controller.explain()
    controller.act([21.0, 30.0])
    assert controller.explain().endswith("At a limit: zone 2 (high 22 degC).")
    controller.observe(0.0)
    controller.act([10.0, 21.0])
    assert controller.explain().endswith("At a limit: zone 1 (rate 2 degC).")


def test_the_html_representation_names_actuators_and_escapes_them() -> None:
    controller = Controller(FTM(), [20.0, 20.0], actuators=["<b>", "zone 2"], units="degC")
    controller.act([21.5, 19.0])
    found = controller._repr_html_()
    assert "<tr><th>&lt;b&gt;</th><td>21.5 degC</td><td>21.5 degC</td></tr>" in found
    assert "<b>" not in found
    assert "<th>zone 2</th><td>19 degC</td>" in found
