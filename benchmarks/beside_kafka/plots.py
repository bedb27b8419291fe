"""Plots of a run: one per section, and the ratios."""

from benchmarks.bar_chart import Row, chart
from benchmarks.beside_kafka.readings import Measure, Readings, Section

_PLOTTED = (
    ("throughput", Section.THROUGHPUT, "MB/s"),
    ("cpu", Section.CPU, "s/GB"),
    ("latency", Section.LATENCY, "ms"),
    ("start", Section.START, "s"),
    ("memory", Section.MEMORY, "MB"),
)


def plots(readings: Readings) -> dict[str, str]:
    """Return the plots by file name; the red line is the bar for Dray."""
    drawn = {}
    for name, section, unit in _PLOTTED:
        measures = [measure for measure in readings.measures(section) if measure.unit == unit]
        if measures:
            rows = [_row(readings, measure) for measure in measures]
            drawn[f"beside-kafka-{name}.svg"] = chart(section.value, unit, rows)
    if ratios := _ratio_rows(readings):
        drawn["beside-kafka-ratios.svg"] = chart("Dray / Kafka, round by round", "times", ratios)
    return drawn


def _row(readings: Readings, measure: Measure) -> Row:
    target = measure.bar.limit if measure.bar and not measure.bar.beside else None
    return Row(measure.name, readings.values(measure), target)


def _ratio_rows(readings: Readings) -> list[Row]:
    return [
        Row(f"{measure.name}, {measure.unit}", {"Dray / Kafka": ratios}, measure.bar.limit)
        for measure in readings.measures(Section.THROUGHPUT)
        if measure.bar and measure.bar.beside and (ratios := readings.ratios(measure))
    ]
