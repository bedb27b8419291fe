"""Catch-up reads of one topic from WAL objects, and after compaction from Parquet files.

A broker is restarted before each reading, so that its caches are cold, and then read a second time. Before
the first reading it serves a few records from Parquet, so that the libraries are loaded: a broker loads them
once, and that time is reported separately. The files are in the page cache on both sides. Each reading is
several times as large as a broker's caches, so the second one hits little.

Bar: half the throughput.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.bar_chart import Row, chart
from benchmarks.beside_kafka import clients, java_tools
from benchmarks.beside_kafka.benchmark import Outcome, servers_here
from benchmarks.beside_kafka.loads import LARGE, PARTITIONS, SMALL, Client
from benchmarks.beside_kafka.orders import DeleteTopic, Fetch, MakeTopic, ProduceText
from benchmarks.beside_kafka.processes import BackgroundLoad
from benchmarks.beside_kafka.readings import Bar, Measure, Readings, Section
from benchmarks.beside_kafka.report import background_load, table, verdicts
from benchmarks.beside_kafka.rounds import Progress
from benchmarks.beside_kafka.servers import KAFKA, Prepared, Server, prepare_dray, serving
from benchmarks.to_table.job_process import JobProcess
from benchmarks.to_table.orders import Convert, Forget
from benchmarks.to_table.systems import dray_job

PARQUET: Final = "Parquet"
WAL: Final = "WAL"
_BAR: Final = Bar(0.5, beside=True)
_SIZES: Final = {LARGE: "1 KiB", SMALL: "100 B"}
_FIRST: Final = Measure(Section.START, "first fetch from Parquet of a broker's life", "s")
_FEW: Final = "few"
_FEW_RECORDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Scale:
    """Size and number of the readings."""

    rounds: int
    large_records: int
    small_records: int

    def records(self, size: int) -> int:
        return self.large_records if size == LARGE else self.small_records


FULL: Final = Scale(rounds=5, large_records=400_000, small_records=2_000_000)
QUICK: Final = Scale(rounds=1, large_records=50_000, small_records=250_000)


def run(scale: Scale, *, directory: Path | None = None, progress: Progress = print) -> Outcome:
    """Measure with librdkafka, and with Kafka's perf tool if Java and Maven are installed."""
    readers = list(Client) if KAFKA in servers_here() else [Client.LIBRDKAFKA]
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-from-parquet-") as name:
        return Run(scale, Path(name) / "dray", readers, progress).outcome()


class Run:
    """One run and its readings so far."""

    def __init__(self, scale: Scale, home: Path, readers: Sequence[Client], progress: Progress) -> None:
        self._scale = scale
        self._home = home
        self._readers = readers
        self._progress = progress
        self._readings = Readings(PARQUET, WAL)

    def outcome(self) -> Outcome:
        background = BackgroundLoad()
        prepared = prepare_dray(self._home)
        with serving(prepared) as server:
            _fill(server, _FEW, SMALL, _FEW_RECORDS)
        with dray_job(self._home) as job:
            job.ask(Convert(_FEW, _FEW_RECORDS))
            for number in range(self._scale.rounds):
                for size in _SIZES:
                    self._progress(f"round {number + 1} of {self._scale.rounds}: {_SIZES[size]}")
                    self._round(prepared, job, f"fetch-{size}-{number}", size)
            others = background.cores()
        lines = [
            *self._preface(),
            *self._tables(),
            "",
            background_load(others),
            verdicts(self._readings),
        ]
        return Outcome(lines, dict(_plots(self._readings)), len(self._readings.missed()))

    def _round(self, prepared: Prepared, job: JobProcess, topic: str, size: int) -> None:
        records = self._scale.records(size)
        with serving(prepared) as server:
            _fill(server, topic, size, records)
        self._read_all(prepared, WAL, topic, size)
        job.ask(Convert(topic, records))
        self._read_all(prepared, PARQUET, topic, size)
        with serving(prepared) as server:
            clients.carry_out(DeleteTopic(server.bootstrap, topic))
            job.ask(Forget(topic))

    def _read_all(self, prepared: Prepared, origin: str, topic: str, size: int) -> None:
        os.sync()
        for reader in self._readers:
            with serving(prepared) as server:
                self._readings.add(PARQUET, _FIRST, _first_fetch(server))
                for caches in ("cold", "warm"):
                    rate = self._rate(server, reader, topic, size, f"{topic}-{origin}-{caches}")
                    for measure, value in _measures(reader, size, caches, rate):
                        self._readings.add(origin, measure, value)

    def _rate(self, server: Server, reader: Client, topic: str, size: int, group: str) -> float:
        """Records per second."""
        records = self._scale.records(size)
        if reader is Client.LIBRDKAFKA:
            done = clients.carry_out(Fetch(server.bootstrap, topic, PARTITIONS, size, records))
            return records / done.seconds
        ran = clients.run(java_tools.consumer_perf(server, topic, records, group))
        return java_tools.fetched_per_second(ran.stdout)

    def _preface(self) -> list[str]:
        scale = self._scale
        return [
            "Dray serving the same topic from WAL objects, and after compaction from Parquet files",
            f"{scale.large_records:,} records of 1 KiB or {scale.small_records:,} of 100 B, raw",
            "cold: the first reading after the broker's start; warm: the second; files are in the page cache",
            f"{PARTITIONS} partitions; rounds: {scale.rounds}; medians (lowest to highest), of ratios too",
        ]

    def _tables(self) -> Iterator[str]:
        for section in (Section.CATCH_UP, Section.START):
            yield from table(self._readings, section)


def _fill(server: Server, topic: str, size: int, records: int) -> None:
    clients.carry_out(MakeTopic(server.bootstrap, topic, PARTITIONS))
    clients.carry_out(ProduceText(server.bootstrap, topic, PARTITIONS, size, records, "none"))


def _first_fetch(server: Server) -> float:
    return clients.carry_out(Fetch(server.bootstrap, _FEW, PARTITIONS, SMALL, _FEW_RECORDS)).seconds


def _measures(reader: Client, size: int, caches: str, rate: float) -> Iterator[tuple[Measure, float]]:
    name = f"{_SIZES[size]}, {reader.value}, {caches}"
    yield Measure(Section.CATCH_UP, name, "MB/s", _BAR), rate * size / 1e6
    yield Measure(Section.CATCH_UP, name, "msg/s"), rate


def _plots(readings: Readings) -> Iterator[tuple[str, str]]:
    """Return the plots by file name; the red line is the bar for Parquet."""
    measures = [one for one in readings.measures(Section.CATCH_UP) if one.unit == "MB/s"]
    rows = [Row(one.name, readings.values(one)) for one in measures]
    yield "from-parquet.svg", chart("catching up", "MB/s", rows)
    ratios = [Row(one.name, {"Parquet / WAL": readings.ratios(one)}, _BAR.limit) for one in measures]
    yield "from-parquet-ratios.svg", chart("Parquet / WAL, round by round", "times", ratios)
