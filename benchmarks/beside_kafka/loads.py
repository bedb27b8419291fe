"""Loads that saturate a server, and their bars.

A fetch load reads what an earlier load of the same size, partitions and writer has written in the same round.
It therefore reads from memory: Kafka from the page cache, Dray from there and from its tail cache.
"""

from dataclasses import dataclass, replace
from enum import Enum

from benchmarks.beside_kafka import clients, java_tools
from benchmarks.beside_kafka.orders import Fetch, MakeTopic, Produce
from benchmarks.beside_kafka.processes import cpu_seconds
from benchmarks.beside_kafka.readings import Bar, Measure, Section
from benchmarks.beside_kafka.scale import Scale
from benchmarks.beside_kafka.servers import Server

LARGE = 1024
SMALL = 100
PARTITIONS = 6
_PRODUCE_LARGE = Bar(1.0, beside=True)
_PRODUCE_SMALL = Bar(0.8, beside=True)
_FETCH = Bar(0.8, beside=True)
_TLS = Bar(0.8, beside=True)
_SIZES = {LARGE: "1 KiB", SMALL: "100 B"}


class Client(Enum):
    """The client of a load: librdkafka, or Kafka's own perf tools."""

    LIBRDKAFKA = "librdkafka"
    JAVA = "Java"


@dataclass(frozen=True, slots=True)
class Load:
    """One client that produces or fetches records of one size."""

    fetches: bool
    client: Client
    writer: Client
    size: int
    partitions: int = PARTITIONS
    tls: bool = False

    @property
    def name(self) -> str:
        what = f"{'fetch' if self.fetches else 'produce'} {_SIZES[self.size]}, {self.client.value}"
        if self.writer is not self.client:
            what += f" of {self.writer.value}'s"
        where = f"{what}, {self.partitions} partition{'s'[: self.partitions > 1]}"
        return f"{where}, TLS" if self.tls else where

    @property
    def bar(self) -> Bar:
        if self.tls:
            return _TLS
        if self.fetches:
            return _FETCH
        return _PRODUCE_LARGE if self.size == LARGE else _PRODUCE_SMALL

    def topic(self, label: str) -> str:
        return f"bench-{self.writer.name.lower()}-{self.size}-{self.partitions}-{label}"

    def records(self, scale: Scale) -> int:
        return scale.large_records if self.size == LARGE else scale.small_records


def _pair(client: Client, size: int, partitions: int = PARTITIONS) -> list[Load]:
    """Produce with the client, then fetch with librdkafka."""
    return [
        Load(fetches=False, client=client, writer=client, size=size, partitions=partitions),
        Load(fetches=True, client=Client.LIBRDKAFKA, writer=client, size=size, partitions=partitions),
    ]


LOADS = [
    *_pair(Client.LIBRDKAFKA, LARGE),
    *_pair(Client.LIBRDKAFKA, LARGE, 1),
    *_pair(Client.LIBRDKAFKA, SMALL),
]
TLS_LOADS = [
    replace(load, tls=True)
    for load in (*_pair(Client.LIBRDKAFKA, LARGE), *_pair(Client.LIBRDKAFKA, LARGE, 1))
]
JAVA_LOADS = [*_pair(Client.JAVA, LARGE), *_pair(Client.JAVA, SMALL)]
GROUP_LOADS = [
    Load(fetches=True, client=Client.JAVA, writer=Client.LIBRDKAFKA, size=size) for size in (LARGE, SMALL)
]
"""Kafka's consumer tool requires a group."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Throughput of one load, and its cost."""

    records_per_s: float
    client_cores: float
    server_cores: float
    server_cpu_s: float


def run(load: Load, server: Server, label: str, scale: Scale) -> Rate:
    """Run a load on a server."""
    topic = load.topic(label)
    if not load.fetches:
        clients.carry_out(MakeTopic(server.bootstrap, topic, load.partitions, security=server.security))
    before = cpu_seconds(server.pid)
    by = _by_librdkafka if load.client is Client.LIBRDKAFKA else _by_java
    per_second, seconds, client_cpu_s = by(load, server, topic, load.records(scale))
    cpu_s = cpu_seconds(server.pid) - before
    return Rate(per_second, client_cpu_s / seconds, cpu_s / seconds, cpu_s)


def measures(load: Load, rate: Rate, scale: Scale) -> list[tuple[Measure, float]]:
    """Return the measures of one load."""
    by_bytes = load.size == LARGE
    gigabytes = load.records(scale) * load.size / 1e9
    measured: list[tuple[Section, str, Bar | None, float]] = [
        (Section.THROUGHPUT, "MB/s", load.bar if by_bytes else None, rate.records_per_s * load.size / 1e6),
        (Section.THROUGHPUT, "msg/s", None if by_bytes else load.bar, rate.records_per_s),
        (Section.CPU, "s/GB", None, rate.server_cpu_s / gigabytes),
        (Section.SERVER_CORES, "cores", None, rate.server_cores),
        (Section.CLIENT_CORES, "cores", None, rate.client_cores),
    ]
    return [(Measure(section, load.name, unit, bar), value) for section, unit, bar, value in measured]


def _by_librdkafka(load: Load, server: Server, topic: str, records: int) -> tuple[float, float, float]:
    order: Fetch | Produce
    security = server.security
    if load.fetches:
        order = Fetch(server.bootstrap, topic, load.partitions, load.size, records, security=security)
    else:
        order = Produce(server.bootstrap, topic, load.size, records, security=security)
    done = clients.carry_out(order)
    return records / done.seconds, done.seconds, done.cpu_seconds


def _by_java(load: Load, server: Server, topic: str, records: int) -> tuple[float, float, float]:
    """Return the tool's own rate; CPU time includes the start of the JVM."""
    if load.fetches:
        ran = clients.run(java_tools.consumer_perf(server, topic, records))
        return java_tools.fetched_per_second(ran.stdout), ran.seconds, ran.cpu_seconds
    ran = clients.run(java_tools.producer_perf(server, topic, records, load.size))
    return java_tools.produced_per_second(ran.stdout), ran.seconds, ran.cpu_seconds
