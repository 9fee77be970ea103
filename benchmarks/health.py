"""How often GLIDE's verdict on the health of a plant finds something where nobody made a mistake.

    python benchmarks/health.py                      all plants
    python benchmarks/health.py --quick              few seeds
    python benchmarks/health.py --rows farm paper    plants whose names contain one of these

A row is the share of every tenth round after the 200th in which a finding shows a mistake ("wrong"), or asks to check
something ("check"), with the standard error over the seeds, and the share in which GLIDE calls itself confident. The
plants of unseen_physics.py are not quadratic, and their meters are bad; so a finding may be right there.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

import soqo
from glide_settings import paper_settings
from soqo.plants import DataCenter, WindFarm, drive
from soqo.typing import Array
from unseen_physics import Row, rows
from unseen_plants import steer, wanted

FIRST, EVERY = 200, 10


class Watched(soqo.GLIDE):
    """GLIDE, which is asked for its health from time to time."""

    said: ClassVar[list[Array]] = []
    found: ClassVar[Counter[str]] = Counter()

    def learn(self, state: soqo.State[Any], y: Array) -> Any:
        memory = super().learn(state, y)
        if state.round > FIRST and state.round % EVERY == 0 and not np.isnan(y).all():
            health = self.health(replace(state, memory=memory))
            since, wrong = np.atleast_1d(health["since"]) > 0.0, np.atleast_1d(health["wrong"])
            self.said.append(np.stack([wrong, since & ~wrong, np.atleast_1d(health["confident"])]))
            for text in np.atleast_1d(health["verdict"])[since]:
                self.found[re.sub(r"\d+(\.\d+)?%?", "#", text.partition(": ")[2])] += 1
        return memory


def row(name: str, play: Callable[[], Any], runs: int) -> str:
    """Return the row of a table."""
    Watched.said.clear()
    Watched.found.clear()
    play()
    shares = np.concatenate(Watched.said, axis=1)  # by run, or one plant after the other
    batch = len(Watched.said[0][0]) > 1
    parts = [shares[:, run::runs] for run in range(runs)] if batch else np.array_split(shares, runs, axis=1)
    means = 100.0 * np.array([part.mean(axis=1) for part in parts])
    error = means.std(axis=0) / np.sqrt(max(runs - 1, 1))
    cells = [f"{mean:.1f} ± {one:.1f}" for mean, one in zip(means.mean(axis=0), error, strict=True)]
    most = Watched.found.most_common(1)
    return f"| {name} | {' | '.join(cells)} | {most[0][0][:60] if most else ''} |"


def cooling() -> soqo.Environment:
    """Return two cooling units like those of examples/08_steer_a_plant.py."""
    problem = soqo.Problem([[3.0, 1.0], [1.0, 2.0]], switching_weight=[1.0, 25.0])
    return soqo.Environment(problem, soqo.processes.Gaussian(1.0), soqo.noise.Uniform(0.5))


def plants(runs: int, seeds: int) -> Iterator[tuple[str, Callable[[], Any], int]]:
    """Yield the plants: a name, a function that plays them, and the number of runs."""

    def simulated(environment: soqo.Environment) -> Callable[[], Any]:
        return lambda: soqo.simulate(environment, {"GLIDE": Watched()}, horizon=600, runs=runs, seed=11)

    def steered(one: Row) -> Callable[[], Any]:
        return lambda: [steer(one.draw(seed), Watched()) for seed in range(seeds)]

    for setting in paper_settings():
        yield f"paper, {setting.name}", simulated(setting.environment), runs
    yield "example 08", simulated(cooling()), runs
    for plant in (WindFarm(), DataCenter()):
        yield type(plant).__name__, partial(drive, plant, {"GLIDE": Watched()}, rounds=1000, seeds=seeds), seeds
    for one in rows():
        yield one.name, steered(one), seeds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few seeds")
    parser.add_argument("--rows", nargs="+", default=[], help="parts of the names of plants")
    given = parser.parse_args()
    print("| plant | wrong, % | check, % | confident, % | most frequent |\n|---|--:|--:|--:|---|")
    for name, play, runs in plants(*((8, 2) if given.quick else (100, 8))):
        if wanted(given.rows, name):
            print(row(name, play, runs), flush=True)


if __name__ == "__main__":
    main()
