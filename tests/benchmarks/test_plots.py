"""Plots: well-formed, small, and reproducible to the byte."""

from xml.etree import ElementTree as ET

import numpy as np
from matplotlib.patches import Rectangle

from benchmarks.bar_chart import Row, chart, draw
from benchmarks.beside_kafka.plots import plots
from benchmarks.beside_kafka.readings import Bar, Measure, Readings, Section
from benchmarks.beside_kafka.servers import DRAY, KAFKA

SVG = "{http://www.w3.org/2000/svg}"


def test_chart_has_a_dot_per_reading_and_a_bar_per_median() -> None:
    (axes,) = draw("speed", "MB/s", [Row("a", {"Dray": [1, 2, 3], "Kafka": [4, 5, 6]}, target=2.5)]).axes
    assert [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)] == [2, 5]
    dots = [np.asarray(line.get_xdata()).tolist() for line in axes.lines if line.get_marker() == "o"]
    assert dots == [[1, 2, 3], [4, 5, 6]]
    assert [np.asarray(line.get_xdata()).tolist() for line in axes.lines if line.get_marker() != "o"] == [
        [2.5, 2.5]
    ]


def test_chart_is_svg_with_text() -> None:
    root = ET.fromstring(chart("speed", "MB/s", [Row("a & b", {"Dray": [1, 2, 3], "Kafka": [4, 5, 6]})]))
    assert root.tag == f"{SVG}svg"
    texts = {"".join(element.itertext()) for element in root.iter(f"{SVG}text")}
    assert {"a & b", "Dray", "Kafka", "speed, MB/s", "2", "5"} <= texts


def _readings() -> Readings:
    readings = Readings()
    for number in range(20):
        bar = Bar(0.8, beside=True)
        measure = Measure(Section.THROUGHPUT, f"load {number}", "MB/s", bar)
        for round_number in range(5):
            readings.add(DRAY, measure, 100 + round_number)
            readings.add(KAFKA, measure, 90 + round_number)
    readings.add(DRAY, Measure(Section.START, "start", "s", Bar(1.5, at_most=True)), 0.004)
    return readings


def test_equal_readings_give_equal_small_files() -> None:
    drawn = plots(_readings())
    assert set(drawn) == {
        "beside-kafka-throughput.svg",
        "beside-kafka-start.svg",
        "beside-kafka-ratios.svg",
    }
    assert drawn == plots(_readings())
    assert all(len(plot) < 100_000 for plot in drawn.values())
