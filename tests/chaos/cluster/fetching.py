"""Fetches from one broker, whether or not Metadata names it as the leader: any broker serves any partition.

librdkafka would only ask the leader. Batches are decoded by aiokafka, which verifies their checksums.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]

from dray.wire.apis.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from dray.wire.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from tests.chaos.histories import Records, name_of
from tests.oracle.raw import RawError
from tests.oracle.request_client import RequestClient, Unanswered, request_client

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

    def __init__(self, address: str, timeout_s: float = 5.0) -> None:
        host, _, port = address.partition(":")
        self._client = RequestClient((host, int(port)), timeout_s)

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


def read_everything(address: str, topics: Mapping[str, int], within_s: float) -> dict[str, Records]:
    """Read all partitions from the beginning to their current ends through one broker."""
    found: dict[Partition, list[tuple[int, str]]] = {
        (topic, number): [] for topic, count in topics.items() for number in range(count)
    }
    fetcher, deadline, error = Fetcher(address, timeout_s=30.0), time.monotonic() + within_s, "nothing"
    left = set(found)
    while left:
        if time.monotonic() > deadline:
            raise Incomplete(f"{address}: {sorted(left)} are unread after {within_s} s: {error}")
        try:
            fetched = fetcher.fetch({one: len(found[one]) for one in sorted(left)}, wait_ms=0)
        except (RawError, Unanswered) as failure:
            error = str(failure)
            time.sleep(0.2)  # the broker may just have been started
            continue
        for one, data in fetched.items():
            found[one] += data.records
            error = f"{one}: error {data.error}" if data.error else error
            if not data.error and len(found[one]) >= data.high_watermark:
                left.discard(one)
    fetcher.close()
    return {
        topic: {number: found[topic, number] for number in range(count)} for topic, count in topics.items()
    }


def committed_offsets(address: str, topics: Iterable[str]) -> dict[str, dict[int, int]]:
    """Return the offsets that the group of each topic has committed, according to one broker.

    librdkafka's admin client aborts the process now and then (an assertion in `rdkafka_queue.h`).
    """
    host, _, port = address.partition(":")
    groups = [OffsetFetchRequestGroup(group_id=f"{topic}-group", topics=None) for topic in topics]
    with request_client((host, int(port)), timeout_s=30.0) as client:
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
