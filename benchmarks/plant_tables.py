"""What real plants do to GLIDE: errors of v, base loads, meters with faults, late readings, contexts, forecasts.

    python benchmarks/plant_tables.py                         all tables (two minutes)
    python benchmarks/plant_tables.py --tables late stuck     some of them

prints the tables of docs/explanation/glide.md, section "On plants":
medians over 16 runs. FTM follows v, RLS is the plain baseline,
and LAI is the benchmark, which knows the plant. The tables of costs are for d = 3, eigenvalues 0.5 to 2, unit steps,
noise up to 0.1 and 600 rounds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import soqo
from soqo.meters import BaseLoad, Meter, Saturation, Stuck, SwitchingIncluded
from soqo.noise import Uniform
from soqo.processes import Gaussian

RUNS = 16
ROUNDS = 600
CONTEXT_ROUNDS = 1000
CAP = 0.1
PROBLEM = soqo.RandomProblem(3, 3, min_eigenvalue=0.5, max_eigenvalue=2.0)

OFFSETS = [(50, 20, 10, 0), (50, 20, 10, 500), (5, 5, 10, 0), (5, 5, 10, 100), (50, 0, 10, 500), (5, 0, 10, 100)]
"""The scale of the steps, the size of b, the cap of the noise, and the base load."""


def show(title: str, rows: Mapping[str, Mapping[str, float]]) -> None:
    """Print a table with the columns of its first row."""
    columns = list(next(iter(rows.values())))
    widths = [max(16, len(column) + 2) for column in columns]
    print(f"{title:<26}" + "".join(f"{column:>{width}}" for column, width in zip(columns, widths, strict=True)))
    for name, row in rows.items():
        cells = zip(columns, widths, strict=True)
        print(f"{name:<26}" + "".join(f"{row[column]:>{width}.3g}" for column, width in cells))
    print(flush=True)


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


def plant(meters: Meter | tuple[Meter, ...] = (), **options: Any) -> soqo.Environment:
    """Return the plant of the tables of costs."""
    return soqo.Environment(PROBLEM, Gaussian(1.0), Uniform(CAP), meters=meters, **options)


def players(**others: Any) -> dict[str, Any]:
    """Return FTM, RLS, GLIDE, a guarded GLIDE, and others by name."""
    glide = soqo.GLIDE()
    return {
        "FTM": soqo.FTM(),
        "RLS": soqo.RLS(CAP / math.sqrt(3.0)),
        "GLIDE": glide,
        "Guarded(GLIDE)": soqo.Guarded(glide),
        **others,
    }


def told(**options: Any) -> dict[str, Any]:
    """Return a GLIDE that is told about the meter, with its name."""
    text = ", ".join(f"{name}={value}" for name, value in options.items())
    return {f"GLIDE({text})": soqo.GLIDE(**options)}


def cost_row(environment: soqo.Environment, policies: Mapping[str, Any], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median cost of the policies and of LAI, and for each GLIDE the worst run's ratio to FTM's cost."""
    result = soqo.simulate(environment, policies, horizon=rounds, runs=RUNS)
    costs = {name: result.cost(name).sum(axis=1) for name in result}
    benchmark = (result.benchmark_hitting + result.benchmark_switching).sum(axis=1)
    return {
        **{name: float(np.median(cost)) for name, cost in costs.items()},
        "LAI": float(np.median(benchmark)),
        **{f"{name}/FTM": float((costs[name] / costs["FTM"]).max()) for name in costs if "GLIDE" in name},
    }


def saturation_rows() -> dict[str, dict[str, float]]:
    """Return the costs behind a meter with an upper limit, which GLIDE is told or not."""
    rows = {}
    for y_max in (0.4, 0.5, 1.0):
        declared = {"GLIDE(y_max=...)": soqo.GLIDE(**dict[str, Any](y_max=y_max))}
        rows[f"{y_max}"] = cost_row(plant(Saturation(y_max)), players(**declared))
    return rows


