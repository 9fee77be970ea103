"""Beliefs: wrong readings, alone and in bursts, cost almost nothing, and a change of A is still found."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from burst_tables import Laplace
from soqo import GLIDE, Change, Controller, Environment, PolicyResult, RandomProblem, simulate
from soqo.meters import Meter, Transmission
from soqo.noise import Gaussian, Noise, StudentT, Uniform
from soqo.policies import State
from soqo.policies.glide._policy import GlideMemory
from soqo.processes import Cauchy
from soqo.processes import Gaussian as GaussianSteps
from soqo.typing import Array

FULL = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), GaussianSteps(50.0), Uniform(10.0))
QUIET = Environment(RandomProblem(2, 2, min_eigenvalue=0.5, max_eigenvalue=2.0), GaussianSteps(3.0), Uniform(0.1))
JUMPS = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Cauchy(1.0), Uniform(1.0))


# ---- single wrong readings -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WrongReadings(Meter):
    """A meter with wrong readings in some rounds: run k has the rounds and the value of case k, and so on again."""

    cases: tuple[tuple[tuple[int, ...], float], ...]
    missing: bool = False

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Replace the readings, or drop them."""
        cases = [self.cases[run % len(self.cases)] for run in range(y.size)]
        wrong = [transmission.t in rounds for rounds, _ in cases]
        return np.where(wrong, [np.nan if self.missing else value for _, value in cases], y)


def simulate_both(policy: GLIDE, environment: Environment, meters: tuple[Meter, Meter], horizon: int, runs: int) -> Any:
    """Return the results of two meters."""
    return tuple(
        simulate(replace(environment, meters=(meter,)), {"G": policy}, horizon=horizon, runs=runs, seed=0)["G"]
        for meter in meters
    )


def missing_and_wrong(*cases: tuple[tuple[int, ...], float]) -> tuple[Meter, Meter]:
    return WrongReadings(cases, missing=True), WrongReadings(cases)


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


def test_wrong_readings_at_the_start_have_no_effect_later() -> None:
    cases = [((first,), value) for first in (1, 2, 3, 8) for value in (1e6, -1e4)]
    missing, wrong = simulate_both(GLIDE(), QUIET, missing_and_wrong(*cases), horizon=160, runs=8 * len(cases))
    before, after = (
        np.median(result.low_variance_regret[:, -80:].sum(axis=1).reshape(8, -1), axis=0) for result in (missing, wrong)
    )
    assert (after < 1.5 * before).all()  # a posterior that keeps the wrong readings has a ratio of 1e5


# ---- bursts --------------------------------------------------------------------------------------------------------

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


@dataclass(frozen=True)
class TenTimes(Meter):
    """A meter whose readings are ten times too large from a round on, for 2, 3 or 5 rounds."""

    start: int
    factor: float = 10.0

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Multiply the readings."""
        length = np.resize([2, 3, 5], y.size)
        return np.where((self.start <= transmission.t) & (transmission.t < self.start + length), self.factor * y, y)


def test_the_belief_from_before_a_suspected_change_returns_after_a_burst() -> None:
    # Ten times the hitting cost is what a change of A could explain.
    meters = TenTimes(100, factor=1.0), TenTimes(100)
    clean, wrong = simulate_both(GLIDE(), FULL, meters, horizon=170, runs=30)
    late = slice(110, None)
    ratio = wrong.low_variance_regret[:, late].sum(axis=1) / clean.low_variance_regret[:, late].sum(axis=1)
    assert (np.median(ratio.reshape(10, 3), axis=0) < 1.2).all()
    assert ratio.max() < 2.0  # to learn all of A anew costs a hundred times as much
    outliers = wrong.diagnostics["outliers"].reshape(10, 3)
    np.testing.assert_array_equal(np.median(outliers, axis=0), [2.0, 3.0, 5.0])
    assert wrong.diagnostics["alarms"].any()  # the change was believed for a while in some runs
    assert (wrong.diagnostics["last_alarm"] <= 106).all()


def later_epochs(state: State[GlideMemory]) -> Array:
    """Return the probabilities of the epochs after the best belief's."""
    found = state.memory.beliefs.later_epochs(state.round)
    return np.zeros(0) if found is None else found[1]


def learned_state(seed: int, rounds: int) -> tuple[State[GlideMemory], Array, np.random.Generator]:
    """Return the state of GLIDE after some rounds of a plant with A = diag(2, 0.5), with v and the random numbers."""
    rng, v, policy = np.random.default_rng(seed), np.zeros(2), GLIDE()
    state = policy.start(v)
    for _ in range(rounds):
        v = v + 3.0 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        u = x - v
        state = policy.observe(state, 0.5 * u @ np.diag([2.0, 0.5]) @ u + rng.uniform(-0.1, 0.1))
    return state, v, rng


