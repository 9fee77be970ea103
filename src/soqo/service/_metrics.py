"""Metrics in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from soqo.service._dispatcher import Work


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "soqo_requests", "Requests, by route and status.", ["route", "status"], registry=registry
        )
        self._written = Counter(
            "soqo_calls_written", "Calls of plants that were written to the store.", registry=registry
        )
        self._events = Counter("soqo_events", "Events of plants.", ["kind"], registry=registry)
        self._batch = Histogram(
            "soqo_batch_size",
            "Requests that were handled together.",
            buckets=(1, 2, 5, 10, 20, 50, 100, 200, 256),
            registry=registry,
        )
        self._seconds = Histogram(
            "soqo_batch_seconds",
            "The time to compute and write a batch.",
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5),
            registry=registry,
        )
        self._waiting = Gauge("soqo_requests_waiting", "Requests that wait to be handled.", registry=registry)
        self._streams = Gauge("soqo_streams", "Open streams of live pages.", registry=registry)
        self._plants = Gauge("soqo_plants", "Plants that are not retired.", registry=registry)
        self._health = Gauge(
            "soqo_plant_health",
            "Plants that this server steers: 1 in order, 0.5 something is to be checked, 0 something is wrong.",
            ["plant"],
            registry=registry,
        )

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
