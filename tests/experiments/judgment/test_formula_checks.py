"""Checks of formulas: a false formula would be found out."""

from __future__ import annotations

import pytest

from soqo.experiments import Status
from soqo.experiments.judgment import _formula_checks as checks
from soqo.theory import exact_regret


def test_a_wrong_formula_differs_from_the_simulation_by_standard_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    class Half:
        def __init__(self, found: object) -> None:
            self.total = 0.8 * found.total  # type: ignore[attr-defined]

    monkeypatch.setattr(checks, "exact_regret", lambda *a, **k: Half(exact_regret(*a, **k)))
    assert {case.status for case in checks.check_formula()} == {Status.FAILS}
