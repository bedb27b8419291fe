"""Scan of a domain's streams: heads and entries, a batch of streams at a time.

A batch costs two scans of its heads and one of its entries, however many streams it has. A stream with
findings is examined again until two examinations agree: each finding names the versions of the keys that it
rests on, so what both have found existed at one time.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dray.check.chain import EntryAt, HeadAt, StreamChain
from dray.check.deps import CheckDeps, DomainState, Owners
from dray.check.findings import Finding
from dray.check.other_findings import Undecodable
from dray.check.pointers import Pointers
from dray.check.stream_findings import SnapshotDamaged, StreamFinding, is_contradiction
from dray.ids import Domain, MetaDomain, StreamId
from dray.index import CorruptValue, StreamHead, decode_entry, decode_head
from dray.keyspace import (
    entries_of_streams,
    head_key,
    heads_range,
    is_producers_key,
    log_domain,
    producers_key,
    stream_of_head_key,
    stream_of_key,
)
from dray.meta.port import Check, Entry, MetaStore
from dray.meta.reading import scan_all
from dray.producers import CorruptSnapshot, decode_snapshot

_BATCH: Final = 128
_ATTEMPTS: Final = 5
_UNOWNED_MAX: Final = 10_000


@dataclass(slots=True)
class StreamBatch:
    """Streams after one, up to and including another, and their keys as read before the entries."""

    after: StreamId | None
    last: StreamId | None
    heads: dict[StreamId, Entry] = field(default_factory=dict)
    producers: dict[StreamId, Entry] = field(default_factory=dict)

    def take(self, stream: StreamId, stored: Entry) -> None:
        if stream_of_head_key(stored.key) is not None:
            self.heads[stream] = stored
        elif is_producers_key(stored.key):
            self.producers[stream] = stored


async def all_batches(deps: CheckDeps, domain: MetaDomain) -> AsyncIterator[StreamBatch]:
    """Read all streams of a domain; the batches leave out none that has entries and no head."""
    batch, streams = StreamBatch(None, None), set[StreamId]()
    async for stored in scan_all(deps.meta, log_domain(domain), heads_range(), deps.keys_at_once):
        stream = stream_of_key(stored.key)
        if stream is None:
            continue
        if stream not in streams and len(streams) == _BATCH:
            batch.last = max(streams)
            yield batch
            batch, streams = StreamBatch(batch.last, None), set()
        streams.add(stream)
        batch.take(stream, stored)
    yield batch


async def batch_of(meta: MetaStore, domain: MetaDomain, stream: StreamId) -> StreamBatch:
    """Read one stream."""
    batch = StreamBatch(StreamId(stream - 1) if stream else None, stream)
    for key in (head_key(stream), producers_key(stream)):
        stored = await meta.get(log_domain(domain), key)
        if stored is not None:
            batch.take(stream, stored)
    return batch


@dataclass(slots=True)
class Examination:
    """The result of one examination of a batch."""

    chains: dict[StreamId, StreamChain] = field(default_factory=dict)
    found: dict[StreamId, list[StreamFinding]] = field(default_factory=dict)
    undecodable: list[Undecodable] = field(default_factory=list)


class StreamScan:
    """Scans the streams of one domain; with `pointers`, follows those of all entries."""

    def __init__(self, deps: CheckDeps, state: DomainState, owners: Owners) -> None:
        self._deps = deps
        self._state = state
        self._domain: Domain = log_domain(state.domain)
        self._owners = owners
        self.unowned: list[StreamId] = []
        """Streams without a topic, to be confirmed."""
        self.seen: set[StreamId] = set()
        """Streams of topics that have a head."""

    async def run(self, batches: AsyncIterator[StreamBatch], pointers: Pointers) -> AsyncIterator[Finding]:
        """Examine streams, and follow the pointers of their entries."""
        async for batch in batches:
            examination = Examination()
            async for finding in self._look(batch, examination, pointers):
                yield finding
            for stream, chain in examination.chains.items():
                self._note_owner(stream, chain)
                self._state.has_gaps |= chain.before is None  # without a head, no gap is found
            for undecodable in examination.undecodable:
                self._state.has_gaps = True
                yield undecodable
            for stream, found in examination.found.items():
                for confirmed in await self._confirm(stream, found):
                    self._state.has_gaps |= is_contradiction(confirmed)
                    yield confirmed
            self._deps.progress.streams += len(examination.chains)
            self._deps.report()

    async def follow(self, batches: AsyncIterator[StreamBatch], pointers: Pointers) -> AsyncIterator[Finding]:
        """Follow only the pointers: another pass, over streams that were examined before."""
        async for batch in batches:
            starts = self._log_starts(batch)
            async for at in self._entries(batch, []):
                async for finding in pointers.follow(at, starts.get(at.entry.stream, 0)):
                    yield finding

    async def examine(self, stream: StreamId) -> Examination:
        """Look at one stream."""
        examination = Examination()
        batch = await batch_of(self._deps.meta, self._state.domain, stream)
        async for _ in self._look(batch, examination, None):
            pass
        return examination

    async def _look(
        self, batch: StreamBatch, examination: Examination, pointers: Pointers | None
    ) -> AsyncIterator[Finding]:
        chains = examination.chains
        for stream, stored in batch.heads.items():
            before = self._decoded(stored, examination)
            if before is not None:
                chains[stream] = StreamChain(self._domain, stream, before)
        unreadable, starts = batch.heads.keys() - chains.keys(), self._log_starts(batch)
        async for at in self._entries(batch, examination.undecodable):
            of = stream_of_key(at.key)
            if of is not None and of not in unreadable:
                if of not in chains:
                    chains[of] = StreamChain(self._domain, of, None)
                chains[of].add(at)
            if pointers is not None:
                self._deps.progress.entries += 1
                async for finding in pointers.follow(at, starts.get(at.entry.stream, 0)):
                    yield finding
        after = await self._heads(batch)
        for stream, chain in chains.items():
            found = chain.finish(after.get(stream))
            found += self._snapshot(stream, batch.producers.get(stream), after.get(stream))
            if found:
                examination.found[stream] = found

    async def _entries(self, batch: StreamBatch, undecodable: list[Undecodable]) -> AsyncIterator[EntryAt]:
        bounds = entries_of_streams(batch.after, batch.last)
        async for stored in self._scan(bounds):
            try:
                yield EntryAt(stored.key, stored.version, decode_entry(stored.key, stored.value))
            except CorruptValue as error:
                undecodable.append(self._undecodable(stored, error))

    def _scan(self, bounds: tuple[str, str]) -> AsyncIterator[Entry]:
        return scan_all(self._deps.meta, self._domain, bounds, self._deps.keys_at_once)

    async def _heads(self, batch: StreamBatch) -> dict[StreamId, HeadAt]:
        found: dict[StreamId, HeadAt] = {}
        bounds = heads_range(batch.after, batch.last)
        async for stored in self._scan(bounds):
            stream = stream_of_head_key(stored.key)
            if stream is not None:
                try:
                    found[stream] = HeadAt(decode_head(stored.key, stored.value), stored.version)
                except CorruptValue:
                    continue  # reported when it is read first
        return found

    def _log_starts(self, batch: StreamBatch) -> dict[StreamId, int]:
        heads = {stream: self._decoded(stored, Examination()) for stream, stored in batch.heads.items()}
        return {stream: at.head.log_start for stream, at in heads.items() if at is not None}

    def _decoded(self, stored: Entry, examination: Examination) -> HeadAt | None:
        try:
            return HeadAt(decode_head(stored.key, stored.value), stored.version)
        except CorruptValue as error:
            examination.undecodable.append(self._undecodable(stored, error))
            return None

    def _undecodable(self, stored: Entry, error: CorruptValue) -> Undecodable:
        check = Check(stored.key, stored.version)
        return Undecodable(domain=self._domain, checks=(check,), key=stored.key, reason=str(error))

    def _snapshot(
        self, stream: StreamId, stored: Entry | None, after: HeadAt | None
    ) -> Sequence[StreamFinding]:
        """Check a snapshot of producers against a head that was read after it."""
        if stored is None or after is None or after.head.deleted:
            return ()
        reason = _wrong_snapshot(stored.value, after.head)
        if not reason:
            return ()
        check = Check(stored.key, stored.version)
        return (
            SnapshotDamaged(
                domain=self._domain, stream=stream, checks=(check,), key=stored.key, reason=reason
            ),
        )

    async def _confirm(self, stream: StreamId, found: Sequence[StreamFinding]) -> Sequence[StreamFinding]:
        """Examine a stream again until two examinations agree; returns what both have found."""
        agreed: Iterable[StreamFinding] = ()
        for _ in range(_ATTEMPTS):
            again = (await self.examine(stream)).found.get(stream, [])
            agreed = [one for one in again if one in found]
            if agreed == again:
                break
            found = again
        return tuple(agreed)

    def _note_owner(self, stream: StreamId, chain: StreamChain) -> None:
        if chain.before is not None and stream in self._owners.of:
            self.seen.add(stream)
        elif not self._owners.know(stream) and not (chain.before and chain.before.head.deleted):
            self.unowned = [*self.unowned, stream][:_UNOWNED_MAX]


def _wrong_snapshot(value: bytes, head: StreamHead) -> str:
    try:
        producers = decode_snapshot(value)
    except CorruptSnapshot as error:
        return f"it cannot be decoded: {error}"
    latest = max((batch.base_offset for one in producers.values() for batch in one.batches), default=-1)
    if latest >= head.snapshot_end:
        return f"it has a batch at offset {latest}, but ends at {head.snapshot_end}"
    return ""
