"""Beliefs: wrong readings, alone and in bursts, cost almost nothing, and a change of A is still found."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from burst_tables import Laplace

from soqo import GLIDE, Change, Controller, Environment, Policy, PolicyResult, RandomProblem, State, simulate
from soqo.meters import Burst, Meter, Transmission
from soqo.noise import Gaussian, Noise, StudentT, Uniform
from soqo.processes import Cauchy
from soqo.processes import Gaussian as GaussianSteps
from soqo.typing import Array, Rng

FULL = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), GaussianSteps(50.0), Uniform(10.0))
QUIET = Environment(RandomProblem(2, 2, min_eigenvalue=0.5, max_eigenvalue=2.0), GaussianSteps(3.0), Uniform(0.1))
JUMPS = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Cauchy(1.0), Uniform(1.0))


# ---- single wrong readings -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Misread(Policy[Any]):
    """A policy that gets a wrong reading in some rounds, in every run with an even number."""

    policy: Policy[Any]
    rounds: tuple[int, ...]
    value: float

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> Any:
        return self.policy.start(x0, horizon, rng)

    def decide(self, state: State[Any], v: Array) -> tuple[Array, Any]:
        return self.policy.act(state.memory, v)

    def learn(self, state: State[Any], y: Array) -> Any:
        wrong = (state.round in self.rounds) & (np.arange(y.size) % 2 == 0)
        return self.policy.observe(state.memory, np.where(wrong, self.value, y), applied=state.x)

    def diagnostics(self, state: State[Any]) -> dict[str, Any]:
        return self.policy.diagnostics(state.memory)


def simulate_both(policy: GLIDE, environment: Environment, rounds: tuple[int, ...], value: float, horizon: int) -> Any:
    """Return the tracks without and with wrong readings, over ten runs."""
    policies = {"clean": policy, "wrong": Misread(policy, rounds, value)}
    result = simulate(environment, policies, horizon=horizon, runs=10, seed=0)
    return result["clean"], result["wrong"]


@pytest.mark.parametrize("value", [100.0, 1e6, -1e4, 1e40])
@pytest.mark.parametrize(
    ("environment", "rounds"),
    [(FULL, (201,)), (FULL, (60, 120, 180)), (QUIET, (25,)), (JUMPS, (201,))],
    ids=["full", "several", "quiet", "jumps"],
)
def test_a_wrong_reading_costs_almost_nothing(environment: Environment, rounds: tuple[int, ...], value: float) -> None:
    clean, wrong = simulate_both(GLIDE(), environment, rounds, value, horizon=240)
    late = slice(rounds[0], None)
    ratio = wrong.low_variance_regret[:, late].sum(axis=1) / clean.low_variance_regret[:, late].sum(axis=1)
    # The correct reading of that round is missing, which matters in single runs.
    assert np.median(ratio[::2]) < 1.1
    assert ratio[::2].max() < 1.5
    assert (wrong.diagnostics["outliers"][::2] == len(rounds)).all()
    assert (wrong.diagnostics["alarms"] == 0).all()
    # The other runs of the batch are bit-identical to those without wrong readings.
    np.testing.assert_array_equal(wrong.low_variance_regret[1::2], clean.low_variance_regret[1::2])
    # The noise is averaged over a grid of powers of two, so one reading may change it a little.
    np.testing.assert_allclose(wrong.diagnostics["noise"], clean.diagnostics["noise"], rtol=0.3)


@pytest.mark.parametrize("policy", [GLIDE(noise_cap=10.0), GLIDE(robust=True), GLIDE(window=100.0)], ids=str)
def test_a_wrong_reading_costs_little_with_every_option(policy: GLIDE) -> None:
    clean, wrong = simulate_both(policy, FULL, (151,), 1e4, horizon=200)
    assert (wrong.low_variance_regret.sum(axis=1) < 1.1 * clean.low_variance_regret.sum(axis=1)).all()
    assert (wrong.diagnostics["outliers"][::2] == 1).all()


@pytest.mark.parametrize("value", [1e6, -1e4])
@pytest.mark.parametrize("rounds", [(3,), (8,), (101, 102)], ids=str)
def test_wrong_readings_that_were_believed_at_first_have_no_effect_later(rounds: tuple[int, ...], value: float) -> None:
    clean, wrong = simulate_both(GLIDE(), QUIET, rounds, value, horizon=300)
    late = slice(-100, None)
    before, after = (np.median(track.low_variance_regret[::2, late].sum(axis=1)) for track in (clean, wrong))
    assert after < 1.5 * before  # a posterior that keeps the wrong readings has a ratio of 1e5
    assert (wrong.diagnostics["outliers"][::2] == len(rounds)).all()


# ---- bursts --------------------------------------------------------------------------------------------------------

STARTS, LENGTHS, FACTORS = (10, 50, 200), (2, 3, 5, 10), (100.0, 1e6, -1.0)
CELLS = [(start, length, factor) for start in STARTS for length in LENGTHS for factor in FACTORS]
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
    return simulate(environment, {"G": GLIDE()}, horizon=240, runs=RUNS_PER_CELL * len(CELLS), seed=1)["G"]


def burst_ratios(start: int, length: int, factor: float) -> Array:
    """Return the regret of each run with a burst, divided by that of the same run without these readings."""
    cell = slice(CELLS.index((start, length, factor)), None, len(CELLS))
    wrong, without = (bursts(missing).low_variance_regret[cell].sum(axis=1) for missing in (False, True))
    return np.asarray(wrong / without)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("start", STARTS)
def test_a_burst_of_wrong_readings_costs_hardly_more_than_missing_readings(
    start: int, length: int, factor: float
) -> None:
    assert np.median(burst_ratios(start, length, factor)) <= 1.2


@pytest.mark.parametrize("factor", [100.0, 1e6])
def test_a_burst_of_large_readings_costs_hardly_more_in_any_run(factor: float) -> None:
    worst = max(burst_ratios(start, length, factor).max() for start in STARTS for length in LENGTHS)
    assert worst <= 1.2


def test_all_wrong_readings_of_a_burst_are_counted() -> None:
    lengths = np.array([length for _, length, _ in CELLS] * RUNS_PER_CELL)
    np.testing.assert_array_equal(bursts(missing=False).diagnostics["outliers"], lengths)


@pytest.mark.parametrize("length", [2, 3, 5])
def test_the_belief_from_before_a_suspected_change_returns_after_a_burst(length: int) -> None:
    # Ten times the hitting cost is what a change of A could explain.
    start = 100
    wrong, clean = (
        simulate(replace(FULL, meters=meters), {"G": GLIDE()}, horizon=200, runs=12, seed=1)["G"]
        for meters in ((Burst(start, length, factor=10.0),), ())
    )
    late = slice(start + length + 5, None)
    ratio = wrong.low_variance_regret[:, late].sum(axis=1) / clean.low_variance_regret[:, late].sum(axis=1)
    assert np.median(ratio) < 1.2
    assert ratio.max() < 2.0  # to learn all of A anew costs a hundred times as much
    assert np.median(wrong.diagnostics["outliers"]) == length
    assert (wrong.diagnostics["last_alarm"] <= start + length).all()


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
def test_a_change_is_found_within_a_few_rounds(policy: GLIDE) -> None:
    changing = replace(FULL, changes=(Change(150),))
    found = simulate(changing, {"G": policy}, horizon=200, runs=24, seed=1)["G"].diagnostics
    assert (found["last_alarm"] >= 150).all()
    assert np.median(found["last_alarm"]) <= 152
    assert found["last_alarm"].max() <= 160  # if the first restart was not around the right estimate, there is another
    assert not found["outliers"].any()


def test_after_a_change_the_new_curvature_is_learned() -> None:
    changing = replace(FULL, changes=(Change(100),))
    policies = {"GLIDE": GLIDE(), "no alarms": GLIDE(alarms=False)}
    result = simulate(changing, policies, horizon=200, runs=16, seed=2)
    late = {name: np.median(result[name].low_variance_regret[:, -50:].sum(axis=1)) for name in policies}
    assert late["GLIDE"] < 0.001 * late["no alarms"]


def test_a_slow_turn_is_followed() -> None:
    turning = replace(FULL, changes=(Change(60, duration=130),))
    policies = {"GLIDE": GLIDE(), "no alarms": GLIDE(alarms=False)}
    result = simulate(turning, policies, horizon=240, runs=16, seed=1)
    during, late = (
        {name: np.median(result[name].low_variance_regret[:, rounds].sum(axis=1)) for name in policies}
        for rounds in (slice(60, 190), slice(190, None))
    )
    assert during["GLIDE"] < 0.5 * during["no alarms"]
    assert late["GLIDE"] < 0.01 * late["no alarms"]
    assert result["GLIDE"].diagnostics["outliers"].mean() < 0.5


DEVIATION = 10.0 / math.sqrt(3.0)
NOISES: dict[str, Noise] = {
    "uniform": Uniform(10.0),
    "Gaussian": Gaussian(DEVIATION),
    "Laplace": Laplace(DEVIATION),
    "Student t, 3": StudentT(DEVIATION / math.sqrt(3.0), df=3.0),
}


@cache
def undisturbed(noise: str) -> PolicyResult:
    """Return runs without a change of A and without wrong readings."""
    return simulate(replace(FULL, noise=NOISES[noise]), {"G": GLIDE()}, horizon=300, runs=36, seed=2)["G"]


@pytest.mark.parametrize("noise", NOISES)
def test_without_a_change_there_is_no_alarm(noise: str) -> None:
    assert not undisturbed(noise).diagnostics["alarms"].any()


@pytest.mark.parametrize(("noise", "most"), [("uniform", 0.0), ("Gaussian", 0.1), ("Laplace", 1.5), ("Student t, 3", 4)])
def test_noise_is_rarely_taken_for_an_outlier(noise: str, most: float) -> None:
    assert undisturbed(noise).diagnostics["outliers"].mean() <= most  # of 300 readings


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
    assert "suspects a change: the reading of round 51" in controller.explain()
    assert "restarted learning; readings since: 2, unknowns: 3" in controller.explain()
    estimates(controller, lambda y: 5.0 * y, rounds=20)
    assert "since the change it suspected in round 51" in controller.explain()


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
