"""What bursts of wrong readings, changes of A and heavy-tailed noise do to GLIDE, and bursts to RLS.

    python benchmarks/burst_tables.py                    all tables (ten minutes)
    python benchmarks/burst_tables.py --quick            fewer cells and runs
    python benchmarks/burst_tables.py --tables bursts    some of: bursts, recovery, changes, alarms

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
ENVIRONMENT = soqo.Environment(PROBLEM, PROCESS, Uniform(CAP))

RECOVERY_ROUNDS, RECOVERY_WINDOW, RECOVERY_SHARE = 200, 60, 1e-5
"""A run has recovered if so many rounds after the burst, over a window, its regret exceeds that of the undisturbed run
by at most this share of the optimal player's cost."""

BAR_TOLERANCE = 1.2

BARS: dict[tuple[int, int], tuple[float, float, float, float, float, float]] = {
    (3, 1): (1.16, 1.5, 1.15, 1.15, 1.2, 1.15),
    (3, 3): (1.35, 2.6, 2.1, 1.3, 2.5, 1.3),
    (3, 5): (1.56, 12.0, 3.9, 1.6, 2.5, 1.6),
    (3, 10): (1.93, 27.0, 17.0, 1.9, 5.9, 2.0),
    **{(10, k): (1.14, 1.6, 1.14, 1.14, 1.14, 1.14) for k in LENGTHS},
    (50, 2): (1.0, 1.8, 1.0, 1.0, 1.0, 1.0),
    (50, 10): (1.0, 8.0, 1.0, 1.0, 1.0, 1.0),
    (200, 3): (1.0, 1.9, 1.0, 1.0, 1.0, 1.0),
    (200, 10): (1.0, 7.0, 1.0, 1.0, 1.0, 1.0),
}
"""Bars: the floor and the cells of the five kinds that a bank of hypotheses has reached on other seeds."""

CHANGE_BARS = {"jump": 2703.0, "slow turn": 1667.0, "ten times": 15.1e3, "a tenth": 4087.0, "to rank 1": 10.8e3}
"""Bars: median regrets of the same bank of hypotheses."""


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


def recovery_cells(bursts: Iterable[tuple[int, int]], runs: int, policy: Any) -> Cells:
    """Return how much more each run pays than the undisturbed run 200 rounds after, as a share of LAI's cost."""
    cells: Cells = {}
    for start, k in bursts:
        end = start + k - 1
        horizon = end + RECOVERY_ROUNDS + RECOVERY_WINDOW
        late = slice(end + RECOVERY_ROUNDS, horizon)
        plain = soqo.simulate(ENVIRONMENT, {"FTM": soqo.FTM()}, horizon=horizon, runs=runs, seed=SEED)
        optimal = (plain.benchmark_hitting + plain.benchmark_switching)[:, late].sum(axis=1)
        clean = losses((), horizon, runs, policy)[:, late].sum(axis=1)
        cells[start, k] = {
            kind: (losses(make(start, k), horizon, runs, policy)[:, late].sum(axis=1) - clean) / optimal
            for kind, make in KINDS.items()
        }
    return cells


def show(title: str, cells: Cells, reduce: Callable[[Array], Any], mark: bool = False) -> None:
    """Print one number per cell; a star marks a cell above its bar."""
    print(f"\n{title}")
    print("round, k".ljust(10), *(kind.rjust(10) for kind in KINDS))
    for (start, k), row in cells.items():
        numbers = {kind: float(reduce(values)) for kind, values in row.items()}
        texts = [
            f"{number:.3g}" + ("*" if mark and is_above_bar((start, k), kind, numbers) else " ")
            for kind, number in numbers.items()
        ]
        print(f"{start}, {k}".ljust(10), *(text.rjust(10) for text in texts), flush=True)


def is_above_bar(burst: tuple[int, int], kind: str, numbers: dict[str, float]) -> bool:
    """Whether a cell is above 1.2 times its bar, or 1.2 times the floor where that is higher."""
    if burst not in BARS:
        return False
    bar = BARS[burst][list(KINDS).index(kind)]
    return numbers[kind] > BAR_TOLERANCE * max(bar, numbers["floor"])


