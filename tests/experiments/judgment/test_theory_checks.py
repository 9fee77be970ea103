"""Checks of theory: what they find is true, statement by statement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soqo.experiments import Status
from soqo.experiments.judgment import check_bound, check_theory
from soqo.theory import Bound, theorem4, theorem5

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


@pytest.mark.parametrize("bound", [theorem4, theorem5])
def test_a_bound_that_is_too_small_is_violated_by_a_random_case(bound: object) -> None:
    def smaller(*arguments: object, **options: object) -> Bound:
        found = bound(*arguments, **options)  # type: ignore[operator]
        return replace(found, terms={name: 1e-4 * value for name, value in found.terms.items()})  # type: ignore[no-any-return]

    case = check_bound(smaller, deficient=bound is theorem4)
    assert case.status is Status.FAILS


def dense_regret(A: np.ndarray, A_hat: np.ndarray, T: int) -> float:
    """The regret of LAI(A_hat) for steps of covariance I, by the recursion of gains and of second moments."""

    def gains(curvature: np.ndarray) -> list[np.ndarray]:
        found = [np.eye(len(A))]
        for _ in range(T):
            found.append(np.linalg.inv(2.0 * np.eye(len(A)) + curvature - found[-1]))
        return found[:0:-1]

    def cost(curvature: np.ndarray) -> float:
        total, moment, identity = 0.0, np.zeros_like(A), np.eye(len(A))
        for C in gains(curvature):
            moment = moment + identity  # of x - v before the step
            step = identity - C
            total += 0.5 * np.trace(A @ C @ moment @ C) + 0.5 * np.trace(step @ moment @ step)
            moment = C @ moment @ C
        return float(total)

    return cost(A_hat) - cost(A)


def test_a_turned_estimate_costs_the_square_of_its_error_and_of_the_horizon() -> None:
    def turned(angle: float) -> np.ndarray:
        q = np.array([np.cos(angle), np.sin(angle)])
        return np.outer(q, q)

    regret = [[dense_regret(turned(0.0), turned(angle), T) for angle in (1e-3, 2e-3)] for T in (100, 200)]
    assert np.log2(regret[0][1] / regret[0][0]) == pytest.approx(2.0, abs=0.02)
    assert np.log2(regret[1][0] / regret[0][0]) == pytest.approx(2.0, abs=0.05)
    for case in check_theory()["epsilon-squared"]:
        assert [number.value for number in case.numbers] == pytest.approx([2.0, 2.0], abs=0.05)
