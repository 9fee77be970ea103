"""A fleet of 200 plants against 200 controllers, in the same rounds of the same run, and the time to resume it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from soqo import GLIDE, Controller, Fleet, random_curvature

PLANTS, DIM, ROUNDS = 200, 6, 40
LATER = range(300, 400)
"""Rounds of plants that have been in operation for some time."""
CURVATURES = np.stack(
    [random_curvature(DIM, DIM, min_eigenvalue=0.5, max_eigenvalue=4.0, rng=plant) for plant in range(PLANTS)]
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A temporary folder on a real disk."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def minimizers(rounds: int) -> Any:
    """Return a random walk for each plant, time first."""
    return np.cumsum(np.random.default_rng(0).standard_normal((rounds, PLANTS, DIM)), axis=0)


def readings(t: int, x: Any, v: Any) -> Any:
    """Return the readings of all plants in round t."""
    u = x - v
    cost = 0.5 * np.vecdot(u, np.matvec(CURVATURES, u))
    return cost + np.random.default_rng([1, t]).uniform(-0.2, 0.2, PLANTS)


def steer(fleet: Fleet, rounds: range) -> float:
    """Play some rounds with all plants, and return the seconds that the fleet took."""
    walk, spent = minimizers(rounds.stop), 0.0
    for t in rounds:
        begun = time.perf_counter()
        x = fleet.act(walk[t])
        spent += time.perf_counter() - begun
        y = readings(t, x, walk[t])
        begun = time.perf_counter()
        fleet.observe(y)
        spent += time.perf_counter() - begun
    return spent


def steer_one_by_one(controllers: list[Controller], rounds: range) -> tuple[float, Any]:
    """Play some rounds with a controller per plant, and return the seconds that they took and the last actions."""
    walk, spent = minimizers(rounds.stop), 0.0
    x = np.empty((PLANTS, DIM))
    for t in rounds:
        begun = time.perf_counter()
        for plant, controller in enumerate(controllers):
            x[plant] = controller.act(walk[t, plant])
        spent += time.perf_counter() - begun
        y = readings(t, x, walk[t]).tolist()
        begun = time.perf_counter()
        for plant, controller in enumerate(controllers):
            controller.observe(y[plant])
        spent += time.perf_counter() - begun
    return spent, x


def report(what: str, rounds: range, one_by_one: float, together: float, bar: float) -> float:
    """Print the plant-rounds per second of both, and return their ratio."""
    rate, fast = PLANTS * len(rounds) / one_by_one, PLANTS * len(rounds) / together
    print(
        f"\n{what}: {PLANTS} plants, d={DIM}, rounds {rounds.start + 1} to {rounds.stop} of GLIDE: {rate:.0f} "
        f"plant-rounds/s by controllers, {fast:.0f} by a fleet: {fast / rate:.1f} times (bar {bar:.0f})"
    )
    return fast / rate


@pytest.mark.parametrize(("durability", "bar"), [("process", 25.0), ("disk", 60.0)])
def test_a_fleet_outruns_as_many_controllers(durability: Literal["process", "disk"], bar: float, folder: Path) -> None:
    controllers = [
        Controller(GLIDE(), np.zeros(DIM), journal=folder / f"plant {plant}", durability=durability)
        for plant in range(PLANTS)
    ]
    ratios = []
    with Fleet(GLIDE(), np.zeros((PLANTS, DIM)), journal=folder / "fleet", durability=durability) as fleet:
        for rounds in (range(ROUNDS), range(ROUNDS, LATER.start), LATER):
            one_by_one, x = steer_one_by_one(controllers, rounds)
            together = steer(fleet, rounds)
            np.testing.assert_allclose(fleet.x, x, rtol=1e-9, atol=1e-9)
            ratios.append(report(f'journal "{durability}"', rounds, one_by_one, together, bar))
    assert min(ratios) >= bar


def test_plants_on_their_own_clocks_cost_little_more() -> None:
    level, mixed = (Fleet(GLIDE(), np.zeros((PLANTS, DIM))) for _ in range(2))
    walk = minimizers(ROUNDS)
    for t in range(10):  # afterwards, plant k has played k modulo ten rounds
        late = [plant for plant in range(PLANTS) if plant % 10 > t]
        if late:
            mixed.act(walk[t, late], late)
            mixed.observe(np.full(len(late), np.nan), late)
    times = steer(level, range(ROUNDS)), steer(mixed, range(ROUNDS))
    print(f"\n{ROUNDS} rounds of plants on one clock {times[0]:.1f} s, on ten clocks {times[1]:.1f} s")
    assert times[1] <= 1.5 * times[0]


def test_a_fleet_is_resumed_in_seconds(folder: Path) -> None:
    path, crashed = folder / "fleet", folder / "crashed"
    fleet = Fleet(GLIDE(), np.zeros((PLANTS, DIM)), journal=path, durability="process")
    times, played = [], 0
    for rounds, bar in ((40, 2.0), (300, 3.0)):
        steer(fleet, range(played, rounds))
        played = rounds
        for name in ("", ".snapshot"):
            shutil.copy(f"{path}{name}", f"{crashed}{name}")
        fleet.close()
        for what, journal in (("after a crash", crashed), ("after close", path)):
            begun = time.perf_counter()
            resumed = Fleet.resume(journal, durability="process")
            seconds = time.perf_counter() - begun
            np.testing.assert_array_equal(resumed.x, fleet.x)
            size, beside = (Path(f"{journal}{name}").stat().st_size / 1e6 for name in ("", ".snapshot"))
            print(
                f"\nresume of {PLANTS} plants, {rounds} rounds, {what}: {seconds:.2f} s (bar {bar:.0f}); "
                f"journal {size:.1f} MB, snapshot {beside:.1f} MB"
            )
            times.append((seconds, bar))
            if journal == path:
                fleet = resumed
            else:
                resumed.close()
    fleet.close()
    assert all(seconds <= bar for seconds, bar in times)
