"""Checks of the fundamental trade-off: a player that probes is not blind."""

from __future__ import annotations

import numpy as np
import pytest

from soqo.experiments import Status
from soqo.experiments.judgment import _tradeoff_checks as checks


def test_a_player_that_leaves_the_line_to_v_is_not_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.check_blindness().status is Status.HOLDS

    class Probing:
        def __init__(self, A: np.ndarray, _: int) -> None:
            self.dim = len(A)

        def step(self, _t: int, _x: np.ndarray, v: np.ndarray) -> np.ndarray:
            return v + np.ones(self.dim)

    monkeypatch.setattr(checks, "Plan", Probing)
    case = checks.check_blindness()
    assert case.status is Status.FAILS
    assert case.numbers[0].value == 0.0
