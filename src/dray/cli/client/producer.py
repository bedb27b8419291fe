"""Sends records to one topic: placed, batched, in order within each partition.

    draft ─▶ open batch of its partition ─▶ sealed ─▶ lane ─▶ acknowledged

A batch is sealed when the next record does not fit, or when it has lingered. `add` waits while too many
bytes are not acknowledged yet. The first batch that cannot be delivered ends everything: the next `add` or
`flush` raises it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dray.cli.client.cluster import Cluster, TopicLayout
from dray.cli.client.drafts import ANONYMOUS, Draft, OpenBatch, ProducerIdentity, Sealed
from dray.cli.client.errors import ClientError, Undelivered, raise_for
from dray.cli.client.lane import NO_ANSWER, Lane, Route
from dray.cli.client.partitioner import Partitioner
from dray.records import Codec, sequence_after
from dray.runtime import ByteBudget
from dray.wire.apis.init_producer_id import INIT_PRODUCER_ID, InitProducerIdRequest, InitProducerIdResponse

_UNACKNOWLEDGED_BYTES_MAX: Final = 32 << 20
_TRANSACTION_TIMEOUT_MS: Final = 60_000
ALL: Final = -1
"""The value of acks that waits for everything."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """How records are sent."""

    codec: Codec = Codec.NONE
    acks: int = ALL
    idempotent: bool = True
    batch_bytes: int = 256 << 10
    linger_ms: int = 5


@dataclass(slots=True)
class _Kept:
    """What is kept for one partition."""

    lane: Lane
    open: OpenBatch
    sequence: int = 0
    sealed: int = 0
    """How many batches so far; tells a lingering batch from its successors."""


class Producer:
    """Made by `open`; `flush` before leaving."""

    def __init__(
        self,
        cluster: Cluster,
        layout: TopicLayout,
        settings: ProducerSettings,
        identity: ProducerIdentity,
        delivered: Callable[[Sealed], None],
    ) -> None:
        self._cluster = cluster
        self._layout = layout
        self._settings = settings
        self._identity = identity
        self._delivered = delivered
        count = len(layout.leaders)
        self._partitioner = Partitioner(count, int(cluster.parts.entropy.uniform(0, count)))
        self._partitions: dict[int, _Kept] = {}
        self._budget = ByteBudget(_UNACKNOWLEDGED_BYTES_MAX)
        self._failure: ClientError | None = None
        self._quiet = asyncio.Event()

    @classmethod
    async def open(
        cls,
        cluster: Cluster,
        layout: TopicLayout,
        settings: ProducerSettings,
        delivered: Callable[[Sealed], None],
    ) -> "Producer":
        """Get a producer id if one is wanted; `delivered` is called for every batch, when it is safe."""
        identity = await _identify(cluster) if settings.idempotent else ANONYMOUS
        return cls(cluster, layout, settings, identity, delivered)

    async def add(self, draft: Draft, partition: int | None = None) -> None:
        """Take a record, as soon as there is room; `partition` is for one that names none itself."""
        number = self._place(draft, partition if draft.partition is None else draft.partition)
        await self._budget.acquire(draft.size_bytes)
        self._raise_failure()
        kept = self._kept(number)
        if not kept.open.has_room(draft, self._settings.batch_bytes):
            self._seal(number)
        if not len(kept.open):
            self._linger(number, kept.sealed)
        kept.open.add(draft, self._cluster.parts.clock.now_ms())

    async def flush(self) -> None:
        """Send everything and wait until it is safe."""
        for number in list(self._partitions):
            self._seal(number)
        while self._failure is None and not self._all_delivered():
            self._quiet.clear()
            await self._quiet.wait()
        self._raise_failure()
        if self._settings.acks == NO_ANSWER:
            for partition in self._partitions.values():
                await partition.lane.confirm()

    def _place(self, draft: Draft, asked: int | None) -> int:
        count = len(self._layout.leaders)
        if asked is None:
            return self._partitioner.place(draft.key)
        if not 0 <= asked < count:
            raise Undelivered(
                f"line {draft.line}: there is no partition {asked}; topic '{self._layout.name}' "
                f"has {count}, counted from 0"
            )
        return asked

    def _kept(self, number: int) -> _Kept:
        if number not in self._partitions:
            settings = self._settings
            route = Route(number, settings.acks, settings.idempotent, self._safe)
            lane = Lane(self._cluster, self._layout, route)
            self._partitions[number] = _Kept(lane, OpenBatch())
            self._cluster.parts.tasks.start(self._drive(lane), name=f"produce to partition {number}")
        return self._partitions[number]

    async def _drive(self, lane: Lane) -> None:
        try:
            await lane.run()
        except ClientError as error:
            self._failure = self._failure or error
            self._quiet.set()
            self._budget.release(self._budget.held)  # whoever waits must hear of it

    def _linger(self, number: int, batch: int) -> None:
        async def ripen() -> None:
            await self._cluster.parts.clock.sleep(self._settings.linger_ms / 1000)
            if self._partitions[number].sealed == batch:
                self._seal(number)

        self._cluster.parts.tasks.start(ripen(), name=f"linger of partition {number}")

    def _seal(self, number: int) -> None:
        kept = self._partitions[number]
        full, kept.open = kept.open, OpenBatch()
        if len(full):
            kept.sealed += 1
            kept.lane.put(full.seal(self._settings.codec, self._identity, kept.sequence))
            kept.sequence = sequence_after(kept.sequence, len(full))
            self._partitioner.batch_closed(number)

    def _safe(self, batch: Sealed) -> None:
        if self._failure is None:
            self._budget.release(batch.held_bytes)
        self._delivered(batch)
        self._quiet.set()

    def _all_delivered(self) -> bool:
        return all(partition.lane.empty for partition in self._partitions.values())

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


async def _identify(cluster: Cluster) -> ProducerIdentity:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS)

    async def ask() -> ProducerIdentity:
        told = await cluster.ask(INIT_PRODUCER_ID, request, InitProducerIdResponse)
        raise_for(told.error_code, "the broker gives no producer id")
        return ProducerIdentity(told.producer_id, told.producer_epoch)

    return await cluster.retried(ask)
