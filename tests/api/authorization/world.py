"""The world that the users of the matrix act in: a broker with ACLs, topics and groups.

    topics and groups    exact, pre-1, pre-denied, other
    consumer groups      exact-consumer, pre-consumer, other-consumer (protocol of KIP-848, with a member)
    missing              exact-missing, pre-missing, other-missing

`World` is the same for Apache Kafka and for Dray; a `Backend` exchanges the frames.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar

from dray.api.dispatch import SERVED
from dray.wire import ErrorCode, Message, decode_response
from dray.wire.apis.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from dray.wire.apis.create_acls import CreateAclsRequest, CreateAclsResponse
from dray.wire.apis.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from dray.wire.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from dray.wire.apis.list_offsets import ListOffsetsResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from dray.wire.apis.produce import ProduceResponse
from tests.api.authorization.rendering import Answer, rendered
from tests.api.authorization.users import ADMIN, USERS
from tests.oracle.batches import batch
from tests.oracle.request_client import BY_REQUEST, frame_of
from tests.oracle.requests import LATEST, Named, offsets, produce

M = TypeVar("M", bound=Message)
PRESENT: Final = ("exact", "pre-1", "pre-denied", "other")
MISSING: Final = ("exact-missing", "pre-missing", "other-missing")
CONSUMERS: Final = ("exact-consumer", "pre-consumer", "other-consumer")
UNKNOWN_ID: Final = b"\x01" * 16
MEMBER: Final = "AAAAAAAAAAAAAAAAAAAAAA"
CLOSED: Final[Answer] = ("the connection is closed",)
SILENCE: Final[Answer] = ("no response, the connection stays open",)
_COMMIT_VERSION: Final = 9
_LOOKUP_VERSION: Final = 12
_ATTEMPTS: Final = 600
_PAUSES: Final = 4


class Backend(Protocol):
    """A broker that users send requests to."""

    async def exchange(self, user: str, frame: bytes) -> bytes | None:
        """Return the response; None if the connection was closed instead."""
        ...

    async def send_silently(self, user: str, frame: bytes) -> bool:
        """Send a request without a response; return whether the connection stays open."""
        ...

    async def pause(self) -> None:
        """Wait a little for the broker to learn of changes."""
        ...


class World:
    """A broker with the topics, groups and ACLs of the matrix."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {UNKNOWN_ID: "no topic"}

    async def start(self) -> None:
        """Create everything."""
        await self._create_acls()
        await self.restore_topics()
        await self._await_coordinators()
        await self.restore_offsets()

    async def answer(self, user: str, request: Message, version: int) -> Answer:
        """Return what a user gets for a request, as text."""
        frame = frame_of(request, version)
        if getattr(request, "acks", -1) == 0:
            return SILENCE if await self._backend.send_silently(user, frame) else CLOSED
        received = await self._backend.exchange(user, frame)
        if received is None:
            return CLOSED
        _, response = decode_response(BY_REQUEST[type(request)], version, received)
        return self.rendered(response)

    def rendered(self, response: Message) -> Answer:
        return rendered(response, self._name_of)

    def named(self, name: str) -> Named:
        return Named(name, self.topic_id(name))

    def topic_id(self, name: str) -> bytes:
        return self._ids.get(name, UNKNOWN_ID)

    async def ask(
        self, request: Message, response_type: type[M], version: int | None = None, user: str = ADMIN
    ) -> M:
        """Send a request, by default of the super user."""
        api = BY_REQUEST[type(request)]
        version = SERVED[api.key].highest if version is None else version
        received = await self._backend.exchange(user, frame_of(request, version))
        assert received is not None, request
        _, response = decode_response(api, version, received)
        assert isinstance(response, response_type)
        return response

    async def restore_topics(self) -> None:
        """Create and delete topics until there are exactly those of the world.

        First it waits a little: Apache Kafka's broker learns of changes after it has answered.
        """
        for _ in range(_PAUSES):
            await self._backend.pause()
        asked = [*PRESENT, *MISSING, *CREATED]
        found = await self._topics(asked)
        for name in asked:
            if name in PRESENT and name not in found:
                await self._create(name)
            elif name not in PRESENT and name in found:
                await self.remove_topic(name)

    async def restore_offsets(self) -> None:
        """Commit offsets of all groups on the topics that all of them read."""
        for group in PRESENT:
            topics = [
                OffsetCommitRequestTopic(
                    name=name,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=0, committed_offset=5, committed_metadata=""
                        )
                    ],
                )
                for name in PRESENT
            ]
            request = OffsetCommitRequest(group_id=group, topics=topics)
            response = await self.ask(request, OffsetCommitResponse, _COMMIT_VERSION)
            codes = {part.error_code for topic in response.topics for part in topic.partitions}
            assert codes == {0}, response

    async def restore_consumers(self) -> None:
        """Have a member in each consumer group; that of `pre-consumer` reads allowed topics only."""
        for group in CONSUMERS:
            names = ["exact", "pre-1"] if group == "pre-consumer" else ["exact", "other"]
            await self.consumer_heartbeat(group, MEMBER, subscribed_topic_names=names)

    async def consumer_heartbeat(
        self, group: str, member: str, epoch: int = 0, user: str = ADMIN, **fields: Any
    ) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if epoch == 0 else -1,
            topic_partitions=[] if epoch == 0 else None,
            **fields,
        )
        return await self.ask(request, ConsumerGroupHeartbeatResponse, user=user)

    async def remove_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=30_000)
        await self.ask(request, DeleteTopicsResponse)
        for _ in range(_ATTEMPTS):
            if name not in await self._topics([name]):
                return
            await self._backend.pause()
        raise AssertionError(f"{name} is still there")

    async def pause(self) -> None:
        await self._backend.pause()

    def _name_of(self, topic_id: bytes) -> str:
        return self._names.get(topic_id, "a new topic")

    async def _topics(self, names: Sequence[str]) -> set[str]:
        wanted = [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        response = await self.ask(request, MetadataResponse, _LOOKUP_VERSION)
        found = {str(one.name): one.topic_id for one in response.topics if not one.error_code}
        for name, topic_id in found.items():
            self._ids[name] = topic_id
            if name in PRESENT:
                self._names[topic_id] = name
        return set(found)

    async def _create(self, name: str) -> None:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        await self.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), CreateTopicsResponse)
        for _ in range(_ATTEMPTS):
            response = await self.ask(offsets(name, LATEST), ListOffsetsResponse)
            if name in await self._topics([name]) and not response.topics[0].partitions[0].error_code:
                break
            await self._backend.pause()
        records = batch(b"1", b"2", b"3")
        written = await self.ask(produce(self.named(name), records), ProduceResponse)
        assert not written.responses[0].partition_responses[0].error_code, written

    async def _create_acls(self) -> None:
        acls = [acl for user in USERS for acl in user.acls()]
        response = await self.ask(CreateAclsRequest(creations=acls), CreateAclsResponse)
        assert {one.error_code for one in response.results} == {0}
        await self._backend.pause()

    async def _await_coordinators(self) -> None:
        """Wait until Apache Kafka has created and loaded the topics of its coordinators."""
        for key_type in (0, 1):
            for _ in range(_ATTEMPTS):
                request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["exact"])
                found = await self.ask(request, FindCoordinatorResponse)
                if found.coordinators[0].error_code in _FOUND[key_type]:
                    break
                await self._backend.pause()
        for group in (*PRESENT, *CONSUMERS):
            for _ in range(_ATTEMPTS):
                if (await self.consumer_heartbeat(group, MEMBER, -1)).error_code not in _LOADING:
                    break
                await self._backend.pause()


CREATED: Final = ("exact-created", "pre-created", "other-created")
"""Topics that a request may have created."""
_FOUND: Final = (
    (ErrorCode.NONE,),
    (ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ErrorCode.INVALID_REQUEST),
)
_LOADING: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
