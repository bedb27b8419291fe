"""CreatePartitions (key 37). Versions 0 to 3.

Deviations: assignments are checked and then of no consequence (see `replica_assignments`); how many replicas
they name need not be what the topic was made with, because that is not kept.
"""

from collections import Counter

from dray.api.errors import EXPECTED, Refused, code_of, message_of
from dray.api.exchange import Context
from dray.api.replica_assignments import check_assignments
from dray.api.services import Services
from dray.cluster.topic_names import is_valid_name
from dray.wire import ErrorCode
from dray.wire.apis.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

_ADDED_MAX = 10_000


async def handle(
    request: CreatePartitionsRequest, _: Context, services: Services
) -> CreatePartitionsResponse:
    times = Counter(asked.name for asked in request.topics)
    twice = Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    return CreatePartitionsResponse(
        results=[
            *[_result(name, twice) for name, count in times.items() if count > 1],
            *[await _grow(asked, request, services) for asked in request.topics if times[asked.name] == 1],
        ]
    )


async def _grow(
    asked: CreatePartitionsTopic, request: CreatePartitionsRequest, services: Services
) -> CreatePartitionsTopicResult:
    try:
        await _check(asked, services)
        if not request.validate_only:
            await services.topics.grow(asked.name, asked.count)
    except EXPECTED as error:
        return _result(asked.name, error)
    return _result(asked.name, None)


async def _check(asked: CreatePartitionsTopic, services: Services) -> None:
    topic = await services.topics.fresh(asked.name) if is_valid_name(asked.name) else None
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    added = _added(asked, len(topic.streams))
    if asked.assignments is None:
        return
    if len(asked.assignments) != added:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {added} additional partition(s), but only {len(asked.assignments)} "
            "assignment(s) were specified.",
        )
    check_assignments([assignment.broker_ids for assignment in asked.assignments], services)


def _added(asked: CreatePartitionsTopic, present: int) -> int:
    if asked.count == present:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if asked.count < present:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {asked.name} currently has {present} partition(s); "
            f"{asked.count} would not be an increase.",
        )
    if asked.count - present > _ADDED_MAX:
        raise Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    return asked.count - present


def _result(name: str, error: BaseException | None) -> CreatePartitionsTopicResult:
    if error is None:
        return CreatePartitionsTopicResult(name=name)
    return CreatePartitionsTopicResult(name=name, error_code=code_of(error), error_message=message_of(error))
