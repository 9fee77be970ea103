"""Checks of theory: what they find is true, and a false statement would be found out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soqo.experiments import Status
from soqo.experiments.judgment import _theory_checks as checks
from soqo.experiments.judgment import check_theory
from soqo.theory import Bound, exact_regret, theorem4, theorem5


def test_every_statement_that_is_proved_elsewhere_holds() -> None:
    for name, cases in check_theory().items():
        assert cases, name
        if not name.startswith("theorem3"):
            assert {case.status for case in cases} == {Status.HOLDS}, name


@pytest.mark.parametrize("gamma2", ["algorithm", "appendix", "guarantee"])
def test_theorem_3_fails_on_the_null_space_only(gamma2: str) -> None:
    """Errata 4 and 13: the printed bound takes C_t to be below 1 on the null space of A, and has no jump."""
    for radius in ("cap", "exact", "residual"):
        found = {case.setting: case.status for case in check_theory()[f"theorem3/{gamma2}/{radius}"]}
        assert found["gaussian_r1_1"] is Status.FAILS
        if radius != "cap":
            assert found["gaussian_r4_1"] is Status.HOLDS


@pytest.mark.parametrize("bound", [theorem4, theorem5])
def test_a_bound_that_is_too_small_is_violated_by_a_random_case(bound: object) -> None:
    def smaller(*arguments: object, **options: object) -> Bound:
        found = bound(*arguments, **options)  # type: ignore[operator]
        return replace(found, terms={name: 1e-4 * value for name, value in found.terms.items()})  # type: ignore[no-any-return]

    case = checks._check_bound(smaller, deficient=bound is theorem4)
    assert case.status is Status.FAILS


def test_orders_are_measured_by_exponents() -> None:
    T = np.array(checks._LONG, dtype=float)
    same = checks._check_balance(1, 1.0, 3.0 * T ** (2 / 3), 100.0 * T ** (2 / 3))
    assert same.status is Status.HOLDS
    assert same.numbers[0].value == pytest.approx(2 / 3)
    assert checks._check_balance(1, 1.0, T ** (2 / 3), T**0.5).status is Status.FAILS
    assert checks._check_orders(1, 1.0, T ** (2 / 3), T**0.5).status is Status.HOLDS
    assert checks._check_orders(4, 1.0, T ** (2 / 3), T**0.5).status is Status.FAILS


def test_a_wrong_formula_differs_from_the_simulation_by_standard_errors(monkeypatch: pytest.MonkeyPatch) -> None:

    class Half:
        def __init__(self, found: object) -> None:
            self.total = 0.8 * found.total  # type: ignore[attr-defined]

    monkeypatch.setattr(checks, "exact_regret", lambda *a, **k: Half(exact_regret(*a, **k)))
    assert {case.status for case in checks._check_formula()} == {Status.FAILS}