def test_a_change_to_a_multiple_is_weighed_against_a_burst_of_the_same_factor() -> None:
    # The expected reading times six: the hypotheses differ in their prior probabilities only, so that the probability
    # of the change grows from reading to reading by the probability that the meter is wrong by the same factor again.
    state, v, rng = learned_state(3, 60)
    policy, probabilities = GLIDE(), []
    for _ in range(12):
        v = v + 3.0 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        u = x - v
        state = policy.observe(state, 6.0 * 0.5 * u @ np.diag([2.0, 0.5]) @ u)
        beliefs = state.memory.beliefs
        changed = beliefs.epoch[beliefs.best[0]] > 60.0
        probabilities.append(1.0 if changed else float(later_epochs(state).sum()))
    assert probabilities[0] == 0.0  # a single reading that does not fit is usually wrong
    assert 0.05 < probabilities[1] < 0.9
    assert probabilities[-1] == 1.0
    assert (np.diff(probabilities) >= -0.05).all()
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], np.diag([12.0, 3.0]), rtol=0.05, atol=0.05)


def test_while_a_change_is_possible_the_policy_plays_for_a_matrix_in_between() -> None:
    state, v, rng = learned_state(3, 60)
    policy = GLIDE()
    for _ in range(2):
        v = v + 3.0 * rng.standard_normal(2)
        x, state = policy.act(state, v)
        u = x - v
        state = policy.observe(state, 6.0 * 0.5 * u @ np.diag([2.0, 0.5]) @ u)
    assert state.memory.beliefs.epoch[state.memory.beliefs.best[0]] == 0.0
    played = state.memory.played.matrix()[0]
    np.testing.assert_allclose(policy.diagnostics(state)["estimate"], np.diag([2.0, 0.5]), atol=0.05)
    assert 2.1 < played[0, 0] < 12.0
    assert 0.52 < played[1, 1] < 3.0


def estimates(controller: Controller, y: Any, rounds: int) -> list[Array]:
    """Return the estimates after some more rounds, whose readings a function of the hitting cost falsifies."""
    rng, A, v = np.random.default_rng(1), np.diag([2.0, 0.5]), np.zeros(2)
    found = [controller.diagnostics()["estimate"]]
    for _ in range(rounds):
        v = v + 3.0 * rng.standard_normal(2)
        u = controller.act(v) - v
        controller.observe(y(float(0.5 * u @ A @ u)))
        found.append(controller.diagnostics()["estimate"])
    return found


@pytest.mark.parametrize("negate", [lambda y: -y, lambda y: -100.0 * y, lambda _: -1e6], ids=["-1", "-100", "constant"])
def test_negative_readings_never_reduce_the_estimate(negate: Any) -> None:
    # No positive semi-definite A explains a negative reading, so it is wrong whatever A is.
    for estimate in estimates(steer(40, {}), negate, rounds=10):
        np.testing.assert_allclose(estimate, np.diag([2.0, 0.5]), atol=0.05)


def test_a_burst_of_negative_readings_causes_no_alarm() -> None:
    negative = np.array([factor < 0.0 for _, _, factor in CELLS] * RUNS_PER_CELL)
    assert not bursts(missing=False).diagnostics["alarms"][negative].any()


# ---- changes of A --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [GLIDE(), GLIDE(noise_cap=10.0), GLIDE(robust=True)], ids=str)
def test_a_change_is_found_within_a_few_rounds_and_the_new_curvature_learned(policy: GLIDE) -> None:
    changing = replace(FULL, changes=(Change(100),))
    result = simulate(changing, {"G": policy}, horizon=160, runs=24, seed=1)["G"]
    found = result.diagnostics
    assert (found["last_alarm"] >= 100).all()
    assert np.median(found["last_alarm"]) <= 102
    assert not found["outliers"].any()
    regret = result.low_variance_regret
    assert np.median(regret[:, 130:].sum(axis=1)) < 0.01 * np.median(regret[:, 99:130].sum(axis=1))