def stuck_rows() -> dict[str, dict[str, float]]:
    """Return the costs with a meter that is stuck for 30 rounds, at zero or at its last reading."""
    meters: dict[str, tuple[Meter, ...]] = {
        "never": (),
        "at 0": (Stuck(300, 30, value=0.0),),
        "at the last reading": (Stuck(300, 30),),
        "at 0 from round 10": (Stuck(10, 30, value=0.0),),
    }
    return {name: cost_row(plant(meter), players()) for name, meter in meters.items()}


def switching_rows() -> dict[str, dict[str, float]]:
    """Return the costs with a meter that includes the switching cost, which GLIDE is told or not."""
    policies = players(**told(switching_included=True))
    return {"included": cost_row(plant(SwitchingIncluded()), policies)}


def late_rows() -> dict[str, dict[str, float]]:
    """Return the costs with readings that are late."""
    rows = {"0": cost_row(plant(), players())}
    for rounds in (1, 3, 10):
        rows[f"{rounds}"] = cost_row(plant(delay=soqo.Delay(rounds=rounds)), players())
    rows["1 to 3"] = cost_row(plant(delay=soqo.Delay(rounds=1, jitter=2)), players())
    return rows


def context_rows() -> dict[str, dict[str, float]]:
    """Return the costs if v depends on two numbers that the player sees, beside what it is told."""
    policies = players(**{"RLS with offset": soqo.RLS(CAP / math.sqrt(3.0), offset=True)})
    policies["LAI (not context)"] = soqo.LAI.for_problem
    rows = {}
    for size in (0.0, 0.5, 2.0):
        for correlation in (0.9, 0.99):
            context = soqo.Context(size=size, dim=2, correlation=correlation)
            row = cost_row(plant(context=context), policies, CONTEXT_ROUNDS)
            row["regret of GLIDE/FTM"] = (row["GLIDE"] - row["LAI"]) / (row["FTM"] - row["LAI"])
            rows[f"{size}, {correlation}"] = row
    return rows


def walk_rows() -> dict[str, dict[str, float]]:
    """Return the regrets if the error of v walks."""
    rows = {}
    for steps, size, walk in ((5.0, 5.0, 0.0), (5.0, 5.0, 0.1), (5.0, 5.0, 0.5), (50.0, 20.0, 1.0), (50.0, 20.0, 5.0)):
        environment = soqo.Environment(
            soqo.RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0),
            soqo.processes.Gaussian(steps),
            soqo.noise.Uniform(10.0),
            offset=soqo.Offset(scale=size, walk=walk),
        )
        policies = {
            "FTM": soqo.FTM(),
            "GLIDE": soqo.GLIDE(),
            "GLIDE(offset=False)": soqo.GLIDE(offset=False),
            "RLS with offset": soqo.RLS(10.0 / math.sqrt(3.0), offset=True),
        }
        result = soqo.simulate(environment, policies, horizon=ROUNDS, runs=RUNS)
        rows[f"{steps:g}, {size:g}, {walk:g}"] = {
            name: float(np.median(result.regret(name)[:, -1])) for name in policies
        }
    return rows


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
    policies: dict[str, soqo.Policy[Any]] = {
        "LAI": soqo.LAI(A),
        "GLIDE": soqo.GLIDE(),
        "RLS": soqo.RLS(2.0 / math.sqrt(3.0)),
    }
    return {
        name: {title: play(policy, A, v, forecasts) for title, policy in policies.items()}
        for name, forecasts in given.items()
    }


def offset_rows() -> dict[str, dict[str, float]]:
    """Return the regrets with an error of v and a base load."""
    return {f"{a}, {b}, {c}, {d}": offset_row(a, b, c, d) for a, b, c, d in OFFSETS}


TABLES: dict[str, tuple[str, Callable[[], dict[str, dict[str, float]]]]] = {
    "offset": ("steps, |b|, noise, load", offset_rows),
    "walk": ("steps, |b|, step of b", walk_rows),
    "saturation": ("limit of the meter", saturation_rows),
    "stuck": ("meter stuck", stuck_rows),
    "switching": ("switching cost", switching_rows),
    "late": ("readings late by", late_rows),
    "context": ("effect, correlation of w", context_rows),
    "forecasts": ("forecast of 5 rounds", forecast_rows),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    for name in parser.parse_args().tables:
        title, rows = TABLES[name]
        show(title, rows())


if __name__ == "__main__":
    main()
