"""Measure GLIDE beside other policies: print the tables of docs/explanation/glide-benchmarks.md and draw its pictures.

    python benchmarks/glide_benchmarks.py                        all blocks
    python benchmarks/glide_benchmarks.py --quick                few runs
    python benchmarks/glide_benchmarks.py --blocks loads plants  some of: settings, loads, changes, dimensions, plants
    python benchmarks/glide_benchmarks.py --folder PATH          write the pictures there

Each number is a median over the runs, of the cost above that of the player who knows A: regret in simulations, and a
share of the oracle's cost in percent on plants. A star marks the best of a grid of learning rates in each row, chosen
in hindsight; SCaLE and HySCaLE know the rank, the smallest eigenvalue and the largest noise, RLS the deviation of the
noise. GLIDE knows nothing and always has its defaults, except on plants, where it is also told what an engineer knows.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

import soqo
from glide_settings import RATES, ROUNDS, paper_settings
from hvac_table import costs as building_costs
from hvac_table import plant as building
from many_dimensions import OTHERS, SETTINGS
from soqo.experiments.presentation import CAPTION_COLOR, house_style, new_figure, policy_styles, save_figure
from soqo.meters import BaseLoad, Burst, Meter, Stuck, Transmission
from soqo.noise import Uniform
from soqo.plants import ORACLE, DataCenter, Plant, WindFarm, contenders, drive
from soqo.processes import Gaussian
from soqo.typing import Array

CAP = 10.0
PROBLEM = soqo.RandomProblem(4, 4, min_eigenvalue=1.0, max_eigenvalue=4.0)
RLS = soqo.RLS(CAP / math.sqrt(3.0))
LARGE_FARM = WindFarm(layout=[(5.0 * i, 5.0 * j) for j in range(6) for i in range(6)], constant_speed=8.0)
SIGMA = "\N{GREEK SMALL LETTER SIGMA}"
HIDDEN_BELOW = 1.0
"""A regret below one, or a percent of it, is drawn at the left edge."""

MARKERS = {
    "FTM": ("s", 5.0, False),
    "POL": ("^", 5.5, False),
    "SCaLE": ("D", 5.5, False),
    "HySCaLE": ("x", 6.0, False),
    "half": ("D", 5.0, False),
    "RLS": ("o", 5.0, False),
    "RLS with offset": ("o", 5.0, True),
    "GLIDE": ("o", 8.0, False),
    "GLIDE, told": ("o", 11.0, True),
}
"""How policies are drawn: the shape, its size, and whether it is hollow."""

Row = dict[str, float]
"""A number for each policy."""


class Block(NamedTuple):
    """A table: its title, what the numbers are, its rows, and whether a run is quick."""

    title: str
    what: str
    rows: Callable[[bool], Iterator[tuple[str, Row]]]
    caption: str


def medians(environment: soqo.Environment, groups: dict[str, dict[str, Any]], horizon: int, runs: int) -> Row:
    """Return the median regret of each policy, or the lowest median of a group of them."""
    flat = {f"{name} {k}".strip(): policy for name, group in groups.items() for k, policy in group.items()}
    result = soqo.simulate(environment, flat, horizon=horizon, runs=runs, seed=0)
    found = {name: np.nan_to_num(result.regret(name)[:, -1], nan=np.inf, posinf=np.inf) for name in flat}
    return {name: min(float(np.median(found[f"{name} {k}".strip()])) for k in group) for name, group in groups.items()}


def rates(kind: Callable[[float], Any]) -> dict[str, Any]:
    """Return a policy with each of the learning rates."""
    return {f"{rate:g}": kind(rate) for rate in RATES}


def alone(**policies: Any) -> dict[str, dict[str, Any]]:
    """Return groups of one policy."""
    return {name: {"": policy} for name, policy in policies.items()}


# ---- the settings of the paper ---------------------------------------------------------------------------------------


def setting_rows(quick: bool) -> Iterator[tuple[str, Row]]:
    """Yield the sixteen settings."""
    for setting in paper_settings():
        known: dict[str, Any] = {"noise_cap": setting.cap, "rank": setting.rank, "min_eigenvalue": setting.sigma}
        known["c1"] = setting.c1
        hybrids = {f"{rate:g}": soqo.HySCaLE(**known, learning_rate=rate) for rate in RATES[2:]}
        groups = {
            **alone(FTM=soqo.FTM()),
            "POL*": rates(soqo.POL),
            **alone(SCaLE=soqo.SCaLE(**known)),
            "HySCaLE*": hybrids,
            **alone(RLS=soqo.RLS(setting.cap / math.sqrt(3.0)), GLIDE=soqo.GLIDE()),
        }
        process, rank, _ = setting.name.split()
        yield (
            f"{process}, {rank}, {SIGMA}={setting.sigma:g}",
            medians(setting.environment, groups, ROUNDS, 6 if quick else 24),
        )


# ---- what readings contain beside the hitting cost -------------------------------------------------------------------


def load_rows(quick: bool) -> Iterator[tuple[str, Row]]:
    """Yield base loads, errors of v, and both."""
    cases: dict[str, dict[str, Any]] = {
        "neither": {},
        "base load 500": {"meters": BaseLoad(500.0)},
        "base load 500, walks by 10": {"meters": BaseLoad(500.0, walk=10.0)},
        "base load 500, ±50 % over 96 rounds": {"meters": BaseLoad(500.0, swing=0.5, period=96.0)},
        "offset 20": {"offset": soqo.Offset(scale=10.0)},
        "offset 20, base load 500": {"offset": soqo.Offset(scale=10.0), "meters": BaseLoad(500.0)},
        "offset 40, walks by 1": {"offset": soqo.Offset(scale=20.0, walk=1.0)},
        "offset 40, walks by 5": {"offset": soqo.Offset(scale=20.0, walk=5.0)},
        "v depends on a context": {"context": soqo.Context(size=20.0, dim=2)},
    }
    policies = {**alone(FTM=soqo.FTM(), RLS=RLS), "RLS with offset": {"": soqo.RLS(RLS.noise, offset=True)}}
    for name, options in cases.items():
        environment = soqo.Environment(PROBLEM, Gaussian(50.0), Uniform(CAP), **options)
        yield name, medians(environment, {**policies, **alone(GLIDE=soqo.GLIDE())}, ROUNDS, 6 if quick else 24)


# ---- wrong readings and changes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RandomlyWrong(Meter):
    """A meter that multiplies a share of the readings by a factor."""

    share: float
    factor: float

    def variates(self, rng: np.random.Generator, horizon: int) -> Array:
        """Draw what a reading is multiplied by."""
        return np.where(rng.random(horizon) < self.share, self.factor, 1.0)

    def read(self, y: Array, transmission: Transmission) -> Array:
        """Multiply the reading."""
        return transmission.variate * y


def change_rows(quick: bool) -> Iterator[tuple[str, Row]]:
    """Yield wrong readings and changes of A."""
    runs = 6 if quick else 24
    A = soqo.Environment(PROBLEM, Gaussian(50.0), Uniform(CAP)).draw(1, runs, seed=0).problem.A
    cases: dict[str, dict[str, Any]] = {
        "nothing": {},
        "1 reading x 10": {"meters": Burst(300, 1, factor=10.0)},
        "10 readings x 10": {"meters": Burst(300, 10, factor=10.0)},
        "10 readings x 1,000": {"meters": Burst(300, 10, factor=1000.0)},
        "5 % of readings x 10": {"meters": RandomlyWrong(0.05, 10.0)},
        "stuck for 20 rounds": {"meters": Stuck(300, 20)},
        "zero for 20 rounds": {"meters": Stuck(300, 20, value=0.0)},
        "a new A": {"changes": soqo.Change(300)},
        "A turns over 300 rounds": {"changes": soqo.Change(150, duration=300)},
        "A x 10": {"changes": soqo.Change(300, soqo.Problem(10.0 * A))},
        "A / 10": {"changes": soqo.Change(300, soqo.Problem(0.1 * A))},
    }
    scale = soqo.SCaLE(CAP, 4, min_eigenvalue=1.0)
    policies = alone(FTM=soqo.FTM(), SCaLE=scale, RLS=RLS, GLIDE=soqo.GLIDE())
    for name, options in cases.items():
        environment = soqo.Environment(PROBLEM, Gaussian(50.0), Uniform(CAP), **options)
        yield name, medians(environment, policies, 600, runs)


# ---- many dimensions -------------------------------------------------------------------------------------------------


def dimension_rows(quick: bool) -> Iterator[tuple[str, Row]]:
    """Yield settings with 10 to 100 dimensions."""
    for setting in sorted((*SETTINGS, *OTHERS), key=lambda one: one.dim):
        if setting.dim > 100 or (quick and (setting.dim > 30 or setting.rank > 3)):
            continue
        groups = {**alone(FTM=soqo.FTM()), "POL*": rates(soqo.POL), **alone(GLIDE=soqo.GLIDE())}
        if setting.dim <= 30:
            groups |= alone(RLS=RLS)
        runs = 1 if quick or setting.dim == 100 else 3
        yield setting.name, medians(setting.environment(), groups, setting.horizon, runs)


# ---- plants ----------------------------------------------------------------------------------------------------------


def plant_rows(quick: bool) -> Iterator[tuple[str, Row]]:
    """Yield simulated plants, with costs above the oracle's in percent."""
    seeds = 1 if quick else 2
    plants: dict[str, tuple[Plant, int]] = {
        "wind farm, 9 turbines": (WindFarm(), 1000),
        **({} if quick else {"wind farm, 36 turbines": (LARGE_FARM, 600)}),
        "wind farm, vanes off by 4°": (WindFarm(vane_bias=4.0), 1000),
        "data center, 6 units": (DataCenter(), 2016),
        "data center, no base load": (DataCenter(base_swing=0.0), 2016),
    }
    names = {"FTM": "FTM", "interpolation 0.5": "half the way", "RLS": "RLS with offset", "GLIDE": "GLIDE, told"}
    names["GLIDE, told nothing"] = "GLIDE"
    for title, (one, rounds) in plants.items():
        known = contenders(one, rounds=rounds, seeds=seeds)
        result = drive(one, {name: known[name] for name in (*names, ORACLE)}, rounds=rounds, seeds=seeds)
        yield title, {names[k]: 100.0 * (result[k].total / result[ORACLE].total - 1.0) for k in names}
    for title, load in (("building, no base load", "none"), ("building, 5 kW ± 40 %", "5 kW, +-40 % over the day")):
        found = building_costs(building.BASE_LOADS[load], 4 if quick else 16)
        columns = {"FTM": "FTM", "half steps": "half the way", "RLS with offset": "RLS with offset", "GLIDE": "GLIDE"}
        yield title, {columns[k]: 100.0 * (float(np.median(found[k] / found["LAI"])) - 1.0) for k in columns}


