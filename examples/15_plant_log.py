"""Teaches: a log of a plant as a CSV file, written by a simulated plant that its old controller steers.

Two cooling zones have set points in degrees. Every five minutes the best set points v are known from schedule and
weather; the old controller moves half of the way. One meter measures the power that is lost by not being at v, with a
base load and noise, and sometimes not at all.

    python examples/15_plant_log.py                              # print the first lines of the log
    python examples/15_plant_log.py examples/plant_log.csv       # write the log of docs/tutorials/steer-a-plant.md
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import soqo
from soqo.typing import Array

DAY = 288  # rounds of five minutes
WEIGHT = (4.0, 10.0)  # kW per degree squared: what moving a set point costs
LIMITS = (16.0, 27.0)  # degrees
START = np.datetime64("2026-03-02T00:00:00", "us")  # UTC


class Plant:
    """The two zones: the best set points, the meter, and the true cost, which only this simulation knows."""

    problem = soqo.Problem([[1.2, 0.5], [0.5, 0.8]], switching_weight=WEIGHT)

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.x = np.array([21.0, 21.5])
        self.weather = np.zeros(2)
        self.round, self.cost = 0, 0.0
        self.v = self.x

    def next_minimizer(self) -> Array:
        """Return the best set points of the next round: a degree more by day, and the weather."""
        self.weather = 0.9 * self.weather + 0.5 * self.rng.standard_normal(2)
        by_day = 0.5 - 0.5 * np.cos(2.0 * np.pi * self.round / DAY)
        self.round += 1
        self.v = np.array([20.5, 21.0]) + by_day + self.weather
        return self.v

    def apply(self, x: Array) -> float:
        """Move to the set points x, and return the reading of the meter; NaN if there is none."""
        lost = float(self.problem.hitting_cost(x, self.v))
        self.cost += lost + float(self.problem.switching_cost(x, self.x))
        self.x = x
        base, noise, is_lost = 3.0, 0.1 * self.rng.standard_normal(), self.rng.random() < 0.02
        return float("nan") if is_lost else lost + base + noise


def old_controller(x: Array, v: Array) -> Array:
    """Return the set points of the old controller: half of the way to v."""
    return np.clip(0.5 * (x + v), *LIMITS)


def record(rounds: int) -> soqo.Log:
    """Return the log of the old controller."""
    plant = Plant(seed=1)
    x0 = plant.x
    v, x, y = np.empty((rounds, 2)), np.empty((rounds, 2)), np.empty(rounds)
    for t in range(rounds):
        v[t] = np.round(plant.next_minimizer(), 3)  # as the historian stores it
        x[t] = np.round(old_controller(plant.x, v[t]), 3)
        y[t] = np.round(plant.apply(x[t]), 3)
    return soqo.Log(
        v,
        x,
        y,
        x0=x0,
        low=LIMITS[0],
        high=LIMITS[1],
        switching_weight=WEIGHT,
        time=START + 300 * np.arange(rounds).astype("timedelta64[s]"),
        actuators=["north", "south"],
        units="degC",
    )


def main() -> None:
    """Write the log to the file that is given, or print its first lines."""
    log = record(2 * DAY)
    if sys.argv[-1].endswith(".csv"):
        print(f"wrote {log.write(sys.argv[-1])}")
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = log.write(Path(folder, "log.csv")).read_text().splitlines()
    print("\n".join(lines[:12]))


if __name__ == "__main__":
    main()
