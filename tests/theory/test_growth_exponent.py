"""Growth exponents of known power laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soqo.errors import ArgumentError
from soqo.theory import growth_exponent

T = np.array([200.0, 400.0, 1000.0, 2000.0])


@pytest.mark.parametrize("power", [0.0, 1 / 3, 0.5, 2 / 3, 1.0, 2.0])
def test_exponent_of_a_power_law_is_its_power(power: float) -> None:
    growth = growth_exponent(T, 7.0 * T[:, None] ** power * np.ones(5))
    assert growth.exponent == pytest.approx(power, abs=1e-12)
    assert growth.low == pytest.approx(power, abs=1e-12)
    assert growth.high == pytest.approx(power, abs=1e-12)


def test_interval_covers_the_power_of_noisy_runs() -> None:
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        regret = T[:, None] ** 0.5 * np.exp(0.5 * rng.standard_normal((4, 20)))
        growth = growth_exponent(T, regret)
        assert growth.low <= growth.exponent <= growth.high
        covered += growth.low <= 0.5 <= growth.high
    # The nominal level is 95 %; a percentile bootstrap of a median over 20 runs covers slightly less.
    assert 50 <= covered < 60


def test_regret_that_is_not_positive_has_no_exponent() -> None:
    assert np.isnan(growth_exponent(T, np.array([[1.0], [2.0], [-1.0], [3.0]])).exponent)


@pytest.mark.parametrize(
    ("horizons", "regret", "message"),
    [
        ([100.0], [[1.0]], "horizons must be at least two positive numbers"),
        ([0.0, 1.0], [[1.0], [1.0]], "horizons must be at least two positive numbers"),
        ([1.0, 2.0], [[1.0]], r"regret must have shape \(2,\) or \(2, runs\), got \(1, 1\)"),
        ([1.0, 2.0], [[1.0], [np.nan]], "regret must be finite"),
    ],
)
def test_errors_name_the_argument(horizons: Any, regret: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        growth_exponent(horizons, regret)
