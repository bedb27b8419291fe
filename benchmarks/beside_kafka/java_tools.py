"""Kafka's own perf tools, run as its scripts run them, and the parsing of their output.

Their settings are the Java client's defaults: acks=all, idempotent, batches of 16 KiB, 5 ms of linger. The
producer's own first records, sent while the JVM warms up, are left out of its figure. Its megabytes
are mebibytes, so only its records per second are taken.
"""

import re
import struct
from typing import Final

from benchmarks.beside_kafka.clients import ClientFailed
from benchmarks.beside_kafka.servers import JVM, Server
from tests.oracle.jars import java
from tests.oracle.raw import RawConnection

_CLIENT_JVM: Final = ("-Xmx512M", *JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_TOOLS: Final = "org.apache.kafka.tools"
_WARM_UP_PART: Final = 5
_STEADY: Final = re.compile(r"steady state records sent, ([\d.]+) records/sec")
_JOIN_GROUP: Final = 11
_API_VERSIONS_V0: Final = bytes.fromhex("0012 0000 00000007 ffff")
_API: Final = struct.Struct(">hhh")
_APIS_AT: Final = 10
"""After the correlation id, the error code and the number of APIs."""


def producer_perf(server: Server, topic: str, records: int, size: int) -> list[str]:
    """Return the command line; one record in `_WARM_UP_PART` is a warm-up."""
    return java(
        f"{_TOOLS}.ProducerPerformance",
        *("--bootstrap-server", server.bootstrap, "--topic", topic),
        *("--num-records", str(records), "--record-size", str(size), "--throughput", "-1"),
        *("--warmup-records", str(records // _WARM_UP_PART), "--command-property", "acks=all"),
        options=_CLIENT_JVM,
    )


def consumer_perf(server: Server, topic: str, records: int, group: str | None = None) -> list[str]:
    """Return the command line; reading a topic a second time needs another group."""
    return java(
        f"{_TOOLS}.ConsumerPerformance",
        *("--bootstrap-server", server.bootstrap, "--topic", topic),
        *("--num-records", str(records), "--group", group or f"{topic}-readers", "--hide-header"),
        options=_CLIENT_JVM,
    )


def produced_per_second(stdout: str) -> float:
    """Return the records per second that the producer printed."""
    found = _STEADY.search(stdout)
    if found is None:
        raise ClientFailed(f"the producer's output contains no figure:\n{stdout[-1000:]}")
    return float(found[1])


def fetched_per_second(stdout: str) -> float:
    """Return the records per second without the time to join the group: the last column."""
    lines = [line for line in stdout.splitlines() if line.count(",") == 9]
    if not lines:
        raise ClientFailed(f"the consumer's output contains no figure:\n{stdout[-1000:]}")
    return float(lines[-1].rpartition(",")[2])


def serves_groups(server: Server) -> bool:
    """Return whether the server advertises JoinGroup."""
    with RawConnection.open(server.address) as connection:
        answer = connection.exchange(_API_VERSIONS_V0)
    return _JOIN_GROUP in {key for key, _, _ in _API.iter_unpack(answer[_APIS_AT:])}
