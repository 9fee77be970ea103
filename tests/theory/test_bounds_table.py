"""The table of all bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.theory import bounds, corollary1, exploitation_bound, theorem1, theorem2, theorem3
from soqo.typing import Array

FULL, DEFICIENT = np.diag([1.0, 2.0]), np.diag([1.0, 0.0])


@pytest.mark.parametrize("A", [FULL, DEFICIENT])
def test_the_table_holds_each_bound(A: Array) -> None:
    table = bounds(A, 2.0, horizon=500, noise_cap=0.5, c1=2.0)
    assert len(table) == len(list(table)) == 16
    for variant, plan in table.schedules.items():
        later = exploitation_bound(A, 2.0, epsilon=plan.epsilon, horizon=plan.rounds, variant=variant)
        assert table.value(later.statement, variant) == later.value
        phases = theorem3(A, 2.0, m=plan.m, gamma2=plan.gamma2, exploitation=later.value, variant=variant).value
        corollary = corollary1(A, 2.0, horizon=500, noise_cap=0.5, c1=2.0, variant=variant)
        if variant == "corrected":  # and the start, gamma z away from v
            phases += corollary.terms["start"]
        assert table.value("Theorem 3", variant) == pytest.approx(phases)
        theorem = theorem1(A, 2.0, horizon=500, noise_cap=0.5, c1=2.0, variant=variant)
        assert table.value("Theorem 1", variant) == theorem.value
        if variant != "as_printed":  # the main text has only orders
            assert table.value("Corollary 1", variant) == corollary.value
        lower = theorem2(plan.epsilon, plan.rounds, trace=4.0, variant=variant)
        assert table.value("Theorem 2", variant) == pytest.approx(lower.value)
    assert "orders only" in str(table)
    assert "lower bound, for A = 0" in str(table)
    assert math.isnan(table.value("Second order")) == (A is DEFICIENT)


def test_the_table_gives_the_reason_why_a_bound_does_not_apply() -> None:
    table = bounds(FULL, 1.0, horizon=500, noise_cap=0.5, epsilon=3.0)
    assert math.isnan(table.value("Theorem 5"))
    assert "below A's smallest nonzero eigenvalue 1" in str(table)
    with pytest.raises(ArgumentError, match=r"statement must be one of Corollary 1, .* got 'Theorem 6'"):
        table.value("Theorem 6")


def test_two_tables_of_the_same_arguments_are_equal() -> None:
    one, other = (bounds(DEFICIENT, 1.0, horizon=500, noise_cap=0.5) for _ in range(2))
    assert one == other
    assert one != bounds(DEFICIENT, 1.0, horizon=501, noise_cap=0.5)
