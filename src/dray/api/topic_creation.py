"""Parts that CreateTopics and CreatePartitions share: duplicate names and replica assignments.

Any broker serves any partition, so a manual assignment has no effect. It is only validated as Kafka does it:
registered brokers, none twice, the same number for each partition.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Protocol, TypeVar

from dray.api.errors import RequestRejected
from dray.api.services import Services
from dray.wire import ErrorCode


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)
DUPLICATE: Final = RequestRejected(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


def split_duplicates(topics: Sequence[N]) -> tuple[list[N], list[str]]:
    """Return the topics that are named once, and the names that are not."""
    times = Counter(topic.name for topic in topics)
    once = [topic for topic in topics if times[topic.name] == 1]
    return once, [name for name, count in times.items() if count > 1]


def check_assignments(assignments: Iterable[Sequence[int]], services: Services) -> int:
    """Return the replication factor of an assignment; raises `RequestRejected`."""
    registered = {broker.broker_id for broker in services.routing.others()} | {services.me.broker_id}
    count = 0
    for brokers in assignments:
        _check(brokers, registered)
        if count and len(brokers) != count:
            raise _refused(
                f"includes a partition with {len(brokers)} replica(s), but this is not consistent with "
                f"previous partitions, which have {count} replica(s)."
            )
        count = len(brokers)
    return count


def _check(brokers: Sequence[int], registered: set[int]) -> None:
    if not brokers:
        raise _refused("includes an empty replica list.")
    for broker in sorted(brokers):
        if broker not in registered:
            raise _refused(f"includes broker {broker}, but no such broker is registered.")
        if brokers.count(broker) > 1:
            raise _refused(f"includes the broker {broker} more than once.")


def _refused(what: str) -> RequestRejected:
    return RequestRejected(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment {what}")
