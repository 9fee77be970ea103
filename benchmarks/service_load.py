"""Load on `soqo serve`: many plants over HTTP, against an empty FastAPI endpoint in the same run.

    python benchmarks/service_load.py                      # SQLite
    python benchmarks/service_load.py --postgres           # PostgreSQL, and two servers against one
    python benchmarks/service_load.py --rounds 500         # 100,000 rounds, and the memory on the way

Each of 200 plants of four actuators has a connection of its own, and plays rounds of GLIDE: an action and a reading,
one request each. The client is the same for all servers. It prints requests per second, percentiles of the time of a
request, and the bars.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import uvloop

from postgres_server import postgres_server
from service_processes import EMPTY, Next, Server, cpu_seconds, drive, free_port, running

DIM = 4
BODY = json.dumps({"v": [1.234567, 2.345678, 3.456789, 4.567891], "round": 1}).encode()


class SimulatedPlant:
    """A plant of the benchmark: v walks, and the reading is the hitting cost with noise."""

    def __init__(self, number: int, rounds: int) -> None:
        rng = np.random.default_rng(number)
        self.name = f"plant-{number}"
        self._v = np.cumsum(rng.normal(size=(rounds, DIM)), axis=0).tolist()
        self._noise = (0.1 * rng.normal(size=rounds)).tolist()
        self._A = rng.uniform(0.2, 2.0, DIM).tolist()
        self._round, self._end = 0, rounds
        self._acting = True
        self._failed = 0

    def until(self, end: int) -> Next:
        """The requests until a number of rounds."""
        self._end = end
        return self._advance

    def _advance(self, status: int, body: bytes) -> tuple[str, bytes] | None:
        if status not in (0, 200):
            raise RuntimeError(f"{status}: {body!r}")
        if self._acting:
            if self._round == self._end:
                return None
            self._round += 1
            self._acting = False
            v = self._v[self._round - 1]
            return f"/plants/{self.name}/rounds", json.dumps({"v": v, "round": self._round}).encode()
        v, x = self._v[self._round - 1], json.loads(body)["x"]
        y = self._noise[self._round - 1] + sum(a * (p - q) ** 2 for a, p, q in zip(self._A, x, v, strict=True)) / 2
        self._acting = True
        return f"/plants/{self.name}/rounds/{self._round}/reading", json.dumps({"y": y}).encode()


def repeat_empty(count: int) -> Next:
    """Requests to the empty endpoint."""
    left = iter(range(count))
    return lambda _status, _body: ("/", BODY) if next(left, None) is not None else None


def report(name: str, latencies: list[float], seconds: float) -> tuple[float, float]:
    """Print a line, and return requests per second and the 99th percentile in ms."""
    p50, p99 = (float(q) * 1e3 for q in np.quantile(latencies, [0.5, 0.99]))
    rate = len(latencies) / seconds
    print(f"{name:42s} {rate:7.0f} requests/s   p50 {p50:7.1f} ms   p99 {p99:7.1f} ms   {len(latencies)} requests")
    return rate, p99


class Processors:
    """The processor time of the servers, of this client and of PostgreSQL, per request."""

    def __init__(self, servers: list[Server]) -> None:
        self._servers, self._begun = servers, self._now(servers)

    @staticmethod
    def _now(servers: list[Server]) -> tuple[float, float, float]:
        database = [path.parent for path in Path("/proc").glob("[0-9]*/comm") if _is_postgres(path)]
        return (
            sum(one.cpu() for one in servers),
            time.process_time(),
            sum(cpu_seconds(int(one.name)) for one in database),
        )

    def report(self, requests: int) -> None:
        """Print it."""
        used = [1e3 * (now - then) / requests for now, then in zip(self._now(self._servers), self._begun, strict=True)]
        words = [f"{name} {ms:.2f} ms" for name, ms in zip(("servers", "client", "database"), used, strict=True)]
        print(f"    processor time of a request: {', '.join(words)}: {sum(used):.2f} ms of the {os.cpu_count()} cores")


def _is_postgres(path: Path) -> bool:
    try:
        return path.read_text() == "postgres\n"
    except OSError:
        return False


def measure(name: str, connections: list[tuple[int, Next]]) -> tuple[float, float]:
    """Run connections to their end."""
    begun = time.perf_counter()
    latencies = uvloop.run(drive(connections))
    return report(name, latencies, time.perf_counter() - begun)


def create(server: Server, plants: list[SimulatedPlant]) -> None:
    """Create the plants on a server."""
    for plant in plants:
        server.call("POST", "/plants", {"name": plant.name, "x0": [0.0] * DIM})


def stages(rounds: int) -> Iterator[int]:
    """Five stages, and the rounds at which each ends."""
    yield from (round(rounds * part / 5) for part in range(1, 6))


def load_one(store: str, count: int, rounds: int, label: str) -> tuple[float, float]:
    """One server: requests per second and p99 over all rounds, with the memory after each fifth."""
    server, plants = Server(store, free_port()), [SimulatedPlant(number, rounds) for number in range(count)]
    latencies: list[float] = []
    seconds = 0.0
    with running(server):
        create(server, plants)
        processors = Processors([server])
        for end in stages(rounds):
            begun = time.perf_counter()
            latencies += (stage := uvloop.run(drive([(server.port, plant.until(end)) for plant in plants])))
            seconds += (took := time.perf_counter() - begun)
            rate = len(stage) / took
            print(f"    after {end * count:7d} rounds: {rate:6.0f} requests/s, {server.memory():6.1f} MB", flush=True)
        processors.report(len(latencies))
    return report(label, latencies, seconds)


def load_two(store: str, count: int, rounds: int) -> float:
    """Two servers on one store, each with half of the plants: requests per second."""
    servers = [Server(store, free_port()) for _ in range(2)]
    plants = [SimulatedPlant(number, rounds) for number in range(count)]
    with running(*servers):
        create(servers[0], plants)
        pairs = [(servers[number % 2].port, plant.until(rounds)) for number, plant in enumerate(plants)]
        processors = Processors(servers)
        rate = measure("soqo, PostgreSQL, two servers", pairs)[0]
        processors.report(2 * count * rounds)
        return rate


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plants", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    count, rounds = options.plants, options.rounds
    empty = Server("", free_port(), EMPTY)
    with running(empty):
        measure("warming up", [(empty.port, repeat_empty(20)) for _ in range(count)])
        requests = max(100, min(2 * rounds, 300))
        base, base_p99 = measure(
            "an empty FastAPI endpoint", [(empty.port, repeat_empty(requests)) for _ in range(count)]
        )
    with tempfile.TemporaryDirectory() as folder:
        if not options.postgres:
            rate, p99 = load_one(str(Path(folder) / "store.sqlite"), count, rounds, "soqo, SQLite")
        else:
            with postgres_server() as url:
                rate, p99 = load_one(url, count, rounds, "soqo, PostgreSQL, one server")
            with postgres_server() as url:
                gain = load_two(url, count, rounds) / rate
                print(f"two servers against one: {gain:.2f} times (bar: 1.5, with cores for it)")
    print(f"requests per second: {rate / base:.2f} of the empty endpoint's (bar: at least 0.25)")
    print(f"p99: {p99 / base_p99:.1f} times the empty endpoint's (bar: below 20)")


if __name__ == "__main__":
    main()
