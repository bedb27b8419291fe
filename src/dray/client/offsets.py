"""Offsets of partitions: the first, the next, and the first of a time."""

from collections.abc import Iterable
from typing import Final

from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from dray.client.admin import Admin
from dray.client.errors import Unavailable

EARLIEST: Final[OffsetSpec] = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: Final[OffsetSpec] = OffsetSpec.latest()  # type: ignore[no-untyped-call]
NO_OFFSET: Final = -1
"""Offset of a time that no record has reached."""


def at_time(timestamp_ms: int) -> OffsetSpec:
    """Return what asks for the first record that is not older."""
    spec: OffsetSpec = OffsetSpec.for_timestamp(max(0, timestamp_ms))
    return spec


def offsets_at(admin: Admin, topic: str, partitions: Iterable[int], spec: OffsetSpec) -> dict[int, int]:
    """Return an offset by partition."""
    wanted = {TopicPartition(topic, number): spec for number in partitions}
    if not wanted:
        return {}

    def look_up() -> dict[int, int]:
        futures = admin.client.list_offsets(
            wanted, isolation_level=IsolationLevel.READ_UNCOMMITTED, **admin.options
        )
        found: dict[int, int] = {}
        for place, future in futures.items():
            subject = f"partition {place.partition} of topic '{topic}'"
            found[place.partition] = admin.wait(future, subject).offset
            if found[place.partition] == OFFSET_INVALID:  # librdkafka's result when the leader is unreachable
                problem = f"{subject}: its leader does not answer{admin.connection_problem}"
                raise Unavailable(problem, KafkaError.LEADER_NOT_AVAILABLE)
        return found

    return admin.retry(look_up)
