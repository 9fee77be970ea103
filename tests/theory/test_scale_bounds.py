"""Theorems 1 and 3 and Corollary 1: against exact regret, and against the formulas of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import isclose, sqrt

import numpy as np
import pytest
from cases import Case, random_cases, rotate

from soqo.errors import ArgumentError
from soqo.theory import bounds, corollary1, exact_scale_regret, exploitation_bound, theorem1, theorem3
from soqo.typing import Array

CASES = 400
LONGEST = 10_000
FULL, DEFICIENT = np.diag([1.0, 2.0]), np.diag([1.0, 0.0])


def test_corrected_bounds_on_scale_are_never_violated() -> None:
    """Theorem 3 for any probing, and Corollary 1 and Theorem 1 if the error is what their schedule guarantees."""
    rng = np.random.default_rng(3)
    checked = 0
    for case in random_cases(CASES, seed=4, longest=LONGEST):
        if case.operator >= case.sigma_min:
            continue
        noise, c1 = 10.0 ** rng.uniform(-2, 2), rng.uniform(0.5, 4.0)
        m = math.ceil(c1 * case.rank * len(case.A))
        horizon = case.horizon + m + 1
        gamma2 = 10.0 ** rng.uniform(-2, 3)
        found = exact_scale_regret(case.A, case.A_hat, covariance=case.covariance, horizon=horizon, m=m, gamma2=gamma2)
        whole = theorem3(case.A, case.covariance, m=m, gamma2=gamma2, exploitation=found.exploitation.total)
        assert found.irreducible <= whole.terms["irreducible"] * (1 + 1e-12), case
        assert found.data_collection + found.handover <= whole.terms["data collection"], case
        assert found.total <= whole.value, case
        table = bounds(case.A, case.covariance, horizon=horizon, noise_cap=noise, c1=c1)
        plan = table.schedules["corrected"]
        A_hat = shrink_error(case, plan.epsilon)
        found = exact_scale_regret(
            case.A, A_hat, covariance=case.covariance, horizon=horizon, m=plan.m, gamma2=plan.gamma2
        )
        assert found.total <= table.value("Corollary 1") * (1 + 1e-9), case
        assert found.total <= table.value("Theorem 3") * (1 + 1e-9), case
        assert table.value("Corollary 1") <= table.value("Theorem 1") * (1 + 1e-12), case
        checked += 1
    assert checked > 0.9 * CASES


def shrink_error(case: Case, epsilon: float) -> Array:
    """Return an estimate between A and the case's estimate, with an error in the nuclear norm of at most epsilon."""
    share = min(1.0, epsilon / case.nuclear)
    return np.asarray(case.A + share * (case.A_hat - case.A))


def test_theorem_1_grows_with_the_power_that_it_states() -> None:
    """alpha_1 (T-m)^(2/3) and beta_1 (T-m)^(1/2)."""
    for A, power in ((FULL, 0.5), (DEFICIENT, 2 / 3)):
        for variant in ("corrected", "appendix", "as_printed"):
            near, far = (
                theorem1(A, 1.0, horizon=T, noise_cap=1.0, variant=variant).terms["growing"] for T in (10**6, 8 * 10**6)
            )
            assert math.log(far / near) / math.log(8.0) == pytest.approx(power, abs=1e-4)


def test_the_start_is_in_every_corrected_bound_on_all_rounds() -> None:
    """For a rotated estimate and probes that are large relative to the steps of v, the start is most of the regret."""
    A, horizon, noise = np.diag([0.01, 0.0]), 10_000, 1e4
    table = bounds(A, 1.0, horizon=horizon, noise_cap=noise)
    plan = table.schedules["corrected"]
    A_hat = rotate(A, math.asin(plan.epsilon / 0.01))
    found = exact_scale_regret(A, A_hat, covariance=1.0, horizon=horizon, m=plan.m, gamma2=plan.gamma2).total
    later = exploitation_bound(A, 1.0, epsilon=plan.epsilon, horizon=plan.rounds).value
    assert found > theorem3(A, 1.0, m=plan.m, gamma2=plan.gamma2, exploitation=later).value
    for statement in ("Theorem 1", "Theorem 3", "Corollary 1"):
        assert found <= table.value(statement)


