"""Teaches: shadow mode, which tells from a log what another policy would have saved.

A plant has gone half of the way to v in each round for a day, and kept a log. Would GLIDE have done better, by how
much, and how sure can one be? In this simulation the truth is known too.
"""

from dataclasses import dataclass

import numpy as np

import soqo


@dataclass(frozen=True)
class Halfway(soqo.Policy[None]):
    """What the plant has done so far."""

    def decide(self, state: soqo.State[None], v: np.ndarray) -> tuple[np.ndarray, None]:
        return (state.x + v) / 2, None


ROUNDS = 1440
problem = soqo.Problem(np.array([[0.5, 0.2], [0.2, 0.3]]), switching_weight=[1.0, 4.0])
rng = np.random.default_rng(0)
v = np.cumsum(2.0 * rng.standard_normal((ROUNDS, 2)), axis=0)
noise = rng.uniform(-2.0, 2.0, ROUNDS)


def day(policy: soqo.Policy[None] | soqo.GLIDE) -> tuple[float, soqo.Log]:
    """The cost of a day with a policy, and its log."""
    controller = soqo.Controller(policy, np.zeros(2), switching_weight=problem.switching_weight)
    x, y = np.empty_like(v), np.empty(ROUNDS)
    for t in range(ROUNDS):
        x[t] = controller.act(v[t])
        y[t] = problem.hitting_cost(x[t], v[t]) + noise[t]
        controller.observe(y[t])
    before = np.vstack([np.zeros(2), x[:-1]])
    cost = problem.hitting_cost(x, v).sum() + problem.switching_cost(x, before).sum()
    return float(cost), soqo.Log(v, x, y, x0=np.zeros(2), switching_weight=problem.switching_weight)


cost, log = day(Halfway())
found = soqo.replay(soqo.GLIDE(), log)
print(found)
print(f"in truth: {cost - day(soqo.GLIDE())[0]:.4g}")

# A plant that is always at v never finds out what standing off would cost.
print()
print(soqo.replay(soqo.GLIDE(), day(soqo.FTM())[1]))
