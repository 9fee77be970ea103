"""What several tests of the service use."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import uvicorn

import soqo
from service_processes import free_port

DIM = 2


class LiveServer:
    """A server in a thread, which can be stopped and started again."""

    def __init__(self, store: Path | str, port: int = 0, **options: Any) -> None:
        self.store, self.port = store, port or free_port()
        self._options = {"require_token": False, **options}
        self._server: uvicorn.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        app = soqo.service.create_app(self.store, **self._options)
        config = uvicorn.Config(
            app, port=self.port, log_level="error", access_log=False, timeout_graceful_shutdown=1, ws="none"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        end = time.monotonic() + 20.0
        while not self._server.started and time.monotonic() < end:
            time.sleep(0.01)

    def stop(self) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join(10.0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


class Conditions:
    """What a plant of the tests is told and measures: v walks, and readings have noise."""

    def __init__(self, seed: int = 0, dim: int = DIM) -> None:
        self._rng, self.v = np.random.default_rng(seed), np.zeros(dim)
        self.A = np.diag(np.linspace(0.5, 1.5, dim))

    def draw(self) -> np.ndarray:
        self.v = self.v + self._rng.normal(size=self.v.size)
        return self.v

    def reading(self, x: Any) -> float:
        u = np.asarray(x) - self.v
        return float(0.5 * u @ self.A @ u + 0.05 * self._rng.normal())


def undisturbed(rounds: int, seed: int = 0, dim: int = DIM, **settings: Any) -> list[list[float]]:
    """The actions of a controller in the same conditions."""
    conditions, actions = Conditions(seed, dim), []
    controller = soqo.Controller(soqo.GLIDE(), np.zeros(dim), **settings)
    for _ in range(rounds):
        x = controller.act(conditions.draw())
        actions.append(x.tolist())
        controller.observe(conditions.reading(x))
    return actions
