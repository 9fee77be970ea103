"""GLIDE and others on plants that played no part in the choice of any constant.

    python benchmarks/unseen_plants.py                         everything
    python benchmarks/unseen_plants.py --quick                 few seeds
    python benchmarks/unseen_plants.py --rows chiller "W=2"    rows whose names contain one of these
    python benchmarks/unseen_plants.py --json FILE             keep the numbers

The plants are those of unseen_physics.py; each seed is another one. The numbers are the total true cost, above that of
the best fixed share x += share (v - x) in hindsight, in percent: the median over the seeds, and the worst seed in
brackets. The total cost is the power above the least possible one at each time, and 1/2 W |dx|^2. RLS is told the
deviation of the noise, and learns an offset and a base load. LAI is told the best quadratic fit of the true cost,
where it pays with the error of v, and is the benchmark; the others are told nothing.

To tune a learner: ``play(row, policy, seed)`` plays one row, ``baseline(row, seed)`` returns what fixed shares cost.
"""

from __future__ import annotations

import argparse
import inspect
import json
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import soqo
from soqo.typing import Array
from unseen_physics import Plant, Row, minimize
from unseen_physics import rows as rows

SHARES = np.array([0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0])
"""The fixed shares of the way to v; the last one follows v."""

HALF = int(np.flatnonzero(SHARES == 0.5)[0])

CONTENDERS = ("follow v", "half steps", "RLS", "GLIDE", "Guarded", "LAI")
"""The columns of the table."""

TAKES_COVARIATES = "covariates" in inspect.signature(soqo.Controller.observe).parameters
TOLD = "told"
"""Rows with this word in their names tell the player covariates."""


# ---- to play a plant -------------------------------------------------------------------------------------------------


class Played(NamedTuple):
    """What a policy has done: the positions, the true costs of the rounds, and its controller."""

    x: Array
    hitting: Array
    switching: Array
    controller: soqo.Controller

    @property
    def total(self) -> float:
        """The total true cost; infinite where it is not a number."""
        cost = float(self.hitting.sum() + self.switching.sum())
        return cost if np.isfinite(cost) else np.inf


def true_costs(plant: Plant, x: Array) -> tuple[Array, Array]:
    """Return the hitting and the switching costs of positions (T, ..., d)."""
    rounds = np.arange(len(x)).reshape(-1, *[1] * (x.ndim - 2))
    before = np.concatenate([np.broadcast_to(plant.v[0], x[:1].shape), x[:-1]])
    return plant.hitting(x, rounds), 0.5 * plant.weight * np.square(x - before).sum(axis=-1)


def learns_covariates(policy: soqo.Policy[Any] | None) -> bool:
    """Return whether a policy is GLIDE, or goes around it."""
    while policy is not None and not isinstance(policy, soqo.GLIDE):
        policy = getattr(policy, "policy", None)
    return policy is not None


def steer(plant: Plant, policy: soqo.Policy[Any]) -> Played:
    """Let a policy steer a plant."""
    controller = soqo.Controller(
        policy,
        plant.v[0],
        low=plant.low,
        high=plant.high,
        rate=plant.rate,
        switching_weight=plant.weight,
        max_delay=plant.delay,
    )
    tells = TAKES_COVARIATES and plant.covariates is not None and learns_covariates(policy)
    x = np.empty_like(plant.v)
    for t, v in enumerate(plant.v):
        x[t] = controller.act(v)
        felt = t - plant.delay
        if felt < 0:
            continue
        y = plant.reading(x[felt], felt)
        options: dict[str, Any] = {"round": felt + 1} if plant.delay else {}
        if tells and plant.covariates is not None:
            options["covariates"] = plant.covariates[felt]
        if not plant.delay or not np.isnan(y):
            controller.observe(y, **options)
    return Played(x, *true_costs(plant, x), controller)


def find(row: Row | str) -> Row:
    """Return a row by its name."""
    return row if isinstance(row, Row) else {one.name: one for one in rows()}[row]


def play(row: Row | str, policy: soqo.Policy[Any], seed: int) -> Played:
    """Let a policy play the plant of a row with this seed."""
    return steer(find(row).draw(seed), policy)


# ---- what it is compared with ----------------------------------------------------------------------------------------