BLOCKS = {
    "settings": Block(
        "The sixteen settings of the paper",
        f"regret after {ROUNDS:,} rounds",
        setting_rows,
        f"d = 4; r: rank, {SIGMA}: smallest eigenvalue; * the best of some learning rates; medians",
    ),
    "loads": Block(
        "Base loads, offsets and a context",
        f"regret after {ROUNDS:,} rounds",
        load_rows,
        "d = 4, eigenvalues 1..4, steps of 50, noise up to 10; medians",
    ),
    "changes": Block(
        "Wrong readings and changes of A",
        "regret after 600 rounds",
        change_rows,
        "d = 4, eigenvalues 1..4, steps of 50, noise up to 10; from round 300 on unless stated otherwise; medians",
    ),
    "dimensions": Block(
        "Many dimensions",
        "regret after 1,000 rounds, 3,000 where d = 100",
        dimension_rows,
        "eigenvalues 1..4 unless stated otherwise, noise up to 10; medians",
    ),
    "plants": Block(
        "Simulated plants",
        "cost above the oracle's, percent",
        plant_rows,
        "wind farm and data center: means; building: medians",
    ),
}


# ---- tables and pictures ---------------------------------------------------------------------------------------------


def short(value: float) -> str:
    """Format a number with three digits, in as few characters as possible."""
    return f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def print_table(title: str, what: str, rows: dict[str, Row]) -> None:
    """Print the rows as a Markdown table, with the ratio of GLIDE to the best of the others."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    print(f"{title}: {what}\n\n| |", " | ".join(columns), "| GLIDE / best other |\n|---|" + "--:|" * (len(columns) + 1))
    ratios = []
    for name, row in rows.items():
        cells = [short(row[column]) if column in row else "" for column in columns]
        best = min(value for column, value in row.items() if not column.startswith("GLIDE"))
        ratios.append(row["GLIDE"] / best)
        print(f"| {name} |", " | ".join(cells), f"| {short(ratios[-1])} |")
    positive = [ratio for ratio in ratios if ratio > 0.0]
    average = short(math.exp(np.log(positive).mean()))
    print(
        f"\nGLIDE is below the best of the others in {sum(ratio < 1.0 for ratio in ratios)} of {len(ratios)} rows; "
        f"the ratio is at most {short(max(ratios))}, and {average} as a geometric mean "
        f"over the {len(positive)} rows where it is positive"
    )


def draw(block: Block, rows: dict[str, Row], path: Path) -> None:
    """Draw a dot for each policy in each row, on a logarithmic axis."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    order = [*(name for name in names if not name.startswith("GLIDE")), *(n for n in names if n.startswith("GLIDE"))]
    figure = new_figure(10.0, 1.5 + 0.29 * len(rows))
    axes = figure.subplots()
    lowest = min((value for row in rows.values() for value in row.values() if value > HIDDEN_BELOW), default=1.0)
    edge = 0.45 * lowest
    hidden = sum([draw_dots(axes, name, [row.get(name, math.nan) for row in rows.values()], edge) for name in order])
    axes.set(xscale="log", xlabel=block.what, ylim=(len(rows) - 0.4, -0.6), xlim=(0.7 * edge, None))
    axes.set_yticks(range(len(rows)), list(rows))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title(block.title)
    figure.legend(loc="outside upper right", ncols=len(order))
    note = f"; triangle: below {HIDDEN_BELOW:g}, or negative" if hidden else ""
    figure.supxlabel(block.caption + note, x=0.99, ha="right", fontsize="small", color=CAPTION_COLOR)
    save_figure(figure, path)


