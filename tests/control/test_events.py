"""Callbacks and the logger ``soqo``: what is reported, when, and that a failing callback harms nothing."""

from __future__ import annotations

import copy
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, GLIDE, Controller
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


def test_snapshots_are_logged_for_debugging(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "soqo")
    with Controller(FTM(), [0.0], journal=tmp_path / "j", snapshot_every=2) as controller:
        for t in range(4):
            controller.act([float(t)])
            controller.observe(0.0)
    found = [record.message for record in caplog.records if record.levelname == "DEBUG"]
    assert found == ["j: a snapshot was written"] * 2


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
