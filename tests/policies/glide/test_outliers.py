"""Wrong readings: a good belief survives them, a bad one is taken back, and a true change is still found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from soqo import GLIDE, Change, Controller, Environment, Policy, RandomProblem, State, simulate
from soqo.noise import Uniform
from soqo.policies.glide._outliers import CERTAIN, log_ratio
from soqo.processes import Cauchy, Gaussian
from soqo.typing import Array, Rng

FULL = Environment(RandomProblem(4, 4, 1.0, 4.0), Gaussian(50.0), Uniform(10.0))
QUIET = Environment(RandomProblem(2, 2, 0.5, 2.0), Gaussian(3.0), Uniform(0.1))
JUMPS = Environment(RandomProblem(4, 4, 1.0, 4.0), Cauchy(1.0), Uniform(1.0))


@dataclass(frozen=True, eq=False)
class Misread(Policy[Any]):
    """A policy that hears a wrong value in some rounds, in every run whose number is even."""

    policy: Policy[Any]
    rounds: tuple[int, ...]
    value: float

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> Any:
        return self.policy.start(x0, horizon, rng)

    def decide(self, state: State[Any], v: Array) -> tuple[Array, Any]:
        return self.policy.act(state.memory, v)

    def learn(self, state: State[Any], y: Array) -> Any:
        spoilt = (state.round in self.rounds) & (np.arange(y.size) % 2 == 0)
        heard = np.where(spoilt, self.value, y)
        return self.policy.observe(state.memory, heard, applied=state.x)

    def diagnostics(self, state: State[Any]) -> dict[str, Any]:
        return self.policy.diagnostics(state.memory)


def spoilt(policy: GLIDE, environment: Environment, rounds: tuple[int, ...], value: float) -> Any:
    """The undisturbed track and the one that heard wrong, over 400 rounds and ten runs."""
    policies = {"clean": policy, "spoilt": Misread(policy, rounds, value)}
    result = simulate(environment, policies, 400, 10, seed=0)
    return result.tracks["clean"], result.tracks["spoilt"]


@pytest.mark.parametrize("value", [100.0, 1e4, 1e6, -1e4, 1e40])
@pytest.mark.parametrize(
    ("environment", "rounds"),
    [(FULL, (201,)), (FULL, (60, 120, 250)), (QUIET, (25,)), (JUMPS, (201,))],
    ids=["full", "several", "quiet", "jumps"],
)
def test_a_wrong_reading_costs_next_to_nothing(environment: Environment, rounds: tuple[int, ...], value: float) -> None:
    clean, wrong = spoilt(GLIDE(), environment, rounds, value)
    late = slice(rounds[0], None)
    ratio = wrong.excess[:, late].sum(axis=1) / clean.excess[:, late].sum(axis=1)
    # The reading that would have been heard in its place is lost, which a single run may feel.
    assert np.median(ratio[::2]) < 1.1
    assert ratio[::2].max() < 1.5
    assert (wrong.diagnostics["outliers"][::2] == len(rounds)).all()
    assert (wrong.diagnostics["alarms"] == 0).all()
    # The other runs of the batch are those of the undisturbed player to the bit.
    np.testing.assert_array_equal(wrong.excess[1::2], clean.excess[1::2])
    # The noise is weighed in powers of two: one reading more or less may tip the scales, but not far.
    np.testing.assert_allclose(wrong.diagnostics["noise"], clean.diagnostics["noise"], rtol=0.3)


@pytest.mark.parametrize("policy", [GLIDE(noise_cap=10.0), GLIDE(robust=True), GLIDE(window=100.0)], ids=str)
def test_so_with_every_option(policy: GLIDE) -> None:
    clean, wrong = spoilt(policy, FULL, (201,), 1e4)
    assert (wrong.excess.sum(axis=1) < 1.1 * clean.excess.sum(axis=1)).all()
    assert (wrong.diagnostics["outliers"][::2] == 1).all()


@pytest.mark.parametrize("value", [1e6, -1e4])
@pytest.mark.parametrize("rounds", [(3,), (8,), (101, 102)], ids=str)
def test_wrong_readings_that_were_believed_are_taken_back(rounds: tuple[int, ...], value: float) -> None:
    clean, wrong = spoilt(GLIDE(), QUIET, rounds, value)
    late = slice(-100, None)
    before, after = (np.median(track.excess[::2, late].sum(axis=1)) for track in (clean, wrong))
    assert after < 5.0 * before  # where it stays misled, a hundred thousand times
    assert (wrong.diagnostics["outliers"][::2] > 0).all()


@pytest.mark.parametrize("policy", [GLIDE(), GLIDE(noise_cap=10.0), GLIDE(robust=True)], ids=str)
def test_a_true_change_is_found_a_round_later(policy: GLIDE) -> None:
    changing = replace(FULL, changes=(Change(150),))
    found = simulate(changing, {"G": policy}, 200, 24, seed=1).tracks["G"].diagnostics
    assert (found["last_alarm"] >= 151).all()
    assert np.median(found["last_alarm"]) <= 152
    assert found["outliers"].mean() < 0.1


def test_what_no_change_explains_is_no_proof_of_one() -> None:
    none, far = np.array([False]), np.array([True])
    one = np.ones(1)
    # At v itself no A shows: neither a reading that fits nor one that is far off says anything.
    assert log_ratio(0.0 * one, 0.5 * one, one, none)[0] == pytest.approx(0.0)
    assert abs(log_ratio(1e-6 * one, 1e4 * one, one, far)[0]) < 1e-3
    # Where a change would show by a hundred deviations, one that fits acquits, and one as far off convicts.
    assert log_ratio(100.0 * one, 0.5 * one, one, none)[0] < -CERTAIN
    assert log_ratio(100.0 * one, 80.0 * one, one, far)[0] > CERTAIN
    # A reading wrong by a million times that is just another wrong one.
    assert abs(log_ratio(100.0 * one, 1e8 * one, one, far)[0]) < 1e-3


def steered(rounds: int, wrong: dict[int, float]) -> Controller:
    """A quiet plant after some rounds, with wrong readings in some of them."""
    rng = np.random.default_rng(0)
    A, v = np.diag([2.0, 0.5]), np.zeros(2)
    controller = Controller(GLIDE(), x0=v)
    for t in range(1, rounds + 1):
        v = v + 3.0 * rng.standard_normal(2)
        u = controller.act(v) - v
        noise = rng.uniform(-0.1, 0.1)
        controller.observe(wrong.get(t, 0.5 * u @ A @ u + noise))
    return controller


def test_it_says_what_it_holds_against_a_reading() -> None:
    assert "in doubt: the reading of round 50" in steered(50, {50: 1e4}).explain()
    assert "Found wrong so far: 1." in steered(60, {50: 1e4}).explain()
    assert "suspects a change" in steered(51, {50: 1e4, 51: 1e4}).explain()


def test_it_does_not_call_itself_confident_where_it_was_misled() -> None:
    assert "confident" in steered(40, {}).explain()
    for value in (1e6, -1e4):
        assert "confident" not in steered(40, {3: value}).explain()
        later = steered(400, {3: value})
        assert "confident" in later.explain()
        np.testing.assert_allclose(later.diagnostics()["estimate"], np.diag([2.0, 0.5]), atol=0.1)


def test_a_reading_that_is_held_back_survives_a_restart(tmp_path: Any) -> None:
    controller = steered(50, {50: 1e4})
    controller.save(tmp_path / "saved")
    again = Controller.load(tmp_path / "saved")
    assert again.explain() == controller.explain()
    # No reading is no evidence.
    again.act(np.zeros(2))
    again.observe(np.nan)
    controller.act(np.zeros(2))
    controller.observe(np.nan)
    assert "in doubt: the reading of round 50" in again.explain()
    for one in (controller, again):
        one.act(np.array([5.0, -3.0]))
        one.observe(4.0)
    for name, value in controller.diagnostics().items():
        np.testing.assert_array_equal(again.diagnostics()[name], value)
