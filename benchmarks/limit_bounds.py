"""Print the lower bound of Theorem 3 beside the regret of policies, for A from the prior of the bound.

python benchmarks/limit_bounds.py [--rounds 1000] [--runs 48] [--radius 0.15]

The centers are the curvatures of the twelve settings, with normal steps and noise of the same variances. LAI(A0) plays
for the center of the prior. The last column is the bound for 10,000 times as many rounds.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

import soqo
from limit_settings import Setting, settings
from soqo.theory import local_prior, regret_lower_bound
from soqo.typing import Array


def policies(setting: Setting) -> dict[str, soqo.Policy[Any]]:
    """Return policies that follow, probe or learn from movement; one of them knows the prior."""
    smallest = float(np.linalg.eigvalsh(setting.A)[0])
    return {
        "GLIDE": soqo.GLIDE(),
        "RLS": soqo.RLS(setting.deviation),
        "FTM": soqo.FTM(),
        "SCaLE": soqo.SCaLE(3.0 * setting.deviation, rank=len(setting.A), min_eigenvalue=0.5 * smallest),
        "LAI(A0)": soqo.LAI(setting.A),
    }


def measure(setting: Setting, rounds: int, runs: int, radius: float) -> tuple[float, dict[str, Array]]:
    """Return the bound, and the regret of each run by policy."""
    covariance = setting.process.covariance(len(setting.A))
    assert covariance is not None
    bound = regret_lower_bound(setting.A, covariance, setting.deviation, rounds, radius=radius).value
    problem = soqo.Problem(local_prior(setting.A, radius, runs, rng=1))
    process = soqo.processes.Gaussian(np.linalg.cholesky(covariance))
    environment = soqo.Environment(problem, process, soqo.noise.Gaussian(setting.deviation))
    result = soqo.simulate(environment, policies(setting), horizon=rounds, runs=runs, seed=2)
    return bound, {name: result.regret(name, form="low_variance")[:, -1] for name in result}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--radius", type=float, default=0.15)
    given = parser.parse_args()
    names = list(policies(next(settings())))
    print(f"{'setting':<30}{'bound':>9}" + "".join(f"{name:>20}" for name in names) + f"{'bound, long':>13}")
    for setting in settings():
        bound, regret = measure(setting, given.rounds, given.runs, given.radius)
        cells = [
            f"{found.mean():>11.3g} +- {found.std(ddof=1) / math.sqrt(given.runs):<5.1g}" for found in regret.values()
        ]
        covariance = setting.process.covariance(len(setting.A))
        assert covariance is not None
        long = regret_lower_bound(
            setting.A, covariance, setting.deviation, 10_000 * given.rounds, radius=given.radius
        ).value
        print(f"{setting.name:<30}{bound:>9.3g}" + "".join(cells) + f"{long:>13.3g}", flush=True)


if __name__ == "__main__":
    main()
