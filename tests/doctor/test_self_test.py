"""The self-test passes here, and fails if what it tests is broken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soqo import LAI, Controller, trace_min
from soqo._doctor import self_test


def test_everything_works_here() -> None:
    checks = self_test.run_all_checks()
    assert [check.name for check in checks] == ["simulation", "estimate", "journal"]
    assert all(check.passed for check in checks), checks


def test_a_wrong_gain_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "LAI", lambda A: LAI(1.1 * A))
    assert not self_test.check_simulation()[0]


def test_a_wrong_estimate_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted(*arguments: Any) -> Any:
        found = trace_min(*arguments)
        return replace(found, matrix=found.matrix + 1e-2 * np.eye(4))

    monkeypatch.setattr(self_test, "trace_min", shifted)
    assert not self_test.check_estimate()[0]


def test_a_resume_that_forgets_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(path: Any) -> Controller:
        resumed = Controller.resume(path)
        resumed.act([5.0, 5.0])  # one more round than there was
        return resumed

    class Forgetful(Controller):
        resume = staticmethod(forgetful)  # type: ignore[assignment]

    monkeypatch.setattr(self_test, "Controller", Forgetful)
    assert not self_test.check_journal()[0]


def test_an_exception_is_a_result() -> None:
    def broken() -> tuple[bool, str]:
        raise OSError("no space left on device")

    found = self_test.run_check("disk", broken)
    assert (found.name, found.passed, found.message) == ("disk", False, "OSError: no space left on device")
