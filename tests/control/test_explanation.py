"""What a plant is doing, in words; the reports of controllers and fleets are tested with them."""

from __future__ import annotations

import soqo


def test_a_controller_and_a_fleet_say_the_same() -> None:
    """All limits are reached, and a reading was missed."""
    controller = soqo.Controller(soqo.FTM(), [0.0], low=-1.0, high=2.0, horizon=9)
    fleet = soqo.Fleet(soqo.FTM(), [[0.0]], low=-1.0, high=2.0, horizon=9)
    said = [(controller.explain(), fleet.explain(0))]
    for v in (5.0, -5.0):
        controller.act([v])
        fleet.act([[v]])
        said.append((controller.explain(), fleet.explain(0)))
    assert all(one == other for one, other in said)
    assert said[0][0].startswith("No round played yet")
    assert said[1][0].startswith("Round 1 of 9 waits for its reading")
    assert "At a limit: actuator 1 (high 2)" in said[1][0]
    assert said[2][0].endswith("At a limit: actuator 1 (low -1). 1 readings were missed so far.")
