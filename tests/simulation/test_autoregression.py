"""The autoregressions of contexts and factors: stationary, of the given size and correlation, and extendable."""

from __future__ import annotations

import numpy as np
import pytest

from soqo import Context, Factor


def generators(runs: int) -> list[np.random.Generator]:
    return [np.random.default_rng([9, run]) for run in range(runs)]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_every_round_has_the_same_deviation_and_the_next_one_the_correlation(correlation: float) -> None:
    w, _ = Context([[0.0, 0.0]], scale=2.0, correlation=correlation).draw(generators(4000), 20, dim=1)
    samples = 8000
    for t in (0, 1, 19):
        assert w[:, t].std() == pytest.approx(2.0, rel=6.0 / np.sqrt(2 * samples))
    for t in (0, 18):
        found = np.mean(w[:, t] * w[:, t + 1]) / 4.0
        assert found == pytest.approx(correlation, abs=6.0 * np.sqrt((1.0 + correlation**2) / samples))
    assert np.abs(np.mean(w[:, 5, 0] * w[:, 5, 1])) < 4.0 * 6.0 / np.sqrt(4000)  # independent components


def test_the_first_rounds_do_not_depend_on_the_horizon() -> None:
    factor = Factor(0.2, deviation=0.4)
    np.testing.assert_array_equal(factor.draw(generators(3), 5), factor.draw(generators(3), 50)[:, :5])
