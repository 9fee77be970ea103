"""Checks of the contract of a meter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soqo.checks._scenario import Scenario, expect, run_checks
from soqo.meters import Meter, Transmission
from soqo.typing import Array


def check_meter(meter: Meter, *, seed: int = 0) -> None:
    """Check that a meter satisfies its contract.

    Parameters
    ----------
    meter : Meter
        The meter.
    seed : int
        The seed of the checks.

    Raises
    ------
    CheckError
        If the meter violates the contract; the message names the check.

    Examples
    --------
    >>> from soqo.meters import Saturation
    >>> check_meter(Saturation(y_max=2.0))
    """
    expect(isinstance(meter, Meter), f"meter: must be a soqo.meters.Meter, got {type(meter).__name__}")
    run_checks(METER_CHECKS, meter, Scenario(seed=seed))


def _read(meter: Meter, scenario: Scenario, batch: tuple[int, ...], runs: slice) -> tuple[Array, Array]:
    """Return readings of some of six runs that enter a meter, and what leaves it; shape (rounds, *batch) each."""
    entering = np.stack([scenario.rng(8, run).uniform(0.0, 5.0, scenario.rounds) for run in range(6)])[runs]
    variates = np.stack([meter.variates(scenario.rng(6, run), scenario.rounds) for run in range(6)])[runs]
    last, found = np.full(batch, np.nan), []
    for t in range(scenario.rounds):
        y, switching = entering[:, t].reshape(batch), np.ones(batch)
        kept = y.copy()
        last = np.asarray(meter.read(y, Transmission(t + 1, variates[:, t].reshape(batch), last, switching)))
        expect(np.array_equal(y, kept), "the meter changes the array that it is given")
        expect(last.shape == batch, f"a reading must have shape {batch}, got {last.shape}")
        expect(not np.isinf(last).any(), "a reading is infinite")
        found.append(last)
    return entering.T.reshape(-1, *batch), np.array(found)


def _check_draws(meter: Meter, scenario: Scenario) -> None:
    """Check that the same generator gives the same variates, and that the first do not depend on the horizon."""
    one, other, longer = (meter.variates(scenario.rng(0), n) for n in (20, 20, 64))
    expect(one.shape == (20,), f"variates must have shape (20,), got {one.shape}")
    expect(np.array_equal(one, other), "two draws from the same seed differ")
    # A draw of a whole path at once may depend on the horizon only by round-off.
    expect(np.allclose(one, longer[:20], rtol=1e-12), "the first variates depend on the horizon")


def _check_batch(meter: Meter, scenario: Scenario) -> None:
    """Check that a batch of runs equals the same runs one at a time, in any batch shape."""
    _, together = _read(meter, scenario, (6,), slice(None))
    _, folded = _read(meter, scenario, (2, 3), slice(None))
    expect(np.array_equal(folded.reshape(together.shape), together, equal_nan=True), "the batch shape matters")
    for run in range(6):
        _, alone = _read(meter, scenario, (), slice(run, run + 1))
        expect(np.array_equal(alone, together[:, run], equal_nan=True), f"run {run} differs from the same run alone")


def _check_missing(meter: Meter, scenario: Scenario) -> None:
    """Check that a reading that does not arrive is not invented, except by a meter that repeats a value."""
    rounds = scenario.rounds
    variates = meter.variates(scenario.rng(6, 0), rounds)
    nothing = np.full(1, np.nan)
    for t in range(rounds):
        found = meter.read(nothing, Transmission(t + 1, variates[t : t + 1], nothing, np.ones(1)))
        value = getattr(meter, "value", None)
        expect(bool(np.isnan(found).all()) or value is not None, f"a reading appears from nothing in round {t + 1}")


METER_CHECKS: tuple[Callable[[Meter, Scenario], None], ...] = (_check_draws, _check_batch, _check_missing)
"""The checks that :func:`check_meter` runs."""