def test_the_constant_of_the_guarantee_scales_the_probes() -> None:
    """A guarantee that is worse by a factor needs probes that are larger by it, and no other term changes."""
    once, thrice = (corollary1(FULL, 2.0, horizon=500, noise_cap=0.5, constant=c).terms for c in (1.0, 3.0))
    for name in ("data collection", "start"):
        assert thrice[name] == pytest.approx(3.0 * once[name])
    assert thrice["exploitation"] == once["exploitation"]
    assert theorem1(FULL, 2.0, horizon=500, noise_cap=0.5, constant=3.0).value >= sum(thrice.values())


# The printed formulas, transcribed a second time from the paper, at numbers without special relations.

A5, A4 = np.diag([0.7, 1.3, 2.9]), np.diag([0.7, 2.9, 0.0])
SIGMA = np.array([[2.0, 0.3, 0.0], [0.3, 1.1, -0.2], [0.0, -0.2, 0.6]])
D, LOW, HIGH = 3, 0.7, 2.9
TR, NORM = 3.7, float(np.linalg.norm(SIGMA))


def test_theorem_3() -> None:
    m, g = 7, 1.9
    found = theorem3(A5, SIGMA, m=m, gamma2=g, exploitation=5.5, variant="as_printed")
    data = m * g * (0.5 * 4.9 + D) + g / 2 * D
    expected = {"irreducible": m * 0.5 * TR / (1 + LOW), "data collection": data, "exploitation": 5.5}
    assert found.terms == pytest.approx(expected)
    null = SIGMA[2, 2]
    corrected = theorem3(A4, SIGMA, m=m, gamma2=g, exploitation=0.0).terms["irreducible"]
    assert isclose(corrected, 0.5 * m * ((TR - null) / (1 + LOW) + null))


@pytest.mark.parametrize("horizon", [40, 5000])
def test_corollary_1_of_the_appendix(horizon: int) -> None:
    eta, c1 = 1.7, 1.1
    for A, r, p, trace in ((A5, 3, 0.5, 4.9), (A4, 2, 2 / 3, 3.6)):
        m = {3: 10, 2: 7}[r]
        left = horizon - m
        if r == 3:
            rate = (4 * HIGH * NORM * (D + sqrt(2 * D)) + TR) / LOW**2 + TR / (2 * LOW)
        else:
            rate = 8 * D * HIGH * NORM / LOW**2
            inside = ((4 * HIGH + 2) * sqrt(D) + 4 * sqrt(2) * D) * NORM + (LOW + sqrt(2)) * TR
            rate += inside / LOW**0.5
        probes = m / 2 * (trace + D) + D / 2
        expected = {
            "exploitation": sqrt(eta) * left**p * rate,
            "data collection": sqrt(eta) * max(left**p, 2 / LOW) * probes,
            "irreducible": m * 0.5 * TR / (1 + LOW),
        }
        found = corollary1(A, SIGMA, horizon=horizon, noise_cap=eta, c1=c1, variant="appendix")
        assert found.terms == pytest.approx(expected)
        growing = sqrt(eta) * (rate + probes) * left**p
        constant = 2 * sqrt(eta) / LOW * probes + expected["irreducible"]
        whole = theorem1(A, SIGMA, horizon=horizon, noise_cap=eta, c1=c1, variant="appendix")
        assert whole.terms == pytest.approx({"growing": growing, "constant": constant})
        printed = theorem1(A, SIGMA, horizon=horizon, noise_cap=eta, c1=c1, variant="as_printed")
        assert whole.terms == printed.terms


def test_the_corrected_theorem_1_is_of_the_order_of_the_corollary() -> None:
    """At a T so large that T^p is the larger term of the schedule and epsilon = T^-p is negligible."""
    eta, horizon = 0.4, 10**12
    for A in (A5, A4):
        whole = theorem1(A, SIGMA, horizon=horizon, noise_cap=eta)
        parts = corollary1(A, SIGMA, horizon=horizon, noise_cap=eta)
        assert parts.value <= whole.value <= 8.0 * parts.value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theorem3(FULL, 1.0, m=0, gamma2=1.0, exploitation=0.0), "m must be a positive integer"),
        (
            lambda: corollary1(FULL, 1.0, horizon=12, noise_cap=1.0),
            "horizon must be above the 12 rounds of probing, got 12",
        ),
        (
            lambda: corollary1(FULL, 1.0, horizon=99, noise_cap=0.0),
            "noise_cap must be a finite number above 0",
        ),
        (
            lambda: theorem1(FULL, 1.0, horizon=99, noise_cap=1.0, constant=0.0),
            "constant must be a finite number above 0",
        ),
    ],
)
def test_errors_name_the_argument(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
