"""Every bound against exact regret in 20,000 cases: the corrected ones hold, and their parts hold one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import Case, random_cases

from soqo.errors import ArgumentError
from soqo.theory import (
    bounds,
    corollary1,
    exact_regret,
    exact_scale_regret,
    exploitation_bound,
    second_order_bound,
    theorem1,
    theorem2,
    theorem3,
    theorem4,
    theorem5,
)
from soqo.theory._exploitation import exploiting
from soqo.theory._explore_exploit import Schedule
from soqo.theory._facts import Facts

CASES = 20_000
LONGEST = 10_000
FULL, DEFICIENT = np.diag([1.0, 2.0]), np.diag([1.0, 0.0])


def test_bounds_on_exploitation_are_never_violated() -> None:
    """Theorems 4 and 5 corrected, part by part, and as the paper has them; the bound of second order."""
    checked = {True: 0, False: 0}
    for case in random_cases(CASES, seed=2, longest=LONGEST):
        error = case.operator
        if error >= case.smallest:
            continue
        found = exact_regret(case.A, case.A_hat, case.covariance, case.horizon)
        facts = Facts.of(case.A, case.covariance)
        bound = exploiting(facts, error, case.horizon, "corrected")
        slack = 1e-9 * bound.value
        assert found.value <= bound.terms["value"] + slack, case
        assert found.basis <= bound.terms["basis"] + slack, case
        assert found.total <= bound.value + slack, case
        if case.full_rank:
            second = second_order_bound(case.A, case.covariance, error, case.horizon)
            assert found.total <= second.value + slack, case
        checked[case.full_rank] += 1
        if case.nuclear < case.smallest:
            for variant in ("as_printed", "appendix"):
                printed = exploiting(facts, case.nuclear, case.horizon, variant)
                assert found.total <= printed.value, case
    assert sum(checked.values()) > 0.97 * CASES
    assert min(checked.values()) > 0.45 * CASES


def test_corrected_bounds_on_scale_are_never_violated() -> None:
    """Theorem 3 for any probing, and Corollary 1 and Theorem 1 wherever the error is what their schedule promises."""
    rng = np.random.default_rng(3)
    promised = 0
    for case in random_cases(CASES // 10, seed=4, longest=LONGEST):
        if case.operator >= case.smallest:
            continue
        facts = Facts.of(case.A, case.covariance)
        noise, c1 = 10.0 ** rng.uniform(-2, 2), rng.uniform(0.5, 4.0)
        m = math.ceil(c1 * facts.rank * facts.dim)
        horizon = case.horizon + m + 1
        gamma2 = 10.0 ** rng.uniform(-2, 3)
        found = exact_scale_regret(case.A, case.A_hat, case.covariance, horizon, m, gamma2)
        whole = theorem3(case.A, case.covariance, m, gamma2, found.exploitation.total)
        assert found.irreducible <= whole.terms["irreducible"] * (1 + 1e-12), case
        assert found.data_collection + found.handover <= whole.terms["data collection"], case
        assert found.total <= whole.value, case
        plan = Schedule.of(facts, horizon, noise, c1)
        A_hat = shrunk(case, plan.epsilon)
        found = exact_scale_regret(case.A, A_hat, case.covariance, horizon, plan.m, plan.gamma2)
        corollary = corollary1(case.A, case.covariance, horizon, noise, c1)
        assert found.total <= corollary.value * (1 + 1e-9), case
        row = bounds(case.A, case.covariance, horizon, noise, c1=c1).value("Theorem 3")
        assert found.total <= row * (1 + 1e-9), case
        assert corollary.value <= theorem1(case.A, case.covariance, horizon, noise, c1).value * (1 + 1e-12), case
        promised += 1
    assert promised > 0.9 * CASES // 10


def shrunk(case: Case, epsilon: float) -> Any:
    """An estimate on the way to the case's own, with an error in the nuclear norm of epsilon or less."""
    share = min(1.0, epsilon / case.nuclear)
    return case.A + share * (case.A_hat - case.A)