def draw_dots(axes: Axes, name: str, values: list[float], edge: float) -> int:
    """Draw the dots of a policy; return how many are triangles at the edge, for what a logarithmic axis cannot show."""
    marker, size, hollow = MARKERS.get(name, MARKERS[name.partition(",")[0].partition(" ")[0].rstrip("*")])
    ((color, _),) = policy_styles([name.rstrip("*")]).values()
    shape: dict[str, Any] = {"color": color, "markersize": size, "zorder": 3, "linestyle": "none"}
    shape |= {"markeredgewidth": 1.4, "markerfacecolor": "none" if hollow else color}
    level = range(len(values))
    below = [edge if value <= HIDDEN_BELOW else math.nan for value in values]
    axes.plot([value if value > HIDDEN_BELOW else math.nan for value in values], level, marker, label=name, **shape)
    axes.plot(below, level, "<", **shape)
    return sum(value <= HIDDEN_BELOW for value in values)


def main() -> None:
    """Print the tables and draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few runs")
    parser.add_argument("--blocks", nargs="+", default=list(BLOCKS), choices=list(BLOCKS))
    parser.add_argument("--folder", type=Path, default=Path("docs/explanation"))
    given = parser.parse_args()
    for name in given.blocks:
        block, began = BLOCKS[name], time.perf_counter()
        rows = dict(block.rows(given.quick))
        print_table(block.title, block.what, rows)
        print(f"({time.perf_counter() - began:.0f} s)\n", flush=True)
        with house_style():
            draw(block, rows, given.folder / f"glide-{name}.svg")


if __name__ == "__main__":
    main()
