"""Attack the service with requests: drawn from its OpenAPI document by schemathesis, and made by hand.

No request may be answered with a status of 500 or more, and after a request that was refused the store must hold as
many plants, calls, events and tokens as before it. In the end the first action must still be the same.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import sqlite3
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.core.result import Ok

import soqo

SETTINGS: dict[str, Any] = {"x0": [0.0, 0.0], "low": -10.0, "high": 10.0, "v_limits": [-50.0, 50.0]}


class Target:
    """A server with a plant, and what it must not lose."""

    def __init__(self, folder: str) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = int(one.getsockname()[1])
        self.store = str(Path(folder) / "fuzz.sqlite")
        self.token = soqo.service.create_token(self.store, "fuzz", scope="admin")
        app = soqo.service.create_app(self.store, max_bytes=100_000, requests_per_second=1e6)
        config = uvicorn.Config(app, port=self.port, log_level="critical", timeout_graceful_shutdown=1, ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=30.0)
        self.client.post("/plants", json={"name": "roof", **SETTINGS}).raise_for_status()
        self.client.post("/plants/roof/rounds", json={"v": [1.0, 2.0], "round": 1}).raise_for_status()

    def contents(self) -> tuple[int, ...]:
        """How many plants, calls, events and tokens are in the store, and how many plants are retired."""
        counts = [f"(SELECT count(*) FROM {table})" for table in ("plants", "records", "events", "tokens")]
        retired = "(SELECT count(*) FROM plants WHERE retired IS NOT NULL)"
        with closing(sqlite3.connect(self.store)) as connection:
            found: tuple[int, ...] = connection.execute(f"SELECT {', '.join(counts)}, {retired}").fetchone()
        return found

    def judge(self, status: int, before: tuple[int, ...], what: str) -> list[str]:
        """The fault of an answer, if it is one: a failure of the server, or a refusal after something was written."""
        if status >= 500:
            return [f"{status}: {what}"]
        if status >= 400 and self.contents() != before:
            return [f"{status}, but something was written: {what}"]
        return []

    def stop(self) -> None:
        self.client.close()
        self._server.should_exit = True
        self._thread.join(10.0)


def crafted(rng: random.Random) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield requests without end: method, path, and arguments of httpx."""
    numbers = [
        0,
        -1,
        1e308,
        -1e308,
        5e-324,
        10**400,
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        '"1"',
        "null",
        "true",
        "[]",
        "{}",
    ]
    names = ["roof", "nobody", "..", "%2e%2e", "roof%00", "roof/..", "%2froof", "a" * 300, "ä", "roof;x", "'--", "<b>"]
    kinds = ["application/json", "text/plain", "", "application/json; charset=utf-16", "multipart/form-data"]
    while True:
        name, number = rng.choice(names), rng.choice(["1", "0", "-1", "2", "1e3", "9" * 30, "x", "%31", "1/../2"])
        value = rng.choice(numbers)
        bodies = [
            f'{{"v": [{value}, {value}], "round": {rng.choice(numbers)}}}',
            f'{{"v": {value}}}',
            f'{{"y": {value}, "applied": [{value}]}}',
            f'{{"y": 1.0, "unit": {value}, "at": {value}}}',
            f'{{"name": "fresh", "x0": [{value}], "policy": {{"kind": "os:system", "command": "true"}}}}',
            f'{{"name": "{name}", "x0": [0.0], "horizon": {value}, "seed": {value}}}',
            f'{{"kind": "held", "message": {value}}}',
            "[" * rng.choice([10, 1000, 90_000]),
            '{"v":' * 5000 + "1" + "}" * 5000,
            '{"v": [' + "1," * 20_000 + "1]}",
            "x" * 200_000,
            "\x00\xff\xfe",
            "",
            '{"v": [1, 2], "v": [3, 4], "round": 7}',
            '{"__proto__": {}, "constructor": 1}',
            json.dumps({"v": [1.0, 2.0], "forecast": [[1.0] * 3] * 5, "context": [1e300] * 70}),
        ]
        method = rng.choice(["POST", "POST", "POST", "GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"])
        path = rng.choice(
            [
                "/plants",
                f"/plants/{name}",
                f"/plants/{name}/rounds",
                f"/plants/{name}/rounds/{number}/reading",
                f"/plants/{name}/events",
                f"/plants/{name}/rounds?after={number}&limit={number}",
                f"/static/{name}",
                f"/{name}",
                "/login",
                "//plants",
                "/plants/roof/../../etc/passwd",
            ]
        )
        headers: dict[str, Any] = (
            {"Content-Type": rng.choice(kinds)} if rng.random() < 0.3 else {"Content-Type": kinds[0]}
        )
        if rng.random() < 0.15:
            headers["Authorization"] = rng.choice(
                ["Bearer", "Bearer x", "Basic eA==", "Bearer " + "a" * 5000, "\u00e9".encode("latin-1")]
            )
        if rng.random() < 0.1:
            headers[rng.choice(["Origin", "Host", "X-Forwarded-For", "Content-Length", "Cookie", "Last-Event-ID"])] = (
                rng.choice(["", "evil.example", "soqo_token=a; b", "-5", "9" * 40, "\x01".strip() or "x"])
            )
        if method == "DELETE":
            path = "/plants/nobody"  # a retired plant would refuse everything else
        content = rng.choice(bodies).encode("utf-8", "surrogatepass")
        yield (
            method,
            path,
            {"headers": headers, **({} if method in ("GET", "HEAD", "OPTIONS") else {"content": content})},
        )


