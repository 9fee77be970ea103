"""Callbacks and the logger ``soqo``: what is reported, when, and that a failing callback harms nothing."""

from __future__ import annotations

import copy
import logging
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, Controller, Guarded, Policy
from soqo.errors import ArgumentError, CallbackWarning


def collect(controller: Controller, *kinds: Any) -> list[Any]:
    """Return a list to which all events of some kinds will be added."""
    events: list[Any] = []
    for kind in kinds:
        controller.on(kind, events.append)
    return events


def test_actions_and_readings_are_reported_with_their_values() -> None:
    controller = Controller(FTM(), [0.0, 0.0], max_delay=1)
    events = collect(controller, "act", "observe")
    controller.act([1.0, 2.0])
    controller.act([3.0, 4.0])
    controller.observe(0.5, applied=[1.5, 2.5], round=1)
    assert [(event.kind, event.round, event.y) for event in events] == [
        ("act", 1, None),
        ("act", 2, None),
        ("observe", 1, 0.5),
    ]
    np.testing.assert_array_equal(events[1].v, [3.0, 4.0])
    np.testing.assert_array_equal(events[1].x, [3.0, 4.0])
    np.testing.assert_array_equal(events[2].x, [1.5, 2.5])
    events[1].x[:] = 99.0  # the array of the event is a copy
    np.testing.assert_array_equal(controller.x, [3.0, 4.0])


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
    assert 61 <= events[0].round <= 64
    found = [record for record in caplog.records if "suspects a change" in record.message]
    assert {record.levelname for record in found} == {"WARNING"}


def test_the_guard_is_reported_in_each_round_and_logged_once_for_a_sequence(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "soqo")
    controller = Controller(Guarded(GLIDE(), ratio=1.1), [0.0, 0.0])
    events = collect(controller, "guard")
    rng, v = np.random.default_rng(0), np.zeros(2)
    for t in range(30):
        v = v + rng.standard_normal(2)
        x = controller.act(v)
        controller.observe(math.nan if 5 <= t < 15 else float(0.5 * (x - v) @ (x - v)))  # the meter is dead
    rounds = [event.round for event in events]
    assert len(rounds) == controller.diagnostics()["interventions"] > 2
    sequences = sum(number - 1 not in rounds for number in rounds)
    levels = [record.levelname for record in caplog.records if "The guard follows v" in record.message]
    assert levels.count("WARNING") == sequences < len(rounds) == len(levels)


def test_a_callback_that_raises_is_reported_and_harms_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "journal"
    controller = Controller(GLIDE(), [0.0], journal=path)
    after: list[int] = []

    def fail(_: Any) -> None:
        raise RuntimeError("no connection")

    for kind in ("act", "observe", "missed"):
        controller.on(kind, fail)
        controller.on(kind, lambda event: after.append(event.round))
    message = "the callback .*fail raised RuntimeError.'no connection'. for 'act' in round 1; the call .* took effect"
    with pytest.warns(CallbackWarning, match=message):
        x = controller.act([2.0])
    np.testing.assert_array_equal(controller.pending, x)
    with pytest.warns(CallbackWarning, match="for 'observe' in round 1"):
        controller.observe(0.5)
    assert after == [1, 1]
    assert "Traceback" in caplog.text
    controller.close()
    assert Controller.resume(path).state == controller.state


def test_a_callback_may_call_the_controller() -> None:
    controller = Controller(FTM(), [0.0])
    controller.on("act", lambda _: controller.observe(0.25))
    for t in range(3):
        controller.act([float(t)])
    assert (controller.round, controller.pending) == (3, None)


def test_an_unknown_event_or_function_is_refused() -> None:
    controller = Controller(FTM(), [0.0])
    with pytest.raises(ArgumentError, match="event must be one of 'act', 'observe', 'alarm', 'guard', 'missed'"):
        controller.on("explosion", print)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="function must be callable, got int"):
        controller.on("act", 3)  # type: ignore[type-var]


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
    assert "crashed: resumed after round 121; 241 calls were replayed" in caplog.text
    assert "suspects" not in caplog.text


def test_snapshots_are_logged_for_debugging(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "soqo")
    with Controller(FTM(), [0.0], journal=tmp_path / "j", snapshot_every=2) as controller:
        for t in range(4):
            controller.act([float(t)])
            controller.observe(0.0)
    found = [record.message for record in caplog.records if record.levelname == "DEBUG"]
    assert found == ["j: a snapshot after round 2", "j: a snapshot after round 4"]


def test_the_logger_is_quiet_unless_a_program_configures_logging() -> None:
    code = "import soqo; c = soqo.Controller(soqo.FTM(), [0.0]); [c.act([1.0]) for _ in range(3)]"
    alarm = "; import logging; logging.getLogger('soqo').warning('heard')"
    done = subprocess.run([sys.executable, "-c", code + alarm], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def test_a_controller_without_a_journal_can_be_copied(tmp_path: Path) -> None:
    controller = Controller(GLIDE(), [0.0])
    controller.act([1.0])
    other = copy.deepcopy(controller)
    other.observe(0.5)
    assert (controller.round, other.round) == (0, 1)
    with (
        Controller(GLIDE(), [0.0], journal=tmp_path / "journal") as journalled,
        pytest.raises(RuntimeError, match="a controller with a journal cannot be copied"),
    ):
        copy.copy(journalled)
