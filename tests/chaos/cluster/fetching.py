"""Fetches from one broker, whether or not Metadata names it as the leader: any broker serves any partition.

librdkafka would only ask the leader. Batches are decoded by aiokafka, which verifies their checksums.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from dray.wire.apis.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from dray.wire.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from tests.chaos.cluster.security import Security
from tests.chaos.histories import Records, name_of
from tests.oracle.raw import RawError
from tests.oracle.request_client import RequestClient, Unanswered, request_client
from tests.spark.processes import becomes_true

_VERSION: Final = 12
_OFFSETS_VERSION: Final = 9
"""The last ones that name topics."""
_BYTES_MAX: Final = 1 << 20
_NO_ERROR: Final = 0

Partition = tuple[str, int]


class Fetched(NamedTuple):
    """What a broker answered for one partition."""

    error: int
    high_watermark: int
    records: list[tuple[int, str]]


class Incomplete(Exception):
    """The topics could not be read to their ends in time."""


class Fetcher:
    """Fetches from one broker, one request at a time."""

    def __init__(self, address: str, security: Security, timeout_s: float = 5.0) -> None:
        host, _, port = address.partition(":")
        self._client = RequestClient((host, int(port)), timeout_s, security.connection)

    def fetch(self, positions: Mapping[Partition, int], wait_ms: int) -> dict[Partition, Fetched]:
        """Fetch from these offsets on; raises `RawError` or `Unanswered`, and reconnects afterwards."""
        topics: dict[str, list[FetchPartition]] = {}
        for (topic, number), offset in positions.items():
            wanted = FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=_BYTES_MAX)
            topics.setdefault(topic, []).append(wanted)
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=8 * _BYTES_MAX,
            topics=[FetchTopic(topic=topic, partitions=parts) for topic, parts in topics.items()],
        )
        try:
            response = self._client.send(request, FetchResponse, _VERSION)
        except (RawError, Unanswered):
            self._client.hang_up()
            raise
        return {
            (one.topic, part.partition_index): _fetched(part, positions[one.topic, part.partition_index])
            for one in response.responses
            for part in one.partitions
        }

    def close(self) -> None:
        self._client.hang_up()


def read_everything(
    address: str, topics: Mapping[str, int], within_s: float, security: Security
) -> dict[str, Records]:
    """Read all partitions from the beginning to their current ends through one broker."""
    reading = _Reading(address, topics, security)
    if not becomes_true(reading.has_ended, within_s):
        raise Incomplete(f"{address}: {sorted(reading.left)} are unread after {within_s} s: {reading.error}")
    return {
        topic: {number: reading.found[topic, number] for number in range(count)}
        for topic, count in topics.items()
    }


class _Reading:
    """Partitions that are read to their ends; errors are retried: the broker may just have started."""

    def __init__(self, address: str, topics: Mapping[str, int], security: Security) -> None:
        self.found: dict[Partition, list[tuple[int, str]]] = {
            (topic, number): [] for topic, count in topics.items() for number in range(count)
        }
        self.left = set(self.found)
        self.error = "nothing"
        self._fetcher = Fetcher(address, security, timeout_s=30.0)

    def has_ended(self) -> bool:
        """Fetch until an error, or until all is read."""
        try:
            while self.left:
                positions = {one: len(self.found[one]) for one in sorted(self.left)}
                if not self._take(self._fetcher.fetch(positions, wait_ms=0)):
                    return False
        except (RawError, Unanswered) as failure:
            self.error = str(failure)
            return False
        self._fetcher.close()
        return True

    def _take(self, fetched: Mapping[Partition, Fetched]) -> bool:
        """Return whether there was no error."""
        failed = False
        for one, data in fetched.items():
            self.found[one] += data.records
            if data.error:
                failed, self.error = True, f"{one}: error {data.error}"
            elif len(self.found[one]) >= data.high_watermark:
                self.left.discard(one)
        return not failed


def committed_offsets(address: str, topics: Iterable[str], security: Security) -> dict[str, dict[int, int]]:
    """Return the offsets that the group of each topic has committed, according to one broker.

    librdkafka's admin client aborts the process now and then (an assertion in `rdkafka_queue.h`).
    """
    host, _, port = address.partition(":")
    groups = [OffsetFetchRequestGroup(group_id=f"{topic}-group", topics=None) for topic in topics]
    with request_client((host, int(port)), 30.0, security.connection) as client:
        response = client.send(OffsetFetchRequest(groups=groups), OffsetFetchResponse, _OFFSETS_VERSION)
    found: dict[str, dict[int, int]] = {topic: {} for topic in topics}
    for group in response.groups:
        for topic in group.topics:
            offsets = {part.partition_index: part.committed_offset for part in topic.partitions}
            found[topic.name] |= offsets
    return found


def _fetched(part: PartitionData, offset: int) -> Fetched:
    if part.error_code != _NO_ERROR or part.records is None:
        return Fetched(part.error_code, part.high_watermark, [])
    return Fetched(part.error_code, part.high_watermark, _names(b"".join(part.records), offset))


def _names(data: bytes, offset: int) -> list[tuple[int, str]]:
    found = []
    batches = MemoryRecords(data)
    while (batch := batches.next_batch()) is not None:
        assert batch.validate_crc(), f"a batch at or after offset {offset} has a wrong checksum"
        found += [
            (record.offset, name_of(record.value or b"")) for record in batch if record.offset >= offset
        ]
    return found
