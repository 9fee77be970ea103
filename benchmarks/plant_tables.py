"""What real plants do to GLIDE: a minimizer told with an offset, a base load, a saturated meter, forecasts.

    python benchmarks/plant_tables.py

prints the tables of docs/glide.md, section "On plants": medians over 16 runs. It takes about a minute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import soqo
from soqo.meters import BaseLoad, Saturation
from soqo.noise import Uniform
from soqo.processes import Gaussian

RUNS = 16

OFFSETS = [(50, 20, 10, 0), (50, 20, 10, 500), (5, 5, 10, 0), (5, 5, 10, 100), (50, 0, 10, 500), (5, 0, 10, 100)]
"""The scale of the steps, the size of b, the cap of the noise, and the base load."""


def show(title: str, rows: Mapping[str, Mapping[str, float]]) -> None:
    """Print a table with the columns of its first row."""
    columns = list(next(iter(rows.values())))
    print(f"{title:<24}" + "".join(f"{name:>16}" for name in columns))
    for name, row in rows.items():
        print(f"{name:<24}" + "".join(f"{row[column]:>16.3g}" for column in columns))
    print()


def offset_row(scale: float, size: float, cap: float, load: float) -> dict[str, float]:
    """Return the median regret after 1,000 rounds against the player who knows A and b."""
    environment = soqo.Environment(
        soqo.RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0),
        Gaussian(scale),
        Uniform(cap),
        offset=soqo.Offset(scale=size / 2.0),  # |b| is about ``size`` in four dimensions
        meters=BaseLoad(load),
    )
    noise = cap / math.sqrt(3.0)
    policies: dict[str, Any] = {
        "FTM": soqo.FTM(),
        "LAI (not b)": soqo.LAI.for_problem,
        "GLIDE": soqo.GLIDE(),
        "RLS": soqo.RLS(noise),
        "RLS with offset": soqo.RLS(noise, offset=True),
    }
    result = soqo.simulate(environment, policies, horizon=1000, runs=RUNS)
    return {name: float(np.median(result.regret(name)[:, -1])) for name in result}


def saturation_row(y_max: float) -> dict[str, float]:
    """Return the median cost of 600 rounds behind a meter with an upper limit, and the worst ratio to FTM's."""
    environment = soqo.Environment(
        soqo.RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0),
        Gaussian(1.0),
        Uniform(0.1),
        meters=Saturation(y_max),
    )
    policies = {"FTM": soqo.FTM(), "GLIDE": soqo.GLIDE(), "Guarded(GLIDE)": soqo.Guarded(soqo.GLIDE())}
    result = soqo.simulate(environment, policies, horizon=600, runs=RUNS)
    costs = {name: result.cost(name).sum(axis=1) for name in result}
    benchmark = (result.benchmark_hitting + result.benchmark_switching).sum(axis=1)
    row = {name: float(np.median(cost)) for name, cost in costs.items()}
    return {
        **row,
        "LAI": float(np.median(benchmark)),
        "worst / FTM": float((costs["Guarded(GLIDE)"] / costs["FTM"]).max()),
    }


def play(policy: soqo.Policy[Any], A: Any, v: Any, forecasts: Any) -> float:
    """Return the median cost of some runs with a forecast in each round."""
    runs, rounds, dim = v.shape
    noise = np.random.default_rng(1).uniform(-2.0, 2.0, (rounds, runs))
    state, total = policy.start(np.zeros((runs, dim)), rounds), np.zeros(runs)
    for t in range(rounds):
        before = state.x
        x, state = policy.act(state, v[:, t], forecast=None if forecasts is None else forecasts[:, t])
        u = x - v[:, t]
        hitting = 0.5 * np.einsum("ri,rij,rj->r", u, A, u)
        state = policy.observe(state, hitting + noise[t])
        total += hitting + 0.5 * np.square(x - before).sum(axis=-1)
    return float(np.median(total))


def forecast_rows(ahead: int = 5) -> dict[str, dict[str, float]]:
    """Return the cost of 400 rounds without a forecast, and with a perfect, a useless and a mixed one."""
    rng, rounds, dim = np.random.default_rng(0), 400, 3
    A = np.stack(
        [soqo.random_curvature(dim, dim, min_eigenvalue=0.3, max_eigenvalue=2.0, rng=seed) for seed in range(RUNS)]
    )
    path = np.cumsum(5.0 * rng.standard_normal((RUNS, rounds + ahead, dim)), axis=1)
    v = path[:, :rounds]
    perfect = np.stack([path[:, t + 1 : t + 1 + ahead] for t in range(rounds)], axis=1)
    useless = v[:, :, None] + np.cumsum(5.0 * rng.standard_normal((RUNS, rounds, ahead, dim)), axis=2)
    given = {"none": None, "perfect": perfect, "useless": useless, "half of each": 0.5 * (perfect + useless)}
    return {
        name: {"LAI": play(soqo.LAI(A), A, v, forecasts), "GLIDE": play(soqo.GLIDE(), A, v, forecasts)}
        for name, forecasts in given.items()
    }


def main() -> None:
    """Print the tables."""
    show("steps, |b|, noise, load", {f"{a}, {b}, {c}, {d}": offset_row(a, b, c, d) for a, b, c, d in OFFSETS})
    show("limit of the meter", {f"{y_max}": saturation_row(y_max) for y_max in (0.4, 0.5, 1.0)})
    show("forecast of 5 rounds", forecast_rows())


if __name__ == "__main__":
    main()