def fixed_shares(plant: Plant) -> tuple[Array, Array]:
    """Return the total cost of each fixed share, and the positions (T, d) of the best one."""
    shares, x = SHARES[:, None], np.empty((len(plant.v), len(SHARES), plant.v.shape[1]))
    last = np.repeat(plant.v[:1], len(SHARES), axis=0)
    for t, v in enumerate(plant.v):
        step = np.clip(shares * (v - last), -plant.rate, plant.rate)
        x[t] = last = np.clip(last + step, plant.low, plant.high)
    total = np.sum([part.sum(axis=0) for part in true_costs(plant, x)], axis=0)
    return total, x[:, int(np.argmin(total))]


def baseline(row: Row | str, seed: int) -> Array:
    """Return the total cost of each fixed share: the least is what the table compares with, the last follows v."""
    return fixed_shares(find(row).draw(seed))[0]


def best_shift(plant: Plant) -> Array:
    """Return the constant that added to v costs least, in every tenth round."""
    rounds = np.arange(0, len(plant.v), 10)

    def cost(b: Array) -> Array:
        return np.asarray(plant.hitting(plant.v[rounds] + b[..., None, :], rounds).mean(axis=-1))

    dim = plant.v.shape[1]
    return minimize(cost, np.zeros((1, dim)), np.diff(plant.v, axis=0).std(axis=0), 20)[0]


