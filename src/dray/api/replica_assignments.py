"""Assignments of partitions to brokers by hand: checked as Kafka checks them, and then of no consequence.

Any broker serves any stream, so there is nothing to place. What is checked is that the client says something
that makes sense: brokers that are there, none twice, equally many for each partition.
"""

from collections.abc import Iterable, Sequence

from dray.api.errors import Refused
from dray.api.services import Services
from dray.wire import ErrorCode


def check_assignments(assignments: Iterable[Sequence[int]], services: Services) -> int:
    """Return how many replicas each partition is to have; raises `Refused`."""
    registered = {broker.broker_id for broker in services.brokers.all()} | {services.me.broker_id}
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


def _refused(what: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment {what}")
