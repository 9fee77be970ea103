"""Beliefs: wrong readings cost almost nothing, changes of A are found, and what reports and files say of both."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from disturbed_plants import CURVATURE, FULL, JUMPS, QUIET, estimates, missing_and_wrong, steer

from soqo import GLIDE, Change, Controller, Environment, PolicyResult, simulate
from soqo.estimators.bayes import Bank, Reading, Terms
from soqo.meters import Burst
from soqo.noise import Gaussian, Noise, StudentT
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._observation import observe
from soqo.typing import Array

# ---- wrong readings ------------------------------------------------------------------------------------------------

VALUES = (1e4, 1e6, -1e4, 1e40)


@pytest.mark.parametrize(
    ("environment", "first"), [(FULL, 121), (QUIET, 25), (JUMPS, 121)], ids=["full", "quiet", "jumps"]
)
def test_a_wrong_reading_costs_hardly_more_than_none(environment: Environment, first: int) -> None:
    cases = ((0, 0, 1.0, 0.0), *((first, 1, 1.0, value) for value in VALUES))
    missing, wrong = missing_and_wrong(environment, cases, horizon=first + 50, runs=25)
    ratio = (wrong.low_variance_regret.sum(axis=1) / missing.low_variance_regret.sum(axis=1)).reshape(5, 5)
    assert (np.median(ratio, axis=0) < 1.2).all()
    assert ratio.max() < 1.5
    # At most one action hedges against a change.
    more = (wrong.low_variance_regret - missing.low_variance_regret)[:, first + 2 :].sum(axis=1)
    assert np.median(more / missing.low_variance_regret.sum(axis=1)) < 0.01
    outliers = wrong.diagnostics["outliers"].reshape(5, 5)
    assert (outliers[:, 1:] >= 1.0).all()
    assert outliers[:, 1:].mean() < 1.1
    assert not wrong.diagnostics["alarms"].any()
    # The other runs of the batch are those without wrong readings.
    np.testing.assert_allclose(wrong.low_variance_regret[::5], missing.low_variance_regret[::5], rtol=1e-6, atol=1e-9)


BURSTS, FACTORS = ((50, 2), (50, 5), (120, 3), (120, 10)), (100.0, 1e6, -1.0)
CELLS = tuple((start, length, factor, 0.0) for start, length in BURSTS for factor in FACTORS)


@cache
def bursts() -> tuple[PolicyResult, PolicyResult]:
    """Return all bursts at once, since one large simulation takes less time than many small ones."""
    return missing_and_wrong(FULL, CELLS, horizon=150, runs=5 * len(CELLS))


def test_a_burst_of_wrong_readings_costs_hardly_more_than_missing_readings() -> None:
    missing, wrong = (result.low_variance_regret.sum(axis=1).reshape(5, len(CELLS)) for result in bursts())
    assert (np.median(wrong / missing, axis=0) <= 1.2).all()


def test_all_wrong_readings_of_a_burst_are_counted() -> None:
    lengths = np.array([length for _, length, *_ in CELLS])
    outliers = bursts()[1].diagnostics["outliers"].reshape(5, len(CELLS))
    np.testing.assert_array_equal(np.median(outliers, axis=0), lengths)
    negative = np.array([factor < 0.0 for _, _, factor, _ in CELLS] * 5)
    assert not bursts()[1].diagnostics["alarms"][negative].any()


@pytest.mark.parametrize(
    "falsify", [lambda y: -y, lambda y: -100.0 * y, lambda _: -1e6], ids=["-1", "-100", "constant"]
)
def test_negative_readings_never_reduce_the_estimate(falsify: Callable[[float], float]) -> None:
    # No positive semi-definite A explains a negative reading, so it is wrong whatever A is.
    for estimate in estimates(steer(40, {}), falsify, rounds=10):
        np.testing.assert_allclose(estimate, CURVATURE, atol=0.05)


DEVIATION = 10.0 / math.sqrt(3.0)


@pytest.mark.parametrize(
    ("noise", "alarms", "outliers"),
    [(Gaussian(DEVIATION), 0.0, 0.1), (StudentT(DEVIATION / math.sqrt(3.0), df=3.0), 0.1, 6.0)],
    ids=["Gaussian", "Student t, 3"],
)
def test_without_a_change_alarms_are_rare(noise: Noise, alarms: float, outliers: float) -> None:
    found = simulate(replace(FULL, noise=noise), {"G": GLIDE()}, horizon=250, runs=36, seed=7)["G"].diagnostics
    assert np.mean(found["alarms"] > 0.0) <= alarms
    assert found["outliers"].mean() <= outliers  # of 250 readings


# ---- the probabilities of beliefs ----------------------------------------------------------------------------------

TERMS = Terms(2)


def test_no_belief_goes_on_rejecting_readings() -> None:
    """Ten times the cost for five rounds looks like another A, and what follows then like a meter of a tenth."""
    wrong = replace(FULL, meters=(Burst(50, 5, factor=10.0),))
    found = simulate(wrong, {"G": GLIDE()}, horizon=200, runs=50, seed=0)["G"].diagnostics
    assert found["outliers"].max() < 30.0


def learned(runs: int, readings: int) -> tuple[Beliefs, np.random.Generator]:
    """Return the beliefs after some readings with Gaussian noise of deviation 0.1."""
    rng, index = np.random.default_rng(5), np.arange(runs)
    bank = Bank.start(TERMS, runs).begun(TERMS, index, np.ones(runs), np.zeros((runs, 0)))
    beliefs = Beliefs.start(bank, runs)
    for t in range(readings):
        u = rng.standard_normal((runs, 2))
        y = 0.5 * np.vecdot(u, u @ CURVATURE) + 0.1 * rng.standard_normal(runs)
        beliefs = observe(beliefs, TERMS, reading(u, y), t + 1)
    return beliefs, rng


def reading(u: Array, y: Array) -> Reading:
    return Reading(u, y, None, None, np.ones(len(u)))


def test_a_reading_is_accepted_or_rejected_with_the_odds_of_bayes_rule() -> None:
    beliefs, _ = learned(1, 40)
    assert len(beliefs.run) == 1
    u = np.array([[1.0, 1.0]])
    for deviations in (3.0, 3.5, 4.0):
        y = 1.25 + deviations * 0.1
        usual = reading(u, np.array([y]))
        _, outcome = beliefs.posterior.learn(TERMS, usual, None)
        _, large = beliefs.posterior.learn(TERMS, usual._replace(r=np.full(1, 9.0)), None)
        after = observe(beliefs, TERMS, usual, 41)
        right, wrong = after.rejected == 0.0, after.rejected == 1.0
        wrong_density = 1.0 / (40.0 * abs(outcome.error[0]))  # the logarithm of the error is uniform
        share, tails = 1.0 / (1000.0 + 40.0), 1.0 / (100.0 + 40.0)
        density = (1.0 - tails) * np.exp(outcome.log_density[0]) + tails * np.exp(large.log_density[0])
        odds = share * 0.9 * wrong_density / ((1.0 - share) * density)
        found = after.probability()[wrong & (after.epoch == 0.0)] / after.probability()[right & (after.epoch == 0.0)]
        assert found[0] == pytest.approx(odds, rel=0.01)


def test_the_share_of_wrong_readings_is_learned() -> None:
    rare, rng = learned(1, 92)
    often, _ = learned(1, 30)
    for t in range(62):
        u = rng.standard_normal((1, 2))
        value = 0.5 * np.vecdot(u, u @ CURVATURE) + 0.1 * rng.standard_normal(1) + 1e5 * rng.uniform() * (t % 3 == 2)
        often = observe(often, TERMS, reading(u, value), t + 31)
    odds = []
    for beliefs in (rare, often.take(often.best)):
        rejected = beliefs.rejected[0]
        after = observe(beliefs, TERMS, reading(np.ones((1, 2)), np.array([1.6])), 93)
        weight = [after.probability()[after.rejected == n].sum() for n in (rejected, rejected + 1.0)]
        odds.append(weight[1] / weight[0])
    assert 20.0 <= rejected <= 35.0  # a reading that follows a wrong one is suspect
    # The share is 1 in 1000 at first, and 21 in 1092 after 20 wrong readings.
    assert odds[1] > 5.0 * odds[0]


def test_the_weight_of_a_belief_without_an_alternative_is_one_however_many_readings_there_are() -> None:
    beliefs, _ = learned(2, 1000)
    np.testing.assert_array_equal(beliefs.probability(), 1.0)
    # Nor does a wrong reading of another run change it.
    after = observe(beliefs, TERMS, reading(np.ones((2, 2)), np.array([1.25, 1e3])), 1001)
    assert after.probability()[after.run == 0].tolist() == [1.0]


# ---- changes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [GLIDE(), GLIDE(noise_cap=10.0)], ids=str)
def test_a_change_is_found_within_a_few_rounds_and_the_new_curvature_learned(policy: GLIDE) -> None:
    result = simulate(replace(FULL, changes=(Change(100),)), {"G": policy}, horizon=160, runs=24, seed=1)["G"]
    found = result.diagnostics
    assert (found["last_alarm"] >= 100).all()
    assert np.median(found["last_alarm"]) <= 104
    assert np.median(found["outliers"]) == 0.0
    regret = result.low_variance_regret
    assert np.median(regret[:, 130:].sum(axis=1)) < 0.02 * np.median(regret[:, 99:130].sum(axis=1))


def test_a_slow_turn_is_followed() -> None:
    def late(change: Change) -> Any:
        result = simulate(replace(FULL, changes=(change,)), {"G": GLIDE()}, horizon=220, runs=12, seed=1)["G"]
        return np.median(result.low_variance_regret[:, 190:].sum(axis=1))

    never_learned = simulate(FULL, {"G": GLIDE()}, horizon=30, runs=12, seed=1)["G"].low_variance_regret.sum(axis=1)
    assert late(Change(60, duration=130)) < 0.3 * np.median(never_learned)


def test_a_change_to_a_multiple_is_believed_more_and_more() -> None:
    beliefs, rng = learned(1, 60)
    probabilities = []
    for t in range(10):
        u = rng.standard_normal((1, 2))
        beliefs = observe(beliefs, TERMS, reading(u, 6.0 * 0.5 * np.vecdot(u, u @ CURVATURE)), 61 + t)
        probabilities.append(float(beliefs.probability()[beliefs.epoch > 60.0].sum()))
    assert probabilities[0] < 0.5  # a single reading that does not fit is usually wrong
    assert probabilities[-1] > 0.99


def test_after_a_long_quiet_run_a_low_reading_is_no_change() -> None:
    beliefs, _ = learned(1, 60)
    beliefs = replace(beliefs, age=np.full(1, 1e5))
    y = np.array([1.25 - 0.5])  # five deviations
    after = observe(beliefs, TERMS, reading(np.ones((1, 2)), y), 100_001)
    assert after.probability()[after.epoch > 0.0].sum() < 0.1


def test_with_a_known_cap_a_small_change_is_noticed() -> None:
    # The readings are off by five times the cap.
    policy, rng, v = GLIDE(noise_cap=0.1), np.random.default_rng(0), np.zeros(2)
    state = policy.start(v)
    for t in range(100):
        v = v + 3.0 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        y = 0.5 * (x - v) @ CURVATURE @ (x - v) + rng.uniform(-0.1, 0.1) + (0.5 if t >= 92 else 0.0)
        state = policy.observe(state, y)
    found = policy.diagnostics(state)
    assert found["outliers"] > 0 or 93 <= found["last_alarm"] <= 97
    np.testing.assert_allclose(found["estimate"], CURVATURE, atol=0.1)


# ---- reports and files ---------------------------------------------------------------------------------------------


def test_explain_describes_the_test_of_a_reading() -> None:
    text = steer(50, {50: 1e4}).explain()
    assert "testing a reading: that of round 50" in text
    assert "(the last 1 did not)" in text
    assert "(the last 2 did not)" in steer(51, {50: 1e4, 51: 2e4}).explain()
    assert "Outliers so far: 1." in steer(60, {50: 1e4}).explain()
    assert "Outliers" not in steer(60, {}).explain()


def test_explain_describes_a_suspected_change() -> None:
    controller = steer(50, {})
    said = []
    for rounds in (*(1,) * 10, 20):
        estimates(controller, lambda y: 5.0 * y, rounds)
        said.append(controller.explain())
    assert "is testing a reading" in said[0]
    assert any(re.search(r"suspects a change: the reading of round 5\d ", text) for text in said)
    assert any(re.search(r"adapted its estimate; readings since: \d, unknowns: 3", text) for text in said)
    assert re.search(r"since the change it suspected in round 5\d", said[-1])


def test_glide_is_not_confident_right_after_a_wrong_reading_at_the_start_but_later() -> None:
    assert "confident" in steer(40, {}).explain()
    for value in (1e6, -1e4):
        assert "confident" not in steer(5, {3: value}).explain()
        later = steer(60, {3: value})
        assert "confident" in later.explain()
        np.testing.assert_allclose(later.diagnostics()["estimate"], CURVATURE, atol=0.1)


def test_each_hypothesis_is_reported_with_what_it_assumes() -> None:
    found = steer(52, {51: 1e4, 52: 2e4}).diagnostics()
    rows = found["hypotheses"][~np.isnan(found["hypotheses"][:, 0])]
    assert len(rows) == found["beliefs"]
    assert (np.diff(rows[:, 0]) <= 0.0).all()
    assert rows[:, 0].sum() == pytest.approx(1.0)
    assert rows[0, 0] == found["weight"] >= 1.0 / found["beliefs"]
    np.testing.assert_array_equal(rows[0, 1:3], [0.0, 2.0])  # the best one has rejected both readings
    alone = steer(1, {}).diagnostics()
    assert (alone["beliefs"], alone["weight"]) == (1.0, 1.0)


def test_a_reading_under_test_is_saved_and_loaded(tmp_path: Any) -> None:
    controller = steer(50, {50: 1e4})
    controller.save(tmp_path / "saved")
    again = Controller.load(tmp_path / "saved")
    assert again.explain() == controller.explain()
    # A missing reading is no evidence.
    for one in (controller, again):
        one.act(np.zeros(2))
        one.observe(np.nan)
        assert "testing a reading" in one.explain()
        one.act(np.array([5.0, -3.0]))
        one.observe(4.0)
    for name, value in controller.diagnostics().items():
        np.testing.assert_array_equal(again.diagnostics()[name], value)
