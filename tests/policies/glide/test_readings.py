"""Wrong readings, alone and in bursts, cost almost nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from disturbed_plants import FULL, JUMPS, QUIET, estimates, missing_and_wrong, simulate_both, steer

from soqo import GLIDE, Environment, PolicyResult, simulate
from soqo.meters import Meter, Transmission
from soqo.typing import Array

VALUES = (1e4, 1e6, -1e4, 1e40)


@pytest.mark.parametrize(
    ("environment", "rounds"),
    [(FULL, (121,)), (FULL, (60, 90, 120)), (QUIET, (25,)), (JUMPS, (121,))],
    ids=["full", "several", "quiet", "jumps"],
)
def test_a_wrong_reading_costs_hardly_more_than_none(environment: Environment, rounds: tuple[int, ...]) -> None:
    meters = missing_and_wrong(((), 0.0), *((rounds, value) for value in VALUES))
    missing, wrong = simulate_both(GLIDE(), environment, meters, horizon=180, runs=25)
    after, before = (result.low_variance_regret[:, rounds[0] :].sum(axis=1) for result in (wrong, missing))
    ratio, outliers = (after / before).reshape(5, 5), wrong.diagnostics["outliers"].reshape(5, 5)
    assert (np.median(ratio, axis=0) < 1.1).all()
    assert ratio.max() < 1.5
    assert (outliers[:, 1:] >= len(rounds)).all()
    assert outliers[:, 1:].mean() < len(rounds) + 0.1
    assert not wrong.diagnostics["alarms"].any()
    # The noise is averaged over a grid of powers of two, so one reading may change it a little.
    np.testing.assert_allclose(wrong.diagnostics["noise"], missing.diagnostics["noise"], rtol=0.3)
    # The other runs of the batch are bit-identical to those without wrong readings.
    np.testing.assert_array_equal(wrong.low_variance_regret[::5], missing.low_variance_regret[::5])


@pytest.mark.parametrize("policy", [GLIDE(noise_cap=10.0), GLIDE(robust=True), GLIDE(window=100.0)], ids=str)
def test_a_wrong_reading_costs_little_with_every_option(policy: GLIDE) -> None:
    missing, wrong = simulate_both(policy, FULL, missing_and_wrong(((91,), 1e4)), horizon=120, runs=10)
    assert (wrong.low_variance_regret.sum(axis=1) < 1.1 * missing.low_variance_regret.sum(axis=1)).all()
    assert (wrong.diagnostics["outliers"] == 1).all()


BURSTS, FACTORS = ((10, 3), (10, 10), (50, 2), (50, 5), (200, 3), (200, 10)), (100.0, 1e6, -1.0)
CELLS = [(start, length, factor) for start, length in BURSTS for factor in FACTORS]
RUNS_PER_CELL = 5


@dataclass(frozen=True)
class BurstOfEachRun(Meter):
    """A meter with another burst of wrong readings in each run, or without these readings."""

    missing: bool

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Multiply or drop the readings during the burst."""
        start, length, factor = np.array([CELLS[run % len(CELLS)] for run in range(y.size)]).T
        during = (start <= transmission.t) & (transmission.t < start + length)
        return np.where(during, np.nan if self.missing else factor * y, y)


@cache
def bursts(missing: bool) -> PolicyResult:
    """Return all bursts at once, since one large simulation takes less time than many small ones."""
    environment = replace(FULL, meters=(BurstOfEachRun(missing),))
    return simulate(environment, {"G": GLIDE()}, horizon=230, runs=RUNS_PER_CELL * len(CELLS), seed=1)["G"]


def burst_ratios(start: int, length: int, factor: float) -> Array:
    """Return the regret of each run with a burst, divided by that of the same run without these readings."""
    cell = slice(CELLS.index((start, length, factor)), None, len(CELLS))
    wrong, without = (bursts(missing).low_variance_regret[cell].sum(axis=1) for missing in (False, True))
    return np.asarray(wrong / without)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(("start", "length"), BURSTS)
def test_a_burst_of_wrong_readings_costs_hardly_more_than_missing_readings(
    start: int, length: int, factor: float
) -> None:
    assert np.median(burst_ratios(start, length, factor)) <= 1.2


@pytest.mark.parametrize("factor", [100.0, 1e6])
def test_a_burst_of_large_readings_costs_hardly_more_in_any_run(factor: float) -> None:
    worst = max(burst_ratios(start, length, factor).max() for start, length in BURSTS)
    assert worst <= 1.2


def test_all_wrong_readings_of_a_burst_are_counted() -> None:
    lengths = np.array([length for _, length, _ in CELLS] * RUNS_PER_CELL)
    outliers = bursts(missing=False).diagnostics["outliers"]
    # A burst in round 10 begins before A is known, so that a correct reading may be rejected as well.
    early = np.array([start == 10 for start, _, _ in CELLS] * RUNS_PER_CELL)
    np.testing.assert_array_equal(outliers[~early], lengths[~early])
    assert (outliers[early] >= lengths[early]).all()
    assert (outliers[early] == lengths[early]).mean() > 0.9


@pytest.mark.parametrize("negate", [lambda y: -y, lambda y: -100.0 * y, lambda _: -1e6], ids=["-1", "-100", "constant"])
def test_negative_readings_never_reduce_the_estimate(negate: Any) -> None:
    # No positive semi-definite A explains a negative reading, so it is wrong whatever A is.
    for estimate in estimates(steer(40, {}), negate, rounds=10):
        np.testing.assert_allclose(estimate, np.diag([2.0, 0.5]), atol=0.05)


def test_a_burst_of_negative_readings_causes_no_alarm() -> None:
    negative = np.array([factor < 0.0 for _, _, factor in CELLS] * RUNS_PER_CELL)
    assert not bursts(missing=False).diagnostics["alarms"][negative].any()
