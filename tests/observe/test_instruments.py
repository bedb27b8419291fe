"""Counters, gauges and histograms: the samples that they give to the library."""

import pytest

from dray.observe import Counter, Gauge, Histogram, Metrics


def lines(metrics: Metrics) -> list[str]:
    return [line for line in metrics.render().decode().splitlines() if not line.startswith("#")]


def test_counter_without_labels_starts_at_zero() -> None:
    metrics = Metrics()
    counter = metrics.package("net").counter("things", "Things counted.")
    assert lines(metrics) == ["dray_net_things_total 0.0"]
    counter.inc()
    counter.inc(2.5)
    assert lines(metrics) == ["dray_net_things_total 3.5"]


def test_counter_with_labels_shows_each_child() -> None:
    metrics = Metrics()
    counter = metrics.package("net").counter("things", "Things counted.", ["kind", "size"])
    assert lines(metrics) == []
    counter.labels("a", "small").inc()
    kept = counter.labels("b", "large")
    kept.inc(2)
    counter.labels("b", "large").inc()
    assert kept is counter.labels("b", "large")
    assert lines(metrics) == [
        'dray_net_things_total{kind="a",size="small"} 1.0',
        'dray_net_things_total{kind="b",size="large"} 3.0',
    ]


@pytest.mark.parametrize("values", [(), ("one",), ("one", "two", "three")])
def test_missing_or_surplus_label_value_is_an_error(values: tuple[str, ...]) -> None:
    counter = Counter("dray_net_things_total", "Things counted.", ["kind", "size"])
    with pytest.raises(ValueError, match="dray_net_things_total has the labels"):
        counter.labels(*values)


def test_gauge_is_set_or_computed_when_collected() -> None:
    metrics = Metrics()
    gauge = metrics.package("net").gauge("open_things", "Open things.")
    assert lines(metrics) == ["dray_net_open_things 0.0"]
    gauge.set(7)
    assert lines(metrics) == ["dray_net_open_things 7.0"]
    things = [1]
    gauge.set_function(lambda: len(things))
    things.append(2)
    assert lines(metrics) == ["dray_net_open_things 2.0"]


def test_histogram_counts_a_value_in_the_bucket_whose_bound_it_equals() -> None:
    metrics = Metrics()
    histogram = metrics.add(Histogram("dray_net_wait_seconds", "Time waited.", bounds=[1, 2.5]))
    for value in (0.0, 1.0, 1.1, 2.5, 100.0):
        histogram.observe(value)
    assert lines(metrics) == [
        'dray_net_wait_seconds_bucket{le="1.0"} 2.0',
        'dray_net_wait_seconds_bucket{le="2.5"} 4.0',
        'dray_net_wait_seconds_bucket{le="+Inf"} 5.0',
        "dray_net_wait_seconds_count 5.0",
        "dray_net_wait_seconds_sum 104.6",
    ]


def test_children_of_a_histogram_have_its_bounds() -> None:
    metrics = Metrics()
    histogram = metrics.add(Histogram("dray_net_wait_seconds", "Time waited.", ["api"], bounds=[1]))
    histogram.labels("x").observe(0.5)
    assert 'dray_net_wait_seconds_bucket{api="x",le="1.0"} 1.0' in lines(metrics)


def test_instruments_are_listed_in_order_with_name_kind_and_labels() -> None:
    metrics = Metrics()
    net = metrics.package("net")
    made = [
        net.counter("things", "Things counted.", ["kind"]),
        net.gauge("open_things", "Open things."),
        net.latency("wait", "Time waited."),
        net.sizes("request", "Size of requests."),
    ]
    assert metrics.instruments == made
    assert [(one.name, one.kind) for one in metrics.instruments] == [
        ("dray_net_things_total", "counter"),
        ("dray_net_open_things", "gauge"),
        ("dray_net_wait_seconds", "histogram"),
        ("dray_net_request_bytes", "histogram"),
    ]
    assert metrics.instruments[0].label_names == ("kind",)
    assert isinstance(made[1], Gauge)
