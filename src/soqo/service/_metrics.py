"""Metrics in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from soqo.service._dispatcher import Work

_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 256)
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)
_HEALTH = "Plants that this server steers: 1 in order, 0.5 something is to be checked, 0 something is wrong."


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        count, gauge = partial(Counter, registry=self._registry), partial(Gauge, registry=self._registry)
        spread = partial(Histogram, registry=self._registry)
        self._requests = count("soqo_requests", "Requests, by route and status.", ["route", "status"])
        self._written = count("soqo_calls_written", "Calls of plants that were written to the store.")
        self._events = count("soqo_events", "Events of plants.", ["kind"])
        self._batch = spread("soqo_batch_size", "Requests that were handled together.", buckets=_SIZES)
        self._seconds = spread("soqo_batch_seconds", "The time to compute and write a batch.", buckets=_SECONDS)
        self._waiting = gauge("soqo_requests_waiting", "Requests that wait to be handled.")
        self._streams = gauge("soqo_streams", "Open streams of live pages.")
        self._plants = gauge("soqo_plants", "Plants that are not retired.")
        self._health = gauge("soqo_plant_health", _HEALTH, ["plant"])

    def count_request(self, route: str, status: int) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()

    def count_work(self, work: Work) -> None:
        """Count what the dispatcher did."""
        self._written.inc(work.written)
        self._batch.observe(work.requests)
        self._seconds.observe(work.seconds)
        for one in work.events:
            self._events.labels(one.kind).inc()

    def render(self, *, waiting: int, streams: int, plants: int, health: Mapping[str, float]) -> bytes:
        """Return all metrics as text."""
        self._health.clear()
        for name, value in health.items():
            self._health.labels(name).set(value)
        self._waiting.set(waiting)
        self._streams.set(streams)
        self._plants.set(plants)
        return generate_latest(self._registry)
