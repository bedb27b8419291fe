"""Benchmark run: each round fills topics and converts them to tables, on one system and then the other.

The order alternates from round to round. Before a job everything written so far is synced, outside the clock.
After it the table's rows are counted, and topic and table are deleted, so that no job sees those of earlier
ones.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.bar_chart import Row, chart
from benchmarks.beside_kafka import clients
from benchmarks.beside_kafka.benchmark import Outcome, servers_here
from benchmarks.beside_kafka.orders import DeleteTopic, MakeTopic, ProduceText
from benchmarks.beside_kafka.processes import BackgroundLoad, file_system
from benchmarks.beside_kafka.readings import Readings, Section
from benchmarks.beside_kafka.report import Environment
from benchmarks.beside_kafka.rounds import Progress, Rounds
from benchmarks.beside_kafka.servers import KAFKA
from benchmarks.to_table import counting, report
from benchmarks.to_table.cases import CASES, PARTITIONS, Case, Scale
from benchmarks.to_table.orders import Convert, Forget
from benchmarks.to_table.systems import System, started
from tests.parts import PARTS

_ROUNDS_KEPT = 2
"""Brokers delete data some time after they acknowledge the deletion."""


def run(scale: Scale, *, directory: Path | None = None, progress: Progress = print) -> Outcome:
    """Measure both, or Dray alone where there is no Java with Maven, with their data under `directory`."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-to-table-") as name:
        return Run(scale, Path(name), servers_here(), progress).outcome()


class Run(Rounds[Scale]):
    """One run."""

    def outcome(self) -> Outcome:
        self._check_free_space()
        background_load = BackgroundLoad()
        with ExitStack() as stack:
            systems = [stack.enter_context(started(name, self._directory / name)) for name in self._names]
            for number in self._rounds():
                self._round(number, systems)
            others = background_load.cores()
        environment = Environment(file_system(self._directory), others, list(self._left_out()))
        lines = report.lines(self._readings, self._scale, environment)
        return Outcome(lines, dict(_plots(self._readings)), len(self._readings.missed()))

    def _round(self, number: int, systems: Sequence[System]) -> None:
        for case in CASES:
            self._say(number, case.name)
            for system in self._alternating(systems, number):
                self._measure(number, case, system)

    def _measure(self, number: int, case: Case, system: System) -> None:
        topic, records = case.topic(f"round{number}"), case.records(self._scale)
        bootstrap = system.server.bootstrap
        clients.carry_out(MakeTopic(bootstrap, topic, PARTITIONS))
        clients.carry_out(ProduceText(bootstrap, topic, PARTITIONS, case.size, records, case.codec))
        seconds, cpu_s = _converted(system, topic, records, case)
        cost = case.cost(self._scale, cpu_s)
        untuned_s = seconds
        if system.name == KAFKA:
            system.job.ask(Forget(topic))
            untuned_s, _ = _converted(system, topic, records, case, tuned=False)
        clients.carry_out(DeleteTopic(bootstrap, topic))
        system.job.ask(Forget(topic))
        speeds = case.speeds(Section.TO_TABLE, self._scale, seconds)
        untuned = case.speeds(Section.UNTUNED, self._scale, untuned_s)
        self._keep(number, system.name, [*speeds, *untuned, cost])

    def _left_out(self) -> Iterator[str]:
        if KAFKA not in self._names:
            java = PARTS["java"]
            yield f"Kafka: {java.what} is missing. To have it: {java.install}"

    def _check_free_space(self) -> None:
        self._require_space(int(1.5 * self._scale.round_bytes * _ROUNDS_KEPT * len(self._names)))


def _converted(
    system: System, topic: str, records: int, case: Case, *, tuned: bool = True
) -> tuple[float, float]:
    """Convert, verify the table, and return seconds and CPU seconds."""
    os.sync()
    before = system.cpu_seconds()
    answer = system.job.ask(Convert(topic, records, tuned))
    cpu_s = system.cpu_seconds() - before
    counting.check(system.table(topic), records, case.size)
    return answer.seconds, cpu_s


def _plots(readings: Readings) -> Iterator[tuple[str, str]]:
    """Return the plots by file name; the red line is the bar for Dray."""
    tuned, untuned = (readings.measures(section) for section in (Section.TO_TABLE, Section.UNTUNED))
    rows = [Row(one.name, readings.values(one)) for one in tuned if one.unit == "MB/s"]
    yield "to-table.svg", chart("from a topic to a table", "MB/s", rows)
    ratios = [
        Row(f"{one.name}, {one.unit}{how}", {"Dray / Kafka": found}, one.bar.limit)
        for how, measures in (("", tuned), (", untuned", untuned))
        for one in measures
        if one.bar is not None and (found := readings.ratios(one))
    ]
    if ratios:
        yield "to-table-ratios.svg", chart("Dray / Kafka, round by round", "times", ratios)