def attack_by_hand(target: Target, count: int, first: int, statuses: Counter[int]) -> list[str]:
    """Send crafted requests; return the faults."""
    faults: list[str] = []
    requests = crafted(random.Random(first))
    for _ in range(count):
        method, path, arguments = next(requests)
        before = target.contents()
        try:
            answer = target.client.request(method, path, **arguments)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError):
            statuses[0] += 1  # not HTTP: the client or the server ended it
            continue
        statuses[answer.status_code] += 1
        what = f"{method} {path[:60]} {str(arguments)[:120]}: {answer.text[:200]}"
        faults += target.judge(answer.status_code, before, what)
    return faults


def attack_by_schema(target: Target, count: int, first: int, statuses: Counter[int]) -> list[str]:
    """Send requests that schemathesis draws from the OpenAPI document; return the faults."""
    document = schemathesis.openapi.from_dict(target.client.get("/openapi.json").json())
    document.config.update(base_url=target.url)
    faults: list[str] = []
    operations: list[Any] = [one.ok() for one in document.get_all_operations() if isinstance(one, Ok)]
    for operation in operations:
        if operation.method.upper() == "DELETE":
            continue  # it would retire the plants of the others

        def attack(case: Any) -> None:
            case.path_parameters = {**(case.path_parameters or {})}
            if case.path_parameters.get("name") and zlib.crc32(str(case.body).encode("utf-8", "replace")) % 2:
                case.path_parameters["name"] = "roof"
            before = target.contents()
            try:
                answer = case.call(base_url=target.url, headers={"Authorization": f"Bearer {target.token}"}, timeout=30)
            except (OSError, ValueError):
                statuses[0] += 1
                return
            statuses[answer.status_code] += 1
            what = f"{case.method} {case.formatted_path} {str(case.body)[:300]} {answer.text[:200]}"
            faults.extend(target.judge(answer.status_code, before, what))

        checked = settings(
            max_examples=max(1, count // (len(operations) - 1)),
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            with suppress(Unsatisfiable):  # a route without parameters has no invalid ones
                seed(first)(checked(given(case=operation.as_strategy(generation_mode=mode))(attack)))()
    return faults


def run(*, first: int, count: int) -> tuple[list[str], Counter[int]]:
    """Attack a server; return the faults and how often each status was answered."""
    statuses: Counter[int] = Counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        target = Target(folder)
        try:
            faults = attack_by_hand(target, count // 2, first, statuses)
            faults += attack_by_schema(target, count // 4, first, statuses)  # twice: valid and invalid ones
            again = target.client.post("/plants/roof/rounds", json={"v": [1.0, 2.0], "round": 1})
            expected = soqo.Controller(soqo.GLIDE(), [0.0, 0.0], low=-10.0, high=10.0).act([1.0, 2.0]).tolist()
            if again.json().get("x") != expected:
                faults.append(f"the first action is lost: {again.text}")
        finally:
            target.stop()
    return faults, statuses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=12_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    faults, statuses = run(first=options.first, count=options.count)
    counts = dict(sorted(statuses.items()))
    print(f"fuzz_service: {sum(statuses.values())} requests, {len(faults)} faults; statuses {counts}")
    for fault in faults[:20]:
        print(f"  {fault}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
