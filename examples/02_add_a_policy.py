"""Teaches: write a policy of your own in a few lines, check it, and compare it with the others.

`decide` says where to go; `begin` and `learn` are there if the policy remembers anything. This one scales the identity:
it keeps a running mean of how costly a squared unit of distance has been, and plays LAI's stationary step with that.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import soqo
from soqo._planner import contraction


@dataclass(frozen=True)
class Totals:
    """What the policy remembers, for each run."""

    cost: Any
    distance: Any


@dataclass(frozen=True)
class OneNumber(soqo.Policy[Totals]):
    """LAI for A = a I, with a the running ratio of cost to squared distance."""

    def begin(self, x0: Any, horizon: int | None, rng: Any) -> Totals:
        ones = np.ones(x0.shape[:-1])
        return Totals(cost=ones, distance=ones)

    def decide(self, state: soqo.State[Totals], v: Any) -> tuple[Any, Totals]:
        a = np.maximum(2.0 * state.memory.cost / state.memory.distance, 0.0)
        shrink = contraction(a, math.inf)[..., None]
        return v + shrink * (state.x - v), state.memory

    def learn(self, state: soqo.State[Totals], y: Any) -> Totals:
        distance = np.square(state.x - state.v).sum(axis=-1)
        heard = ~np.isnan(y)  # NaN: no reading, so nothing learned
        return Totals(
            cost=state.memory.cost + np.where(heard, y, 0.0),
            distance=state.memory.distance + np.where(heard, distance, 0.0),
        )


def main() -> None:
    """Check the policy, then let it play."""
    policy = OneNumber()
    soqo.checks.check_policy(policy)
    print("OneNumber keeps the contract\n")
    environment = soqo.Environment(
        soqo.RandomProblem(dim=4, rank=4, min_eigenvalue=0.5, max_eigenvalue=2.0),
        soqo.processes.Laplace(scale=10.0),
        soqo.noise.Uniform(cap=10.0),
    )
    policies = {"FTM": soqo.FTM(), "POL": soqo.POL(1e-7), "OneNumber": policy}
    print(soqo.simulate(environment, policies, horizon=500, runs=50, seed=1).summary())


if __name__ == "__main__":
    main()