def fits(plant: Plant, x: Array, shift: Array) -> list[Array]:
    """Fit A to the true hitting cost around positions, on both sides of v + shift; return it by several weights."""
    rng, told = np.random.default_rng(0), plant.v + shift
    w = x - told
    dim, spread = w.shape[1], np.sqrt(np.square(w).mean(axis=0))
    w = np.concatenate([w, -w, *(size * spread * rng.standard_normal(w.shape) for size in (0.5, 0.5, 1.0, 1.0))])
    rounds = np.tile(np.arange(len(x)), len(w) // len(x))
    cost = plant.hitting(told[rounds] + w, rounds) - plant.hitting(told, np.arange(len(x)))[rounds]
    first, second = np.triu_indices(dim)
    columns = np.where(first == second, 0.5, 1.0) * w[:, first] * w[:, second]
    found = []
    for weight in (np.ones(len(cost)), 1.0 / (np.abs(cost) + np.median(np.abs(cost)))):
        entries = np.linalg.lstsq(weight[:, None] * columns, weight * cost, rcond=None)[0]
        A = np.zeros((dim, dim))
        A[first, second] = A[second, first] = entries
        values, vectors = np.linalg.eigh(A)
        found.append((vectors * np.maximum(values, 1e-3 * np.abs(values).max())) @ vectors.T)
    return found


def oracle(plant: Plant, x: Array) -> float:
    """Return the least cost of LAI with a quadratic fit, told v or the best v + constant.

    The fits are around the positions x, and then around those of the best of them. A plant that is not quadratic may
    ask for another scale than that of the fit, so that several are tried.
    """
    shifts, least = (np.zeros(plant.v.shape[1]), best_shift(plant)), np.inf
    for _ in range(2):
        pairs = [(scale * A, b) for b in shifts for A in fits(plant, x, b) for scale in (0.35, 0.6, 1.0, 1.6)]
        A, b = (np.stack(parts) for parts in zip(*pairs, strict=True))
        # One batch of plants, each with an A and a constant of its own.
        inner = soqo.Weighted(soqo.LAI(A / plant.weight, plain_for=plant.weight), plant.weight)
        policy = soqo.Limited(inner, low=plant.low, high=plant.high, rate=plant.rate)
        state, positions = policy.start(np.repeat(plant.v[:1], len(A), axis=0)), []
        for v in plant.v:
            position, state = policy.act(state, v + b)
            state = policy.observe(state, np.zeros(len(A)))
            positions.append(position)
        path = np.stack(positions)
        total = np.sum([part.sum(axis=0) for part in true_costs(plant, path)], axis=0)
        least, x = min(least, float(total.min())), path[:, int(np.argmin(total))]
    return least


class Found(NamedTuple):
    """What the contenders cost on one plant."""

    row: str
    seed: int
    best: float
    costs: dict[str, float]
    share: float
    seconds: float


def compare(row: Row, seed: int) -> Found:
    """Play a plant with every contender."""
    plant = row.draw(seed)
    shares, x = fixed_shares(plant)
    costs = {"follow v": float(shares[-1]), "half steps": float(shares[HALF])}
    costs["RLS"] = steer(plant, soqo.RLS(plant.noise, offset=True)).total
    began = time.process_time()
    costs["GLIDE"] = steer(plant, soqo.GLIDE()).total
    seconds = time.process_time() - began
    costs["Guarded"] = steer(plant, soqo.Guarded(soqo.GLIDE())).total
    costs["LAI"] = oracle(plant, x)
    return Found(row.name, seed, float(shares.min()), costs, float(SHARES[np.argmin(shares)]), seconds)


def compare_kind(task: tuple[str, list[str], int]) -> list[Found]:
    """Play the rows of a kind with one seed: they share their weather."""
    _, names, seed = task
    return [compare(find(name), seed) for name in names]


# ---- tables ----------------------------------------------------------------------------------------------------------


def percent(value: float, reference: float) -> float:
    """Return by how many percent a value is above a reference."""
    return 100.0 * (value / reference - 1.0)


def cell(values: Iterable[float]) -> str:
    """Return the median and the worst of some percentages."""
    numbers = np.array(list(values))
    return f"{short(float(np.median(numbers)))} ({short(float(numbers.max()))})"


def short(value: float) -> str:
    """Format percent."""
    if not np.isfinite(value):
        return "inf"
    return f"{value:+.0f}" if abs(value) < 1e5 else f"{value:+.0e}"


def summarize(found: list[Found]) -> dict[str, Any]:
    """Return the numbers of a row, seed by seed."""
    return {
        **{name: [percent(one.costs[name], one.best) for one in found] for name in CONTENDERS},
        "GLIDE above follow v": [percent(one.costs["GLIDE"], one.costs["follow v"]) for one in found],
        "best share": [one.share for one in found],
        "best cost": [one.best for one in found],
        "seconds of GLIDE": [one.seconds for one in found],
    }


def print_row(name: str, numbers: dict[str, Any]) -> None:
    """Print a row of the main table."""
    cells = [cell(numbers[column]) for column in (*CONTENDERS, "GLIDE above follow v")]
    extra = [f"{np.median(numbers['best share']):.2f}", f"{np.mean(numbers['seconds of GLIDE']):.1f}"]
    print(f"| {name} |", " | ".join([*cells, *extra]), "|", flush=True)


def play_rows(pool: ProcessPoolExecutor, chosen: list[Row], seeds: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Play rows with all contenders; yield their numbers in order."""
    kinds: dict[str, list[str]] = {}
    for row in chosen:
        kinds.setdefault(row.kind, []).append(row.name)
    tasks = [(kind, names, seed) for kind, names in kinds.items() for seed in range(seeds)]
    answers = pool.map(compare_kind, tasks)
    for names in kinds.values():
        found = [one for _ in range(seeds) for one in next(answers)]
        for name in names:
            yield name, summarize([one for one in found if one.row == name])


def main_table(pool: ProcessPoolExecutor, words: list[str], seeds: int) -> dict[str, Any]:
    """Print the table of the contenders; return its numbers."""
    chosen = [row for row in rows() if not words or any(word in row.name for word in words)]
    if not TAKES_COVARIATES and (skipped := [row.name for row in chosen if TOLD in row.name]):
        print(f"Skipped: {', '.join(skipped)}; this version of Controller.observe has no covariates.\n")
        chosen = [row for row in chosen if row.name not in skipped]
    if not chosen:
        return {}
    print(f"Total true cost above the best fixed share, %: median of {seeds} plants (worst)\n")
    print("| plant |", " | ".join([*CONTENDERS, "GLIDE above follow v", "best share", "s"]), "|")
    print("|---|" + "--:|" * (len(CONTENDERS) + 3))
    table = {}
    for name, numbers in play_rows(pool, chosen, seeds):
        table[name] = numbers
        print_row(name, numbers)
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few seeds")
    parser.add_argument("--rows", nargs="+", default=[], help="parts of the names of rows")
    parser.add_argument("--seeds", type=int, help="plants of each row, 8 unless given")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="a file for the numbers")
    given = parser.parse_args()
    seeds = given.seeds or (2 if given.quick else 8)
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    began = time.perf_counter()
    with ProcessPoolExecutor(given.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = {"plants": main_table(pool, given.rows, seeds)}
    print(f"\n({time.perf_counter() - began:.0f} s)")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
