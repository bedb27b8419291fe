"""A cluster as a client reaches it: any of its brokers, or the one that leads a partition.

Connections are made when needed and replaced when broken. The first contact is not tried again: a person who
forgot to start a broker should hear so at once. Everything later is, until the time limit.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from dray.cli.addresses import Address
from dray.cli.client.connection import Connection
from dray.cli.client.errors import NotNow, TryAgain, UnknownTopic, Unreachable, raise_for
from dray.runtime import Clock, Entropy, RetrySettings, Tasks, retry
from dray.wire import Api, Message
from dray.wire.apis.metadata import (
    METADATA,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

M = TypeVar("M", bound=Message)
T = TypeVar("T")

_TOPIC_PATIENCE_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class ClientParts:
    """What a client needs from its process."""

    clock: Clock
    entropy: Entropy
    tasks: Tasks
    timeout_s: float = 30.0
    """How long to wait for a connection or an answer, and how long to try again."""

    @property
    def topic_patience_s(self) -> float:
        """How long a topic that was just made may be unknown to some broker."""
        return min(_TOPIC_PATIENCE_S, self.timeout_s)


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """A topic and who leads its partitions."""

    name: str
    topic_id: bytes
    leaders: tuple[int, ...]
    """Broker ids, by partition."""

    @property
    def partitions(self) -> range:
        return range(len(self.leaders))


class Cluster:
    """The brokers behind some addresses."""

    def __init__(self, bootstrap: Sequence[Address], parts: ClientParts) -> None:
        self.parts = parts
        self._bootstrap = tuple(bootstrap)
        self._first: Connection | None = None
        self._addresses: dict[int, Address] = {}
        self._connections: dict[int, Connection] = {}
        self._reaching = asyncio.Lock()

    async def any(self) -> Connection:
        """Return a connection to some broker of the bootstrap list."""
        async with self._reaching:
            if self._first is None or not self._first.usable:
                self._first = await self._reach_any()
            return self._first

    async def broker(self, broker_id: int) -> Connection:
        """Return the one connection to a broker that metadata has told of; it keeps the order of requests."""
        async with self._reaching:
            connection = self._connections.get(broker_id)
            if connection is None or not connection.usable:
                connection = await self._reach(broker_id)
                self._connections[broker_id] = connection
            return connection

    async def ask(self, api: Api, request: Message, kind: type[M]) -> M:
        """Ask some broker, once."""
        return await (await self.any()).ask(api, request, kind)

    async def retried(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Try again what may pass, within the time limit; an unknown topic only for a moment."""

        async def known() -> T:
            return await self._retried(operation, UnknownTopic, self.parts.topic_patience_s)

        return await self._retried(known, TryAgain, self.parts.timeout_s)

    async def changed(self, change: Callable[[], Awaitable[T]]) -> T:
        """Try again what changes something, but only where the broker says that nothing happened.

        After a lost connection nobody knows, and a person should look.
        """
        return await self._retried(change, NotNow, self.parts.timeout_s)

    async def metadata(self, names: Sequence[str] | None, *, create: bool = False) -> MetadataResponse:
        """Ask about these topics, or all; and remember where brokers are."""
        topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=create)
        found = await self.ask(METADATA, request, MetadataResponse)
        raise_for(found.error_code, "the cluster's metadata")
        self._addresses = {broker.node_id: Address(broker.host, broker.port) for broker in found.brokers}
        return found

    async def layout(self, name: str, *, create: bool = False) -> TopicLayout:
        """Return a topic's layout; with `create` a broker may make the topic, if it is set up to."""

        async def look() -> TopicLayout:
            return layout_of(name, (await self.metadata([name], create=create)).topics)

        if create:
            return await self.retried(look)
        return await self._retried(look, TryAgain, self.parts.timeout_s)

    async def close(self) -> None:
        first = [] if self._first is None else [self._first]
        for connection in [*first, *self._connections.values()]:
            await connection.close()

    async def _reach_any(self) -> Connection:
        reasons = []
        for address in self._bootstrap:
            try:
                return await Connection.open(address, self.parts.tasks, self.parts.timeout_s)
            except TryAgain as error:
                reasons.append(str(error))
        where = ", ".join(map(str, self._bootstrap))
        why = "; ".join(dict.fromkeys(reasons))
        raise Unreachable(f"cannot reach a broker at {where}: is `dray up` running? ({why})")

    async def _reach(self, broker_id: int) -> Connection:
        address = self._addresses.get(broker_id)
        if address is None:
            raise Unreachable(f"broker {broker_id} is not among the live ones")
        try:
            return await Connection.open(address, self.parts.tasks, self.parts.timeout_s)
        except Unreachable as error:
            told = f"cannot reach broker {broker_id} at {address}, the address it advertises"
            raise Unreachable(f"{told} ({error})") from error

    async def _retried(
        self, operation: Callable[[], Awaitable[T]], on: type[Exception], budget_s: float
    ) -> T:
        settings = RetrySettings(first_ms=100.0, max_ms=1_000.0, budget_ms=budget_s * 1000)
        parts = self.parts
        return await retry(operation, on=(on,), clock=parts.clock, entropy=parts.entropy, settings=settings)


def layout_of(name: str, told: Sequence[MetadataResponseTopic]) -> TopicLayout:
    """Return the layout of the one topic that was asked about."""
    topic = next((one for one in told if one.name == name), None)
    if topic is None:
        raise TryAgain(f"the broker says nothing about topic '{name}'")
    raise_for(topic.error_code, f"topic '{name}'")
    for partition in topic.partitions:
        raise_for(partition.error_code, f"partition {partition.partition_index} of topic '{name}'")
    leaders = {partition.partition_index: partition.leader_id for partition in topic.partitions}
    return TopicLayout(name, topic.topic_id, tuple(leaders[number] for number in sorted(leaders)))
