"""Checks of theory: what they find is true, statement by statement."""

from __future__ import annotations

import pytest

from soqo.experiments import Status
from soqo.experiments.judgment import check_theory

REFUTED = ("theorem3", "tight-full-rank")


def test_every_statement_that_is_proved_elsewhere_holds() -> None:
    for name, cases in check_theory().items():
        assert cases, name
        if not name.startswith(REFUTED):
            assert {case.status for case in cases} == {Status.HOLDS}, name


def test_a_third_power_of_the_horizon_refutes_that_one_half_is_tight() -> None:
    """By the proof in docs/explanation/theory.md, epsilon^2 T + 1/epsilon is smallest at epsilon of order T^(-1/3)."""
    for case in check_theory()["tight-full-rank"]:
        assert case.status is Status.FAILS
        assert case.numbers[0].value == pytest.approx(1.0 / 3.0, abs=1e-3)
    for case in check_theory()["scale-order"]:
        assert case.numbers[0].value == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("gamma2", ["algorithm", "appendix", "guarantee"])
def test_theorem_3_holds_if_sigma_min_is_zero_where_r_is_below_d_and_there_is_no_jump(gamma2: str) -> None:
    """Errata 4 and 13: with sigma_r, C_t would be below 1 on the null space; a virtual handover adds a jump."""
    for radius in ("cap", "exact", "residual"):
        smallest, printed = (
            {case.setting: case.status for case in check_theory()[f"{claim}/{gamma2}/{radius}"]}
            for claim in ("theorem3", "theorem3-sigma-r")
        )
        assert printed["gaussian_r1_1"] is Status.FAILS
        if radius == "cap":
            assert smallest["gaussian_r1_1"] is Status.FAILS
        else:
            assert set(smallest.values()) == {Status.HOLDS}
            assert printed["gaussian_r4_1"] is Status.HOLDS
