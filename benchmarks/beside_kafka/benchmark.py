"""Benchmark run: start-ups first, then rounds of loads on two servers that keep running.

In every round each load runs on one server and then on the other, and the order alternates from round to
round. Before each load everything written so far is synced to disk, outside the clock: otherwise what Kafka
left in the page cache would be written during Dray's load.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.beside_kafka import latency, loads, plots, report, starting
from benchmarks.beside_kafka.java_tools import serves_groups
from benchmarks.beside_kafka.loads import GROUP_LOADS, JAVA_LOADS, LOADS, Load
from benchmarks.beside_kafka.processes import BackgroundLoad, file_system, rss_bytes
from benchmarks.beside_kafka.rounds import Progress, Rounds
from benchmarks.beside_kafka.scale import Scale
from benchmarks.beside_kafka.servers import DRAY, KAFKA, PREPARE, Server, serving
from tests.parts import PARTS

_LATENCY = "latency at a fixed rate"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The report's lines, the plots by their file names, and how many bars were missed."""

    lines: list[str]
    plots: dict[str, str]
    missed: int


def run(scale: Scale, *, directory: Path | None = None, progress: Progress = print) -> Outcome:
    """Measure both servers, or Dray alone where there is no Java, with their data under `directory`."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-beside-kafka-") as name:
        return Run(scale, Path(name), servers_here(), progress).outcome()


def servers_here() -> list[str]:
    return [DRAY, KAFKA] if PARTS["java"].find() else [DRAY]


def choose(names: Sequence[str], groupless: Sequence[str]) -> tuple[list[Load], list[str]]:
    """Return the loads that all servers support, and a sentence about each that is left out."""
    if KAFKA not in names:
        java = PARTS["java"]
        return LOADS, [f"Kafka and its tools: {java.what} is missing. To have it: {java.install}"]
    if not groupless:
        return [*LOADS, *JAVA_LOADS, *GROUP_LOADS], []
    why = f"the tool needs a consumer group, and {' and '.join(groupless)} does not serve groups"
    return [*LOADS, *JAVA_LOADS], [f"{load.name}: {why}" for load in GROUP_LOADS]


class Run(Rounds[Scale]):
    """One run."""

    def outcome(self) -> Outcome:
        self._check_free_space()
        background_load = BackgroundLoad()
        for number in self._rounds():
            self._start_each(number)
        with ExitStack() as stack:
            servers = [
                stack.enter_context(serving(PREPARE[name](self._directory / name))) for name in self._names
            ]
            chosen, left_out = choose(self._names, [one.name for one in servers if not serves_groups(one)])
            for number in self._rounds():
                self._round(number, servers, chosen)
        environment = report.Environment(file_system(self._directory), background_load.cores(), left_out)
        lines = report.lines(self._readings, self._scale, environment)
        return Outcome(lines, plots.plots(self._readings), len(self._readings.missed()))

    def _start_each(self, number: int) -> None:
        self._say(number, "start-up")
        for name in self._alternating(self._names, number):
            home = self._directory / f"{name}-start{number}"
            os.sync()
            self._keep(number, name, starting.run(name, home, self._scale))
            shutil.rmtree(home)

    def _round(self, number: int, servers: Sequence[Server], chosen: Sequence[Load]) -> None:
        label = f"round{number}"
        for load in chosen:
            self._say(number, load.name)
            for server in self._alternating(servers, number):
                os.sync()
                rate = loads.run(load, server, label, self._scale)
                self._keep(number, server.name, loads.measures(load, rate, self._scale))
        self._say(number, _LATENCY)
        for server in self._alternating(servers, number):
            os.sync()
            self._keep(number, server.name, latency.run(server, label, self._scale))
        for server in servers:
            held = rss_bytes(server.pid) / 1e6
            self._keep(number, server.name, [(starting.AFTER_LOAD, held)])

    def _check_free_space(self) -> None:
        """Check for space: nothing is deleted during the run, so that deletion is not measured."""
        scale = self._scale
        a_round = 3 * scale.large_records * loads.LARGE + 2 * scale.small_records * loads.SMALL
        self._require_space(int(1.5 * a_round * (scale.rounds + scale.warm_ups) * len(self._names)))
