"""Changes of A are found, and told from bursts of wrong readings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from disturbed_plants import FULL, simulate_both

from burst_tables import Laplace
from soqo import GLIDE, Change, simulate
from soqo.meters import Meter, Transmission
from soqo.noise import Gaussian, Noise, StudentT
from soqo.policies import State
from soqo.policies.glide._memory import GlideMemory
from soqo.typing import Array


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
