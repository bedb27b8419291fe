"""CreatePartitions (key 37), versions 0 to 3.

Version notes:
- 2: flexible.
- 3: THROTTLING_QUOTA_EXCEEDED (KIP-599).

Differences from Kafka:
- Replica assignments are validated and then ignored. Their replica count may differ from the one the topic
  was created with, which is not stored.
"""

from collections.abc import Iterator
from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.api.throttling import charge_mutations
from dray.api.topic_creation import DUPLICATE, check_assignments, split_duplicates
from dray.cluster.topic_names import is_valid_name
from dray.wire import ErrorCode
from dray.wire.apis.create_partitions import (
    CREATE_PARTITIONS,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

_ADDED_MAX = 10_000
_QUOTA_STRICT_FROM = 3


async def handle(
    request: CreatePartitionsRequest, context: Context, services: Services
) -> CreatePartitionsResponse:
    once, duplicates = split_duplicates(request.topics)
    return CreatePartitionsResponse(
        results=[
            *[_result(name, DUPLICATE) for name in duplicates],
            *[await _grow(requested, request, context, services) for requested in once],
        ]
    )


async def _grow(
    requested: CreatePartitionsTopic, request: CreatePartitionsRequest, context: Context, services: Services
) -> CreatePartitionsTopicResult:
    try:
        context.access.require_on_topic(Operation.ALTER, requested.name)
        added = await _check(requested, services)
        charge_mutations(context, added, strict_from=_QUOTA_STRICT_FROM)
        if not request.validate_only:
            await services.topic_admin.grow(requested.name, requested.count)
    except EXPECTED as error:
        return _result(requested.name, error)
    return _result(requested.name, None)


async def _check(requested: CreatePartitionsTopic, services: Services) -> int:
    """Return how many partitions are to be added."""
    topic = await services.topics.fresh(requested.name) if is_valid_name(requested.name) else None
    if topic is None:
        raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    added = _added(requested, len(topic.streams))
    if requested.assignments is None:
        return added
    if len(requested.assignments) != added:
        raise RequestRejected(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {added} additional partition(s), but only {len(requested.assignments)} "
            "assignment(s) were specified.",
        )
    check_assignments([assignment.broker_ids for assignment in requested.assignments], services)
    return added


def _added(requested: CreatePartitionsTopic, present: int) -> int:
    if requested.count == present:
        raise RequestRejected(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if requested.count < present:
        raise RequestRejected(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {requested.name} currently has {present} partition(s); "
            f"{requested.count} would not be an increase.",
        )
    if requested.count - present > _ADDED_MAX:
        raise RequestRejected(
            ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
        )
    return requested.count - present


def _result(name: str, error: BaseException | None) -> CreatePartitionsTopicResult:
    if error is None:
        return CreatePartitionsTopicResult(name=name)
    return CreatePartitionsTopicResult(name=name, error_code=code_of(error), error_message=message_of(error))


def _changes(request: CreatePartitionsRequest) -> Iterator[str]:
    return (f"TOPIC:{topic.name} to {topic.count} partitions" for topic in request.topics)


API: Final = Served(CREATE_PARTITIONS, versions=(0, 3), handle=handle, changes=_changes)
