"""Transcripts of a broker's responses to a script of requests, in a form that is comparable between brokers.

A `ResponseRecorder` sends requests to one broker and records every response. Values specific to a broker
(ids, ports, times) become names in order of appearance; everything else is kept, including record bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final, TypeVar

from dray.wire import ZERO_UUID, Message
from dray.wire.apis.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from dray.wire.apis.init_producer_id import InitProducerIdResponse
from dray.wire.apis.list_offsets import ListOffsetsResponse
from tests.oracle.request_client import BY_REQUEST, Closed, RequestClient, Silent, Unanswered
from tests.oracle.requests import LATEST, Named, idempotent, offsets

M = TypeVar("M", bound=Message)
Facts = dict[str, Any]
UNANSWERED: Final[dict[type[Unanswered], Facts]] = {
    Closed: {"": "the connection is closed"},
    Silent: {"": "nothing comes"},
}


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """A response: the request, and the fields of the response by path."""

    api: str
    version: int
    label: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A field that two brokers answered differently."""

    scenario: str
    step: RecordedResponse
    path: str
    kafka: Any
    dray: Any

    def __str__(self) -> str:
        step = self.step
        return (
            f"{self.scenario} / {step.api} v{step.version} {step.label!r}: {self.path}: "
            f"Kafka {self.kafka!r}, Dray {self.dray!r}"
        )


@dataclass(slots=True)
class ResponseRecorder:
    """Records the responses of one broker. `suffix` makes the topics of this run unique."""

    client: RequestClient
    suffix: str
    responses: list[RecordedResponse] = field(default_factory=list)
    _names: dict[Any, str] = field(default_factory=dict)

    def send(
        self,
        request: Message,
        response_type: type[M],
        version: int,
        label: str = "",
        *,
        client_id: str = "oracle",
        ordered: Callable[[M], M] | None = None,
    ) -> M | None:
        """Send a request and record the response; returns None if there was none.

        `ordered` sorts lists of the response that have no order in Kafka.
        """
        api = BY_REQUEST[type(request)]
        try:
            body = self.client.send(request, response_type, version, client_id=client_id)
        except Unanswered as nothing:
            self.responses.append(RecordedResponse(api.name, version, label, UNANSWERED[type(nothing)]))
            return None
        if ordered is not None:
            body = ordered(body)
        facts = dict(flattened(body, "", self._own))
        self.responses.append(RecordedResponse(api.name, version, label, facts))
        return body

    def send_frame(self, frame: bytes, label: str) -> None:
        """Send any frame and record the response as bytes."""
        try:
            facts: Facts = {"frame": self.client.exchange(frame).hex()}
        except Unanswered as nothing:
            facts = UNANSWERED[type(nothing)]
        self.responses.append(RecordedResponse("frame", 0, label, facts))

    def note(self, label: str, **facts: Any) -> None:
        """Record facts derived from responses that are not comparable themselves."""
        self.responses.append(RecordedResponse("note", 0, label, facts))

    def named(self, name: str) -> str:
        return f"{name}-{self.suffix}"

    def topic(self, name: str, partitions: int = 1, **configs: str) -> Named:
        """Create a topic and wait until its partitions respond, without recording it.

        It has no retention by default: many scenarios write records with old timestamps.
        """
        wanted = CreatableTopic(
            name=self.named(name),
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in ({"retention_ms": "-1"} | configs).items()
            ],
        )
        made = self.client.send(CreateTopicsRequest(topics=[wanted]), CreateTopicsResponse)
        assert made.topics[0].error_code == 0, made
        for partition in range(partitions):
            self._await_leader(self.named(name), partition)
        return Named(self.named(name), made.topics[0].topic_id)

    def await_producer_ids(self) -> None:
        """Wait until Apache Kafka has allocated its first block of producer ids."""
        while self.client.send(idempotent(), InitProducerIdResponse).error_code:
            pass

    def _await_leader(self, name: str, partition: int) -> None:
        """Wait for the topic to be propagated to Apache Kafka's brokers."""
        request = offsets(name, LATEST, partition=partition)
        while self.client.send(request, ListOffsetsResponse).topics[0].partitions[0].error_code:
            pass

    def _own(self, path: str, value: Any) -> Any:
        field_name = path.rpartition(".")[2]
        if field_name in _OWN_IDS and value not in (0, -1, ZERO_UUID.hex()):
            return self._names.setdefault(value, f"{field_name} {len(self._names)}")
        if field_name in _OWN_TEXTS and value:
            return f"some {field_name}"
        if field_name in _OWN_TIMES and value > 0:
            return "a time"
        if isinstance(value, str):
            return value.replace(f"-{self.suffix}", "")
        return value


_OWN_IDS: Final = {"topic_id", "producer_id", "session_id"}
_OWN_TEXTS: Final = {
    "cluster_id",
    "port",
    "log_dir",
    "total_bytes",
    "usable_bytes",
    "finalized_features_epoch",
}
_OWN_TIMES: Final = {"log_append_time_ms"}


def flattened(value: Any, path: str, own: Callable[[str, Any], Any]) -> Iterator[tuple[str, Any]]:
    """Yield every leaf with its path; a list also yields its length.

    List items are identified by their key if they have one, since clients do not rely on their order.
    """
    if isinstance(value, Message):
        for name in value.__struct_fields__:
            yield from flattened(getattr(value, name), f"{path}.{name}" if path else name, own)
    elif isinstance(value, list) and not _is_records(value):
        yield f"{path}.length", len(value)
        for key, item in zip(_keys(value, own), value, strict=True):
            yield from flattened(item, f"{path}[{key}]", own)
    else:
        yield path, own(path, _plain(value))


def _keys(items: list[Any], own: Callable[[str, Any], Any]) -> Sequence[Any]:
    """Identity of the items: their key, or else their position."""
    for name in _KEYS:
        if items and hasattr(items[0], name):
            keys = [own(name, _plain(getattr(item, name))) for item in items]
            if len(set(keys)) == len(keys):
                return keys
    return range(len(items))


_KEYS: Final = (
    "api_key",
    "name",
    "topic",
    "topic_id",
    "resource_name",
    "index",
    "partition_index",
    "partition",
    "partition_id",
    "node_id",
    "broker_id",
    "entity_type",
    "key",
)


def _is_records(value: list[Any]) -> bool:
    return bool(value) and isinstance(value[0], bytes | bytearray | memoryview)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return b"".join(value).hex()
    return bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else value


def contradictions(
    scenario: str, kafka: list[RecordedResponse], dray: list[RecordedResponse]
) -> Iterator[Contradiction]:
    """Compare two transcripts of one script."""
    for theirs, ours in zip_longest(kafka, dray):
        assert theirs is not None
        assert ours is not None
        assert (theirs.api, theirs.version, theirs.label) == (ours.api, ours.version, ours.label)
        for path in sorted(theirs.facts.keys() | ours.facts.keys()):
            values = theirs.facts.get(path, "absent"), ours.facts.get(path, "absent")
            if values[0] != values[1]:
                yield Contradiction(scenario, theirs, path, *values)
