"""Teaches: shadow mode, which estimates from a log what another policy would have saved.

A plant has moved half of the way to v in each minute of a day, and recorded a log. How much would GLIDE have saved, and
how accurate is the estimate? In this simulation the true saving is known too.
"""

from dataclasses import dataclass

import numpy as np

import soqo


@dataclass(frozen=True)
class Halfway(soqo.Policy[None]):
    """The policy of the plant so far: move half of the way to v."""

    def decide(self, state: soqo.State[None], v: np.ndarray) -> tuple[np.ndarray, None]:
        return (state.x + v) / 2, None


ROUNDS = 1440
problem = soqo.Problem(np.array([[0.5, 0.2], [0.2, 0.3]]), switching_weight=[1.0, 4.0])
rng = np.random.default_rng(0)
v = np.cumsum(2.0 * rng.standard_normal((ROUNDS, 2)), axis=0)
noise = rng.uniform(-2.0, 2.0, ROUNDS)


def day(policy: soqo.Policy[None] | soqo.GLIDE) -> tuple[float, soqo.Log]:
    """Return the cost of a day with a policy, and its log."""
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
print(f"true saving: {cost - day(soqo.GLIDE())[0]:.4g}")

# A plant that is always at v observes no cost, so its log holds no information about A.
print()
print(soqo.replay(soqo.GLIDE(), day(soqo.FTM())[1]))
