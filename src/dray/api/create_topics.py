"""CreateTopics (key 19). Versions 2 to 7.

Deviations: nothing is replicated, because the object store does that already. So any replication factor from
1 on is accepted and told back, however few brokers there are; a topic described later shows one replica. An
answer to `validate_only` carries no topic id, as there is no topic. Of two names in one request that collide,
the second is refused.
"""

from collections import Counter
from dataclasses import dataclass

from dray.api.config_entries import topic_entries
from dray.api.errors import EXPECTED, Refused, code_of, message_of
from dray.api.exchange import Context
from dray.api.replica_assignments import check_assignments
from dray.api.services import Services
from dray.cluster.configs import validate_configs
from dray.cluster.topic_names import CLUSTER_METADATA, why_invalid
from dray.wire import ZERO_UUID, ErrorCode
from dray.wire.apis.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

_DEFAULT = -1
_PARTITIONS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class _Plan:
    """A topic that may be made."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]


async def handle(request: CreateTopicsRequest, _: Context, services: Services) -> CreateTopicsResponse:
    if sum(_partitions(asked, services) for asked in request.topics) > _PARTITIONS_MAX:
        much = Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
        return CreateTopicsResponse(topics=[_failed(asked.name, much) for asked in request.topics])
    times = Counter(asked.name for asked in request.topics)
    twice = Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    return CreateTopicsResponse(
        topics=[
            *[await _create(asked, request, services) for asked in request.topics if times[asked.name] == 1],
            *[_failed(name, twice) for name, count in times.items() if count > 1],
        ]
    )


async def _create(
    asked: CreatableTopic, request: CreateTopicsRequest, services: Services
) -> CreatableTopicResult:
    try:
        plan = await _plan(asked, services)
        if request.validate_only:
            return _made(plan, ZERO_UUID)
        topic = await services.topics.create(plan.name, plan.partitions, plan.configs)
    except EXPECTED as error:
        return _failed(asked.name, error)
    return _made(plan, topic.topic_id)


async def _plan(asked: CreatableTopic, services: Services) -> _Plan:
    await _check_name(asked.name, services)
    configs = validate_configs({config.name: config.value for config in asked.configs})
    if asked.assignments:
        return _Plan(asked.name, len(asked.assignments), _assigned(asked, services), configs)
    if asked.replication_factor < _DEFAULT or asked.replication_factor == 0:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if asked.num_partitions < _DEFAULT or asked.num_partitions == 0:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    factor = asked.replication_factor
    if factor == _DEFAULT:
        factor = services.settings.default_replication_factor
    return _Plan(asked.name, _partitions(asked, services), factor, configs)


async def _check_name(name: str, services: Services) -> None:
    if name == CLUSTER_METADATA:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
    wrong = why_invalid(name)
    if wrong is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    if await services.topics.fresh(name) is not None:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = services.topics.colliding(name)
    if other is not None:
        raise Refused(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other.name}"
        )


def _assigned(asked: CreatableTopic, services: Services) -> int:
    given_besides = {"replication factor": asked.replication_factor, "numPartitions": asked.num_partitions}
    for what, given in given_besides.items():
        if given != _DEFAULT:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    numbers = Counter(assignment.partition_index for assignment in asked.assignments)
    for number, count in numbers.items():
        if count > 1:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {number}",
            )
    factor = check_assignments([assignment.broker_ids for assignment in asked.assignments], services)
    if sorted(numbers) != list(range(len(numbers))):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return factor


def _partitions(asked: CreatableTopic, services: Services) -> int:
    if asked.assignments:
        return len(asked.assignments)
    if asked.num_partitions == _DEFAULT:
        return services.settings.num_partitions
    return max(asked.num_partitions, 0)


def _made(plan: _Plan, topic_id: bytes) -> CreatableTopicResult:
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
