"""Servers of soqo as processes of their own, and a quick client for many connections, for tests and benchmarks."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

SERVER = """
import sys, uvicorn
from soqo.service import create_app
uvicorn.run(create_app(sys.argv[1], require_token=False), host="127.0.0.1", port=int(sys.argv[2]), log_level="error",
            access_log=False, proxy_headers=False, timeout_graceful_shutdown=2)
"""

EMPTY = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/")
async def empty():
    return {}
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False,
            proxy_headers=False)
"""


def free_port() -> int:
    """A port of the loopback address that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def cpu_seconds(process: int) -> float:
    """The processor time of a process, in seconds; 0 if it has ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Server:
    """A server in a process of its own."""

    def __init__(self, store: str, port: int, program: str = SERVER) -> None:
        self.store, self.port, self._program = store, port, program
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; :meth:`wait` waits until it answers."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        arguments = [sys.executable, "-c", self._program, self.store, str(self.port)]
        self.process = subprocess.Popen(arguments, env=environment)

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until it answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1.0).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise TimeoutError(f"no server on port {self.port}")

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End it, at once unless another signal is given."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None

    def memory(self) -> float:
        """The memory that it holds, in MB."""
        assert self.process is not None
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["VmRSS"].split()[0]) / 1024

    def cpu(self) -> float:
        """The processor time that it has used, in seconds."""
        assert self.process is not None
        return cpu_seconds(self.process.pid)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Make one call."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
            return json.load(answer)


@contextmanager
def running(*servers: Server) -> Iterator[None]:
    """Start servers, and end them."""
    try:
        for one in servers:
            one.start()
        for one in servers:
            one.wait()
        yield
    finally:
        for one in servers:
            one.kill(signal.SIGTERM)


Next = Callable[[int, bytes], "tuple[str, bytes] | None"]
"""A function from the status and the body of the last response to the path and the body of the next request."""


class Connection(asyncio.Protocol):
    """A connection that sends one request after the other, and notes how long each took."""

    def __init__(self, advance: Next, latencies: list[float]) -> None:
        self._advance, self._latencies = advance, latencies
        self._received = b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Send the first request."""
        self._transport = transport
        self._send(0, b"")

    def _send(self, status: int, body: bytes) -> None:
        following = self._advance(status, body)
        if following is None:
            self._transport.close()
            self.done.set_result(None)
            return
        path, content = following
        fields = f"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
        head = f"POST {path} HTTP/1.1\r\n{fields}\r\n\r\n"
        self._begun = time.perf_counter()
        self._transport.write(head.encode() + content)

    def data_received(self, data: bytes) -> None:
        """Send the next request when the response is complete."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        at = self._received.find(b"content-length: ") + 16
        size = int(self._received[at : self._received.find(b"\r", at)])
        if len(self._received) < end + 4 + size:
            return
        status, body = int(self._received[9:12]), self._received[end + 4 :]
        self._received = b""
        self._latencies.append(time.perf_counter() - self._begun)
        self._send(status, body)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail, if the server has closed the connection."""
        if not self.done.done():
            self.done.set_exception(ConnectionError("the server closed the connection"))


async def drive(connections: list[tuple[int, Next]]) -> list[float]:
    """Let connections to ports run until their functions return None; return how long each request took."""
    latencies: list[float] = []
    loop = asyncio.get_running_loop()
    opened = []
    for port, advance in connections:
        _, one = await loop.create_connection(partial(Connection, advance, latencies), "127.0.0.1", port)
        opened.append(one)
    await asyncio.gather(*(one.done for one in opened))
    return latencies
