"""Client of Oxia's protocol: one attempt of each request, at the leader of its shard.

Every request is validated before it is sent. Oxia appends a request to its log before it applies it, and a
malformed sequence put then fails at every replay: the server never starts again. So sequence puts, which we
do not need, and range deletions, whose notifications have no keys, are refused here.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from google.protobuf.message import Message

from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.assignments import Assignments
from dray.meta.oxia.channels import Channels
from dray.meta.oxia.errors import SessionNotFound
from dray.meta.oxia.settings import OxiaMetaSettings
from dray.meta.port import StoreUnusable, Unavailable
from dray.runtime import Clock, Tasks

NO_VERSION = -1
"""The version of a key that does not exist."""


class Stored(msgspec.Struct, frozen=True):
    """A key as it is stored; without `value` the key does not exist."""

    key: str
    version: int = NO_VERSION
    value: bytes | None = None


class OxiaClient:
    """Requests to the shards of one namespace."""

    def __init__(self, settings: OxiaMetaSettings, clock: Clock) -> None:
        self._timeout_s = settings.request_ms / 1000
        self._channels = Channels(settings.access, clock)
        self._assignments = Assignments(
            self._channels, settings.endpoints, settings.namespace, self._timeout_s, clock
        )

    def start(self, tasks: Tasks) -> None:
        self._assignments.start(tasks)

    async def close(self) -> None:
        self._assignments.stop()
        await self._channels.close()

    async def shard_of(self, partition_key: str) -> int:
        return (await self._assignments.current()).shard_of(partition_key)

    async def shards(self) -> list[int]:
        return list((await self._assignments.current()).leaders)

    async def write(self, shard: int, request: api.WriteRequest) -> api.WriteResponse:
        """Execute the operations in order, each subject to its own condition.

        After `Unavailable` the request may have been executed, or may still be.
        """
        _require_valid(request)
        request.shard = shard
        response: api.WriteResponse = await self._call("Write", shard, request)
        if len(response.puts) != len(request.puts) or len(response.deletes) != len(request.deletes):
            raise StoreUnusable(f"Oxia answered {len(response.puts)} of {len(request.puts)} puts")
        return response

    async def read(self, shard: int, keys: Sequence[str]) -> list[Stored]:
        """Read keys one after the other, in this order; not a snapshot."""
        gets = [api.GetRequest(key=key, include_value=True) for key in keys]
        request = api.ReadRequest(shard=shard, gets=gets)
        found: list[api.GetResponse] = []
        async with self._stream("Read", shard, request, self._timeout_s) as responses:
            async for response in responses:
                found.extend(response.gets)
        if len(found) != len(keys):
            raise Unavailable(f"Oxia answered {len(found)} of {len(keys)} gets")
        return [_stored(key, got) for key, got in zip(keys, found, strict=True)]

    async def scan(self, shard: int, start: str, end: str, take: Callable[[Stored], bool]) -> None:
        """Pass a snapshot of the range `start <= key < end` to `take`, until it returns false."""
        request = api.RangeScanRequest(shard=shard, start_inclusive=start, end_exclusive=end)
        async with self._stream("RangeScan", shard, request, self._timeout_s) as responses:
            async for response in responses:
                for got in response.records:
                    if not take(_stored(got.key, got)):
                        return

    async def scan_pages(
        self, shard: int, start: str, end: str, timeout_s: float
    ) -> AsyncGenerator[list[Stored], None]:
        """Yield a snapshot of the range `start <= key < end`, as the server cuts it into pages."""
        request = api.RangeScanRequest(shard=shard, start_inclusive=start, end_exclusive=end)
        async with self._stream("RangeScan", shard, request, timeout_s) as responses:
            async for response in responses:
                yield [_stored(got.key, got) for got in response.records]

    async def list(self, shard: int, start: str, end: str) -> list[str]:
        request = api.ListRequest(shard=shard, start_inclusive=start, end_exclusive=end)
        async with self._stream("List", shard, request, self._timeout_s) as responses:
            return [key async for response in responses for key in response.keys]

    @asynccontextmanager
    async def notifications(
        self, shard: int, after: int | None, timeout_s: float | None = None
    ) -> AsyncIterator[AsyncIterator[api.NotificationBatch]]:
        """Yield the batches after an offset; without one, an empty batch at the current offset first."""
        request = api.NotificationsRequest(shard=shard, start_offset_exclusive=after)
        async with self._stream("GetNotifications", shard, request, timeout_s or self._timeout_s) as batches:
            yield batches

    async def create_session(self, shard: int, ttl_ms: int) -> int:
        request = api.CreateSessionRequest(shard=shard, session_timeout_ms=ttl_ms, client_identity="dray")
        response: api.CreateSessionResponse = await self._call("CreateSession", shard, request)
        return response.session_id

    async def keep_alive(self, shard: int, session: int, timeout_s: float) -> bool:
        """Return false if the server no longer has the session."""
        request = api.SessionHeartbeat(shard=shard, session_id=session)
        try:
            await self._call("KeepAlive", shard, request, min(timeout_s, self._timeout_s))
        except SessionNotFound:
            return False
        return True

    async def close_session(self, shard: int, session: int) -> None:
        try:
            await self._call("CloseSession", shard, api.CloseSessionRequest(shard=shard, session_id=session))
        except SessionNotFound:
            return

    async def _call(self, method: str, shard: int, request: Message, timeout_s: float | None = None) -> Any:  # noqa: ANN401 - a message
        address = await self._assignments.leader(shard)
        try:
            return await self._channels.call(method, address, request, timeout_s or self._timeout_s)
        except Unavailable:
            self._assignments.suspect()
            raise

    @asynccontextmanager
    async def _stream(
        self, method: str, shard: int, request: Message, timeout_s: float
    ) -> AsyncIterator[AsyncIterator[Any]]:
        address = await self._assignments.leader(shard)
        try:
            async with self._channels.stream(method, address, request, timeout_s) as responses:
                yield responses
        except Unavailable:
            self._assignments.suspect()
            raise


def _stored(key: str, got: api.GetResponse) -> Stored:
    if got.status != api.OK:
        return Stored(key)
    return Stored(key, got.version.version_id, got.value)


def _require_valid(request: api.WriteRequest) -> None:
    if request.delete_ranges:
        raise ValueError("a range deletion must never be sent")
    for put in request.puts:
        if not put.key or not put.partition_key:
            raise ValueError(f"a put must have a key and a partition key, got {put.key!r}")
        if put.sequence_key_delta:
            raise ValueError(f"a sequence put must never be sent, got one for {put.key!r}")
    for delete in request.deletes:
        if not delete.key:
            raise ValueError("a deletion must have a key")
