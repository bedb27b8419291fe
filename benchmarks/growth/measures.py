"""Measurements of one cluster (creation, Metadata, idling, loads, a restart) and of its metadata store."""

import asyncio
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import msgspec

from benchmarks import meta_commits
from benchmarks.beside_kafka import clients
from benchmarks.beside_kafka.latency import percentile
from benchmarks.beside_kafka.orders import FirstRecord, MakeTopic, PacedProduce, Produce
from benchmarks.beside_kafka.processes import cpu_seconds
from benchmarks.beside_kafka.servers import Prepared, Server, prepare_dray, serving, started
from dray.server.stores import open_stores, process_context
from dray.settings.tree import DraySettings
from dray.wire import LENGTH_BYTES, RequestHeader, encode_request
from dray.wire.apis.metadata import METADATA, MetadataRequest, MetadataRequestTopic

CREATE, CREATE_CPU = "create the topic, s", "create the topic, CPU s"
METADATA_MS, IDLE = "Metadata of the topic, ms", "idle broker, % of a core"
RESTART = "restart to the first acknowledged record, s"
RATE, CPU = "produce, MB/s", "produce, CPU s/GB"
P50, P99 = "latency of produce at a low rate, p50 ms", "latency of produce at a low rate, p99 ms"
FEW = 10
SIZE = 1024
_TOPIC = "growth"
_REQUESTS = 20
_SETTLE_S = 0.3


@dataclass(frozen=True, slots=True)
class Loads:
    """How much is measured."""

    records: int
    paced: int
    rate: int
    idle_s: float


def prepare(home: Path, metadata_url: str, *, brokers: int = 1) -> Prepared:
    """Prepare a cluster on a metadata store, with its objects in a directory."""
    prepared = prepare_dray(home)
    return replace(
        prepared,
        command=[*prepared.command, "--metadata", metadata_url, "--brokers", str(brokers)],
    )


def cluster(prepared: Prepared, partitions: int, loads: Loads) -> dict[str, float]:
    """Measure a new cluster with one topic, except for loads on more than `FEW` partitions."""
    found: dict[str, float] = {}
    with serving(prepared) as server:
        cpu = cpu_seconds(server.pid)
        found[CREATE] = clients.carry_out(MakeTopic(server.bootstrap, _TOPIC, partitions)).seconds
        found[CREATE_CPU] = cpu_seconds(server.pid) - cpu
        found[METADATA_MS] = metadata_ms(server)
        found[IDLE] = _idle(server, loads.idle_s)
        paced = clients.carry_out(
            PacedProduce(server.bootstrap, _TOPIC, SIZE, loads.paced, loads.rate)
        ).latencies_ms
        found[P50], found[P99] = percentile(paced, 50), percentile(paced, 99)
    found[RESTART] = _restart(prepared)
    return found


def spread(
    prepared: Prepared, counts: Sequence[int], loads: Loads, rounds: int
) -> dict[int, dict[str, list[float]]]:
    """Measure the same load spread over more and more partitions of one topic, in turn."""
    found: dict[int, dict[str, list[float]]] = {count: {RATE: [], CPU: []} for count in counts}
    with serving(prepared) as server:
        clients.carry_out(MakeTopic(server.bootstrap, _TOPIC, max(counts)))
        for number in range(rounds + 1):
            for count in counts if number % 2 else counts[::-1]:
                rate, cpu = produce(server, count, loads.records)
                if number:  # the first round warms up
                    found[count][RATE].append(rate)
                    found[count][CPU].append(cpu)
    return found


def processes(prepared: Prepared, loads: Loads, rounds: int) -> dict[str, list[float]]:
    """Measure as many clients as there are broker processes, all at once."""
    brokers = int(prepared.command[-1])
    found: dict[str, list[float]] = {RATE: [], CPU: []}
    with serving(prepared) as server:
        clients.carry_out(MakeTopic(server.bootstrap, _TOPIC, FEW * brokers))
        for number in range(rounds + 1):
            rate, cpu = produce(server, 0, loads.records, at_once=brokers)
            if number:
                found[RATE].append(rate)
                found[CPU].append(cpu)
    return found


def produce(server: Server, partitions: int, records: int, *, at_once: int = 1) -> tuple[float, float]:
    """Return MB/s of all clients together, and the brokers' CPU seconds for each GB."""
    order = Produce(server.bootstrap, _TOPIC, SIZE, records // at_once, partitions)
    cpu = cpu_seconds(server.pid)
    took = max(_together(order, at_once))
    time.sleep(_SETTLE_S)
    total = records // at_once * at_once * SIZE
    return total / 1e6 / took, (cpu_seconds(server.pid) - cpu) / (total / 1e9)


def _together(order: Produce, at_once: int) -> Iterator[float]:
    if at_once == 0:
        return
    with clients.running(clients.ordered(order)) as client:
        yield from _together(order, at_once - 1)
        yield client.wait_done().seconds


def commits_per_s(metadata_url: str, callers: int, seconds: float) -> float:
    """Return the rate of small commits to a new metadata store, by callers in one process."""
    return asyncio.run(_commits_per_s(metadata_url, callers, seconds))


async def _commits_per_s(metadata_url: str, callers: int, seconds: float) -> float:
    settings = DraySettings()
    replace_in = msgspec.structs.replace
    settings = replace_in(
        settings,
        metadata=replace_in(settings.metadata, url=metadata_url),
        storage=replace_in(settings.storage, url="memory:"),
    )
    async with open_stores(settings, process_context()) as stores:
        took, elapsed = await meta_commits.commits(stores.meta, callers, seconds)
    return len(took) / elapsed


def metadata_ms(server: Server) -> float:
    """Return the median time of a Metadata request for the topic, in milliseconds."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=_TOPIC)])
    frame = b"".join(encode_request(METADATA, RequestHeader(METADATA.key, 9, 1, "growth"), request))
    took = []
    with socket.create_connection(server.address) as connection, connection.makefile("rb") as received:
        for _ in range(_REQUESTS):
            began = time.perf_counter()
            connection.sendall(frame)
            received.read(int.from_bytes(received.read(LENGTH_BYTES), "big"))
            took.append((time.perf_counter() - began) * 1000)
    return median(took)


def _idle(server: Server, seconds: float) -> float:
    time.sleep(seconds)  # what the creation left to do
    cpu, began = cpu_seconds(server.pid), time.perf_counter()
    time.sleep(seconds)
    return (cpu_seconds(server.pid) - cpu) / (time.perf_counter() - began) * 100


def _restart(prepared: Prepared) -> float:
    """Return the time from the start of the program to the first acknowledgement, after a kill."""
    order = FirstRecord(prepared.bootstrap, _TOPIC)
    with clients.running(clients.ordered(order)) as client:
        client.wait_ready()
        began = time.monotonic_ns()
        with started(prepared):
            return (client.wait_done().acknowledged_ns - began) / 1e9
