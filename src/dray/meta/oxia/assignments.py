"""Shard assignments: which shard has a key, and which server leads a shard.

A stream delivers the assignments and their changes. When a request fails, the next one first asks for the
assignments again, at every known server in turn: the server at the other end of the stream may be the one
that failed. A key belongs to the shard whose range has the low 32 bits of its XXH3 hash.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from xxhash import xxh3_64_intdigest

from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.channels import Channels
from dray.meta.port import MetaError, StoreUnusable, Unavailable
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_log = get_logger("meta")
_PAUSE_S: Final = 0.5
_STREAM_S: Final = 60.0
"""A stream is opened again after a minute, at the next server."""


@dataclass(frozen=True, slots=True)
class ShardMap:
    """The shards of a namespace."""

    ranges: tuple[tuple[int, int, int], ...] = ()
    """Lowest and highest hash, and the shard."""
    leaders: dict[int, str] = field(default_factory=dict)

    @staticmethod
    def of(message: api.NamespaceShards) -> "ShardMap":
        if message.shard_key_router != api.XXHASH3:
            raise StoreUnusable(f"expected Oxia to route by XXH3, got router {message.shard_key_router}")
        shards = message.assignments
        ranges = [(s.hash_range.min_inclusive, s.hash_range.max_inclusive, s.shard) for s in shards]
        return ShardMap(tuple(sorted(ranges)), {s.shard: s.leader for s in shards})

    def shard_of(self, partition_key: str) -> int:
        code = xxh3_64_intdigest(partition_key.encode()) & 0xFFFFFFFF
        for low, high, shard in self.ranges:
            if low <= code <= high:
                return shard
        raise Unavailable(f"no shard has the hash {code:#x} of {partition_key!r}")


class Assignments:
    """The assignments of one namespace, kept up to date from `start` on."""

    def __init__(
        self, channels: Channels, endpoints: tuple[str, ...], namespace: str, timeout_s: float, clock: Clock
    ) -> None:
        self._channels = channels
        self._endpoints = endpoints
        self._namespace = namespace
        self._timeout_s = timeout_s
        self._clock = clock
        self._map: ShardMap | None = None
        self._suspect = True
        self._asking = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None

    def start(self, tasks: Tasks) -> None:
        self._following = tasks.start(self._follow(), name="follow Oxia's shard assignments")

    def stop(self) -> None:
        if self._following is not None:
            self._following.cancel()

    def suspect(self) -> None:
        """A request failed: ask for the assignments before the next one."""
        self._suspect = True

    async def current(self) -> ShardMap:
        """Return the assignments; raises `Unavailable` if no server answers."""
        if self._suspect or self._map is None:
            async with self._asking:
                if self._suspect or self._map is None:
                    await self._ask_all()
        assert self._map is not None
        return self._map

    async def leader(self, shard: int) -> str:
        address = (await self.current()).leaders.get(shard)
        if not address:
            self.suspect()
            raise Unavailable(f"shard {shard} has no leader")
        return address

    def _addresses(self) -> Iterator[str]:
        leaders = self._map.leaders.values() if self._map is not None else ()
        return iter(dict.fromkeys([*self._endpoints, *filter(None, leaders)]))

    async def _ask_all(self) -> None:
        error: MetaError = Unavailable("no Oxia server is configured")
        for address in self._addresses():
            try:
                await self._ask(address)
            except (Unavailable, StoreUnusable) as failed:
                error = failed
            else:
                self._suspect = False
                return
        raise error

    async def _ask(self, address: str) -> None:
        async with self._channels.stream(
            "GetShardAssignments", address, self._request(), self._timeout_s
        ) as call:
            async for message in call:
                self._receive(message, address)
                return
        raise Unavailable(f"{address} ended the stream of shard assignments")

    async def _follow(self) -> None:
        """Receive changes, from one server after the other; never returns."""
        while True:
            for address in self._addresses():
                try:
                    async with self._channels.stream(
                        "GetShardAssignments", address, self._request(), _STREAM_S
                    ) as call:
                        async for message in call:
                            self._receive(message, address)
                except MetaError as error:
                    _log.debug("shard_assignments_lost", address=address, error=str(error))
                await self._clock.sleep(_PAUSE_S)

    def _request(self) -> api.ShardAssignmentsRequest:
        return api.ShardAssignmentsRequest(namespace=self._namespace)

    def _receive(self, message: api.ShardAssignments, address: str) -> None:
        if self._namespace not in message.namespaces:
            raise StoreUnusable(f"{address} does not have the namespace {self._namespace!r}")
        self._map = ShardMap.of(message.namespaces[self._namespace])
