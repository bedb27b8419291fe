"""Medians, ratios and verdicts of readings, and their report."""

from benchmarks.beside_kafka import report
from benchmarks.beside_kafka.latency import percentile
from benchmarks.beside_kafka.readings import Bar, Measure, Readings, Section, Spread
from benchmarks.beside_kafka.scale import FULL
from benchmarks.beside_kafka.servers import DRAY, KAFKA

SPEED = Measure(Section.THROUGHPUT, "produce", "MB/s", Bar(1.0, beside=True))
MEMORY = Measure(Section.MEMORY, "idle", "MB", Bar(150.0, at_most=True))


def _readings(measure: Measure, ours: list[float], theirs: list[float]) -> Readings:
    readings = Readings()
    for name, values in ((DRAY, ours), (KAFKA, theirs)):
        for value in values:
            readings.add(name, measure, value)
    return readings


def _line(readings: Readings, name: str) -> str:
    environment = report.Environment("ext4", 0.5, ["something: because"])
    return next(line for line in report.lines(readings, FULL, environment) if line.startswith(name))


def test_ratio_is_taken_within_each_round() -> None:
    """The machine was half as fast in the second round and a third as fast in the third."""
    readings = _readings(SPEED, [120, 60, 40], [100, 50, 20])
    assert readings.ratio(SPEED) == Spread(1.2, 1.2, 2.0)


def test_missed_ratio_is_reported_with_its_distance() -> None:
    readings = _readings(SPEED, [85, 90, 95], [100, 100, 100])
    assert readings.missed() == [SPEED]
    line = _line(readings, "produce")
    assert line.endswith("at least 1x: MISSED by 10%")
    assert "90.0 (85.0 to 95.0)" in line
    assert "0.90 (0.85 to 0.95)" in line


def test_ratio_that_reaches_its_bar() -> None:
    readings = _readings(SPEED, [100], [100])
    assert readings.missed() == []
    assert _line(readings, "produce").endswith("at least 1x: reached")


def test_bar_of_drays_own_needs_no_kafka() -> None:
    assert _line(_readings(MEMORY, [120], []), "idle").endswith("at most 150: reached")
    assert _line(_readings(MEMORY, [180], []), "idle").endswith("at most 150: MISSED by 20%")


def test_ratio_without_kafka_is_not_measured() -> None:
    readings = _readings(SPEED, [100], [])
    assert readings.missed() == []
    assert _line(readings, "produce").endswith("at least 1x: not measured")


def _cores(server: float, client: float) -> str:
    readings = Readings()
    readings.add(DRAY, Measure(Section.SERVER_CORES, "produce", "cores"), server)
    readings.add(DRAY, Measure(Section.CLIENT_CORES, "produce", "cores"), client)
    return _line(readings, "produce")


def test_busy_client_is_reported_as_the_limit() -> None:
    assert "the client was the limit with Dray" in _cores(0.5, 0.9)
    assert "limit" not in _cores(0.1, 0.1)
    assert "the machine was the limit with Dray" in _cores(1_000.0, 0.5)


def test_other_load_and_omissions_are_reported() -> None:
    readings = _readings(SPEED, [1], [1])
    assert _line(readings, "other processes").endswith("0.50 cores: too much to keep these figures")
    assert _line(readings, "left out") == "left out: something: because"


def test_percentiles_are_computed() -> None:
    values = [float(number) for number in range(1, 101)]
    assert percentile(values[::-1], 50) == 50
    assert percentile(values, 99) == 99
    assert percentile([7.0], 50) == percentile([7.0], 99) == 7.0
