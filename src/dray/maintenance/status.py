"""Compaction status of a topic, read from the metadata store alone."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dray.cluster.topics import Topic
from dray.compaction.failures import TopicFailure, load_failure
from dray.compaction.index_files import IndexFiles
from dray.compaction.job_store import JobStore
from dray.compaction.skipped import SkippedEnds, still_skipped
from dray.ids import StreamId
from dray.index import CompactionJob, SkippedRange, StreamHead, WalEntry
from dray.keyspace import CLUSTER_DOMAIN, lease_key
from dray.log import StreamUnknown
from dray.log.states import read_head
from dray.maintenance.differences import Difference
from dray.maintenance.recorded_differences import known_differences
from dray.meta.port import MetaStore


@dataclass(frozen=True, slots=True)
class Backlog:
    """The part of a stream that waits for compaction: in WAL objects, and not skipped."""

    entries: int = 0
    records: int = 0
    size_bytes: int = 0
    oldest_ms: int | None = None
    """When its oldest entry was committed."""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """A partition, its backlog, and its last compaction job."""

    partition: int
    head: StreamHead
    backlog: Backlog
    job: CompactionJob | None
    skipped: tuple[SkippedRange, ...] = ()
    """WAL entries that cannot be converted: ranges of adjacent ones, not all of them named."""
    skipped_entries: tuple[int, ...] = ()
    """The number of entries in each range."""
    differences: tuple[Difference, ...] = ()
    """Where the table differed from the index in the last audit."""


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """A topic; `holder` is the compactor that holds its lease."""

    topic: str
    holder: str | None
    partitions: tuple[PartitionStatus, ...]
    failure: TopicFailure | None = None
    """Why its last pass failed, if it did."""


async def status_of(meta: MetaStore, domains: int, topic: Topic) -> TopicStatus:
    """Return the status of a topic; partitions that are being deleted are left out."""
    jobs = JobStore(meta, domains)
    differences = await known_differences(meta, topic.topic_id)
    found = [
        await _partition(meta, jobs, number, stream, differences)
        for number, stream in enumerate(topic.streams)
    ]
    lease = await meta.get(CLUSTER_DOMAIN, lease_key(topic.topic_id))
    return TopicStatus(
        topic.name,
        None if lease is None else lease.value.decode(errors="replace"),
        tuple(one for one in found if one is not None),
        await load_failure(meta, topic.topic_id),
    )


async def _partition(
    meta: MetaStore, jobs: JobStore, number: int, stream: StreamId, differences: tuple[Difference, ...]
) -> PartitionStatus | None:
    try:
        head, _ = await read_head(meta, jobs.store_domain(stream), stream)
    except StreamUnknown:
        return None
    stored = await jobs.load(stream)
    job = None if stored is None else stored.job
    entries = [entry async for entry in IndexFiles(meta, jobs).entries(stream) if isinstance(entry, WalEntry)]
    skipped = () if job is None else still_skipped(job.skipped, entries)
    ends = SkippedEnds(skipped)
    counts = Counter(ends.place(entry.end_offset) for entry in entries)
    backlog = _backlog([entry for entry in entries if entry.end_offset not in ends])
    here = tuple(one for one in differences if one.partition == number)
    in_each = tuple(counts[place] for place in range(len(skipped)))
    return PartitionStatus(number, head, backlog, job, skipped, in_each, here)


def _backlog(entries: Sequence[WalEntry]) -> Backlog:
    return Backlog(
        len(entries),
        sum(entry.record_count for entry in entries),
        sum(entry.chunk_length for entry in entries),
        min((entry.created_at_ms for entry in entries), default=None),
    )
