"""Changes of A are found, and told from bursts of wrong readings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from disturbed_plants import FULL, simulate_both

from burst_tables import Laplace
from soqo import GLIDE, Change, simulate
from soqo._foundation.frozen_dataclasses import evolve
from soqo._model.spectrum import Spectrum
from soqo.estimators.bayes import ReadingModel
from soqo.meters import Meter, Transmission
from soqo.noise import Gaussian, Noise, StudentT
from soqo.policies import State
from soqo.policies.glide._beliefs import Beliefs
from soqo.policies.glide._changes import rescale, restart
from soqo.policies.glide._memory import GlideMemory
from soqo.policies.glide._readings import learn
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


MODEL, TRUE_A = ReadingModel(2, "none"), np.diag([2.0, 0.5])
LONG = 100_000


def learn_reading(beliefs: Beliefs, u: Array, y: float, round_number: int) -> Beliefs:
    """Return the beliefs after one more reading."""
    return learn(
        beliefs,
        MODEL,
        u[None],
        np.array([y]),
        MODEL.features(u[None]),
        w=None,
        spectrum=Spectrum.of(TRUE_A[None]),
        last_probe=np.zeros(1),
        round_number=round_number,
        alarms=True,
        base_load=False,
    )


def quiet_beliefs() -> Beliefs:
    """Return the beliefs after 60 readings with Gaussian noise of deviation 0.1."""
    rng, beliefs = np.random.default_rng(5), Beliefs.start(MODEL, 1, base_load=False)
    for t in range(1, 61):
        u = 3.0 * rng.standard_normal(2)
        beliefs = learn_reading(beliefs, u, float(0.5 * u @ TRUE_A @ u + 0.1 * rng.standard_normal()), t)
    assert beliefs.owner.size == 1
    return beliefs


def after_quiet(beliefs: Beliefs, readings: float, rejected: float = 0.0) -> Beliefs:
    """Return the beliefs as if there had been so many readings, some of them rejected, with the same estimate."""
    posterior = evolve(beliefs.posterior, readings=np.full(1, readings - rejected))
    return evolve(beliefs, posterior=posterior, age=np.full(1, readings), rejected=np.full(1, rejected))


def log_prior_of_restart(beliefs: Beliefs, round_number: int) -> float:
    """Return the log weight of a belief that starts again, without the evidence of its first reading."""
    u, true, false = np.array([[3.0, 1.0]]), np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.bool_)
    found = restart(
        beliefs, beliefs, MODEL, true, false, u, np.array([40.0]), MODEL.features(u), None, TRUE_A[None], round_number
    )
    return float(found.log_weight[-1] - beliefs.total[0])


def log_density_of_multiple(beliefs: Beliefs, gain: float, mean: float, deviation: float, round_number: int) -> float:
    """Return the log density of a reading of which a belief says that A is now a multiple of what it was."""
    y, error = np.array([gain * mean]), np.array([deviation / mean])
    found = rescale(beliefs, beliefs, MODEL, np.ones(1, dtype=np.bool_), y, np.array([gain]), error, round_number)
    return float(found.log_weight[-1] - beliefs.log_weight[0])


def test_a_change_is_less_probable_the_longer_there_has_been_none() -> None:
    start = quiet_beliefs()
    ages = np.array([100.0, 1000.0, 10_000.0, float(LONG)])
    for log_prior in (log_prior_of_restart, lambda b, t: log_density_of_multiple(b, 0.5, 10.0, 0.1, t)):
        waiting = np.array([math.exp(-log_prior(after_quiet(start, age), int(age))) for age in ages])
        # The probability is a / (b + age), so the mean number of rounds until a change is (b + age) / a.
        slopes = np.diff(waiting) / np.diff(ages)
        np.testing.assert_allclose(slopes, slopes[0], rtol=1e-9)
        assert waiting[1] < 1.35 * waiting[0]  # runs of a thousand rounds hardly notice it
        assert waiting[-1] > 20.0 * waiting[0]


def test_a_reading_near_zero_is_no_evidence_of_a_change_to_a_multiple() -> None:
    # The logarithm of the multiple is uniform, which makes readings near zero probable if there is no noise.
    beliefs, mean, deviation = quiet_beliefs(), 10.0, 1.0
    found = [log_density_of_multiple(beliefs, gain, mean, deviation, 60) for gain in (0.4, 0.2, 0.1, 0.05, 0.04)]
    np.testing.assert_allclose(np.diff(found), [math.log(2.0), math.log(2.0), 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("deviations", "rejected"), [(4.5, 0.0), (4.5, 200.0), (5.0, 200.0), (6.0, 200.0), (8.0, 200.0)]
)
def test_after_a_long_quiet_run_a_low_reading_is_no_change(deviations: float, rejected: float) -> None:
    # Normal noise has the first of these from time to time, and noise with heavy tails, of which two of a thousand
    # readings were rejected, all of them.
    beliefs = after_quiet(quiet_beliefs(), LONG, rejected)
    deviation = float(beliefs.posterior.noise[0])
    u = np.array([math.sqrt((deviations + 0.5) * deviation), 0.0])
    after = learn_reading(beliefs, u, 0.5 * deviation, LONG + 1)
    assert after.epoch[after.best[0]] == 0.0
    weight = np.exp(after.total - after.total[after.best[0]])
    assert weight[after.epoch > 0.0].sum() < 0.1 * weight.sum()
