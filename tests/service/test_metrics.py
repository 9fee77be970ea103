"""Metrics: counts of requests, calls and events, as Prometheus reads them."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from soqo.service._dispatcher import Work
from soqo.service._metrics import Metrics
from soqo.service._store import Event


def test_counts_are_rendered() -> None:
    metrics = Metrics()
    metrics.count_request("rounds", 200)
    metrics.count_request("rounds", 409)
    metrics.count_work(Work(7, 5, [Event(1, 2, "alarm", "A changed", 3)], 0.01))
    text = metrics.render(waiting=3, streams=1, plants=2, health={"roof": 0.5}).decode()
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["soqo_requests_total", "200", "rounds"] == found["soqo_requests_total", "409", "rounds"] == 1
    assert found["soqo_calls_written_total",] == 5
    assert found["soqo_events_total", "alarm"] == 1
    assert found["soqo_batch_size_sum",] == 7
    assert found["soqo_plant_health", "roof"] == 0.5
    assert (found["soqo_requests_waiting",], found["soqo_streams",], found["soqo_plants",]) == (3, 1, 2)
