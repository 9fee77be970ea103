"""Teaches: write a policy of your own in a few lines, check it, and compare it with the others.

`decide` returns the action; implement `begin` and `learn` too if the policy has a memory. This policy assumes A = a I.
It estimates a from the total cost and the total squared distance so far, and plays LAI's stationary step for it.
"""

import math
from dataclasses import dataclass

import numpy as np

import soqo
from soqo.typing import Array, Rng


@dataclass(frozen=True)
class Totals:
    """The memory of the policy, for each run."""

    cost: Array
    distance: Array


@dataclass(frozen=True)
class OneNumber(soqo.Policy[Totals]):
    """LAI for A = a I, with a the running ratio of cost to squared distance."""

    def begin(self, x0: Array, horizon: int | None, rng: Rng | None) -> Totals:
        ones = np.ones(x0.shape[:-1])
        return Totals(cost=ones, distance=ones)

    def decide(self, state: soqo.State[Totals], v: Array) -> tuple[Array, Totals]:
        a = np.maximum(2.0 * state.memory.cost / state.memory.distance, 0.0)
        shrink = soqo.contraction(a, math.inf)[..., None]
        return v + shrink * (state.x - v), state.memory

    def learn(self, state: soqo.State[Totals], y: Array) -> Totals:
        distance = np.square(state.x - state.v).sum(axis=-1)
        observed = ~np.isnan(y)  # NaN means no reading, which must not change the memory
        return Totals(
            cost=state.memory.cost + np.where(observed, y, 0.0),
            distance=state.memory.distance + np.where(observed, distance, 0.0),
        )


def main() -> None:
    """Check the policy, and compare it with two others."""
    policy = OneNumber()
    soqo.checks.check_policy(policy)
    print("OneNumber passes all checks\n")
    environment = soqo.Environment(
        soqo.RandomProblem(dim=4, rank=4, min_eigenvalue=0.5, max_eigenvalue=2.0),
        soqo.processes.Laplace(scale=10.0),
        soqo.noise.Uniform(cap=10.0),
    )
    policies = {"FTM": soqo.FTM(), "POL": soqo.POL(1e-7), "OneNumber": policy}
    print(soqo.simulate(environment, policies, horizon=500, runs=50, seed=1).summary())


if __name__ == "__main__":
    main()
