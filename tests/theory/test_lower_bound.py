"""Theorem 2: the corrected bound is attained and optimal, and the others are those of the paper."""

from __future__ import annotations

from math import isclose

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.theory import theorem2
from soqo.typing import Array


@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.1, 0.01])
def test_the_lower_bound_is_attained_and_no_schedule_of_gains_is_below_it(epsilon: float) -> None:
    """E|u|^2 follows its recursion; every sequence of errors in [epsilon/2, epsilon] costs at least the bound."""
    T, rng = 400, np.random.default_rng(0)

    def regret(errors: Array) -> float:
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


def test_theorem_2_is_that_of_the_paper() -> None:
    """Transcribed a second time from the paper, at numbers without special relations."""
    E, T, trace = 0.15, 37, 3.7
    third = E**2 / 8 * sum((1 - (1 - E) ** (2 * s)) / (E * (2 - E)) for s in range(1, T + 1))
    assert isclose(theorem2(E, T, variant="appendix").value, third)
    assert isclose(theorem2(E, T, variant="as_printed").value, E * T / 8)
    assert isclose(theorem2(E, T, trace=trace).value, trace * theorem2(E, T).value)


def test_errors_name_the_argument() -> None:
    with pytest.raises(ArgumentError, match="epsilon must be a finite number above 0 and at most 1"):
        theorem2(0.0, 9)