@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.1, 0.01])
def test_the_lower_bound_is_attained_and_no_schedule_of_gains_gets_below_it(epsilon: float) -> None:
    """E|u|^2 follows its recursion; every sequence of errors in [epsilon/2, epsilon] costs at least that."""
    T, rng = 400, np.random.default_rng(0)

    def regret(errors: Any) -> float:
        total, second = 0.0, 0.0
        for e in errors:
            second += 1.0
            total += 0.5 * e * e * second
            second *= (1.0 - e) ** 2
        return total

    least = theorem2(epsilon, T).value
    assert regret(np.full(T, epsilon / 2)) == pytest.approx(least, rel=1e-12)
    schedules = [rng.uniform(epsilon / 2, epsilon, T) for _ in range(200)]
    schedules += [np.where(np.arange(T) < k, epsilon / 2, epsilon) for k in range(0, T, 20)]
    schedules += [np.where(np.arange(T) < k, epsilon, epsilon / 2) for k in range(0, T, 20)]
    assert min(regret(errors) for errors in schedules) >= least * (1 - 1e-12)


def test_bounds_grow_as_they_should() -> None:
    """alpha_1 (T-m)^(2/3) and beta_1 (T-m)^(1/2), and Theorem 4 with T^2 epsilon^2 beside T sqrt(epsilon)."""
    for A, power in ((FULL, 0.5), (DEFICIENT, 2 / 3)):
        for variant in ("corrected", "appendix", "as_printed"):
            near, far = (theorem1(A, 1.0, T, 1.0, variant=variant).terms["growing"] for T in (10**6, 8 * 10**6))
            assert math.log(far / near) / math.log(8.0) == pytest.approx(power, abs=1e-4)
    small, large = (theorem4(DEFICIENT, 1.0, 1e-3, T).terms["basis"] for T in (10**7, 10**8))
    assert large / small == pytest.approx(100.0, rel=1e-3)


@pytest.mark.parametrize("A", [FULL, DEFICIENT])
def test_side_by_side_is_each_bound(A: Any) -> None:
    table = bounds(A, 2.0, horizon=500, noise_cap=0.5, c1=2.0)
    assert len(table) == len(list(table)) == 16
    for variant in ("corrected", "as_printed", "appendix"):
        plan = table.schedules[variant]
        later = exploitation_bound(A, 2.0, plan.epsilon, plan.rounds, variant)
        assert table.value(later.statement, variant) == later.value
        whole = theorem3(A, 2.0, plan.m, plan.gamma2, later.value, variant).value
        if variant == "corrected":  # and the start, gamma z away from v
            whole += corollary1(A, 2.0, 500, 0.5, 2.0).terms["start"]
        assert table.value("Theorem 3", variant) == pytest.approx(whole)
        assert table.value("Theorem 1", variant) == theorem1(A, 2.0, 500, 0.5, 2.0, variant).value
        if variant != "as_printed":  # of which the main text has orders only
            expected = corollary1(A, 2.0, 500, 0.5, 2.0, variant).value
            assert table.value("Corollary 1", variant) == expected
        assert table.value("Theorem 2", variant) == pytest.approx(
            theorem2(plan.epsilon, plan.rounds, 4.0, variant).value
        )
    assert "orders only" in str(table)
    assert "lower bound, for A = 0" in str(table)
    deficient = table.value("Second order")
    assert math.isnan(deficient) == (A is DEFICIENT)


