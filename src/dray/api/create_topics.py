"""CreateTopics (key 19), versions 2 to 7.

Version notes:
- 4: default partition count and replication factor, -1 (KIP-464).
- 5: flexible; configs in the response (KIP-525).
- 6: THROTTLING_QUOTA_EXCEEDED (KIP-599).
- 7: topic ids in the response (KIP-516).

Differences from Kafka:
- Partitions are not replicated, the object store does that. Any replication factor of 1 or more is accepted
  and echoed, whatever the number of brokers; a topic described later has one replica.
- With `validate_only` there is no topic id in the response.
- Of two names in one request that collide, the second is refused.
- `cleanup.policy=compact`: Dray has no segments, but does not compact what would be Kafka's active segment
  by `segment.ms` and `segment.bytes`. A partition that nothing is produced to is compacted too: its
  records after `max.compaction.lag.ms`, its tombstones after `delete.retention.ms`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from dray.acls import Operation
from dray.api.config_entries import topic_entries
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.api.throttling import charge_mutations
from dray.api.topic_creation import DUPLICATE, check_assignments, split_duplicates
from dray.cluster.configs import validate_configs
from dray.cluster.topic_names import CLUSTER_METADATA, why_invalid
from dray.wire import ZERO_UUID, ErrorCode
from dray.wire.apis.create_topics import (
    CREATE_TOPICS,
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

_DEFAULT = -1
_PARTITIONS_MAX = 10_000
_QUOTA_STRICT_FROM = 6


@dataclass(frozen=True, slots=True)
class _Plan:
    """A valid topic that is to be created."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]


class _Rights(NamedTuple):
    """What the client may do with topics that it creates."""

    context: Context
    creates_all: bool

    def create(self, name: str) -> bool:
        return (
            name == CLUSTER_METADATA
            or self.creates_all
            or self.context.access.allows_on_topic(Operation.CREATE, name)
        )

    def see_configs(self, name: str) -> bool:
        return self.context.access.allows_on_topic(Operation.DESCRIBE_CONFIGS, name, audited=False)


async def handle(request: CreateTopicsRequest, context: Context, services: Services) -> CreateTopicsResponse:
    if sum(_partitions(requested, services) for requested in request.topics) > _PARTITIONS_MAX:
        too_many = RequestRejected(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )
        return CreateTopicsResponse(
            topics=[_failed(requested.name, too_many) for requested in request.topics]
        )
    once, duplicates = split_duplicates(request.topics)
    rights = _Rights(context, context.access.allows_on_cluster(Operation.CREATE, audited=False))
    return CreateTopicsResponse(
        topics=[
            *[await _create(requested, request, rights, services) for requested in once],
            *[_failed(name, DUPLICATE) for name in duplicates],
        ]
    )


async def _create(
    requested: CreatableTopic, request: CreateTopicsRequest, rights: _Rights, services: Services
) -> CreatableTopicResult:
    if not rights.create(requested.name):
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return _failed(requested.name, RequestRejected(code, "Authorization failed."))
    sees_configs = rights.see_configs(requested.name)
    try:
        plan = await _plan(requested, services)
        charge_mutations(rights.context, plan.partitions, strict_from=_QUOTA_STRICT_FROM)
        if request.validate_only:
            return _created(plan, ZERO_UUID, sees_configs)
        topic = await services.topic_admin.create(plan.name, plan.partitions, plan.configs)
    except EXPECTED as error:
        return _failed(requested.name, error)
    return _created(plan, topic.topic_id, sees_configs)


async def _plan(requested: CreatableTopic, services: Services) -> _Plan:
    await _check_name(requested.name, services)
    configs = validate_configs({config.name: config.value for config in requested.configs})
    if requested.assignments:
        return _Plan(requested.name, len(requested.assignments), _assigned(requested, services), configs)
    if requested.replication_factor < _DEFAULT or requested.replication_factor == 0:
        raise RequestRejected(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if requested.num_partitions < _DEFAULT or requested.num_partitions == 0:
        raise RequestRejected(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    factor = requested.replication_factor
    if factor == _DEFAULT:
        factor = services.settings.default_replication_factor
    return _Plan(requested.name, _partitions(requested, services), factor, configs)


async def _check_name(name: str, services: Services) -> None:
    if name == CLUSTER_METADATA:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
    wrong = why_invalid(name)
    if wrong is not None:
        raise RequestRejected(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    if await services.topics.fresh(name) is not None:
        raise RequestRejected(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = services.topics.colliding(name)
    if other is not None:
        raise RequestRejected(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other.name}"
        )


def _assigned(requested: CreatableTopic, services: Services) -> int:
    must_be_default = {
        "replication factor": requested.replication_factor,
        "numPartitions": requested.num_partitions,
    }
    for what, given in must_be_default.items():
        if given != _DEFAULT:
            raise RequestRejected(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    numbers = Counter(assignment.partition_index for assignment in requested.assignments)
    for number, count in numbers.items():
        if count > 1:
            raise RequestRejected(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {number}",
            )
    factor = check_assignments([assignment.broker_ids for assignment in requested.assignments], services)
    if sorted(numbers) != list(range(len(numbers))):
        raise RequestRejected(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return factor


def _partitions(requested: CreatableTopic, services: Services) -> int:
    if requested.assignments:
        return len(requested.assignments)
    if requested.num_partitions == _DEFAULT:
        return services.settings.num_partitions
    return max(requested.num_partitions, 0)


def _created(plan: _Plan, topic_id: bytes, sees_configs: bool) -> CreatableTopicResult:
    if not sees_configs:
        return CreatableTopicResult(
            name=plan.name,
            topic_id=topic_id,
            error_message=None,
            topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        )
    return CreatableTopicResult(
        name=plan.name,
        topic_id=topic_id,
        error_message=None,
        num_partitions=plan.partitions,
        replication_factor=plan.replication_factor,
        configs=[
            CreatableTopicConfigs(
                name=entry.name, value=plan.configs.get(entry.name, entry.value), config_source=entry.source
            )
            for entry in topic_entries(plan.configs)
        ],
    )


def _failed(name: str, error: BaseException) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=code_of(error), error_message=message_of(error))


def _changes(request: CreateTopicsRequest) -> Iterator[str]:
    return (f"TOPIC:{topic.name}" for topic in request.topics)


API: Final = Served(CREATE_TOPICS, versions=(2, 7), handle=handle, changes=_changes)
