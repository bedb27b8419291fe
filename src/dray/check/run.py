"""One check of a cluster, or of some of its topics.

    1. topics and their streams
    2. window by window of object records: list the bucket, follow the entries, count references
    3. compaction jobs, groups, tables
    4. after a pause, a second examination of what changes in several steps

Nothing is locked, and nothing is written. The cluster may be in use: a finding is only yielded once it was
confirmed. Memory is bounded by the number of objects in a window and the number of partitions.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from dray.check.bucket import Bucket, Windows
from dray.check.deps import CheckDeps, DomainState, Owners
from dray.check.findings import Finding, ObjectKind
from dray.check.groups import GroupCheck
from dray.check.objects import ObjectCheck
from dray.check.other_findings import OffsetsWithoutTopic
from dray.check.pointers import Pointers
from dray.check.streams import StreamBatch, StreamScan, all_batches, batch_of
from dray.check.tables import TableCheck
from dray.check.topics import JobCheck, TopicCheck, read_owners
from dray.check.values import ValueCheck
from dray.check.window import Window, next_window
from dray.cluster.topics import Topic, decode_topic
from dray.ids import MetaDomain, StreamId, meta_domain
from dray.index import CorruptValue
from dray.keyspace import CLUSTER_DOMAIN, topics_range
from dray.meta.reading import scan_all
from dray.tables.port import Tables

_FAMILIES: Final = 5
"""Families of records and markers that a window reads in each domain."""


@dataclass(slots=True)
class _Deferred:
    """Objects of the second examination, after the pause."""

    headless: list[StreamId] = field(default_factory=list)
    ownerless: list[StreamId] = field(default_factory=list)
    offsets: list[OffsetsWithoutTopic] = field(default_factory=list)
    tables: list[tuple[Topic, Sequence[Finding]]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.headless or self.ownerless or self.offsets or self.tables)


class ClusterCheck:
    """Checks a cluster; `tables` is None if there is no catalog, or no library to read it."""

    def __init__(self, deps: CheckDeps, tables: Tables | None = None) -> None:
        self._deps = deps
        self._tables = None if tables is None else TableCheck(deps, tables)
        self._bucket = Bucket(deps)
        self._domains = [MetaDomain(number) for number in range(deps.domains)]
        self.owners = Owners()
        self._states = {domain: DomainState(domain) for domain in self._domains}
        self._scans: dict[MetaDomain, StreamScan] = {}

    async def run(self, topics: Sequence[Topic] = ()) -> AsyncIterator[Finding]:
        """Yield the findings of these topics, or of the whole cluster.

        Whether objects are counted correctly, or are strays, only follows from all topics.
        """
        self._stage("topics")
        self.owners, found = await read_owners(self._deps)
        self._scans = {
            domain: StreamScan(self._deps, state, self.owners) for domain, state in self._states.items()
        }
        for finding in found:
            yield finding
        deferred = _Deferred()
        whole = self._whole(deferred) if not topics else self._some(topics, deferred)
        async for finding in whole:
            yield finding
        await self._look_at_tables(topics, deferred)
        if deferred:
            self._stage("confirming")
            await self._deps.clock.sleep(self._deps.pause_s)
            async for finding in self._confirm(deferred):
                yield finding

    async def _whole(self, deferred: _Deferred) -> AsyncIterator[Finding]:
        async for finding in self._objects():
            yield finding
        seen = {stream for scan in self._scans.values() for stream in scan.seen}
        deferred.headless += sorted(self.owners.of.keys() - seen)
        deferred.ownerless += [stream for scan in self._scans.values() for stream in scan.unowned]
        self._stage("jobs")
        for state in self._states.values():
            async for finding in ValueCheck(self._deps, state.domain).run():
                yield finding
            async for finding in JobCheck(self._deps, state, self.owners).run():
                yield finding
        self._stage("groups")
        async for finding in GroupCheck(self._deps).run(self.owners):
            if isinstance(finding, OffsetsWithoutTopic):
                deferred.offsets.append(finding)
            else:
                yield finding

    async def _objects(self) -> AsyncIterator[Finding]:
        """Go through all records, as many at a time as memory allows."""
        limit = max(1, self._deps.objects_at_once // (_FAMILIES * self._deps.domains))
        windows = await self._next_windows({}, limit)
        is_first = True
        while windows:
            for (domain, _), window in windows.items():
                for finding in window.undecodable:
                    self._states[domain].may_have_unreferenced = True
                    yield finding
            self._stage("listing objects")
            await self._bucket.compare(windows)
            self._stage("reading the index")
            for domain in self._domains:
                async for finding in self._domain(domain, windows, is_first=is_first):
                    yield finding
            windows, is_first = await self._next_windows(windows, limit), False

    async def _next_windows(self, before: Windows, limit: int) -> dict[tuple[MetaDomain, ObjectKind], Window]:
        """Read the windows after these; none of a kind whose window had no end."""
        self._stage("reading object records")
        found = {}
        for domain in self._domains:
            for kind in ObjectKind:
                previous = before.get((domain, kind))
                after = None if previous is None else previous.last
                if not before or after is not None:
                    found[domain, kind] = await next_window(self._deps.meta, domain, kind, after, limit)
        return found

    async def _domain(
        self, domain: MetaDomain, windows: Windows, *, is_first: bool
    ) -> AsyncIterator[Finding]:
        state, scan = self._states[domain], self._scans[domain]
        pointers = Pointers(self._deps, self._bucket, domain, windows)
        batches = all_batches(self._deps, domain)
        async for finding in scan.run(batches, pointers) if is_first else scan.follow(batches, pointers):
            yield finding
        if is_first:
            state.has_gaps |= self._lacks_heads(domain)
        objects = ObjectCheck(self._deps, state, self.owners)
        for kind in ObjectKind:
            if (domain, kind) in windows:
                async for finding in objects.compare(windows[domain, kind]):
                    yield finding
                for finding in objects.strays(windows[domain, kind], pointers.unprotected):
                    yield finding
        async for finding in objects.unprotected(pointers.unprotected.values()):
            yield finding

    def _lacks_heads(self, domain: MetaDomain) -> bool:
        """Return whether a stream of a topic may lack its head: no gap shows whether it lacks entries too."""
        seen = self._scans[domain].seen
        return not self.owners.are_complete or any(
            stream not in seen and meta_domain(stream, self._deps.domains) == domain
            for stream in self.owners.of
        )

    async def _some(self, topics: Sequence[Topic], deferred: _Deferred) -> AsyncIterator[Finding]:
        self._stage("reading the index")
        for domain in self._domains:
            streams = [
                stream
                for topic in topics
                for stream in topic.streams
                if meta_domain(stream, self._deps.domains) == domain
            ]
            pointers = Pointers(self._deps, self._bucket, domain, None)
            self._states[domain].may_have_unreferenced = True  # the others are not looked for
            scan = self._scans[domain]
            async for finding in scan.run(self._batches(domain, streams), pointers):
                yield finding
            objects = ObjectCheck(self._deps, self._states[domain], self.owners)
            await objects.count_all(pointers.unprotected)
            async for finding in objects.unprotected(pointers.unprotected.values()):
                yield finding
            deferred.headless += sorted(set(streams) - scan.seen)

    async def _batches(self, domain: MetaDomain, streams: Sequence[StreamId]) -> AsyncIterator[StreamBatch]:
        for stream in streams:
            yield await batch_of(self._deps.meta, domain, stream)

    async def _look_at_tables(self, topics: Sequence[Topic], deferred: _Deferred) -> None:
        if self._tables is None:
            return
        self._stage("tables")
        for topic in topics or await self._all_topics():
            found = await self._tables.look(topic)
            if found:
                deferred.tables.append((topic, found))
            self._deps.report()

    async def _all_topics(self) -> list[Topic]:
        topics = []
        async for stored in scan_all(self._deps.meta, CLUSTER_DOMAIN, topics_range()):
            try:
                topics.append(decode_topic(stored.key, stored.value))
            except CorruptValue:
                continue  # reported when the streams were read
        return topics

    async def _confirm(self, deferred: _Deferred) -> AsyncIterator[Finding]:
        owners, _ = await read_owners(self._deps)
        topics = TopicCheck(self._deps, self._scans, self._states)
        async for finding in topics.headless(deferred.headless, owners):
            yield finding
        async for finding in topics.ownerless(deferred.ownerless):
            yield finding
        groups = GroupCheck(self._deps)
        for offsets in deferred.offsets:
            still = await groups.still(offsets, owners)
            if still is not None:
                yield still
        for topic, found in deferred.tables:
            again = await self._tables.look(topic) if self._tables is not None else ()
            for one in found:
                if one in again:
                    yield one

    def _stage(self, name: str) -> None:
        self._deps.progress.stage = name
        self._deps.report()
