"""Latency at a fixed rate: until the producer has its acknowledgement, and until a consumer has the record.

Both count from when a record was *due*, not from when it was sent: a server that delays the
producer is charged for the records that had to wait. The producer does not linger, so the server's time is
what is measured.
"""

from collections.abc import Sequence

from benchmarks.beside_kafka import clients
from benchmarks.beside_kafka.loads import LARGE, PARTITIONS
from benchmarks.beside_kafka.orders import Follow, MakeTopic, PacedProduce
from benchmarks.beside_kafka.readings import Measure, Section
from benchmarks.beside_kafka.scale import Scale
from benchmarks.beside_kafka.servers import Server

_PERCENTILES = (50, 99)


def run(server: Server, label: str, scale: Scale) -> list[tuple[Measure, float]]:
    topic, records = f"bench-paced-{label}", scale.paced_records
    clients.carry_out(MakeTopic(server.bootstrap, topic, PARTITIONS))
    with clients.running(clients.ordered(Follow(server.bootstrap, topic, PARTITIONS, records))) as follower:
        follower.wait_ready()
        written = clients.carry_out(PacedProduce(server.bootstrap, topic, LARGE, records, scale.rate))
        read = follower.wait_done()
    return [
        *_percentiles("produced to acknowledged", written.latencies_ms, records),
        *_percentiles("produced to consumed", read.latencies_ms, records),
    ]


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the smallest value that at least `percent` % of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _percentiles(what: str, latencies_ms: Sequence[float], records: int) -> list[tuple[Measure, float]]:
    if len(latencies_ms) != records:
        raise clients.ClientFailed(f"{what}: {len(latencies_ms)} of {records} records were seen")
    return [
        (Measure(Section.LATENCY, f"{what}, p{percent}", "ms"), percentile(latencies_ms, percent))
        for percent in _PERCENTILES
    ]
