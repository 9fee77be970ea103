"""Print the worst regret over curvatures near zero, in one dimension, of certainty equivalence and of standing still.

python benchmarks/limit_stand_still.py [--largest 6] [--runs 50]

The second player does not move for T^(4/5) rounds, or until the estimate is above zero by four deviations, and then
plays for the estimate plus two deviations. The curvatures are zero and a geometric sequence up to one.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from soqo import contraction
from soqo.typing import Array

STEPS, NOISE = 5.0, 3.0


def curvatures(horizon: int) -> Array:
    """Return zero, and curvatures around those that can just be told from zero within the horizon."""
    smallest = NOISE / STEPS**2 * horizon**-1.5
    return np.append(0.0, np.geomspace(0.1 * smallest, 1.0, 24))


def mean_regret(horizon: int, runs: int, *, stand_still: bool) -> Array:
    """Return the mean regret for each curvature."""
    a = curvatures(horizon)[:, None]
    rng = np.random.default_rng(3)
    u, total = np.zeros((len(a), runs)), np.zeros((len(a), runs))
    # The sums of least squares, with a wide prior around one.
    square, product = np.full(u.shape, NOISE**2 / 100.0), np.full(u.shape, NOISE**2 / 100.0)
    still_rounds = horizon**0.8
    for t in range(horizon):
        n = horizon - t
        w = u - STEPS * rng.standard_normal(runs)
        estimate, deviation = product / square, NOISE / np.sqrt(square)
        if stand_still:
            waits = (t < still_rounds) & (estimate < 4.0 * deviation)
            played = np.where(waits, 0.0, np.maximum(estimate, 0.0) + 2.0 * deviation)
        else:
            played = np.maximum(estimate, 0.0)
        c = contraction(a, n)
        u = contraction(played, n) * w
        total += 0.5 * np.square(u - c * w) / c
        feature = 0.5 * np.square(u)
        product += feature * (a * feature + NOISE * rng.standard_normal(runs))
        square += np.square(feature)
    return np.asarray(total.mean(axis=1))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=6, help="the largest horizon is ten to this power")
    parser.add_argument("--runs", type=int, default=50)
    given = parser.parse_args()
    powers = range(3, given.largest + 1)
    print(f"{'player':<40}" + "".join(f"{f'T=1e{k}':>10}" for k in powers) + "  exponent")
    for name, stand_still in (("certainty equivalence", False), ("stand still first", True)):
        found = [mean_regret(10**k, given.runs, stand_still=stand_still) for k in powers]
        for label, values in (("A = 0", [each[0] for each in found]), ("worst A", [each.max() for each in found])):
            exponent = math.log10(values[-1] / values[0]) / (len(values) - 1)
            print(f"{f'{name}, {label}':<40}" + "".join(f"{value:>10.4g}" for value in values) + f"  {exponent:.3f}")


if __name__ == "__main__":
    main()
