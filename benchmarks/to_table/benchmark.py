"""The run: in every round each topic is filled and turned into a table by one system, at once by the other.

Who is first changes from round to round. Before a job everything written so far is synced, outside the clock.
After it the table is counted, and topic and table are deleted, so that no job looks at those of earlier ones.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.beside_kafka import clients
from benchmarks.beside_kafka.benchmark import NoRoom, Outcome, servers_here
from benchmarks.beside_kafka.orders import DeleteTopic, MakeTopic, ProduceText
from benchmarks.beside_kafka.processes import Bystanders, file_system
from benchmarks.beside_kafka.readings import Readings, Section
from benchmarks.beside_kafka.servers import KAFKA
from benchmarks.beside_kafka.svg import Row, chart
from benchmarks.to_table import counting, report
from benchmarks.to_table.cases import CASES, PARTITIONS, Case, Scale
from benchmarks.to_table.orders import Convert, Forget
from benchmarks.to_table.rivals import Rival, competing
from tests.parts import PARTS

Tell = Callable[[str], None]
_ROUNDS_KEPT = 2
"""Brokers delete in their own time what they are told to."""


def run(scale: Scale, *, directory: Path | None = None, tell: Tell = print) -> Outcome:
    """Measure both, or Dray alone where there is no Java with Maven, with their data under `directory`."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-to-table-") as name:
        return Run(scale, Path(name), servers_here(), tell).outcome()


class Run:
    """One run and what it has read so far."""

    def __init__(self, scale: Scale, directory: Path, names: Sequence[str], tell: Tell) -> None:
        self._scale = scale
        self._directory = directory
        self._names = names
        self._tell = tell
        self._readings = Readings()

    def outcome(self) -> Outcome:
        self._check_room()
        bystanders = Bystanders()
        with ExitStack() as stack:
            rivals = [stack.enter_context(competing(name, self._directory / name)) for name in self._names]
            for number in range(-self._scale.warm_ups, self._scale.rounds):
                self._round(number, rivals)
            others = bystanders.cores()
        around = report.Around(file_system(self._directory), others, list(self._left_out()))
        lines = report.lines(self._readings, self._scale, around)
        return Outcome(lines, dict(_plots(self._readings)), len(self._readings.missed()))

    def _round(self, number: int, rivals: Sequence[Rival]) -> None:
        named = f"round {number + 1} of {self._scale.rounds}" if number >= 0 else "warming up"
        for case in CASES:
            self._tell(f"{named}: {case.name}")
            for rival in rivals if number % 2 == 0 else rivals[::-1]:
                self._turn(number, case, rival)

    def _turn(self, number: int, case: Case, rival: Rival) -> None:
        topic, records = case.topic(f"round{number}"), case.records(self._scale)
        bootstrap = rival.server.bootstrap
        clients.carry_out(MakeTopic(bootstrap, topic, PARTITIONS))
        clients.carry_out(ProduceText(bootstrap, topic, PARTITIONS, case.size, records, case.codec))
        seconds, cpu_s = _converted(rival, topic, records, case)
        cost = case.cost(self._scale, cpu_s)
        untuned_s = seconds
        if rival.name == KAFKA:
            rival.job.ask(Forget(topic))
            untuned_s, _ = _converted(rival, topic, records, case, tuned=False)
        clients.carry_out(DeleteTopic(bootstrap, topic))
        rival.job.ask(Forget(topic))
        if number >= 0:
            speeds = case.speeds(Section.TO_TABLE, self._scale, seconds)
            untuned = case.speeds(Section.UNTUNED, self._scale, untuned_s)
            for measure, value in [*speeds, *untuned, cost]:
                self._readings.add(rival.name, measure, value)

    def _left_out(self) -> Iterator[str]:
        if KAFKA not in self._names:
            java = PARTS["java"]
            yield f"Kafka: {java.what} is missing. To have it: {java.install}"

    def _check_room(self) -> None:
        needed = int(1.5 * self._scale.round_bytes * _ROUNDS_KEPT * len(self._names))
        free = shutil.disk_usage(self._directory).free
        if free < needed:
            raise NoRoom(
                f"{needed / 1e9:.0f} GB are needed for temporary files, {free / 1e9:.0f} GB are free; "
                "set TMPDIR to a directory on a larger disk"
            )


def _converted(
    rival: Rival, topic: str, records: int, case: Case, *, tuned: bool = True
) -> tuple[float, float]:
    """Return what it took to make a table that is seen to be right: seconds, and those of processor time."""
    os.sync()
    before = rival.cpu_seconds()
    answer = rival.job.ask(Convert(topic, records, tuned))
    cpu_s = rival.cpu_seconds() - before
    counting.check(rival.table(topic), records, case.size)
    return answer.seconds, cpu_s


def _plots(readings: Readings) -> Iterator[tuple[str, str]]:
    """By their file names; the red line is what is asked of Dray."""
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