def burst_tables(bursts: list[tuple[int, int]], runs: int, policy: Any) -> None:
    """Print the medians, the worst runs, how many cells are good, and the medians of RLS."""
    cells = burst_cells(bursts, runs, policy)
    title = f"Bursts: median over {runs} runs of regret after {ROUNDS} rounds over the undisturbed run's"
    show(f"{title}; * is above its bar", cells, np.median, mark=True)
    show("Bursts: the worst run", cells, np.max)
    print("\nBars")
    print("round, k".ljust(10), *(kind.rjust(10) for kind in KINDS))
    for (start, k), bars in BARS.items():
        print(f"{start}, {k}".ljust(10), *(f"{bar:.3g} ".rjust(10) for bar in bars))
    found = [
        (burst, kind, float(np.median(values)), float(values.max()), {k: float(np.median(v)) for k, v in row.items()})
        for burst, row in cells.items()
        for kind, values in row.items()
        if kind != "floor"
    ]
    barred = [is_above_bar(burst, kind, numbers) for burst, kind, _, _, numbers in found if burst in BARS]
    print(
        f"\nof {len(found)} cells: {sum(median > 2.0 for _, _, median, _, _ in found)} have a median above 2, "
        f"{sum(worst > 5.0 for _, _, _, worst, _ in found)} have a run above 5; "
        f"of {len(barred)} cells with a bar, {len(barred) - sum(barred)} are at most {BAR_TOLERANCE} times it"
    )
    plain = soqo.RLS(CAP / math.sqrt(3.0))
    show("Bursts: the median for RLS over its own undisturbed run", burst_cells(bursts, runs, plain), np.median)


def recovery_table(bursts: list[tuple[int, int]], runs: int, policy: Any) -> None:
    """Print the worst run of each cell, and how many runs have recovered."""
    cells = recovery_cells(bursts, runs, policy)
    title = (
        f"Recovery: the worst of {runs} runs in {RECOVERY_WINDOW} rounds, {RECOVERY_ROUNDS} rounds after the burst: "
    )
    show(f"{title}cost above that\nof the undisturbed run, as a share of the optimal player's cost", cells, np.max)
    found = np.stack([values for row in cells.values() for kind, values in row.items() if kind != "floor"])
    print(f"of {found.size} runs, {int((found > RECOVERY_SHARE).sum())} are above {RECOVERY_SHARE:g}")


def change_table(runs: int, policy: Any) -> None:
    """Print the median regret with changes of A in the middle of a run."""
    A = ENVIRONMENT.draw(1, runs, seed=SEED).problem.A
    changes: dict[str, tuple[soqo.Change, ...]] = {
        "none": (),
        "jump": (soqo.Change(130),),
        "slow turn": (soqo.Change(60, duration=130),),
        "ten times": (soqo.Change(130, soqo.Problem(10.0 * A)),),
        "a tenth": (soqo.Change(130, soqo.Problem(0.1 * A)),),
        "to rank 1": (soqo.Change(130, soqo.RandomProblem(4, 1, min_eigenvalue=1.0)),),
    }
    print(f"\nChanges of A: regret after {ROUNDS} rounds, median and worst of {runs} runs")
    print("change".ljust(12), "median".rjust(10), "worst".rjust(10), "bar".rjust(10))
    for name, change in changes.items():
        environment = soqo.Environment(PROBLEM, PROCESS, Uniform(CAP), changes=change)
        result = soqo.simulate(environment, {"policy": policy}, horizon=ROUNDS, runs=runs, seed=SEED)
        regret = result["policy"].low_variance_regret.sum(axis=1)
        bar = f"{CHANGE_BARS[name]:.0f}" if name in CHANGE_BARS else ""
        print(name.ljust(12), f"{np.median(regret):10.0f} {regret.max():10.0f}", bar.rjust(10), flush=True)


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer cells and runs")
    parser.add_argument("--tables", nargs="+", default=["bursts", "recovery", "changes", "alarms"])
    options = parser.parse_args()
    runs, lengths = (8, (1, 3, 10)) if options.quick else (RUNS, LENGTHS)
    bursts = [(start, k) for start in STARTS for k in lengths]
    policy = soqo.GLIDE()
    if "bursts" in options.tables:
        burst_tables(bursts, runs, policy)
    if "recovery" in options.tables:
        recovery_table(bursts, runs, policy)
    if "changes" in options.tables:
        change_table(runs, policy)
    if "alarms" in options.tables:
        alarm_table(20 if options.quick else 400, policy)


if __name__ == "__main__":
    main()
