"""Metrics: naming rules, help texts, and scrapes."""

from dataclasses import dataclass, fields
from typing import Self

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from dray.observe import LATENCY_SECONDS, Counter, Gauge, Histogram, Metrics
from dray.observe.metrics import naming_violations


@dataclass(frozen=True, slots=True)
class ExampleMetrics:
    """The pattern that all packages follow."""

    latency: Histogram
    size: Histogram
    requests: Counter
    connections: Gauge

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        net = metrics.package("net")
        return cls(
            latency=net.latency("produce", "Time from request to response.", ["api"]),
            size=net.sizes("request", "Size of requests."),
            requests=net.counter("requests", "Requests received.", ["api"]),
            connections=net.gauge("open_connections", "Connections open now."),
        )


def test_scrape_shows_all_values() -> None:
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


def test_metrics_made_through_the_package_follow_the_naming_rules() -> None:
    metrics = Metrics()
    ExampleMetrics.on(metrics)
    families = list(text_string_to_metric_families(metrics.render().decode()))
    ours = [family for family in families if not family.name.endswith("_created")]
    assert len(ours) == len(fields(ExampleMetrics))
    assert [
        violation for family in ours for violation in naming_violations(family.name, family.documentation)
    ] == []


@pytest.mark.parametrize(
    ("name", "help_text", "expected"),
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
def test_violated_naming_rule_is_reported(name: str, help_text: str, expected: str) -> None:
    assert expected in " ".join(naming_violations(name, help_text))


def test_metric_that_violates_a_naming_rule_cannot_be_made() -> None:
    net = Metrics().package("net")
    with pytest.raises(ValueError, match="dray_net_wait_ms: expected base units"):
        net.gauge("wait_ms", "Time waited.")
    with pytest.raises(ValueError, match="help text"):
        net.counter("requests", "")
    net.counter("requests", "Requests received.")
    with pytest.raises(ValueError, match="Duplicated"):
        net.counter("requests", "Requests received.")


def test_latency_buckets_range_from_a_tenth_of_a_millisecond_to_half_a_minute() -> None:
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


def test_metrics_of_the_process_can_be_added() -> None:
    metrics = Metrics()
    metrics.add_process()
    text = metrics.render().decode()
    assert "process_resident_memory_bytes" in text
    assert "python_info" in text
