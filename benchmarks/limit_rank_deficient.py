"""Print how regret grows where A has a null direction, from which optimal play does not move.

python benchmarks/limit_rank_deficient.py [--rounds 1000000] [--glide-rounds 100000] [--runs 64] [--glide-runs 16]

The exponent is that between the last two decades of T, with its standard error over the runs. Horizons are infinite:
in a null direction C = I for every horizon."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

import soqo
from soqo.typing import Array, IntArray

_CHUNK = 1000
NOISE, STEPS = 3.0, 5.0


def regret_at(policy: soqo.Policy[Any], values: Array, checkpoints: IntArray, runs: int) -> Array:
    """Return the regret of each run up to each checkpoint, shape (checkpoints, runs)."""
    d = len(values)
    c = 1.0 + values / 2.0 - np.sqrt(values + np.square(values) / 4.0)
    rng = np.random.default_rng(5)
    state = policy.start(np.zeros((runs, d)), None, rng=0)
    x, v, total, found = np.zeros((runs, d)), np.zeros((runs, d)), np.zeros(runs), []
    for t in range(int(checkpoints[-1])):
        k = t % _CHUNK
        if k == 0:
            steps, noise = STEPS * rng.standard_normal((_CHUNK, runs, d)), NOISE * rng.standard_normal((_CHUNK, runs))
        v = v + steps[k]
        planned = c * (x - v)
        x, state = policy.act(state, v)
        u = x - v
        state = policy.observe(state, 0.5 * (np.square(u) * values).sum(axis=1) + noise[k])
        total = total + 0.5 * (np.square(u - planned) / c).sum(axis=1)
        if t + 1 in checkpoints:
            found.append(total)
    return np.array(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--glide-rounds", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--glide-runs", type=int, default=16)
    given = parser.parse_args()
    print(f"{'eigenvalues':<14}{'policy':<22}" + "".join(f"{f'T=1e{k}':>10}" for k in range(3, 7)) + "  exponent")
    for values in (np.array([0.0]), np.array([0.0, 1.0])):
        for name, policy in (("RLS", soqo.RLS(NOISE)), ("GLIDE", soqo.GLIDE())):
            rounds, runs = (given.rounds, given.runs) if name == "RLS" else (given.glide_rounds, given.glide_runs)
            checkpoints = 10 ** np.arange(3, round(math.log10(rounds)) + 1)
            regret = regret_at(policy, values, checkpoints, runs)
            mean = regret.mean(axis=1)
            growth = [np.delete(regret, k, axis=1).mean(axis=1) for k in range(runs)]
            left_out = [math.log10(each[-1] / each[-3]) / 2.0 for each in growth]
            error = math.sqrt((runs - 1.0) * float(np.var(left_out)))
            exponent = math.log10(mean[-1] / mean[-3]) / 2.0
            cells = "".join(f"{value:>10.4g}" for value in mean) + " " * (10 * (4 - len(mean)))
            print(
                f"{', '.join(f'{a:g}' for a in values):<14}{name:<22}{cells}  {exponent:.3f} +- {error:.3f}", flush=True
            )


if __name__ == "__main__":
    main()
