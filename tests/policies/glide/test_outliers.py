"""Wrong readings: they are withheld or discarded later, and a change of A is still detected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from soqo import GLIDE, Change, Controller, Environment, Policy, RandomProblem, State, simulate
from soqo.noise import Uniform
from soqo.policies.glide._outliers import _DECISIVE_LOG_ODDS, _log_likelihood_ratio
from soqo.processes import Cauchy, Gaussian
from soqo.typing import Array, Rng

FULL = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Gaussian(50.0), Uniform(10.0))
QUIET = Environment(RandomProblem(2, 2, min_eigenvalue=0.5, max_eigenvalue=2.0), Gaussian(3.0), Uniform(0.1))
JUMPS = Environment(RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0), Cauchy(1.0), Uniform(1.0))


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


def simulate_both(policy: GLIDE, environment: Environment, rounds: tuple[int, ...], value: float) -> Any:
    """Return the tracks without and with wrong readings, over 400 rounds and ten runs."""
    policies = {"clean": policy, "wrong": Misread(policy, rounds, value)}
    result = simulate(environment, policies, horizon=400, runs=10, seed=0)
    return result["clean"], result["wrong"]


@pytest.mark.parametrize("value", [100.0, 1e4, 1e6, -1e4, 1e40])
@pytest.mark.parametrize(
    ("environment", "rounds"),
    [(FULL, (201,)), (FULL, (60, 120, 250)), (QUIET, (25,)), (JUMPS, (201,))],
    ids=["full", "several", "quiet", "jumps"],
)
def test_a_wrong_reading_costs_almost_nothing(environment: Environment, rounds: tuple[int, ...], value: float) -> None:
    clean, wrong = simulate_both(GLIDE(), environment, rounds, value)
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
    clean, wrong = simulate_both(policy, FULL, (201,), 1e4)
    assert (wrong.low_variance_regret.sum(axis=1) < 1.1 * clean.low_variance_regret.sum(axis=1)).all()
    assert (wrong.diagnostics["outliers"][::2] == 1).all()


@pytest.mark.parametrize("value", [1e6, -1e4])
@pytest.mark.parametrize("rounds", [(3,), (8,), (101, 102)], ids=str)
def test_accepted_wrong_readings_are_discarded_later(rounds: tuple[int, ...], value: float) -> None:
    clean, wrong = simulate_both(GLIDE(), QUIET, rounds, value)
    late = slice(-100, None)
    before, after = (np.median(track.low_variance_regret[::2, late].sum(axis=1)) for track in (clean, wrong))
    assert after < 5.0 * before  # a posterior that keeps the wrong readings has a ratio of 1e5
    assert (wrong.diagnostics["outliers"][::2] > 0).all()


@pytest.mark.parametrize("policy", [GLIDE(), GLIDE(noise_cap=10.0), GLIDE(robust=True)], ids=str)
def test_a_change_is_detected_a_round_later(policy: GLIDE) -> None:
    changing = replace(FULL, changes=(Change(150),))
    found = simulate(changing, {"G": policy}, horizon=200, runs=24, seed=1)["G"].diagnostics
    assert (found["last_alarm"] >= 151).all()
    assert np.median(found["last_alarm"]) <= 152
    assert found["outliers"].mean() < 0.1


def test_errors_that_no_change_explains_are_no_evidence_of_a_change() -> None:
    none, far = np.array([False]), np.array([True])
    one = np.ones(1)
    # Readings at v itself do not depend on A and are no evidence.
    assert _log_likelihood_ratio(0.0 * one, 0.5 * one, one, none)[0] == pytest.approx(0.0)
    assert abs(_log_likelihood_ratio(1e-6 * one, 1e4 * one, one, far)[0]) < 1e-3
    # If a change has an effect of a hundred deviations, a reading is decisive either way.
    assert _log_likelihood_ratio(100.0 * one, 0.5 * one, one, none)[0] < -_DECISIVE_LOG_ODDS
    assert _log_likelihood_ratio(100.0 * one, 80.0 * one, one, far)[0] > _DECISIVE_LOG_ODDS
    # An error a million times as large is another wrong reading.
    assert abs(_log_likelihood_ratio(100.0 * one, 1e8 * one, one, far)[0]) < 1e-3


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
    assert "testing a reading: that of round 50" in steer(50, {50: 1e4}).explain()
    assert "Outliers so far: 1." in steer(60, {50: 1e4}).explain()
    assert "suspects a change" in steer(51, {50: 1e4, 51: 1e4}).explain()


def test_glide_is_not_confident_after_accepting_a_wrong_reading() -> None:
    assert "confident" in steer(40, {}).explain()
    for value in (1e6, -1e4):
        assert "confident" not in steer(40, {3: value}).explain()
        later = steer(400, {3: value})
        assert "confident" in later.explain()
        np.testing.assert_allclose(later.diagnostics()["estimate"], np.diag([2.0, 0.5]), atol=0.1)


def test_a_withheld_reading_is_saved_and_loaded(tmp_path: Any) -> None:
    controller = steer(50, {50: 1e4})
    controller.save(tmp_path / "saved")
    again = Controller.load(tmp_path / "saved")
    assert again.explain() == controller.explain()
    # A missing reading is no evidence.
    again.act(np.zeros(2))
    again.observe(np.nan)
    controller.act(np.zeros(2))
    controller.observe(np.nan)
    assert "testing a reading: that of round 50" in again.explain()
    for one in (controller, again):
        one.act(np.array([5.0, -3.0]))
        one.observe(4.0)
    for name, value in controller.diagnostics().items():
        np.testing.assert_array_equal(again.diagnostics()[name], value)
