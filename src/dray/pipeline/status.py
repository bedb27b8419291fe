"""How far compaction is with a topic, read from the metadata store alone; nothing is changed."""

from dataclasses import dataclass

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.index import CompactionJob, StreamHead, WalEntry, lease_key
from dray.log import StreamUnknown
from dray.log.states import read_head
from dray.meta.port import MetaStore
from dray.pipeline.care.audit import known_differences
from dray.pipeline.care.differences import Difference
from dray.pipeline.index_files import IndexFiles
from dray.pipeline.job_store import JobStore
from dray.pipeline.troubles import Trouble, known_trouble


@dataclass(frozen=True, slots=True)
class Outside:
    """What of a stream is in WAL objects and not in Parquet."""

    entries: int = 0
    records: int = 0
    size_bytes: int = 0
    oldest_ms: int | None = None
    """When the oldest of it was committed."""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """A partition, and the last thing that compaction did with it or is about to do."""

    partition: int
    head: StreamHead
    outside: Outside
    job: CompactionJob | None
    differences: tuple[Difference, ...] = ()
    """Where the table was last found not to have what the index has."""


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """A topic; `holder` is the compactor that is at it now."""

    topic: str
    holder: str | None
    partitions: tuple[PartitionStatus, ...]
    trouble: Trouble | None = None
    """Why its last turn failed, if it did."""


async def status_of(meta: MetaStore, domains: int, topic: Topic) -> TopicStatus:
    """Look at a topic; a partition that is being deleted is left out."""
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
        await known_trouble(meta, topic.topic_id),
    )


async def _partition(
    meta: MetaStore, jobs: JobStore, number: int, stream: StreamId, differences: tuple[Difference, ...]
) -> PartitionStatus | None:
    try:
        head, _ = await read_head(meta, jobs.store_domain(stream), stream)
    except StreamUnknown:
        return None
    stored = await jobs.load(stream)
    outside = await _outside(IndexFiles(meta, jobs), stream)
    here = tuple(one for one in differences if one.partition == number)
    return PartitionStatus(number, head, outside, None if stored is None else stored.job, here)


async def _outside(index: IndexFiles, stream: StreamId) -> Outside:
    entries = [entry async for entry in index.entries(stream) if isinstance(entry, WalEntry)]
    return Outside(
        len(entries),
        sum(entry.record_count for entry in entries),
        sum(entry.chunk_length for entry in entries),
        min((entry.created_at_ms for entry in entries), default=None),
    )
