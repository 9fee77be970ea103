"""Starts that wrong readings have misled are corrected later."""

from __future__ import annotations

import numpy as np
from disturbed_plants import FULL, QUIET, missing_and_wrong, simulate_both

from soqo import GLIDE, Environment, RandomProblem, simulate
from soqo.meters import BaseLoad, Burst
from soqo.noise import Uniform
from soqo.processes import Gaussian


def test_wrong_readings_at_the_start_have_no_effect_later() -> None:
    cases = [((first,), value) for first in (1, 2, 3, 8) for value in (1e6, -1e4)]
    missing, wrong = simulate_both(GLIDE(), QUIET, missing_and_wrong(*cases), horizon=160, runs=8 * len(cases))
    before, after = (
        np.median(result.low_variance_regret[:, -80:].sum(axis=1).reshape(8, -1), axis=0) for result in (missing, wrong)
    )
    assert (after < 1.5 * before).all()  # a posterior that keeps the wrong readings has a ratio of 1e5


def test_a_start_with_ten_wrong_readings_is_corrected() -> None:
    # Ten readings in a row that fit ten times the true A: until the latest readings are fitted alone, nothing
    # contradicts them but larger noise.
    meters = Burst(3, 10, factor=1.0), Burst(3, 10, factor=10.0)
    clean, wrong = simulate_both(GLIDE(), FULL, meters, horizon=160, runs=12)
    late = [np.median(result.low_variance_regret[:, 120:].sum(axis=1)) for result in (clean, wrong)]
    assert late[1] < 3.0 * late[0]  # to play for ten times A costs ten thousand times as much


def test_a_belief_that_rejects_everything_is_replaced() -> None:
    environment = Environment(RandomProblem(4, 1, min_eigenvalue=1.0), Gaussian(50.0), Uniform(10.0))
    found = simulate(environment, {"G": GLIDE(noise_cap=10.0)}, horizon=200, runs=60, seed=3)["G"].diagnostics
    # In one of these runs, the first readings agree by chance to a hundredth of the noise.
    assert found["outliers"].max() < 40
    np.testing.assert_array_less(1.0, found["noise"])


def test_a_base_load_that_walks_is_found() -> None:
    environment = Environment(FULL.problem, Gaussian(5.0), Uniform(1.0), meters=(BaseLoad(30.0, walk=2.0),))
    policies = {"G": GLIDE(), "without": GLIDE(base_load=False)}
    result = simulate(environment, policies, horizon=200, runs=12, seed=4)
    regret = {name: float(np.median(result[name].low_variance_regret.sum(axis=1))) for name in policies}
    assert regret["G"] < 0.3 * regret["without"]
