"""What bursts of wrong readings do to GLIDE, and how often it raises a false alarm.

    python benchmarks/burst_tables.py                    both tables (minutes)
    python benchmarks/burst_tables.py --quick            fewer cells and runs
    python benchmarks/burst_tables.py --tables alarms    one of: bursts, alarms

The plant has d = 4, eigenvalues 1 to 4, Gaussian steps of 50 and noise up to 10. In a burst, k readings from a round on
are wrong: times 10, 100 or 1e6, negated, or times a random number, log-uniform from 1 to 1e6 with a random sign. Each
run is compared with the same run without the burst; "floor" is the same run without these k readings.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import soqo
from soqo.meters import Burst, Meter, Transmission
from soqo.noise import Gaussian, Noise, StudentT, Uniform
from soqo.typing import Array

ROUNDS = 260
RUNS = 48
SEED = 1
STARTS = (3, 10, 50, 200)
LENGTHS = (1, 2, 3, 5, 10)
CAP = 10.0

PROBLEM = soqo.RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0)
PROCESS = soqo.processes.Gaussian(50.0)


@dataclass(frozen=True)
class Missing(Meter):
    """A meter without readings for some rounds."""

    start: int
    rounds: int

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Drop the reading during the gap."""
        return np.full_like(y, np.nan) if self.start <= transmission.t < self.start + self.rounds else y


@dataclass(frozen=True)
class RandomBurst(Meter):
    """A meter whose readings are multiplied by random numbers for some rounds, log-uniform with a random sign."""

    start: int
    rounds: int
    largest: float = 1e6

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw the factors."""
        sign, size = rng.random((horizon, 2)).T
        return np.asarray(np.sign(sign - 0.5) * self.largest**size)

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Multiply the reading during the burst."""
        return transmission.variate * y if self.start <= transmission.t < self.start + self.rounds else y


@dataclass(frozen=True)
class Laplace(Noise):
    """Independent noise with a Laplace distribution of this standard deviation."""

    deviation: float

    @property
    def is_martingale(self) -> bool:
        """True: the noise is independent of the past and has mean zero."""
        return True

    @property
    def variance(self) -> float:
        """The variance of one reading."""
        return self.deviation**2

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw numbers of variance one."""
        return rng.laplace(scale=math.sqrt(0.5), size=horizon)

    def perturb(self, variate: Array, u: Array, problem: soqo.Problem) -> Array:
        """Scale the variate."""
        return self.deviation * variate


def factor(value: float) -> Callable[[int, int], Meter]:
    """Return the maker of bursts with a factor."""
    return lambda start, rounds: Burst(start, rounds, factor=value)


KINDS: dict[str, Callable[[int, int], Meter]] = {
    "floor": Missing,
    "10x": factor(10.0),
    "100x": factor(100.0),
    "1e6x": factor(1e6),
    "negative": factor(-1.0),
    "random": RandomBurst,
}

Cells = dict[tuple[int, int], dict[str, Array]]
"""For each burst and kind, one number per run."""


def losses(meters: Meter | tuple[Meter, ...], horizon: int, runs: int, policy: Any) -> Array:
    """Return the low-variance regret of every round, shape (runs, horizon)."""
    environment = soqo.Environment(PROBLEM, PROCESS, Uniform(CAP), meters=meters)
    result = soqo.simulate(environment, {"policy": policy}, horizon=horizon, runs=runs, seed=SEED)
    return result["policy"].low_variance_regret


def burst_cells(bursts: Iterable[tuple[int, int]], runs: int, policy: Any) -> Cells:
    """Return the regret of each run divided by that of the undisturbed run."""
    clean = losses((), ROUNDS, runs, policy).sum(axis=1)
    return {
        burst: {kind: losses(make(*burst), ROUNDS, runs, policy).sum(axis=1) / clean for kind, make in KINDS.items()}
        for burst in bursts
    }


def burst_table(bursts: list[tuple[int, int]], runs: int, policy: Any) -> None:
    """Print the median of each cell."""
    print(f"Bursts: median over {runs} runs of regret after {ROUNDS} rounds over the undisturbed run's")
    print("round, k".ljust(10), *(kind.rjust(10) for kind in KINDS))
    for (start, k), row in burst_cells(bursts, runs, policy).items():
        cells = (f"{np.median(values):.3g}".rjust(10) for values in row.values())
        print(f"{start}, {k}".ljust(10), *cells, flush=True)


def alarm_table(runs: int, policy: Any, horizon: int = 800) -> None:
    """Print the share of undisturbed runs with an alarm, and the readings per run that are taken for outliers."""
    deviation = CAP / math.sqrt(3.0)
    noises: dict[str, Noise] = {
        "uniform": Uniform(CAP),
        "Gaussian": Gaussian(deviation),
        "Laplace": Laplace(deviation),
        "Student t, 3": StudentT(deviation / math.sqrt(3.0), df=3.0),
    }
    print(f"\nFalse alarms: {runs} runs of {horizon} rounds without a change; noise of deviation {deviation:.3g}")
    print("noise".ljust(14), "runs with an alarm".rjust(18), "outliers per run".rjust(18), "median regret".rjust(14))
    for name, noise in noises.items():
        environment = soqo.Environment(PROBLEM, PROCESS, noise)
        result = soqo.simulate(environment, {"policy": policy}, horizon=horizon, runs=runs, seed=SEED)
        found = result["policy"].diagnostics
        alarms, outliers = (np.asarray(found.get(key, np.nan), dtype=float) for key in ("alarms", "outliers"))
        regret = float(np.median(result["policy"].low_variance_regret.sum(axis=1)))
        share = float(np.mean(alarms > 0.0)) if np.isfinite(alarms).all() else math.nan
        print(name.ljust(14), f"{share:18.3f} {float(np.mean(outliers)):18.3f} {regret:14.0f}", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer cells and runs")
    parser.add_argument("--tables", nargs="+", default=["bursts", "alarms"], choices=["bursts", "alarms"])
    options = parser.parse_args()
    runs, lengths = (8, (1, 3, 10)) if options.quick else (RUNS, LENGTHS)
    if "bursts" in options.tables:
        burst_table([(start, k) for start in STARTS for k in lengths], runs, soqo.GLIDE())
    if "alarms" in options.tables:
        alarm_table(20 if options.quick else 400, soqo.GLIDE())


if __name__ == "__main__":
    main()
