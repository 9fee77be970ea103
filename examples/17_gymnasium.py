"""Teaches: a plant as a Gymnasium environment, a policy of soqo as its agent, and agents to compare it with.

The plant is a data center for three days. An action is a move of the set points, and the reward is minus the cost in
kW. Random moves, a gain that SciPy trains on another episode, and GLIDE, which learns while it plays.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from scipy.optimize import minimize_scalar

import soqo
import soqo.plants.environments  # registers soqo/DataCenter-v0, soqo/WindFarm-v0 and soqo/Quadratic-v0

ROUNDS = 864
environment = gymnasium.make("soqo/DataCenter-v0", rounds=ROUNDS)


def mean_cost(choose: Callable[[dict[str, Any]], np.ndarray], seed: int) -> float:
    """Return the mean cost of an agent that looks at the observation only."""
    observation, _ = environment.reset(seed=seed)
    rewards, over = [], False
    while not over:
        observation, reward, _, over, _ = environment.step(choose(observation))
        rewards.append(float(reward))
    return -float(np.mean(rewards))


def cost_of_gain(gain: float, seed: int) -> float:
    """Return the mean cost of moving a fixed share of the way to v."""
    return mean_cost(lambda observation: gain * (observation["v"] - observation["x"]), seed)


# A policy of soqo as an agent.
observation, info = environment.reset(seed=1)
policy = soqo.Weighted(soqo.GLIDE(), info["switching_weight"])
state, rewards, over = policy.start(observation["x"]), [], False
while not over:
    x, state = policy.act(state, observation["v"], factor=observation["factor"][0])
    observation, reward, _, over, info = environment.step(x - observation["x"])
    state = policy.observe(state, info["reading"], applied=observation["x"])
    rewards.append(float(reward))

rng = np.random.default_rng(0)
noise = mean_cost(lambda observation: 0.2 * rng.standard_normal(len(observation["x"])), seed=1)
trained = minimize_scalar(cost_of_gain, bounds=(0.05, 1.0), args=(0,), method="bounded", options={"maxiter": 10})
print(f"random moves:                    {noise:8.2f} kW")
print(f"following v:                     {cost_of_gain(1.0, seed=1):8.2f} kW")
print(f"a gain of {trained.x:.2f}, trained by SciPy:{cost_of_gain(trained.x, seed=1):8.2f} kW")
print(f"GLIDE, which learns as it plays: {-float(np.mean(rewards)):8.2f} kW")
