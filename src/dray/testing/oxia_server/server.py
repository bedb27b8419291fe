"""The server: shards, the nodes that lead them, and their gRPC service.

A server has one or more nodes with an address each, all in this process; every shard is led by one node,
and the others refuse its requests until the leader is moved. A request is executed in a task of its own, so
that it continues when its caller has gone.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dray.meta.oxia import api_pb2 as api
from dray.runtime import Clock, SystemClock, Tasks
from dray.testing.oxia_server.faults import Faults, NoFaults
from dray.testing.oxia_server.log import EntryLog, read_entries
from dray.testing.oxia_server.node import Node
from dray.testing.oxia_server.order import Sorting
from dray.testing.oxia_server.shard import LogEntry, PoisonedError, Shard

_HASHES: Final = 2**32


@dataclass(frozen=True, slots=True)
class OxiaServerSettings:
    namespace: str = "default"
    shards: int = 1
    ports: tuple[int, ...] = (0,)
    """One for each node; 0 is any free one."""
    host: str = "127.0.0.1"
    file: Path | None = None
    """Where the log is kept; without it, in memory."""
    certificate: Path | None = None
    key: Path | None = None
    """PEM files with which the nodes speak TLS."""
    client_authorities: Path | None = None
    """Clients must have a certificate of these."""
    sorting: Sorting = "hierarchical"
    session_ttl_min_ms: int = 2_000


class SessionNotFoundError(Exception):
    """The session has ended, or never existed."""


@dataclass(slots=True)
class _Watched:
    """Events to set after each change of something."""

    events: dict[asyncio.Event, None] = field(default_factory=dict)

    def notify(self) -> None:
        for event in self.events:
            event.set()

    @contextmanager
    def woken(self) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self.events[event] = None
        try:
            yield event
        finally:
            del self.events[event]


class OxiaServer:
    """Serves a namespace from `start` until `stop`."""

    def __init__(
        self,
        settings: OxiaServerSettings | None = None,
        *,
        clock: Clock | None = None,
        faults: Faults | None = None,
    ) -> None:
        self.settings = settings or OxiaServerSettings()
        self.faults: Faults = faults or NoFaults()
        self.tasks = Tasks()
        self.tokens: set[str] = set()
        """The valid bearer tokens; if there are none, no token is required."""
        self.poisoned = False
        """Whether a request was received after which Oxia would never start again."""
        self._clock = clock or SystemClock()
        self._shards = [Shard(number, self.settings.sorting) for number in range(self.settings.shards)]
        self._log = EntryLog(None)
        self._leaders: list[int] = []
        self._nodes: list[Node] = []
        self._deadlines: dict[tuple[int, int], float] = {}
        self._changes = [_Watched() for _ in self._shards]
        self._assigned = _Watched()
        self._late: dict[asyncio.Task[None], None] = {}

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(node.address for node in self._nodes)

    async def start(self) -> None:
        if self.settings.file is not None:
            for entry in read_entries(self.settings.file):
                self._shards[entry.shard].execute(entry)
        self._log = EntryLog.open(self.settings.file)
        for shard in self._shards:
            for session in shard.sessions:
                self._restart(shard, session)
        for number, port in enumerate(self.settings.ports):
            node = Node(self, number)
            await node.start(self.settings, port)
            self._nodes.append(node)
        self._leaders = [number % len(self._nodes) for number in range(len(self._shards))]
        self.tasks.start(self._expire_sessions(), name="expire sessions")

    async def stop(self) -> None:
        for node in self._nodes:
            await node.stop()
        await self.tasks.stop()
        self._log.close()

    def start_late(self, execution: Coroutine[Any, Any, None], method: str) -> None:
        """Execute a request apart from its caller."""
        task = self.tasks.start(execution, name=f"late {method}")
        self._late[task] = None
        task.add_done_callback(self._late.pop)

    async def late_requests(self) -> None:
        """Wait until all requests that were received are executed."""
        while self._late:
            await asyncio.wait(self._late)

    def leads(self, node: int, shard: int) -> bool:
        return shard < len(self._leaders) and self._leaders[shard] == node

    def move_leader(self, shard: int, node: int) -> None:
        """Let another node lead a shard; its sessions get their full time to live, as with Oxia."""
        self._leaders[shard] = node
        for session in self._shards[shard].sessions:
            self._restart(self._shards[shard], session)
        self._changes[shard].notify()
        self._assigned.notify()

    def move_leaders(self) -> None:
        """Let the next node lead each shard."""
        for shard, leader in enumerate(self._leaders):
            self.move_leader(shard, (leader + 1) % len(self._nodes))

    def trim_notifications(self) -> None:
        for shard in self._shards:
            shard.trim_notifications()

    def append_without_notifications(self, shard: int) -> None:
        """Append an entry that is not a write, like the checksums that Oxia records."""
        self._append(LogEntry(shard, self._clock.now_ms()))

    def shard(self, number: int) -> Shard:
        return self._shards[number]

    def notification_streams(self, shard: int) -> int:
        """Return how many streams of notifications are open."""
        return len(self._changes[shard].events)

    def write(self, request: api.WriteRequest) -> api.WriteResponse:
        entry = LogEntry(request.shard, self._clock.now_ms(), write=request.SerializeToString())
        try:
            response = self._append(entry)
        except PoisonedError:
            self.poisoned = True
            raise
        assert response is not None
        return response

    def create_session(self, request: api.CreateSessionRequest) -> api.CreateSessionResponse:
        shard = self._shards[request.shard]
        if request.session_timeout_ms < self.settings.session_ttl_min_ms:
            raise ValueError(f"oxia: invalid session timeout: timeoutMs={request.session_timeout_ms}")
        self._append(LogEntry(shard.number, self._clock.now_ms(), session_ttl_ms=request.session_timeout_ms))
        self._restart(shard, shard.offset)
        return api.CreateSessionResponse(session_id=shard.offset)

    def keep_alive(self, request: api.SessionHeartbeat) -> api.KeepAliveResponse:
        if request.session_id not in self._shards[request.shard].sessions:
            raise SessionNotFoundError
        self._restart(self._shards[request.shard], request.session_id)
        return api.KeepAliveResponse()

    def close_session(self, request: api.CloseSessionRequest) -> api.CloseSessionResponse:
        if request.session_id not in self._shards[request.shard].sessions:
            raise SessionNotFoundError
        self.end_session(request.shard, request.session_id)
        return api.CloseSessionResponse()

    async def assignments(self) -> AsyncIterator[api.ShardAssignments]:
        """Yield the assignments, now and after every change."""
        with self._assigned.woken() as woken:
            while True:
                woken.clear()
                yield self._assignments()
                await woken.wait()

    async def notifications(
        self, node: int, request: api.NotificationsRequest
    ) -> AsyncIterator[api.NotificationBatch]:
        """Yield batches until the node does not lead the shard any more."""
        shard = self._shards[request.shard]
        offset = request.start_offset_exclusive
        with self._changes[shard.number].woken() as woken:
            if not request.HasField("start_offset_exclusive"):
                offset = shard.offset
                yield api.NotificationBatch(shard=shard.number, offset=offset)
            while self.leads(node, shard.number):
                woken.clear()
                for batch in shard.notifications(offset):
                    yield batch
                    offset = batch.offset
                await woken.wait()

    def _append(self, entry: LogEntry) -> api.WriteResponse | None:
        self._log.append(entry)
        try:
            return self._shards[entry.shard].execute(entry)
        finally:
            self._changes[entry.shard].notify()

    def _assignments(self) -> api.ShardAssignments:
        namespace = api.NamespaceShards(shard_key_router=api.XXHASH3)
        count = len(self._shards)
        for number in range(count):
            namespace.assignments.add(
                shard=number,
                leader=self._nodes[self._leaders[number]].address,
                hash_range=api.HashRange(
                    min_inclusive=number * _HASHES // count, max_inclusive=(number + 1) * _HASHES // count - 1
                ),
            )
        return api.ShardAssignments(namespaces={self.settings.namespace: namespace})

    def _restart(self, shard: Shard, session: int) -> None:
        ttl_s = shard.sessions[session] / 1000
        self._deadlines[shard.number, session] = self._clock.monotonic() + ttl_s

    def end_session(self, shard: int, session: int) -> None:
        """End a session now, with its ephemeral keys."""
        self._deadlines.pop((shard, session), None)
        self._append(LogEntry(shard, self._clock.now_ms(), ended_sessions=(session,)))

    async def _expire_sessions(self) -> None:
        while True:
            await self._clock.sleep(0.01)
            now = self._clock.monotonic()
            for (shard, session), deadline in list(self._deadlines.items()):
                if deadline <= now:
                    self.end_session(shard, session)
