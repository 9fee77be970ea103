"""What the calls of a controller have led to is reported once, in the round in which it is known."""

from __future__ import annotations

import logging
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, LAI, Controller, Guarded, Policy


def collect(controller: Controller, *kinds: Any) -> list[Any]:
    """Return a list to which all events of some kinds will be added."""
    events: list[Any] = []
    for kind in kinds:
        controller.on(kind, events.append)
    return events


def test_a_missed_reading_is_reported_in_the_round_in_which_that_is_known(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "soqo")
    at_once, late = Controller(FTM(), [0.0]), Controller(FTM(), [0.0], max_delay=2)
    missed, missed_late = collect(at_once, "missed"), collect(late, "missed")
    for t in range(1, 5):
        at_once.act([float(t)])
        late.act([float(t)])
        assert [event.round for event in missed] == list(range(1, t))
        assert [event.round for event in missed_late] == list(range(1, t - 2))
    at_once.observe(math.nan)
    late.observe(math.nan)  # has not arrived yet
    assert [event.round for event in missed] == [1, 2, 3, 4]
    assert [event.round for event in missed_late] == [1]
    assert at_once.diagnostics()["missed"] == 4
    assert late.diagnostics()["missed"] == 1
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert "round 3: the reading was missed" in caplog.text


def steer_through_a_change(controller: Controller, rounds: int = 120) -> None:
    """Let A change in the middle."""
    rng, v = np.random.default_rng(0), np.zeros(2)
    for t in range(rounds):
        A = np.diag([1.0, 2.0]) if t < rounds // 2 else np.diag([4.0, 0.1])
        v = v + 10.0 * rng.standard_normal(2)
        x = controller.act(v)
        controller.observe(float(0.5 * (x - v) @ A @ (x - v) + rng.uniform(-1.0, 1.0)))


@pytest.mark.parametrize("policy", [GLIDE(), Guarded(GLIDE())], ids=["GLIDE", "guarded"])
@pytest.mark.parametrize("options", [{}, {"low": -1e3, "switching_weight": [1.0, 2.0]}], ids=["plain", "wrapped"])
def test_an_alarm_is_reported_once_as_a_warning(
    policy: Policy[Any], options: Any, caplog: pytest.LogCaptureFixture
) -> None:
    controller = Controller(policy, [0.0, 0.0], **options)
    events = collect(controller, "alarm")
    steer_through_a_change(controller)
    assert len(events) == controller.diagnostics()["alarms"] > 0
    assert 61 <= events[0].round <= 66
    found = [record for record in caplog.records if "suspects a change" in record.message]
    assert {record.levelname for record in found} == {"WARNING"}


def test_the_guard_is_reported_in_each_round_and_logged_once_for_a_sequence(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "soqo")
    controller = Controller(Guarded(LAI(np.zeros((2, 2)))), [0.0, 0.0])
    events = collect(controller, "guard")
    rng, v = np.random.default_rng(0), np.zeros(2)
    for t in range(30):
        v = v + rng.standard_normal(2)
        x = controller.act(v)
        controller.observe(math.nan if 5 <= t < 15 else float(5.0 * (x - v) @ (x - v)))  # the meter is dead
    rounds = [event.round for event in events]
    assert len(rounds) == controller.diagnostics()["interventions"] > 2
    sequences = sum(number - 1 not in rounds for number in rounds)
    levels = [record.levelname for record in caplog.records if "The guard follows v" in record.message]
    assert levels.count("WARNING") == sequences < len(rounds) == len(levels)


def test_what_a_resume_replays_is_not_reported_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "journal"
    controller = Controller(Guarded(GLIDE()), [0.0, 0.0], journal=path, durability="process")
    steer_through_a_change(controller)
    controller.act([0.0, 0.0])
    crashed = tmp_path / "crashed"
    crashed.write_bytes(path.read_bytes())
    caplog.clear()
    caplog.set_level(logging.INFO, "soqo")
    resumed = Controller.resume(crashed)
    events = collect(resumed, "alarm", "guard", "missed")
    resumed.observe(math.nan)
    assert [event.kind for event in events] == ["missed"]
    assert re.search(r"crashed: resumed; \d+ calls were replayed", caplog.text)
    assert "suspects" not in caplog.text
