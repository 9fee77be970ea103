"""The rounds of one plant: which are open or closed, and readings that come late or for another round."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soqo import FTM, POL, Controller
from soqo.errors import ArgumentError, ProtocolError


def saved_bytes(controller: Controller) -> bytes:
    """Return the complete state of a controller, as a file holds it."""
    with tempfile.TemporaryDirectory() as folder:
        return controller.save(Path(folder) / "saved").read_bytes()


def minimizer(t: int, dim: int) -> Any:
    """Return the minimizer of round t."""
    return 3.0 * np.random.default_rng(t).standard_normal(dim)


def test_a_reading_with_a_round_is_used_for_that_round_only() -> None:
    controller = Controller(POL(1e-2), np.zeros(2))
    controller.act([1.0, 2.0])
    controller.observe(1.0, round=1)
    controller.act([2.0, 1.0])
    before = saved_bytes(controller)
    with pytest.raises(ProtocolError, match="reading of round 1 is late: 1 rounds are closed"):
        controller.observe(1.0, round=1)
    assert saved_bytes(controller) == before
    controller.act([3.0, 1.0])  # the reading of round 2 is missed
    with pytest.raises(ProtocolError, match="reading of round 2 is late"):
        controller.observe(1.0, round=2)
    controller.observe(1.0, round=3)
    with pytest.raises(ProtocolError, match="reading of round 3 is late"):
        controller.observe(1.0, round=3)
    assert (controller.round, controller.diagnostics()["missed"]) == (3, 1)


def test_calls_at_the_wrong_moment_are_refused() -> None:
    controller = Controller(FTM(), np.zeros(1), horizon=1)
    before = saved_bytes(controller)
    with pytest.raises(ProtocolError, match="observe was called before act"):
        controller.observe(1.0)
    assert saved_bytes(controller) == before
    controller.act([1.0])
    for _ in range(2):  # with a reading pending, and with none
        before = saved_bytes(controller)
        with pytest.raises(ProtocolError, match="act was called after the last round, horizon = 1"):
            controller.act([1.0])
        assert saved_bytes(controller) == before
        if controller.pending is not None:
            controller.observe(1.0)


def test_late_readings_are_those_of_the_policy_and_count_as_missed_once_they_cannot_come() -> None:
    controller = Controller(POL(1e-2), np.zeros(2), max_delay=2)
    policy = POL(1e-2)
    state = policy.start(np.zeros(2), max_delay=2)
    for t in range(1, 6):
        controller.act(minimizer(t, 2))
        _, state = policy.act(state, minimizer(t, 2))
    assert controller.open_rounds == (3, 4, 5)
    assert (controller.round, controller.diagnostics()["missed"]) == (2, 2)
    for number, applied in ((4, None), (3, [0.5, 0.5]), (5, [0.25, -0.5])):
        controller.observe(1.0 + number, applied, round=number)
        state = policy.observe(state, 1.0 + number, applied=applied, round=number)
        assert controller.state == state
    assert not controller.open_rounds
    assert controller.pending is None
    assert controller.round == 5
    np.testing.assert_array_equal(controller.x, [0.25, -0.5])
    before = controller.state
    for number, message in ((4, "round 4 has had its reading"), (2, "round 2 is closed")):
        with pytest.raises(ProtocolError, match=message):
            controller.observe(1.0, round=number)
    with pytest.raises(ArgumentError, match="round must have been played, got 6"):
        controller.observe(1.0, round=6)
    assert controller.state is before
