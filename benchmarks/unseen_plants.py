"""GLIDE and others on plants that played no part in the choice of any constant.

    python benchmarks/unseen_plants.py                         everything
    python benchmarks/unseen_plants.py --quick                 few seeds
    python benchmarks/unseen_plants.py --rows chiller "W=2"    rows whose names contain one of these
    python benchmarks/unseen_plants.py --rows mistake lock-ups
    python benchmarks/unseen_plants.py --json FILE             keep the numbers
    python benchmarks/unseen_plants.py --figure FILE.svg       draw the table, also as FILE-dark.svg

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
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib import style
from matplotlib.axes import Axes

import soqo
from soqo.experiments.presentation import house_style, new_figure, save_figure
from soqo.typing import Array
from unseen_physics import Plant, Row, draw_shadow, draw_units, minimize, rows

SHARES = np.array([0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0])
"""The fixed shares of the way to v; the last one follows v."""

HALF = int(np.flatnonzero(SHARES == 0.5)[0])

CONTENDERS = ("follow v", "half steps", "RLS", "GLIDE", "Guarded", "LAI")
"""The columns of the table."""

TAKES_COVARIATES = "covariates" in inspect.signature(soqo.Controller.observe).parameters
TOLD = "told"
"""Rows with this word in their names tell the player covariates."""


Watch = Callable[[int, soqo.Controller], None]


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
    before = np.concatenate([np.broadcast_to(plant.start, x[:1].shape), x[:-1]])
    return plant.hitting(x, rounds), 0.5 * plant.weight * np.square(x - before).sum(axis=-1)


def learns_covariates(policy: soqo.Policy[Any] | None) -> bool:
    """Return whether a policy is GLIDE, or goes around it."""
    while policy is not None and not isinstance(policy, soqo.GLIDE):
        policy = getattr(policy, "policy", None)
    return policy is not None


def steer(plant: Plant, policy: soqo.Policy[Any], watch: Watch | None = None, weight: float | None = None) -> Played:
    """Let a policy steer a plant.

    Parameters
    ----------
    plant : Plant
        The plant.
    policy : Policy
        The policy.
    watch : callable, optional
        Called after every round, with the number of rounds and the controller.
    weight : float, optional
        The switching weight that the controller is told, if it is a wrong one.
    """
    controller = control(plant, policy, weight)
    tells = TAKES_COVARIATES and plant.covariates is not None and learns_covariates(policy)
    x, last = np.empty_like(plant.v), np.nan
    for t, v in enumerate(plant.v):
        x[t] = controller.act(v)
        felt = t - plant.delay
        if felt >= 0:
            last = y = last if plant.stuck is not None and felt >= plant.stuck else plant.reading(x[felt], felt)
            options: dict[str, Any] = {"round": felt + 1} if plant.delay else {}
            if tells and plant.covariates is not None:
                options["covariates"] = plant.covariates[felt]
            if not plant.delay or not np.isnan(y):
                controller.observe(y, **options)
        if watch is not None:
            watch(t + 1, controller)
    return Played(x, *true_costs(plant, x), controller)


def control(plant: Plant, policy: soqo.Policy[Any], weight: float | None = None) -> soqo.Controller:
    """Return a controller for a plant, set up as an engineer would."""
    return soqo.Controller(
        policy,
        plant.start,
        low=plant.low,
        high=plant.high,
        rate=plant.rate,
        switching_weight=plant.weight if weight is None else weight,
        max_delay=plant.delay,
    )


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
    last = np.repeat(plant.start[None], len(SHARES), axis=0)
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
    unit: Array = np.diff(plant.v, axis=0).std(axis=0)
    found: Array = minimize(cost, np.zeros((1, dim)), unit, 20)[0]
    return found


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
        state, positions = policy.start(np.repeat(plant.start[None], len(A), axis=0)), []
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
    chosen = [row for row in rows() if wanted(words, row.name)]
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


# ---- mistakes that people make ---------------------------------------------------------------------------------------

CHECKED_ROUND = 200
"""The round in which a controller is asked what it thinks of its plant."""

STUCK_ROUND = 20

MISTAKES = {
    "no mistake": r"\b(sign|units?|kW|limits?|range|offset|switching|weight|stuck|repeat)",
    "wrong sign of the reading": r"\b(sign|negative|negated)",
    "W instead of kW": r"\b(units?|kW|scale)",
    "v in degF, x in degC": r"\b(units?|limits?|range|offset)",
    "switching weight wrong by 10": r"(\bW\b|switching|weight)",
    "v of another plant": r"\bv\b",
    "stuck meter": r"\b(stuck|repeat)",
}
"""The mistakes, and the words of which a verdict that names it has one; the first one is a false alarm."""


class Asked(NamedTuple):
    """What a mistake costs, and what the controller says in round ``CHECKED_ROUND``."""

    mistake: str
    above_told: float
    above_right: float
    confident: bool
    verdict: str | None


def verdict(controller: soqo.Controller) -> str | None:
    """Return what a controller says about the health of its plant, in words; None if it cannot tell."""
    health = controller.diagnostics().get("health")
    if not isinstance(health, Mapping):
        return None if health is None else str(health)
    if "verdict" in health:
        return str(health["verdict"])
    return " ".join(str(value) for value in health.values() if isinstance(value, str))


def make_mistake(mistake: str, seed: int) -> tuple[Plant, Plant, float | None]:
    """Return the plant, what the controller is told of it, and the switching weight if that is a wrong one."""
    right = draw_units(seed)
    told = {
        "wrong sign of the reading": right._replace(gain=-right.gain),
        "W instead of kW": right._replace(gain=1000.0 * right.gain),
        "v in degF, x in degC": right._replace(v=32.0 + 1.8 * right.v, x0=right.start),
        "v of another plant": right._replace(v=draw_units(seed + 1000).v, x0=right.start),
        "stuck meter": right._replace(stuck=STUCK_ROUND),
    }.get(mistake, right)
    wrong_weight = right.weight * (10.0 if seed % 2 else 0.1)
    return right, told, wrong_weight if mistake.startswith("switching weight") else None


def ask(task: tuple[str, int]) -> Asked:
    """Let GLIDE play a plant with a mistake."""
    mistake, seed = task
    right, told, weight = make_mistake(mistake, seed)
    said: list[tuple[bool, str | None]] = []

    def watch(rounds: int, controller: soqo.Controller) -> None:
        if rounds == CHECKED_ROUND:
            said.append(("confident" in controller.explain(), verdict(controller)))

    total = steer(told, soqo.GLIDE(), watch, weight).total
    follow_told, follow_right = (float(fixed_shares(one)[0][-1]) for one in (told, right))
    return Asked(mistake, percent(total, follow_told), percent(total, follow_right), *said[0])


def names_mistake(one: Asked) -> bool:
    """Return whether a verdict has a word that belongs to the mistake."""
    return one.verdict is not None and re.search(MISTAKES[one.mistake], one.verdict, re.IGNORECASE) is not None


def mistake_table(pool: ProcessPoolExecutor, mistakes: list[str], seeds: int) -> dict[str, Any]:
    """Print what mistakes cost GLIDE, and whether it names them; return the numbers."""
    tasks = [(mistake, seed) for mistake in mistakes for seed in range(seeds)]
    answers = list(pool.map(ask, tasks))
    print(f"\nMistakes, {seeds} plants each: cost of GLIDE, %: median (worst); what it says in round {CHECKED_ROUND}\n")
    print("| mistake | above following the v told | above following the right v | confident | names it | verdict |")
    print("|---|--:|--:|--:|--:|---|")
    table = {}
    for mistake in mistakes:
        found = [one for one in answers if one.mistake == mistake]
        verdicts = Counter(one.verdict for one in found if one.verdict)
        named = sum(names_mistake(one) for one in found)
        costs = [cell(one.above_told for one in found), cell(one.above_right for one in found)]
        words = verdicts.most_common(1)[0][0] if verdicts else "none"
        confident = sum(one.confident for one in found)
        print(f"| {mistake} | {costs[0]} | {costs[1]} | {confident} of {seeds} | {named} of {seeds} | {words[:90]} |")
        table[mistake] = [{**one._asdict(), "named": names_mistake(one)} for one in found]
    return table


# ---- lock-ups --------------------------------------------------------------------------------------------------------

LOCK_WINDOW, LOCK_READINGS, LOCK_EVERY = 100, 20, 10
"""A lock-up: more rejected readings than this in so many rounds; the count is read every ten rounds."""


def shadow(seed: int) -> tuple[float, float]:
    """Let GLIDE learn while others steer; return the most readings rejected in a window, and the resolution / noise."""
    plant, x = draw_shadow(seed)
    controller = control(plant, soqo.GLIDE())
    rejected = [0.0]
    for t, v in enumerate(plant.v):
        controller.act(v)
        controller.observe(plant.reading(x[t], t), applied=x[t])
        if (t + 1) % LOCK_EVERY == 0:
            rejected.append(float(controller.diagnostics()["outliers"]))
    counts, window = np.array(rejected), LOCK_WINDOW // LOCK_EVERY
    return float((counts[window:] - counts[:-window]).max()), plant.resolution / plant.noise


def shadow_table(pool: ProcessPoolExecutor, runs: int) -> dict[str, Any]:
    """Print in how many shadow runs GLIDE locks up; return the numbers."""
    most, coarse = np.array(list(pool.map(shadow, range(runs), chunksize=10))).T
    locked = most > LOCK_READINGS
    print(
        f"\nLock-ups, {runs} shadow runs with coarse meters and missing readings: {int(locked.sum())} runs in which ",
        end="",
    )
    print(f"more than {LOCK_READINGS} of {LOCK_WINDOW} readings were rejected")
    for low, high in ((0.5, 1.0), (1.0, 2.0), (2.0, 4.0), (4.0, 8.0)):
        here = (coarse >= low) & (coarse < high)
        print(f"resolution {low:g} to {high:g} times the noise: {int(locked[here].sum())} of {int(here.sum())}")
    return {"locked seeds": np.flatnonzero(locked).tolist(), "most rejected": most.tolist()}


# ---- the picture -----------------------------------------------------------------------------------------------------

CLIPPED, LINEAR = 300.0, 10.0
"""Percentages above the first are written at the right edge; the axis is linear up to the second."""

SHADE = "#888888"
COLORS = {"follow v": "#D55E00", "half steps": SHADE, "RLS": "#1E8BC9", "GLIDE": "#A15CC4", "Guarded": "#A15CC4"}
"""Colors that can be told from a white and from a black background; LAI has that of the text."""


def draw(table: dict[str, Any], path: Path) -> None:
    """Draw the table as dots in a light picture, and in a dark one beside it."""
    for name, styles in ((path, []), (path.with_stem(f"{path.stem}-dark"), ["dark_background"])):
        with house_style(), style.context(styles):
            figure = new_figure(10.0, 1.6 + 0.3 * len(table))
            draw_table(figure.subplots(), table)
            figure.legend(loc="outside upper right", ncols=len(CONTENDERS))
            note = f"median of the plants; the line of GLIDE ends at its worst; numbers: above {CLIPPED:g} %"
            figure.supxlabel(note, x=0.99, ha="right", fontsize="small", color=SHADE)
            save_figure(figure, name)


def draw_table(axes: Axes, table: dict[str, Any]) -> None:
    """Draw a dot for each contender in each row."""
    levels, edge = np.arange(len(table)), 1.25 * CLIPPED
    beyond: list[list[tuple[str, str]]] = [[] for _ in table]
    for name, marker, size in zip(CONTENDERS, "sDxoo|", (5, 4.5, 5.5, 7, 10, 11), strict=True):
        color = COLORS.get(name, mpl.rcParams["text.color"])
        values = np.array([np.median(row[name]) for row in table.values()])
        for level in np.flatnonzero(values > CLIPPED).tolist():
            beyond[level].append((f"{values[level]:,.0f}" if np.isfinite(values[level]) else "inf", color))
        shape: dict[str, Any] = {"color": color, "markersize": size, "markeredgewidth": 1.5, "linestyle": "none"}
        shape["markerfacecolor"] = "none" if name == "Guarded" else color
        axes.plot(np.where(values > CLIPPED, np.nan, values), levels, marker, label=name, zorder=3, **shape)
        if name == "GLIDE":
            worst = np.minimum([max(row[name]) for row in table.values()], edge)
            axes.hlines(levels, np.minimum(values, edge), worst, color=color, alpha=0.45, linewidth=2.0)
    for level, texts in enumerate(beyond):
        for place, (text, color) in enumerate(texts):
            offset = (4 + 44 * place, 0)
            axes.annotate(text, (edge, level), offset, textcoords="offset points", va="center", color=color)
    axes.axvline(0.0, color=SHADE, linewidth=1.0)
    axes.set_xscale("symlog", linthresh=LINEAR)
    ticks = [-50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 300]
    axes.set_xticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
    axes.set(xlim=(-100.0, edge), ylim=(len(table) - 0.4, -0.6), xlabel="total true cost above the best fixed share, %")
    axes.set_yticks(levels, list(table))
    axes.tick_params(axis="y", length=0)
    axes.minorticks_off()
    axes.spines["left"].set_visible(False)
    axes.set_title("Plants that nobody tuned to")


def wanted(words: list[str], name: str) -> bool:
    """Return whether a row is asked for."""
    return not words or any(word in name for word in words)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few seeds")
    parser.add_argument("--rows", nargs="+", default=[], help="parts of the names of rows")
    parser.add_argument("--seeds", type=int, help="plants of each row: 8 unless given, and 10 of each mistake")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="a file for the numbers")
    parser.add_argument("--figure", type=Path, help="an SVG file for the table as a picture, with a dark one beside it")
    parser.add_argument("--read", type=Path, help="draw the numbers that --json has kept, and play nothing")
    given = parser.parse_args()
    if given.read:
        found = json.loads(given.read.read_text(encoding="utf-8"))
    else:
        os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        began = time.perf_counter()
        with ProcessPoolExecutor(given.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            found = {"plants": main_table(pool, given.rows, given.seeds or (2 if given.quick else 8))}
            if mistakes := [name for name in MISTAKES if wanted(given.rows, f"mistake: {name}")]:
                found["mistakes"] = mistake_table(pool, mistakes, given.seeds or (2 if given.quick else 10))
            if wanted(given.rows, "lock-ups"):
                found["lock-ups"] = shadow_table(pool, 50 if given.quick else 500)
        print(f"\n({time.perf_counter() - began:.0f} s)")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    if given.figure and found["plants"]:
        draw(found["plants"], given.figure)


if __name__ == "__main__":
    main()
