"""Minimal group members, each with a connection of its own, as real ones have."""

import asyncio
from dataclasses import dataclass
from typing import TypeVar
from uuid import uuid4

from dray.wire import Api, ErrorCode, Message, RequestHeader, decode_response, encode_request
from dray.wire.apis.consumer_group_heartbeat import (
    CONSUMER_GROUP_HEARTBEAT,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from dray.wire.apis.heartbeat import HEARTBEAT, HeartbeatRequest, HeartbeatResponse
from dray.wire.apis.join_group import (
    JOIN_GROUP,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from dray.wire.apis.sync_group import (
    SYNC_GROUP,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

M = TypeVar("M", bound=Message)
_SESSION_MS = 45_000
_REBALANCE_MS = 300_000
_PAUSE_S = 0.05
_AGAIN = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class Wire:
    """One connection; one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sent = 0

    @classmethod
    async def open(cls, address: tuple[str, int]) -> "Wire":
        return cls(*await asyncio.open_connection(*address))

    async def ask(self, api: Api, request: Message, answer: type[M]) -> M:
        self._sent += 1
        header = RequestHeader(api.key, api.highest, self._sent, "bench")
        self._writer.writelines(map(bytes, encode_request(api, header, request)))
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        _, body = decode_response(api, api.highest, await self._reader.readexactly(size))
        assert isinstance(body, answer)
        return body

    def close(self) -> None:
        self._writer.close()


@dataclass
class ClassicMember:
    """A member of the classic protocol; as leader it distributes assignments of a given size."""

    wire: Wire
    group_id: str
    assignment: bytes
    member_id: str = ""
    generation: int = -1

    async def enter(self) -> None:
        """Join and sync until the member is stable."""
        entered = await self._try_to_enter()
        while not entered:
            await asyncio.sleep(_PAUSE_S)
            entered = await self._try_to_enter()

    async def heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=self.group_id, generation_id=self.generation, member_id=self.member_id
        )
        return ErrorCode((await self.wire.ask(HEARTBEAT, request, HeartbeatResponse)).error_code)

    async def _try_to_enter(self) -> bool:
        joined = await self._join()
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
            joined = await self._join()
        if joined.error_code in _AGAIN:
            return False
        assert joined.error_code == ErrorCode.NONE, ErrorCode(joined.error_code)
        self.member_id, self.generation = joined.member_id, joined.generation_id
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(member_id=member.member_id, assignment=self.assignment)
                for member in joined.members
            ],
        )
        synced = await self.wire.ask(SYNC_GROUP, request, SyncGroupResponse)
        return synced.error_code == ErrorCode.NONE

    async def _join(self) -> JoinGroupResponse:
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=_SESSION_MS,
            rebalance_timeout_ms=_REBALANCE_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=_SUBSCRIPTION)],
        )
        return await self.wire.ask(JOIN_GROUP, request, JoinGroupResponse)


_SUBSCRIPTION = bytes.fromhex("0003 00000001 0005") + b"bench" + b"\xff" * 4 + bytes(4) + b"\xff" * 6
"""Subscription of a Java consumer of one topic, version 3."""


class ConsumerMember:
    """A member of the consumer protocol that adopts every assignment at once."""

    def __init__(self, wire: Wire, group_id: str, topic: str) -> None:
        self.wire = wire
        self.group_id = group_id
        self.member_id = str(uuid4())
        self.epoch = 0
        self.partitions = 0
        self._topic = topic
        self._owned: list[TopicPartitions] = []
        self._news = True

    async def enter(self) -> None:
        code = await self.heartbeat()
        while code in _AGAIN:
            await asyncio.sleep(_PAUSE_S)
            code = await self.heartbeat()

    async def heartbeat(self) -> ErrorCode:
        joins = self.epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=_REBALANCE_MS if joins else -1,
            subscribed_topic_names=[self._topic] if joins else None,
            topic_partitions=self._owned if joins or self._news else None,
        )
        self._news = False
        answer = await self.wire.ask(CONSUMER_GROUP_HEARTBEAT, request, ConsumerGroupHeartbeatResponse)
        code = ErrorCode(answer.error_code)
        if code == ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self._owned, self._news = answer.assignment.topic_partitions, True
                self.partitions = sum(len(one.partitions) for one in self._owned)
        return code
