"""Kill servers at random moments under load: nothing that was acknowledged is lost, doubled or different.

    python benchmarks/service_kills.py                       # SQLite, one server, 30 kills
    python benchmarks/service_kills.py --postgres            # PostgreSQL, one server
    python benchmarks/service_kills.py --postgres --servers 2    # one of two servers is killed, the other goes on

Each plant is steered by a client that repeats calls that got no answer. In the end the history on the server must have
what each client was told, once and in order, and the actions must be those of a controller that was never disturbed,
bit for bit.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path

import numpy as np

import soqo
from postgres_server import postgres_server
from service_processes import Server, free_port, running

DIM = 3


class Conditions:
    """What a plant is told and what it measures: a function of the number of the plant and of the round."""

    def __init__(self, number: int) -> None:
        self._rng = np.random.default_rng(number)
        self._v = np.zeros(DIM)
        self.A = soqo.random_curvature(dim=DIM, rank=DIM, min_eigenvalue=0.1, max_eigenvalue=2.0, rng=number)

    def draw(self) -> tuple[np.ndarray, float]:
        self._v = self._v + self._rng.normal(size=DIM)
        return self._v, 0.1 * float(self._rng.normal())

    def reading(self, x: np.ndarray, v: np.ndarray, noise: float) -> float:
        return float(0.5 * (x - v) @ self.A @ (x - v)) + noise


Told = list[tuple[list[float], list[float], float]]
"""What was acknowledged to a client: v, x and y of each round."""


async def steer(urls: list[str], number: int, acknowledged: Told, stop: asyncio.Event) -> None:
    """Steer a plant until told to stop."""
    conditions = Conditions(number)
    async with soqo.AsyncClient(urls[number % len(urls) :] + urls[: number % len(urls)], patience=120.0) as client:
        plant = await client.create(f"plant-{number}", x0=[0.0] * DIM)
        while not stop.is_set():
            v, noise = conditions.draw()
            x = await plant.act(v)
            y = conditions.reading(x, v, noise)
            await plant.observe(y)
            acknowledged.append((v.tolist(), x.tolist(), y))


async def played(told: list[Told], rounds: int) -> None:
    """Wait until every plant has played some more rounds."""
    ends = [len(one) + rounds for one in told]
    while any(len(one) < end for one, end in zip(told, ends, strict=True)):
        await asyncio.sleep(0.005)


async def disturb(servers: list[Server], told: list[Told], kills: int, rounds: int, rng: random.Random) -> None:
    """Kill a server again and again; if there is only one, start it anew."""
    for _ in range(kills):
        await played(told, rng.randint(1, rounds))
        await asyncio.sleep(rng.uniform(0.0, 0.05))  # at any moment of a round
        victim = rng.choice(servers)
        victim.kill()
        victim.start()
        await asyncio.to_thread(victim.wait)
    await played(told, 1)


def check(number: int, acknowledged: Told, server: Server) -> int:
    """Compare what a client was told with the history and with an undisturbed controller; return the rounds."""
    history: list[dict[str, object]] = []
    while True:
        page = server.call("GET", f"/plants/plant-{number}/rounds?after={len(history)}&limit=1000")
        history += page["rounds"]
        if page["next"] is None:
            break
    assert [one["round"] for one in history] == list(range(1, len(acknowledged) + 1)), "lost or doubled rounds"
    for one, told in zip(history, acknowledged, strict=True):
        assert (one["v"], one["x"], one["y"]) == told, f"plant {number}, round {one['round']} is different"
    conditions, controller = Conditions(number), soqo.Controller(soqo.GLIDE(), [0.0] * DIM)
    for one in history:
        v, noise = conditions.draw()
        x = controller.act(v)
        assert x.tolist() == one["x"], f"plant {number}, round {one['round']} is not that of an undisturbed run"
        controller.observe(conditions.reading(x, v, noise))
    return len(history)


def kill_servers(store: str, *, servers: int, plants: int, kills: int, rounds: int, seed: int = 0) -> int:
    """Run the test, with up to so many rounds of each plant between two kills; return how many rounds were compared."""
    running_servers = [Server(store, free_port()) for _ in range(servers)]
    told: list[Told] = [[] for _ in range(plants)]

    async def run() -> None:
        stop = asyncio.Event()
        urls = [f"http://127.0.0.1:{one.port}" for one in running_servers]
        async with asyncio.TaskGroup() as tasks:
            for number in range(plants):
                tasks.create_task(steer(urls, number, told[number], stop))
            await disturb(running_servers, told, kills, rounds, random.Random(seed))
            stop.set()

    with running(*running_servers):
        asyncio.run(run())
        return sum(check(number, one, running_servers[0]) for number, one in enumerate(told))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--plants", type=int, default=16)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    arguments = {name: getattr(options, name) for name in ("servers", "plants", "kills", "rounds")}
    begun = time.perf_counter()
    if options.postgres:
        with postgres_server() as url:
            rounds = kill_servers(url, **arguments)
    else:
        with tempfile.TemporaryDirectory() as folder:
            rounds = kill_servers(str(Path(folder) / "store.sqlite"), **arguments)
    where = f"{'PostgreSQL' if options.postgres else 'SQLite'}, {options.servers} server(s)"
    print(
        f"{where}: {options.kills} kills in {time.perf_counter() - begun:.0f} s; all {rounds} acknowledged rounds of "
        f"{options.plants} plants are there once, in order, and equal to an undisturbed run's, bit for bit"
    )


if __name__ == "__main__":
    main()
