"""DeleteTopics (key 20). Versions 1 to 6.

A topic is gone when this is answered: its record is deleted, in the same commit its streams are written down
as to be removed, and no broker can append to them any more, whether or not it has heard of it. Removing what
is in them is left to the sweep (`Topics.finish_deletions`), so the answer does not wait for big topics, and
nothing is forgotten when the process dies.

Deviations: none, but that the answers keep the order of the request, where Kafka shuffles them.
"""

from collections import Counter
from typing import NamedTuple

from dray.api.errors import EXPECTED, Refused, code_of, message_of
from dray.api.exchange import Context
from dray.api.services import Services
from dray.cluster.topic_names import is_valid_name
from dray.cluster.topics import Topic, TopicUnknown
from dray.wire import ZERO_UUID, ErrorCode
from dray.wire.apis.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

_DISABLED_FROM_VERSION = 3
_NO_NAME = "This server does not host this topic-partition."
_NO_ID = "This server does not host this topic ID."


class _Found(NamedTuple):
    """What a client asked for, and the topic it is."""

    asked: DeleteTopicState
    topic: Topic


async def handle(request: DeleteTopicsRequest, context: Context, services: Services) -> DeleteTopicsResponse:
    states = [*(DeleteTopicState(name=name) for name in request.topic_names), *request.topics]
    if not services.settings.delete_topics:
        disabled = context.version >= _DISABLED_FROM_VERSION
        code = ErrorCode.TOPIC_DELETION_DISABLED if disabled else ErrorCode.INVALID_REQUEST
        return DeleteTopicsResponse(responses=[_failed(state, Refused(code)) for state in states])
    responses, wanted = _sort_out(states)
    for found in await _find(wanted, services):
        responses.append(found if isinstance(found, DeletableTopicResult) else await _delete(found, services))
    return DeleteTopicsResponse(responses=responses)


def _sort_out(states: list[DeleteTopicState]) -> tuple[list[DeletableTopicResult], list[DeleteTopicState]]:
    """Return what can be refused at once, and what is worth looking for."""
    times = Counter(states)
    refused: list[DeletableTopicResult] = []
    wanted: list[DeleteTopicState] = []
    for state, count in times.items():
        if state.name is None and state.topic_id == ZERO_UUID:
            neither = Refused(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
            refused += [_failed(state, neither)] * count
        elif state.name is not None and state.topic_id != ZERO_UUID:
            both = Refused(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
            refused += [_failed(state, both)] * count
        elif count > 1:
            what = "id" if state.name is None else "name"
            refused.append(_failed(state, Refused(ErrorCode.INVALID_REQUEST, f"Duplicate topic {what}.")))
        else:
            wanted.append(state)
    return refused, wanted


async def _find(wanted: list[DeleteTopicState], services: Services) -> list[_Found | DeletableTopicResult]:
    """Look for all; a topic that was asked for both by name and by id is refused, and told of once."""
    looked = [await _look(state, services) for state in wanted]
    times = Counter(one.topic.topic_id for one in looked if isinstance(one, _Found))
    found: list[_Found | DeletableTopicResult] = []
    for one in looked:
        if isinstance(one, DeletableTopicResult) or times[one.topic.topic_id] == 1:
            found.append(one)
        elif one.asked.name is not None:
            found.append(_named_twice(one.topic))
    return found


async def _look(state: DeleteTopicState, services: Services) -> _Found | DeletableTopicResult:
    try:
        if state.name is None:
            topic, missing = await services.topics.fresh_id(state.topic_id), _no_id()
        elif is_valid_name(state.name):
            topic, missing = await services.topics.fresh(state.name), _no_name()
        else:
            topic, missing = None, _no_name()
    except EXPECTED as error:
        return _failed(state, error)
    return _failed(state, missing) if topic is None else _Found(state, topic)


async def _delete(found: _Found, services: Services) -> DeletableTopicResult:
    topic = found.topic
    try:
        await services.topics.delete(topic.name, topic.topic_id)
    except TopicUnknown:  # somebody else was quicker
        return _failed(found.asked, _no_id() if found.asked.name is None else _no_name())
    except EXPECTED as error:
        return _failed(found.asked, error)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id)


def _named_twice(topic: Topic) -> DeletableTopicResult:
    state = DeleteTopicState(name=topic.name, topic_id=topic.topic_id)
    why = "The provided topic name maps to an ID that was already supplied."
    return _failed(state, Refused(ErrorCode.INVALID_REQUEST, why))


def _no_name() -> Refused:
    return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_NAME)


def _no_id() -> Refused:
    return Refused(ErrorCode.UNKNOWN_TOPIC_ID, _NO_ID)


def _failed(state: DeleteTopicState, error: BaseException) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=state.name, topic_id=state.topic_id, error_code=code_of(error), error_message=message_of(error)
    )
