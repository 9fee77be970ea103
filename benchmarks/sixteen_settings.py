"""Print the median regret of every policy in the 16 settings of the appendix, and its growth with the horizon.

    python benchmarks/sixteen_settings.py            the complete table (a few minutes)
    python benchmarks/sixteen_settings.py --runs 4   a quick table

The paper gives d = 4, r, the smallest eigenvalue sigma_r, sigma_v, eta and c1 (3 for light tails, 5 for heavy ones).
The rest is chosen here: eigenvalues spaced linearly up to 10 where r = 4; a new A for each run; the learning rate 1e-10
for HySCaLE; c1 = 10 where r = 1, as in the file names of the figures (3 rd = 12 probes of 10 unknowns carry no
information about the noise).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import soqo
from soqo.processes import Cauchy, Correlated, Gaussian, Laplace, Process

HORIZONS = (200, 400, 1000, 2000)
SHOWN = 1000


@dataclass(frozen=True)
class Setting:
    """One of the sixteen settings."""

    name: str
    process: Process
    rank: int
    sigma: float
    cap: float
    c1: float

    def environment(self) -> soqo.Environment:
        """Return the environment, with a new A for each run."""
        max_eigenvalue = 10.0 if self.rank > 1 else None
        problem = soqo.RandomProblem(4, self.rank, min_eigenvalue=self.sigma, max_eigenvalue=max_eigenvalue)
        return soqo.Environment(problem, self.process, soqo.noise.Uniform(self.cap))

    def policies(self) -> dict[str, soqo.Policy[Any]]:
        """Return the policies by the names of their columns."""
        known: dict[str, Any] = {"noise_cap": self.cap, "rank": self.rank, "min_eigenvalue": self.sigma}
        return {
            "FTM": soqo.FTM(),
            "POL 1e-6": soqo.POL(1e-6),
            "POL 1e-8": soqo.POL(1e-8),
            "OAL 1e-8": soqo.OAL(1e-8),
            "SCaLE": soqo.SCaLE(**known, c1=self.c1),
            "HySCaLE": soqo.HySCaLE(**known, c1=self.c1, learning_rate=1e-10),
            "SCaLE printed": soqo.SCaLE.as_printed(**known, c1=self.c1),
        }


def settings() -> Iterator[Setting]:
    """Yield the settings: four processes, two ranks, two smallest eigenvalues."""
    for name, process, cap, c1 in (
        ("Gaussian", Gaussian(50.0), 10.0, 3.0),
        ("correlated", Correlated(50.0, alpha=0.7, form="additive"), 10.0, 3.0),
        ("Cauchy", Cauchy(1.0), 1.0, 5.0),
        ("Laplace", Laplace(50.0), 1.0, 5.0),
    ):
        for rank in (4, 1):
            for sigma in (1.0, 0.01):
                probes = 10.0 if rank == 1 else c1
                yield Setting(f"{name} r={rank} {sigma:g}", process, rank, sigma, cap, probes)


def exponent(medians: list[float]) -> float:
    """Return the slope of log regret against log horizon."""
    return float(np.polyfit(np.log(HORIZONS), np.log(np.maximum(medians, 1e-12)), 1)[0])


def format_short(value: float) -> str:
    """Format a number with three digits."""
    return f"{value:.3g}".replace("e+0", "e")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=24)
    runs = parser.parse_args().runs
    columns = list(next(settings()).policies())
    print(f"median regret after {SHOWN} rounds, {runs} runs; exponents over T = {HORIZONS}")
    print("setting".ljust(20), *(c.rjust(13) for c in columns), "exponents SCaLE, HySCaLE")
    wins = 0
    for setting in settings():
        medians: dict[str, list[float]] = {name: [] for name in columns}
        for horizon in HORIZONS:
            result = soqo.simulate(setting.environment(), setting.policies(), horizon=horizon, runs=runs, seed=0)
            for name in columns:
                medians[name].append(float(np.median(result.regret(name)[:, -1])))
        row = {name: values[HORIZONS.index(SHOWN)] for name, values in medians.items()}
        wins += row["SCaLE"] < min(row[c] for c in columns[:4])
        slopes = ", ".join(f"{exponent(medians[name]):.2f}" for name in ("SCaLE", "HySCaLE"))
        print(setting.name.ljust(20), *(format_short(row[c]).rjust(13) for c in columns), slopes, flush=True)
    print(f"SCaLE is below FTM, POL and OAL in {wins} of 16 settings")


if __name__ == "__main__":
    main()
