"""Compare the saving that `soqo.replay` estimates from a log of 10,000 rounds with the true one (two to three minutes).

python benchmarks/shadow_log.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import soqo
from soqo.typing import Array

ROUNDS = 10_000
SETTINGS: dict[str, tuple[int, soqo.processes.Process]] = {
    "Gaussian 5, r=4": (4, soqo.processes.Gaussian(scale=5.0)),
    "Gaussian 5, r=1": (1, soqo.processes.Gaussian(scale=5.0)),
    "Gaussian 0.3, r=4": (4, soqo.processes.Gaussian(scale=0.3)),
    "Cauchy 1, r=4": (4, soqo.processes.Cauchy(scale=1.0)),
    "Cauchy 1, r=1": (1, soqo.processes.Cauchy(scale=1.0)),
}


@dataclass(frozen=True)
class Halfway(soqo.Policy[None]):
    """The fixed interpolation x = x/2 + v/2."""

    def decide(self, state: soqo.State[None], v: Array) -> tuple[Array, None]:
        return (state.x + v) / 2, None


def steer(policy: soqo.Policy[Any], A: Array, v: Array, noise: Array) -> tuple[float, soqo.Log]:
    """Return the true cost of a policy, and its log."""
    problem, x0 = soqo.Problem(A), np.zeros(v.shape[1])
    controller = soqo.Controller(policy, x0)
    x, y = np.empty_like(v), np.empty(len(v))
    for t in range(len(v)):
        x[t] = controller.act(v[t])
        y[t] = problem.hitting_cost(x[t], v[t]) + noise[t]
        controller.observe(y[t])
    before = np.vstack([x0, x[:-1]])
    cost = problem.hitting_cost(x, v).sum() + problem.switching_cost(x, before).sum()
    return float(cost), soqo.Log(v, x, y, x0=x0)


def main() -> None:
    """Print a line for each log."""
    print(f"{'setting, noise up to 10':24} {'log of':8} {'true saving':>12} {'estimate':>10}  interval (95 %)")
    for name, (rank, process) in SETTINGS.items():
        rng = np.random.default_rng(0)
        A = soqo.random_curvature(dim=4, rank=rank, min_eigenvalue=0.2, max_eigenvalue=3.0, rng=rng)
        v = np.cumsum(process.steps(rng, ROUNDS, 4), axis=0)
        noise = rng.uniform(-10.0, 10.0, ROUNDS)
        best, _ = steer(soqo.GLIDE(), A, v, noise)
        for log_of in (Halfway(), soqo.FTM()) if name == "Gaussian 5, r=4" else (Halfway(),):
            cost, log = steer(log_of, A, v, noise)
            found = soqo.replay(soqo.GLIDE(), log)
            low, high = found.interval
            print(
                f"{name:24} {type(log_of).__name__:8} {cost - best:12.5g} {found.saving:10.5g}  "
                f"{low:.5g} .. {high:.5g}  information: {found.information.value}"
            )


if __name__ == "__main__":
    main()
