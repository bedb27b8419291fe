"""Bulk loads for tests of the log: objects of tagged batches, as a task puts them."""

from collections.abc import Iterable
from itertools import count

from dray.formats import wal_v1
from dray.ids import LoadId, StreamId, TopicRef, meta_domain
from dray.index import BatchDraft, Chunk, WalEntry
from dray.index.loads import Load, load_path
from dray.log import LogSettings
from dray.log.bulk import Loads, new_load_id
from dray.log.bulk_commit import LoadDeps
from dray.log.bulk_plan import LoadedObject, entries_of
from dray.log.reservations import new_wal_id
from dray.log.stages import batch_draft
from dray.meta.port import MetaStore
from dray.objects.port import ObjectStore
from dray.records import ValidBatch
from dray.sweep.loads import LoadSweep
from dray.testing.entropy import SeededEntropy
from dray.testing.sim.batches import tagged_batch
from tests.log.builders import DOMAIN, ONE, THREE, TWO, Rig

TOPIC = TopicRef("bulk", bytes(16))
KEEP_MS = 1_000_000
_numbers = count()


class Loader:
    """A load and the process that runs it."""

    def __init__(
        self,
        rig: Rig,
        objects: ObjectStore,
        *,
        meta: MetaStore | None = None,
        domains: int = 1,
        retry_budget_s: float = 5.0,
    ) -> None:
        self.rig = rig
        self.domains = domains
        self.deps = LoadDeps(
            meta or rig.meta, objects, domains, rig.clock, LogSettings(), retry_budget_s=retry_budget_s
        )
        self.loads = Loads(self.deps)
        self._entropy = SeededEntropy(f"load {next(_numbers)}")
        self.load_id = LoadId(b"")
        self.load: Load | None = None

    async def begin(self, streams: Iterable[StreamId] = (ONE, TWO, THREE)) -> None:
        self.load_id = new_load_id(self.rig.clock.now_ms(), self._entropy)
        self.load = await self.loads.begin(self.load_id, TOPIC, list(streams), KEEP_MS)

    def put(self, tag: str, *streams: StreamId, records: int = 2, batches: int = 1) -> LoadedObject:
        """Store an object with batches of this tag for each of the streams, which share a domain."""
        now_ms = self.rig.clock.now_ms()
        (domain,) = {meta_domain(stream, self.domains) for stream in streams}
        wal_id = new_wal_id(now_ms, self._entropy)
        batch = tagged_batch(tag, now_ms, records=records)
        drafts = [
            wal_v1.ChunkDraft(stream, [batch.buffer] * batches, records * batches, now_ms, now_ms)
            for stream in streams
        ]
        encoded = wal_v1.encode(wal_id, domain, now_ms, drafts)
        path = load_path(self.load_id, domain, "2023/11/14", wal_id)
        self.rig.bucket.put_new(path, encoded.parts)
        entries: list[WalEntry] = []
        for placed in encoded.chunks:
            chunk = Chunk(
                placed.stream, wal_id, path, placed.chunk_offset, placed.chunk_length, encoded.size_bytes
            )
            entries += entries_of(chunk, _drafts(batch, placed))
        return LoadedObject(wal_id, path, domain, encoded.size_bytes, tuple(entries))

    async def commit(self, *objects: LoadedObject) -> dict[StreamId, tuple[int, int]]:
        assert self.load is not None
        given = await self.loads.commit(self.load_id, self.load, objects)
        return {stream: (one.start, one.end) for stream, one in given.items()}

    async def abort(self) -> bool:
        assert self.load is not None
        return await self.loads.abort(self.load_id, self.load)


def load_sweep(loader: Loader) -> LoadSweep:
    return LoadSweep(loader.deps, DOMAIN)


def _drafts(batch: ValidBatch, placed: wal_v1.PlacedChunk) -> list[BatchDraft]:
    return [batch_draft(batch.header, position) for position in placed.batch_offsets]
