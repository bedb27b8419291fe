"""One watch stream of etcd: the changes of a domain, in order, until it breaks.

A stream that has been silent for a while is asked for its progress. One that does not respond is broken,
although its connection may be alive: the member may be paused or cut off. A response also advances the
position of a quiet domain, so that it does not lag behind etcd's history.

The stream begins *at* its position and drops what it has seen, because etcd reports no progress of a watch
that begins in the future. Events of one revision are never split over two responses. The header of a response
with events may be ahead of them, so the position is that of the last event.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import grpc.aio

from dray.ids import Domain
from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import WATCH, Connection
from dray.meta.etcd.endpoints import Endpoints, Stream
from dray.meta.etcd.errors import Compacted, TokenRefused, Unanswered, refusal
from dray.meta.etcd.keys import Layout
from dray.meta.etcd.settings import EtcdMetaSettings
from dray.meta.port import ABSENT, MetaError, Unavailable, Version
from dray.meta.watching import LoggedCommit
from dray.runtime import Clock, Entropy, Tasks

Responses = Stream[api.WatchRequest, api.WatchResponse]

_PROGRESS: Final = api.WatchRequest(progress_request=api.WatchProgressRequest())


@dataclass(frozen=True, slots=True)
class StreamContext:
    """What all streams of a client share."""

    endpoints: Endpoints
    layout: Layout
    settings: EtcdMetaSettings
    clock: Clock
    entropy: Entropy
    tasks: Tasks


class WatchStream:
    """An open stream; `position` is the revision up to which every change has been returned."""

    def __init__(
        self,
        context: StreamContext,
        domain: Domain,
        connection: Connection,
        responses: Responses,
        position: int,
    ) -> None:
        self._context = context
        self._domain = domain
        self._connection = connection
        self._responses = responses
        self._received = 0
        self._writing = asyncio.Lock()
        self.position = position

    async def begin(self) -> None:
        low, high = self._context.layout.domain(self._domain)
        create = api.WatchCreateRequest(key=low, range_end=high, start_revision=max(self.position, 1))
        try:
            await self._write(api.WatchRequest(create_request=create))
        except grpc.aio.AioRpcError as error:
            raise self._context.endpoints.failure(self._connection, error) from error
        except asyncio.CancelledError:
            self._context.endpoints.require_cancelled(self._connection)
            raise

    async def read(self) -> list[LoggedCommit]:
        """Return the next changes; none if only the position has advanced."""
        try:
            response = await self._responses.read()
        except grpc.aio.AioRpcError as error:
            raise self._context.endpoints.failure(self._connection, error) from error
        except asyncio.CancelledError:
            self._context.endpoints.require_cancelled(self._connection)
            raise
        if not isinstance(response, api.WatchResponse):
            raise Unanswered("the watch was ended by the server")
        self._received += 1
        if response.canceled:
            raise self._canceled(response)
        if not response.events:
            if not response.created:
                self.position = max(self.position, response.header.revision)
            return []
        commits = [commit for commit in self._commits(response) if commit.revision > self.position]
        self.position = max(self.position, response.events[-1].kv.mod_revision)
        return commits

    async def ask_for_progress(self) -> None:
        """Have etcd report how far this stream is; a broken one is noticed by `read`."""
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await self._write(_PROGRESS)

    async def _write(self, request: api.WatchRequest) -> None:
        async with self._writing:  # a stream takes one at a time
            await self._responses.write(request)

    async def probe(self, every_s: float) -> None:
        """Ask a silent stream for its progress, and cancel one that does not respond."""
        context, seen, asked_at = self._context, self._received, None
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while True:
                await context.clock.sleep(every_s)
                now = context.clock.monotonic()
                if self._received != seen:
                    seen, asked_at = self._received, None
                    continue
                asked_at = asked_at or now
                if now - asked_at >= context.settings.attempt_ms / 1000:
                    break
                await self._write(_PROGRESS)
            context.endpoints.leave(self._connection)
            self._responses.cancel()

    def _commits(self, response: api.WatchResponse) -> Iterator[LoggedCommit]:
        for revision, events in groupby(response.events, lambda event: event.kv.mod_revision):
            changes = tuple(self._change(event) for event in events)
            yield LoggedCommit(revision, self._domain, changes)

    def _change(self, event: api.Event) -> tuple[str, Version]:
        deleted = event.type == api.Event.DELETE
        version = ABSENT if deleted else Version(event.kv.mod_revision)
        return self._context.layout.key(self._domain, event.kv.key), version

    def _canceled(self, response: api.WatchResponse) -> MetaError:
        endpoints, reason = self._context.endpoints, response.cancel_reason
        if response.compact_revision:
            return Compacted("the position of the watch is older than etcd's history")
        refused = refusal(reason, endpoints.place(self._connection))
        if isinstance(refused, TokenRefused):
            endpoints.forget_token()
            return Unavailable(str(refused))
        return refused or Unanswered(f"the watch was canceled by the server: {reason}")


@asynccontextmanager
async def changes_after(
    context: StreamContext, domain: Domain, position: int, *, probe_ms: float
) -> AsyncIterator[WatchStream]:
    """Open a stream of the changes of a domain after a position."""
    connection, responses = await context.endpoints.open(WATCH)
    stream = WatchStream(context, domain, connection, responses, position)
    probing = context.tasks.start(stream.probe(probe_ms / 1000), name=f"probe the watch of {domain}")
    try:
        await stream.begin()
        yield stream
    finally:
        probing.cancel()
        responses.cancel()
