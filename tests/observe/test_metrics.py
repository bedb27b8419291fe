"""Metrics: names, help texts, and what a scrape shows."""

from dataclasses import dataclass, fields
from typing import Self

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from dray.observe import LATENCY_SECONDS, Counter, Gauge, Histogram, Metrics
from dray.observe.metrics import faults_of


@dataclass(frozen=True, slots=True)
class ExampleMetrics:
    """The pattern that rooms follow."""

    latency: Histogram
    size: Histogram
    requests: Counter
    connections: Gauge

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        room = metrics.room("net")
        return cls(
            latency=room.latency("produce", "Time from request to response.", ["api"]),
            size=room.sizes("request", "Size of requests."),
            requests=room.counter("requests", "Requests received.", ["api"]),
            connections=room.gauge("open_connections", "Connections open now."),
        )


def test_a_scrape_shows_what_was_measured() -> None:
    metrics = Metrics()
    example = ExampleMetrics.on(metrics)
    example.latency.labels("produce").observe(0.003)
    example.size.observe(1000)
    example.requests.labels("produce").inc(2)
    example.connections.set(3)
    text = metrics.render().decode()
    assert 'dray_net_produce_seconds_bucket{api="produce",le="0.005"} 1.0' in text
    assert 'dray_net_produce_seconds_bucket{api="produce",le="0.0025"} 0.0' in text
    assert 'dray_net_request_bytes_bucket{le="1024.0"} 1.0' in text
    assert 'dray_net_requests_total{api="produce"} 2.0' in text
    assert "dray_net_open_connections 3.0" in text
    assert "# HELP dray_net_open_connections Connections open now." in text


def test_every_metric_that_was_made_follows_the_rules() -> None:
    metrics = Metrics()
    ExampleMetrics.on(metrics)
    families = list(text_string_to_metric_families(metrics.render().decode()))
    ours = [family for family in families if not family.name.endswith("_created")]
    assert len(ours) == len(fields(ExampleMetrics))
    assert [fault for family in ours for fault in faults_of(family.name, family.documentation)] == []


@pytest.mark.parametrize(
    ("name", "help_text", "complaint"),
    [
        ("dray_net_wait_ms", "Time waited.", "base units"),
        ("dray_net_wait_ms_total", "Time waited.", "base units"),
        ("dray_net_size_mb", "Size of it.", "base units"),
        ("dray_net_things_count", "Things there are.", "suffix"),
        ("dray_net_Requests", "Requests received.", "lower case"),
        ("dray_net", "Requests received.", "like dray_"),
        ("net_requests_total", "Requests received.", "like dray_"),
        ("dray_net_requests_total", "", "sentence"),
        ("dray_net_requests_total", "Requests", "sentence"),
    ],
)
def test_breaking_a_rule_is_found(name: str, help_text: str, complaint: str) -> None:
    assert complaint in " ".join(faults_of(name, help_text))


def test_a_wrong_metric_cannot_be_made() -> None:
    room = Metrics().room("net")
    with pytest.raises(ValueError, match="dray_net_wait_ms: expected base units"):
        room.gauge("wait_ms", "Time waited.")
    with pytest.raises(ValueError, match="help text"):
        room.counter("requests", "")
    room.counter("requests", "Requests received.")
    with pytest.raises(ValueError, match="Duplicated"):
        room.counter("requests", "Requests received.")


def test_latencies_reach_from_a_tenth_of_a_millisecond_to_half_a_minute() -> None:
    assert LATENCY_SECONDS[0] == 0.0001
    assert LATENCY_SECONDS[-1] == 30
    assert list(LATENCY_SECONDS) == sorted(LATENCY_SECONDS)


def test_brokers_in_one_process_do_not_share_metrics() -> None:
    one, two = Metrics(), Metrics()
    ExampleMetrics.on(one).connections.set(1)
    ExampleMetrics.on(two).connections.set(2)
    assert b"dray_net_open_connections 1.0" in one.render()
    assert b"dray_net_open_connections 2.0" in two.render()
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("dray")]


def test_the_process_can_be_told_of_too() -> None:
    metrics = Metrics()
    metrics.add_process()
    text = metrics.render().decode()
    assert "process_resident_memory_bytes" in text
    assert "python_info" in text
