"""Our own counters, gauges and histograms: what they tell the library when somebody looks."""

import pytest

from dray.observe import Counter, Gauge, Histogram, Metrics


def lines(metrics: Metrics) -> list[str]:
    return [line for line in metrics.render().decode().splitlines() if not line.startswith("#")]


def test_a_counter_without_labels_is_there_from_the_beginning() -> None:
    metrics = Metrics()
    counter = metrics.room("net").counter("things", "Things there were.")
    assert lines(metrics) == ["dray_net_things_total 0.0"]
    counter.inc()
    counter.inc(2.5)
    assert lines(metrics) == ["dray_net_things_total 3.5"]


def test_one_with_labels_shows_each_of_its_children() -> None:
    metrics = Metrics()
    counter = metrics.room("net").counter("things", "Things there were.", ["kind", "size"])
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
def test_every_label_must_be_given(values: tuple[str, ...]) -> None:
    counter = Counter("dray_net_things_total", "Things there were.", ["kind", "size"])
    with pytest.raises(ValueError, match="dray_net_things_total has the labels"):
        counter.labels(*values)


def test_a_gauge_is_set_or_asked_for_when_somebody_looks() -> None:
    metrics = Metrics()
    gauge = metrics.room("net").gauge("open_things", "Things that are open.")
    assert lines(metrics) == ["dray_net_open_things 0.0"]
    gauge.set(7)
    assert lines(metrics) == ["dray_net_open_things 7.0"]
    things = [1]
    gauge.ask(lambda: len(things))
    things.append(2)
    assert lines(metrics) == ["dray_net_open_things 2.0"]


def test_a_value_counts_up_to_the_bound_that_it_reaches() -> None:
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


def test_all_instruments_can_be_listed_with_what_they_are() -> None:
    metrics = Metrics()
    room = metrics.room("net")
    made = [
        room.counter("things", "Things there were.", ["kind"]),
        room.gauge("open_things", "Things that are open."),
        room.latency("wait", "Time waited."),
        room.sizes("request", "Size of requests."),
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
