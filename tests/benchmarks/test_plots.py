"""Plots: well-formed, small, and the same bytes for the same figures."""

from itertools import pairwise
from xml.etree import ElementTree as ET

from benchmarks.beside_kafka.plots import plots
from benchmarks.beside_kafka.readings import Bar, Measure, Readings, Section
from benchmarks.beside_kafka.servers import DRAY, KAFKA
from benchmarks.beside_kafka.svg import Row, chart

SVG = "{http://www.w3.org/2000/svg}"


def test_every_reading_is_a_dot_and_every_median_a_bar() -> None:
    drawn = chart("speed", "MB/s", [Row("a & b", {"Dray": [1, 2, 3], "Kafka": [4, 5, 6]}, asked=2.5)])
    root = ET.fromstring(drawn)
    assert len(root.findall(f"{SVG}circle")) == 6
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"a & b", "Dray", "Kafka", "speed, MB/s", "2", "5"} <= set(texts)


def test_a_longer_bar_stands_for_more() -> None:
    drawn = chart("t", "u", [Row(str(number), {"Dray": [number]}) for number in (1, 10, 50, 900)])
    bars = [
        float(bar.attrib["width"])
        for bar in ET.fromstring(drawn).iter(f"{SVG}rect")
        if "x" in bar.attrib and bar.attrib["y"] != "27"
    ]
    assert len(bars) == 4
    assert all(shorter < longer for shorter, longer in pairwise(bars))


def _readings() -> Readings:
    readings = Readings()
    for number in range(20):
        bar = Bar(0.8, beside=True)
        measure = Measure(Section.THROUGHPUT, f"load {number}", "MB/s", bar)
        for turn in range(5):
            readings.add(DRAY, measure, 100 + turn)
            readings.add(KAFKA, measure, 90 + turn)
    readings.add(DRAY, Measure(Section.START, "start", "s", Bar(1.5, at_most=True)), 0.004)
    return readings


def test_the_same_figures_give_the_same_small_files() -> None:
    drawn = plots(_readings())
    assert set(drawn) == {
        "beside-kafka-throughput.svg",
        "beside-kafka-start.svg",
        "beside-kafka-ratios.svg",
    }
    assert drawn == plots(_readings())
    assert all(len(plot) < 60_000 for plot in drawn.values())
