"""Text report: what was compared and how, the figures, the bottleneck, what was left out."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import cpu_count

import confluent_kafka

from benchmarks.beside_kafka.readings import Measure, Readings, Section, Spread
from benchmarks.beside_kafka.scale import Scale
from benchmarks.beside_kafka.servers import DRAY, KAFKA
from tests.oracle.jars import VERSION

_SECTIONS = (Section.THROUGHPUT, Section.CPU, Section.LATENCY, Section.START, Section.MEMORY)
_BUSY = 0.9
"""Share of a core above which a client counts as the limit; of all cores, the machine."""
_NOISY_CORES = 0.2
_NAME = 55
_CELL = 31


@dataclass(frozen=True, slots=True)
class Environment:
    """Conditions of the measurement."""

    file_system: str
    background_cores: float
    left_out: Sequence[str]


def lines(
    readings: Readings, scale: Scale, environment: Environment, preface: Sequence[str] | None = None
) -> list[str]:
    return [
        *(preface or _preface(scale, environment)),
        *(line for section in _SECTIONS for line in table(readings, section)),
        *_limits(readings),
        *_closing(readings, environment),
    ]


def _preface(scale: Scale, environment: Environment) -> list[str]:
    written = f"{scale.large_records:,} records of 1 KiB or {scale.small_records:,} of 100 B"
    paced = f"{scale.rate:,} records of 1 KiB per second for {scale.paced_seconds:g} s"
    return [
        title(),
        f"rounds: {scale.rounds}, alternating load by load, after {scale.warm_ups} uncounted warm-up",
        "medians (lowest to highest); the ratio is the median of the rounds' own ratios",
        f"both: one node, default settings, acks=all, data on the same disk ({environment.file_system})",
        f"each load: {written}, in a new topic; MB and GB count their values, by thousands",
        "librdkafka: its defaults, so batches of up to 1 MB after 5 ms; fetches without a group",
        "Java: Kafka's own perf tools with their defaults, so idempotent, batches of 16 KiB after 5 ms",
        f"latency: {paced}, counted from when each was due",
        "Dray syncs before it acknowledges; Kafka, by default, leaves syncing to the kernel",
    ]


def title() -> str:
    librdkafka = confluent_kafka.libversion()[0]
    return f"Dray beside Apache Kafka {VERSION} ({java_version()}); librdkafka {librdkafka}"


def table(readings: Readings, section: Section) -> Iterator[str]:
    """Yield the lines of a section after an empty one; none if it has no readings."""
    measures = readings.measures(section)
    if not measures:
        return
    yield ""
    names = (readings.ours, readings.theirs)
    heads = f"{names[0]:>{_CELL}} {names[1]:>{_CELL}} {' / '.join(names):>20}"
    yield f"{section.value:{_NAME}} {heads}  bar"
    for measure in measures:
        ours, theirs = (_cell(readings.spread(measure, name)) for name in names)
        ratio = _cell(readings.ratio(measure), digits=2)
        name = f"{measure.name}, {measure.unit}"
        line = f"{name:{_NAME}} {ours:>{_CELL}} {theirs:>{_CELL}} {ratio:>20}  {_verdict(readings, measure)}"
        yield line.rstrip()


def _cell(spread: Spread | None, digits: int | None = None) -> str:
    if spread is None:
        return "-"
    lowest, middle, highest = (
        _number(value, digits) for value in (spread.lowest, spread.median, spread.highest)
    )
    return f"{middle} ({lowest} to {highest})"


def _number(value: float, digits: int | None = None) -> str:
    """Format with three significant digits; more would be noise."""
    if digits is None:
        digits = next((places for places, least in enumerate((100, 10)) if abs(value) >= least), 2)
    return f"{value:,.{digits}f}"


def _verdict(readings: Readings, measure: Measure) -> str:
    bar = measure.bar
    if bar is None:
        return ""
    asked = f"{'at most' if bar.at_most else 'at least'} {bar.limit:g}{'x' if bar.beside else ''}"
    value = readings.compared(measure)
    if value is None:
        return f"{asked}: not measured"
    if bar.reached(value):
        return f"{asked}: reached"
    return f"{asked}: MISSED by {bar.missed_by(value):.0%}"


def _limits(readings: Readings) -> Iterator[str]:
    """Yield how busy client and server were: a load limited by its client says little about the server."""
    yield ""
    yield f"{'cores used':{_NAME}} {'Dray':>9} {'client':>9} {'Kafka':>9} {'client':>9}"
    for of_client in readings.measures(Section.CLIENT_CORES):
        of_server = Measure(Section.SERVER_CORES, of_client.name, of_client.unit)
        cells, remarks = "", []
        for name in (DRAY, KAFKA):
            server, client = readings.spread(of_server, name), readings.spread(of_client, name)
            if server is None or client is None:
                cells += f" {'-':>9} {'-':>9}"
                continue
            cells += f" {server.median:9.2f} {client.median:9.2f}"
            remarks += _remark(name, server.median, client.median)
        yield f"{of_client.name:{_NAME}}{cells}  {', '.join(remarks)}".rstrip()


def _remark(name: str, server: float, client: float) -> list[str]:
    if client >= _BUSY:
        return [f"the client was the limit with {name}"]
    if server + client >= _BUSY * (cpu_count() or 1):
        return [f"the machine was the limit with {name}"]
    return []


def _closing(readings: Readings, environment: Environment) -> Iterator[str]:
    yield ""
    yield background_load(environment.background_cores)
    yield f"a client that uses {_BUSY:g} cores or more counts as the limit"
    yield from (f"left out: {what}" for what in environment.left_out)
    yield verdicts(readings)


def background_load(cores: float) -> str:
    """Return the load of other processes, and whether it was too high."""
    noisy = ": too much to keep these figures" if cores > _NOISY_CORES else ""
    return f"other processes used {cores:.2f} cores{noisy}"


def verdicts(readings: Readings) -> str:
    """Return how many bars were missed."""
    missed = readings.missed()
    return f"{len(missed)} bars missed" if missed else "every measured bar was reached"


def java_version() -> str:
    if shutil.which("java") is None:
        return "not here"
    ran = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False, timeout=60)
    return (ran.stderr + ran.stdout).partition("\n")[0].replace('"', "")