def test_side_by_side_says_why_a_bound_does_not_apply() -> None:
    table = bounds(FULL, 1.0, horizon=500, noise_cap=0.5, epsilon=3.0)
    assert math.isnan(table.value("Theorem 5"))
    assert "below A's smallest nonzero eigenvalue 1" in str(table)
    with pytest.raises(ArgumentError, match=r"statement must be one of Corollary 1, .* got 'Theorem 6'"):
        table.value("Theorem 6")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: theorem5(DEFICIENT, 1.0, 0.1, 9),
            "A must have full rank 2 for Theorem 5, got rank 1",
        ),
        (lambda: second_order_bound(DEFICIENT, 1.0, 0.1, 9), "A must have full rank 2"),
        (
            lambda: theorem4(FULL, 1.0, 0.1, 9),
            "A must be rank-deficient for Theorem 4, got full rank 2",
        ),
        (
            lambda: theorem5(FULL, 1.0, 1.0, 9),
            "epsilon must be .* smallest nonzero eigenvalue 1, got 1",
        ),
        (lambda: theorem5(FULL, 1.0, -0.1, 9), "epsilon must be at least 0"),
        (lambda: theorem5(FULL, 1.0, 0.1, 0), "horizon must be a positive integer"),
        (
            lambda: theorem5(FULL, 1.0, 0.1, 9, "mine"),
            "variant must be one of 'corrected', 'as_printed'",
        ),
        (lambda: theorem5(FULL, np.ones(9), 0.1, 9), "covariance must be a number"),
        (lambda: theorem5(np.zeros((2, 2)), 1.0, 0.1, 9), "A must not be zero"),
        (lambda: theorem5(np.stack([FULL, FULL]), 1.0, 0.1, 9), r"A must have shape \(d, d\) here"),
        (lambda: theorem3(FULL, 1.0, 0, 1.0, 0.0), "m must be a positive integer"),
        (
            lambda: corollary1(FULL, 1.0, 12, 1.0),
            "horizon must be above the 12 rounds of probing, got 12",
        ),
        (lambda: corollary1(FULL, 1.0, 99, 0.0), "noise_cap must be a finite number above 0"),
        (
            lambda: theorem1(FULL, 1.0, 99, 1.0, constant=0.0),
            "constant must be a finite number above 0",
        ),
        (lambda: theorem2(0.0, 9), "epsilon must be a finite number above 0 and at most 1"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_the_start_is_in_every_corrected_bound_on_all_rounds() -> None:
    """A turned estimate, and probes that are large beside the steps of v: the start is most of the regret."""
    A, horizon, noise = np.diag([0.01, 0.0]), 10_000, 1e4
    table = bounds(A, 1.0, horizon, noise)
    plan = table.schedules["corrected"]
    A_hat = turned(A, math.asin(plan.epsilon / 0.01))
    found = exact_scale_regret(A, A_hat, 1.0, horizon, plan.m, plan.gamma2).total
    later = exploitation_bound(A, 1.0, plan.epsilon, plan.rounds).value
    assert found > theorem3(A, 1.0, plan.m, plan.gamma2, later).value
    for statement in ("Theorem 1", "Theorem 3", "Corollary 1"):
        assert found <= table.value(statement)


def turned(A: Any, angle: float) -> Any:
    """A matrix of the plane, turned."""
    R = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return 0.5 * (R @ A @ R.T + (R @ A @ R.T).T)


def test_what_is_small_but_no_round_off_counts_for_the_rank() -> None:
    """To miss an eigenvalue of 1e-10 of the largest costs T^2: it must not be taken for zero."""
    A, A_hat, T = np.diag([1e6, 1e-4]), np.diag([1e6, 0.5e-4]), 10**7
    assert Facts.of(A, 1.0).rank == 2
    assert exact_regret(A, A_hat, 1.0, T).total <= theorem5(A, 1.0, 0.5e-4, T).value
    rotated = turned(np.diag([1.0, 0.0]), 0.7)
    assert Facts.of(rotated, 1.0).rank == 1


def test_tiny_eigenvalues_do_not_cancel() -> None:
    for sigma in (1e-6, 1e-12, 1e-17):
        found = exact_regret([[sigma]], [[0.9 * sigma]], 1.0, 10)
        bound = theorem5([[sigma]], 1.0, 0.1 * sigma, 10)
        assert bound.terms["basis"] == pytest.approx(0.5 * 10 * 0.1 / 1.8, rel=1e-5)
        assert found.total <= bound.value


def test_printed_theorems_4_and_5_are_never_below_the_corrected_ones() -> None:
    """So they are true as printed, although their proofs are not: tr(Sigma) <= sqrt(d) |Sigma|_F."""
    rng = np.random.default_rng(0)
    for case in random_cases(2000, seed=6, longest=LONGEST):
        facts = Facts.of(case.A, case.covariance)
        epsilon = facts.sigma_min * rng.uniform(0.0, 0.999)
        sharp, *printed = (
            exploiting(facts, epsilon, case.horizon, variant).value
            for variant in ("corrected", "as_printed", "appendix")
        )
        assert sharp <= min(printed) * (1 + 1e-12)


def test_the_constant_of_the_guarantee_scales_the_probes() -> None:
    """A guarantee that is worse by a factor needs probes that are larger by it, and no other term changes."""
    once, thrice = (corollary1(FULL, 2.0, 500, 0.5, constant=c).terms for c in (1.0, 3.0))
    for name in ("data collection", "start"):
        assert thrice[name] == pytest.approx(3.0 * once[name])
    assert thrice["exploitation"] == once["exploitation"]
    assert theorem1(FULL, 2.0, 500, 0.5, constant=3.0).value >= sum(thrice.values())
