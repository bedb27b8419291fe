"""The run: start-ups first, then rounds of loads on two servers that live through all of them.

In every round each load is given to one server and at once to the other, and who is first changes from round
to round. Before each turn everything written so far is synced to disk, outside the clock: otherwise what
Kafka left in the page cache would be written during Dray's turn.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.beside_kafka import latency, loads, plots, report, starting
from benchmarks.beside_kafka.java_tools import serves_groups
from benchmarks.beside_kafka.loads import GROUP_LOADS, JAVA_LOADS, LOADS, Load
from benchmarks.beside_kafka.processes import Bystanders, file_system, rss_bytes
from benchmarks.beside_kafka.readings import Measure, Readings
from benchmarks.beside_kafka.scale import Scale
from benchmarks.beside_kafka.servers import DRAY, KAFKA, PREPARE, Server, serving
from tests.parts import PARTS

T = TypeVar("T")
Tell = Callable[[str], None]
_LATENCY = "latency at a fixed rate"


class NoRoom(RuntimeError):
    """The disk has no room for what would be written."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The report's lines, the plots by their file names, and how many bars were missed."""

    lines: list[str]
    plots: dict[str, str]
    missed: int


def run(scale: Scale, *, directory: Path | None = None, tell: Tell = print) -> Outcome:
    """Measure both servers, or Dray alone where there is no Java, with their data under `directory`."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-beside-kafka-") as name:
        return Run(scale, Path(name), servers_here(), tell).outcome()


def servers_here() -> list[str]:
    return [DRAY, KAFKA] if PARTS["java"].find() else [DRAY]


def choose(names: Sequence[str], groupless: Sequence[str]) -> tuple[list[Load], list[str]]:
    """The loads that all these servers can be given, and sentences about those that they cannot."""
    if KAFKA not in names:
        java = PARTS["java"]
        return LOADS, [f"Kafka and its tools: {java.what} is missing. To have it: {java.install}"]
    if not groupless:
        return [*LOADS, *JAVA_LOADS, *GROUP_LOADS], []
    why = f"the tool needs a consumer group, and {' and '.join(groupless)} does not serve groups"
    return [*LOADS, *JAVA_LOADS], [f"{load.name}: {why}" for load in GROUP_LOADS]


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
        for number in self._turns():
            self._start_each(number)
        with ExitStack() as stack:
            servers = [
                stack.enter_context(serving(PREPARE[name](self._directory / name))) for name in self._names
            ]
            chosen, left_out = choose(self._names, [one.name for one in servers if not serves_groups(one)])
            for number in self._turns():
                self._round(number, servers, chosen)
        around = report.Around(file_system(self._directory), bystanders.cores(), left_out)
        lines = report.lines(self._readings, self._scale, around)
        return Outcome(lines, plots.plots(self._readings), len(self._readings.missed()))

    def _turns(self) -> Iterator[int]:
        """Numbers of rounds; those below zero are not counted."""
        yield from range(-self._scale.warm_ups, self._scale.rounds)

    def _start_each(self, number: int) -> None:
        self._say(number, "start-up")
        for name in self._in_turn(self._names, number):
            home = self._directory / f"{name}-start{number}"
            os.sync()
            self._keep(number, name, starting.run(name, home, self._scale))
            shutil.rmtree(home)

    def _round(self, number: int, servers: Sequence[Server], chosen: Sequence[Load]) -> None:
        turn = f"round{number}"
        for load in chosen:
            self._say(number, load.name)
            for server in self._in_turn(servers, number):
                os.sync()
                rate = loads.run(load, server, turn, self._scale)
                self._keep(number, server.name, loads.measures(load, rate, self._scale))
        self._say(number, _LATENCY)
        for server in self._in_turn(servers, number):
            os.sync()
            self._keep(number, server.name, latency.run(server, turn, self._scale))
        for server in servers:
            held = rss_bytes(server.pid) / 1e6
            self._keep(number, server.name, [(starting.AFTER_LOAD, held)])

    def _in_turn(self, both: Sequence[T], number: int) -> Sequence[T]:
        return both if number % 2 == 0 else both[::-1]

    def _keep(self, number: int, server: str, read: Sequence[tuple[Measure, float]]) -> None:
        for measure, value in read if number >= 0 else ():
            self._readings.add(server, measure, value)

    def _say(self, number: int, what: str) -> None:
        named = f"round {number + 1} of {self._scale.rounds}" if number >= 0 else "warming up"
        self._tell(f"{named}: {what}")

    def _check_room(self) -> None:
        """Nothing is deleted during the run, so that deleting is not measured."""
        scale = self._scale
        a_round = 3 * scale.large_records * loads.LARGE + 2 * scale.small_records * loads.SMALL
        needed = int(1.5 * a_round * (scale.rounds + scale.warm_ups) * len(self._names))
        free = shutil.disk_usage(self._directory).free
        if free < needed:
            raise NoRoom(
                f"{needed / 1e9:.0f} GB are needed for temporary files, {free / 1e9:.0f} GB are free; "
                "set TMPDIR to a directory on a larger disk"
            )
