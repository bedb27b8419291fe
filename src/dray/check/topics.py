"""Topics and their streams: each topic's streams have heads, each stream has one topic, jobs have a stream.

Topics are created and deleted in several steps. So what seems wrong is examined again after a pause, and only
then reported.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypedDict

from dray.check.chain import StreamChain
from dray.check.deps import CheckDeps, DomainState, Owner, Owners
from dray.check.findings import Finding
from dray.check.other_findings import DanglingJob, JobFileMissing, StuckJob, Undecodable
from dray.check.stream_findings import EmptyStream, LostTopic, MissingHead, SharedStream
from dray.check.streams import StreamScan
from dray.cluster.new_streams import NewStreams, decode_new_streams
from dray.cluster.topic_admin import DeletedTopic, decode_deleted_topic
from dray.cluster.topics import decode_topic
from dray.ids import Domain, MetaDomain, StreamId, meta_domain
from dray.index import CompactionJob, CorruptValue, decode_job
from dray.keyspace import (
    CLUSTER_DOMAIN,
    deleted_topics_range,
    head_key,
    jobs_range,
    log_domain,
    new_streams_range,
    stream_of_job_key,
    topics_range,
)
from dray.meta.port import ABSENT, Check, Entry
from dray.meta.reading import scan_all
from dray.objects.port import NotFound


async def read_owners(deps: CheckDeps) -> tuple[Owners, list[Finding]]:
    """Read new streams, then all topics, then those being deleted: streams move in this order."""
    owners, found = Owners(), list[Finding]()
    changing = await _changing(deps, new_streams_range(), decode_new_streams, owners, found)
    async for stored in scan_all(deps.meta, CLUSTER_DOMAIN, topics_range()):
        try:
            topic = decode_topic(stored.key, stored.value)
        except CorruptValue as error:
            found.append(_undecodable(stored, error))
            owners.are_complete = False
            continue
        for partition, stream in enumerate(topic.streams):
            other = owners.of.setdefault(stream, Owner(topic.ref, partition))
            if other != Owner(topic.ref, partition):
                found.append(
                    SharedStream(
                        domain=CLUSTER_DOMAIN,
                        checks=(Check(stored.key, stored.version),),
                        stream=stream,
                        other=f"{topic.name}, partition {partition}",
                    )
                )
    changing |= await _changing(deps, deleted_topics_range(), decode_deleted_topic, owners, found)
    owners.changing = frozenset(changing)
    return owners, found


async def _changing(
    deps: CheckDeps,
    bounds: tuple[str, str],
    decode: Callable[[str, bytes], NewStreams | DeletedTopic],
    owners: Owners,
    found: list[Finding],
) -> set[StreamId]:
    """Return the streams of all records in a range."""
    streams: set[StreamId] = set()
    async for stored in scan_all(deps.meta, CLUSTER_DOMAIN, bounds):
        try:
            streams.update(decode(stored.key, stored.value).streams)
        except CorruptValue as error:
            found.append(_undecodable(stored, error))
            owners.are_complete = False
    return streams


class TopicCheck:
    """Compares topics with streams, after the pause."""

    def __init__(
        self, deps: CheckDeps, scans: dict[MetaDomain, StreamScan], states: dict[MetaDomain, DomainState]
    ) -> None:
        self._deps = deps
        self._scans = scans
        self._states = states

    async def headless(self, streams: Iterable[StreamId], owners: Owners) -> AsyncIterator[Finding]:
        """Confirm streams of topics that had no head."""
        for stream in streams:
            if stream not in owners.of:
                continue
            chain = await self._chain(stream)
            stored = await self._deps.meta.get(self._domain(stream), head_key(stream))
            if stored is not None:
                continue
            rests_on = () if chain is None or chain.last is None else (chain.last.check,)
            last = 0 if chain is None or chain.last is None else chain.last.entry.end_offset
            yield MissingHead(
                domain=self._domain(stream),
                checks=(Check(head_key(stream), ABSENT), *rests_on),
                stream=stream,
                start=0 if chain is None or chain.first is None else chain.first.entry.start_offset,
                end=last,
                rebuilt=None if chain is None else chain.rebuilt_head(),
                held=self._states[meta_domain(stream, self._deps.domains)].may_have_unreferenced,
            )

    async def ownerless(self, streams: Iterable[StreamId]) -> AsyncIterator[Finding]:
        """Confirm streams that no topic had: read the stream, the topics, and the head again."""
        found: list[tuple[StreamId, StreamChain]] = []
        for stream in streams:
            chain = await self._chain(stream)
            if chain is not None and not (chain.before is not None and chain.before.head.deleted):
                found.append((stream, chain))
        if not found:
            return
        owners, _ = await read_owners(self._deps)
        for stream, chain in found:
            version = ABSENT if chain.before is None else chain.before.version
            stored = await self._deps.meta.get(self._domain(stream), head_key(stream))
            if owners.know(stream) or version != (ABSENT if stored is None else stored.version):
                continue
            kind = EmptyStream if chain.last is None else LostTopic
            yield kind(
                domain=self._domain(stream),
                checks=(Check(head_key(stream), version),),
                stream=stream,
                start=0 if chain.first is None else chain.first.entry.start_offset,
                end=0 if chain.last is None else chain.last.entry.end_offset,
            )

    async def _chain(self, stream: StreamId) -> StreamChain | None:
        scan = self._scans[meta_domain(stream, self._deps.domains)]
        return (await scan.examine(stream)).chains.get(stream)

    def _domain(self, stream: StreamId) -> Domain:
        return log_domain(meta_domain(stream, self._deps.domains))


class _OfJob(TypedDict):
    domain: Domain
    checks: tuple[Check, ...]
    stream: StreamId


class JobCheck:
    """Checks the compaction jobs of one domain."""

    def __init__(self, deps: CheckDeps, state: DomainState, owners: Owners) -> None:
        self._deps = deps
        self._domain = log_domain(state.domain)
        self._owners = owners

    async def run(self) -> AsyncIterator[Finding]:
        async for stored in scan_all(self._deps.meta, self._domain, jobs_range()):
            try:
                job = decode_job(stored.key, stored.value)
            except CorruptValue as error:
                yield _undecodable(stored, error, self._domain)
                continue
            async for finding in self._look(stored, job):
                if await self._is_unchanged(stored):
                    yield finding

    async def _look(self, stored: Entry, job: CompactionJob) -> AsyncIterator[Finding]:
        stream, checks = stream_of_job_key(stored.key), (Check(stored.key, stored.version),)
        age_ms = self._deps.clock.now_ms() - job.changed_at_ms
        if stream is None:
            return
        place = _OfJob(domain=self._domain, checks=checks, stream=stream)
        if not self._owners.know(stream):
            if age_ms > max(self._deps.stuck_ms, self._deps.settings.orphan_ttl_ms):
                yield DanglingJob(**place, state=job.state, topic=job.topic)
            return
        if not job.is_unfinished:
            return
        if age_ms > self._deps.stuck_ms:
            yield StuckJob(
                **place,
                start=job.start_offset,
                end=job.end_offset,
                state=job.state,
                changed_at_ms=job.changed_at_ms,
            )
        for file in job.files:
            if not await self._exists(file.path):
                yield JobFileMissing(
                    **place,
                    start=file.start_offset,
                    end=file.end_offset,
                    path=file.path,
                    state=job.state,
                )

    async def _exists(self, path: str) -> bool:
        try:
            await self._deps.objects.head(path)
        except NotFound:
            return False
        return True

    async def _is_unchanged(self, stored: Entry) -> bool:
        now = await self._deps.meta.get(self._domain, stored.key)
        return now is not None and now.version == stored.version


def _undecodable(stored: Entry, error: CorruptValue, domain: Domain = CLUSTER_DOMAIN) -> Undecodable:
    check = Check(stored.key, stored.version)
    return Undecodable(domain=domain, checks=(check,), key=stored.key, reason=str(error))
