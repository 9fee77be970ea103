"""Plants as Gymnasium environments."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils import seeding  # noqa: E402  # after the check that the extra is installed
from gymnasium.utils.env_checker import check_env  # noqa: E402  # after the check that the extra is installed

from soqo import RLS, Periodic, Weighted  # noqa: E402  # after the check that the extra is installed
from soqo.errors import ArgumentError  # noqa: E402  # after the check that the extra is installed
from soqo.plants import Quadratic, drive  # noqa: E402  # after the check that the extra is installed
from soqo.plants.environments import PlantEnvironment  # noqa: E402  # after the check that the extra is installed


@pytest.mark.parametrize(
    ("name", "options"),
    [("Quadratic", {}), ("WindFarm", {"layout": [[0.0, 0.0], [5.0, 0.0]]}), ("DataCenter", {"units": 2})],
)
def test_environments_pass_the_checks_of_gymnasium(name: str, options: dict[str, Any]) -> None:
    environment = gymnasium.make(f"soqo/{name}-v0", rounds=20, **options)
    with warnings.catch_warnings():
        # Positions are not bounded, and moves have units: it recommends otherwise.
        warnings.filterwarnings("ignore", message=".*(recommend|infinity).*")
        check_env(environment.unwrapped)


def test_rewards_are_minus_the_costs_of_a_plain_loop() -> None:
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    environment = PlantEnvironment(Quadratic(A, wear=3.0), rounds=10, largest_move=1000.0)
    seen, info = environment.reset(seed=5)
    assert info == {"switching_weight": 3.0, "max_delay": 0}
    over, rounds = False, 0
    while not over:
        x, v = seen["x"], seen["v"]
        move = 0.3 * (v - x)
        seen, reward, terminated, over, info = environment.step(move)
        u = x + move - v
        assert reward == pytest.approx(-0.5 * u @ A @ u - 1.5 * np.sum(move**2))
        np.testing.assert_allclose(seen["x"], x + move)
        assert seen["reading"][0] == info["reading"]
        assert not terminated
        rounds += 1
    assert rounds == 10


def test_an_agent_meets_the_plant_of_a_drive_with_its_delays_lag_and_outages() -> None:
    options: dict[str, Any] = {"layout": [[0.0, 0.0], [5.0, 0.0]], "delays": (0, 3), "lag": 2.0, "unavailability": 0.2}
    environment = gymnasium.make("soqo/WindFarm-v0", rounds=30, **options)
    plant = environment.unwrapped.plant
    seen, info = environment.reset(seed=7)
    policy = Periodic(Weighted(RLS(1.0), info["switching_weight"]), plant.period)
    state, rewards, late, over = policy.start(seen["x"], 30, max_delay=info["max_delay"]), [], 0, False
    while not over:
        x, state = policy.act(state, seen["v"], factor=seen["factor"][0], active=seen["active"] == 1.0)
        seen, reward, _, over, info = environment.step(x - seen["x"])
        rewards.append(reward)
        state = policy.observe(state, np.nan, applied=seen["x"])
        for reading in info["readings"]:
            late += reading["round"] < len(rewards)
            state = policy.observe(state, **reading)
        assert 0.0 <= seen["age"][0] <= len(rewards)
    assert late > 5
    drawn = int(seeding.np_random(7)[0].integers(2**31))
    found = drive(plant, {"RLS": RLS(1.0)}, rounds=30, seeds=[drawn])
    np.testing.assert_allclose(rewards, -(found.lost + found.wear)[0, :, 0], rtol=1e-6)


def test_the_minimizer_of_a_farm_is_at_the_turn_nearest_to_the_position() -> None:
    environment = gymnasium.make("soqo/WindFarm-v0", rounds=40, layout=[[0.0, 0.0]])
    seen, _ = environment.reset(seed=1)
    for _ in range(39):
        assert np.abs(seen["v"] - seen["x"]).max() <= 180.0
        seen, *_ = environment.step(np.array([30.0]))  # several turns


def test_a_round_without_a_reading_shows_zero_and_says_so() -> None:
    environment = gymnasium.make("soqo/WindFarm-v0", rounds=5, layout=[[0.0, 0.0]], constant_speed=2.0)
    environment.reset(seed=0)
    seen, _, _, _, info = environment.step(np.zeros(1))
    assert np.isnan(info["reading"])
    assert seen["reading"][0] == 0.0


def test_environment_names_what_is_wrong() -> None:
    with pytest.raises(ArgumentError, match="plant must be a Plant, got int"):
        PlantEnvironment(3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(gymnasium.error.ResetNeeded):
        PlantEnvironment(Quadratic(np.eye(2))).step(np.zeros(2))