def test_a_slow_turn_is_followed() -> None:
    turning = replace(FULL, changes=(Change(60, duration=130),))
    policies = {"GLIDE": GLIDE(), "no alarms": GLIDE(alarms=False)}
    result = simulate(turning, policies, horizon=230, runs=12, seed=1)
    during, late = (
        {name: np.median(result[name].low_variance_regret[:, rounds].sum(axis=1)) for name in policies}
        for rounds in (slice(60, 190), slice(190, None))
    )
    assert during["GLIDE"] < 0.5 * during["no alarms"]
    assert late["GLIDE"] < 0.05 * late["no alarms"]
    assert np.median(result["GLIDE"].diagnostics["outliers"]) == 0.0


DEVIATION = 10.0 / math.sqrt(3.0)
NOISES: dict[str, Noise] = {
    "Gaussian": Gaussian(DEVIATION),
    "Laplace": Laplace(DEVIATION),
    "Student t, 3": StudentT(DEVIATION / math.sqrt(3.0), df=3.0),
}


@pytest.mark.parametrize(
    ("noise", "alarms", "outliers"), [("Gaussian", 0.0, 0.1), ("Laplace", 0.0, 1.0), ("Student t, 3", 0.03, 4.0)]
)
def test_without_a_change_alarms_are_rare_and_cost_almost_nothing(noise: str, alarms: float, outliers: float) -> None:
    policies = {"GLIDE": GLIDE(), "no alarms": GLIDE(alarms=False)}
    result = simulate(replace(FULL, noise=NOISES[noise]), policies, horizon=300, runs=36, seed=7)
    found = result["GLIDE"].diagnostics
    assert np.mean(found["alarms"] > 0.0) <= alarms
    assert found["outliers"].mean() <= outliers  # of 300 readings
    regret, without = (result[name].low_variance_regret.sum(axis=1) for name in policies)
    assert (regret < 1.05 * without).all()


# ---- explanations and files ----------------------------------------------------------------------------------------


def steer(rounds: int, wrong: dict[int, float]) -> Controller:
    """Return the controller of a plant with little noise after some rounds, some of them with wrong readings."""
    rng = np.random.default_rng(0)
    A, v = np.diag([2.0, 0.5]), np.zeros(2)
    controller = Controller(GLIDE(), x0=v)
    for t in range(1, rounds + 1):
        v = v + 3.0 * rng.standard_normal(2)
        u = controller.act(v) - v
        noise = rng.uniform(-0.1, 0.1)
        controller.observe(wrong.get(t, float(0.5 * u @ A @ u + noise)))
    return controller


def test_explain_describes_the_test_of_a_reading() -> None:
    text = steer(50, {50: 1e4}).explain()
    assert "testing a reading: that of round 50" in text
    assert "(the last 1 did not)" in text
    assert "(the last 2 did not)" in steer(51, {50: 1e4, 51: 2e4}).explain()
    assert "Outliers so far: 1." in steer(60, {50: 1e4}).explain()
    assert "Outliers" not in steer(60, {}).explain()


def test_explain_describes_a_suspected_change() -> None:
    controller = steer(50, {})
    estimates(controller, lambda y: 5.0 * y, rounds=1)
    estimates(controller, lambda y: 5.0 * y, rounds=1)
    assert "testing a reading" in controller.explain()
    estimates(controller, lambda y: 5.0 * y, rounds=4)
    # The new belief starts with one of the first readings after the change.
    assert re.search(r"suspects a change: the reading of round 5[1-4] ", controller.explain())
    assert re.search(r"adapted its estimate; readings since: \d, unknowns: 3", controller.explain())
    estimates(controller, lambda y: 5.0 * y, rounds=20)
    assert re.search(r"since the change it suspected in round 5[1-4]", controller.explain())


def test_glide_is_not_confident_right_after_a_wrong_reading_at_the_start_but_later() -> None:
    assert "confident" in steer(40, {}).explain()
    for value in (1e6, -1e4):
        assert "confident" not in steer(5, {3: value}).explain()
        later = steer(60, {3: value})
        assert "confident" in later.explain()
        np.testing.assert_allclose(later.diagnostics()["estimate"], np.diag([2.0, 0.5]), atol=0.1)


def test_the_number_of_beliefs_and_the_weight_of_the_best_are_reported() -> None:
    for controller in (steer(1, {}), steer(30, {}), steer(50, {50: 1e4})):
        found = controller.diagnostics()
        assert 1 <= found["beliefs"] <= 12
        assert 1.0 / found["beliefs"] <= found["weight"] <= 1.0
    assert GLIDE().diagnostics(GLIDE().start(np.zeros(2)))["beliefs"] == 2  # with and without a base load
    alone = GLIDE(base_load=False)
    assert alone.diagnostics(alone.start(np.zeros(2)))["beliefs"] == 1


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
