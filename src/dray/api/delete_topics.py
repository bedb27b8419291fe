"""DeleteTopics (key 20), versions 1 to 6.

Version notes:
- 3: TOPIC_DELETION_DISABLED.
- 4: flexible.
- 5: error messages; THROTTLING_QUOTA_EXCEEDED (KIP-599).
- 6: topic ids (KIP-516).

Differences from Kafka:
- Results are in the order of the request; Kafka shuffles them.

The topic is deleted when this is answered: one commit deletes its record and marks its streams for removal,
and no broker can append to them from then on, whether or not it knows of the deletion yet. Their data is
removed later by the sweep (`TopicAdmin.finish_deletions`), so the response does not wait for large topics and
a crash loses nothing.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple
from uuid import UUID

from dray.acls import Operation, ResourceType
from dray.api.authorization import Access, denied
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.api.throttling import charge_mutations
from dray.cluster.topic_admin import TopicUnknown
from dray.cluster.topic_names import is_valid_name
from dray.cluster.topics import Topic
from dray.wire import ZERO_UUID, ErrorCode
from dray.wire.apis.delete_topics import (
    DELETE_TOPICS,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

_DISABLED_FROM_VERSION = 3
_QUOTA_STRICT_FROM = 5
_NO_NAME = "This server does not host this topic-partition."
_NO_ID = "This server does not host this topic ID."


class _Rights(NamedTuple):
    """What the client may do with topics that it deletes."""

    access: Access
    deletes_all: bool

    def delete(self, name: str) -> bool:
        return self.deletes_all or self.access.allows_on_topic(Operation.DELETE, name)

    def describe(self, name: str) -> bool:
        return self.deletes_all or self.access.allows_on_topic(Operation.DESCRIBE, name)


class _Found(NamedTuple):
    """A topic of the request, and the topic that it names."""

    requested: DeleteTopicState
    topic: Topic


async def handle(request: DeleteTopicsRequest, context: Context, services: Services) -> DeleteTopicsResponse:
    states = [*(DeleteTopicState(name=name) for name in request.topic_names), *request.topics]
    if not services.settings.delete_topic_enable:
        disabled = context.version >= _DISABLED_FROM_VERSION
        code = ErrorCode.TOPIC_DELETION_DISABLED if disabled else ErrorCode.INVALID_REQUEST
        return DeleteTopicsResponse(responses=[_failed(state, RequestRejected(code)) for state in states])
    responses, wanted = _validate(states)
    rights = _Rights(context.access, context.access.allows_on_cluster(Operation.DELETE, audited=False))
    for found in await _find(wanted, rights, services):
        responses.append(await _delete(found, context, services) if isinstance(found, _Found) else found)
    return DeleteTopicsResponse(responses=responses)


def _validate(states: list[DeleteTopicState]) -> tuple[list[DeletableTopicResult], list[DeleteTopicState]]:
    """Return the results of invalid entries, and the entries to look up."""
    times = Counter(states)
    refused: list[DeletableTopicResult] = []
    wanted: list[DeleteTopicState] = []
    for state, count in times.items():
        if state.name is None and state.topic_id == ZERO_UUID:
            neither = RequestRejected(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
            refused += [_failed(state, neither)] * count
        elif state.name is not None and state.topic_id != ZERO_UUID:
            both = RequestRejected(
                ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id."
            )
            refused += [_failed(state, both)] * count
        elif count > 1:
            what = "id" if state.name is None else "name"
            refused.append(
                _failed(state, RequestRejected(ErrorCode.INVALID_REQUEST, f"Duplicate topic {what}."))
            )
        else:
            wanted.append(state)
    return refused, wanted


async def _find(
    wanted: list[DeleteTopicState], rights: _Rights, services: Services
) -> list[_Found | DeletableTopicResult]:
    """Look up all topics; one that is named both by name and by id is refused, in a single result."""
    lookups = [await _look_up(state, rights, services) for state in wanted]
    times = Counter(one.topic.topic_id for one in lookups if isinstance(one, _Found))
    found: list[_Found | DeletableTopicResult] = []
    for one in lookups:
        if isinstance(one, DeletableTopicResult) or times[one.topic.topic_id] == 1:
            found.append(one)
        elif one.requested.name is not None:
            found.append(_named_twice(one.topic))
    return found


async def _look_up(
    state: DeleteTopicState, rights: _Rights, services: Services
) -> _Found | DeletableTopicResult:
    try:
        if state.name is None:
            topic, missing = await services.topics.fresh_id(state.topic_id), _no_id()
        elif not rights.describe(state.name):
            return _failed(state, _denied())
        elif is_valid_name(state.name):
            topic, missing = await services.topics.fresh(state.name), _no_name()
        else:
            topic, missing = None, _no_name()
    except EXPECTED as error:
        return _failed(state, error)
    if topic is None:
        return _failed(state, missing)
    if rights.delete(topic.name):
        return _Found(state, topic)
    named = state.name is not None or rights.describe(topic.name)
    return _failed(DeleteTopicState(name=topic.name if named else None, topic_id=state.topic_id), _denied())


async def _delete(found: _Found, context: Context, services: Services) -> DeletableTopicResult:
    topic = found.topic
    try:
        charge_mutations(context, len(topic.streams), strict_from=_QUOTA_STRICT_FROM)
        await services.topic_admin.delete(topic.name, topic.topic_id)
    except TopicUnknown:  # another client has deleted it in the meantime
        return _failed(found.requested, _no_id() if found.requested.name is None else _no_name())
    except EXPECTED as error:
        return _failed(found.requested, error)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id)


def _named_twice(topic: Topic) -> DeletableTopicResult:
    state = DeleteTopicState(name=topic.name, topic_id=topic.topic_id)
    why = "The provided topic name maps to an ID that was already supplied."
    return _failed(state, RequestRejected(ErrorCode.INVALID_REQUEST, why))


def _denied() -> RequestRejected:
    return denied(ResourceType.TOPIC)


def _no_name() -> RequestRejected:
    return RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_NAME)


def _no_id() -> RequestRejected:
    return RequestRejected(ErrorCode.UNKNOWN_TOPIC_ID, _NO_ID)


def _failed(state: DeleteTopicState, error: BaseException) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=state.name, topic_id=state.topic_id, error_code=code_of(error), error_message=message_of(error)
    )


def _changes(request: DeleteTopicsRequest) -> Iterator[str]:
    for name in request.topic_names:
        yield f"TOPIC:{name}"
    for state in request.topics:
        yield (
            f"TOPIC:{state.name}"
            if state.name is not None
            else f"TOPIC id {UUID(bytes=bytes(state.topic_id))}"
        )


API: Final = Served(DELETE_TOPICS, versions=(1, 6), handle=handle, changes=_changes)
