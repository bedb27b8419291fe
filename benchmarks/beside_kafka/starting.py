"""Start-up time and idle memory: a new server, a client that retries constantly, one record.

The clock starts when the server's program is executed and stops when the client, which is already running and
tries every few milliseconds, has its first acknowledgement. That record creates the topic. One-time steps
(formatting Kafka's storage) are not counted.
"""

import time
from pathlib import Path

from benchmarks.beside_kafka import clients
from benchmarks.beside_kafka.orders import FirstRecord
from benchmarks.beside_kafka.processes import rss_bytes
from benchmarks.beside_kafka.readings import Bar, Measure, Section
from benchmarks.beside_kafka.scale import Scale
from benchmarks.beside_kafka.servers import PREPARE, started

_FIRST = Measure(Section.START, "from exec to the first acknowledged record", "s", Bar(1.5, at_most=True))
_IDLE = Measure(Section.MEMORY, "idle, after start-up and one record", "MB", Bar(150.0, at_most=True))
AFTER_LOAD = Measure(Section.MEMORY, "after a round of loads", "MB")


def run(name: str, home: Path, scale: Scale) -> list[tuple[Measure, float]]:
    prepared = PREPARE[name](home)
    order = FirstRecord(prepared.bootstrap, "bench-first")
    with clients.running(clients.ordered(order)) as client:
        client.wait_ready()
        began = time.monotonic_ns()
        with started(prepared) as server:
            acknowledged = client.wait_done().acknowledged_ns
            time.sleep(scale.settle_s)
            idle_bytes = rss_bytes(server.pid)
    return [(_FIRST, (acknowledged - began) / 1e9), (_IDLE, idle_bytes / 1e6)]
