"""Topic state in the metadata store, read from outside while other processes write."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
import msgspec

from dray.cluster.topics import Topic
from dray.ids import MetaDomain, StreamId
from dray.index import (
    CompactionJob,
    FileGcMarker,
    IndexEntry,
    JobState,
    ParquetEntry,
    StreamHead,
    decode_entry,
    decode_file_gc,
    decode_head,
    decode_job,
)
from dray.keyspace import (
    CLUSTER_DOMAIN,
    entries_after,
    file_gc_range,
    head_key,
    job_key,
    log_domain,
    topic_key,
)
from dray.meta.sqlite import SqliteMetaSettings
from dray.meta.sqlite.reader import get, scan
from dray.meta.sqlite.schema import connect_reader, disconnect
from tests.chaos.producers import TOPIC

_DOMAIN = MetaDomain(0)
_STORE_DOMAIN = log_domain(_DOMAIN)
"""The only log domain of a cluster created with the default number."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One partition."""

    stream: StreamId
    head: StreamHead
    entries: tuple[IndexEntry, ...]
    """The entries from the log start on."""
    job: CompactionJob | None

    @property
    def compacted(self) -> int:
        """End offset of the log's Parquet files."""
        end = self.head.log_start
        for entry in self.entries:
            if not isinstance(entry, ParquetEntry):
                break
            end = entry.end_offset
        return end

    @property
    def is_settled(self) -> bool:
        """Whether no records are left to compact or to remove at the log start, and no job is unfinished."""
        done = self.job is None or self.job.state is JobState.DONE
        trimmed = not self.entries or self.entries[0].start_offset >= self.head.log_start
        return done and trimmed and self.compacted == self.head.high_watermark


@dataclass(frozen=True, slots=True)
class TopicState:
    """The topic's streams and markers, read in one transaction."""

    topic: Topic
    streams: tuple[Stream, ...]
    markers: tuple[FileGcMarker, ...]

    @property
    def paths(self) -> set[str]:
        """All objects that the index references."""
        return {entry.path for stream in self.streams for entry in stream.entries}

    @property
    def is_settled(self) -> bool:
        return all(one.is_settled for one in self.streams) and not any(
            marker.in_table for marker in self.markers
        )


def read_topic_state(metadata: Path) -> TopicState:
    with _reading(metadata) as db:
        stored = get(db, CLUSTER_DOMAIN, topic_key(TOPIC))
        assert stored is not None, "there is no topic yet"
        topic = msgspec.msgpack.decode(stored.value, type=Topic)
        markers = scan(db, _STORE_DOMAIN, *file_gc_range(_DOMAIN), None, reverse=False)
        return TopicState(
            topic,
            tuple(_stream(db, stream) for stream in topic.streams),
            tuple(decode_file_gc(found.key, found.value) for found in markers),
        )


def _stream(db: apsw.Connection, stream: StreamId) -> Stream:
    head = get(db, _STORE_DOMAIN, head_key(stream))
    assert head is not None
    found_head = decode_head(head.key, head.value)
    found = scan(db, _STORE_DOMAIN, *entries_after(stream, found_head.log_start), None, reverse=False)
    job = get(db, _STORE_DOMAIN, job_key(stream))
    return Stream(
        stream,
        found_head,
        tuple(decode_entry(one.key, one.value) for one in found),
        None if job is None else decode_job(job.key, job.value),
    )


@contextmanager
def _reading(metadata: Path) -> Iterator[apsw.Connection]:
    db = connect_reader(metadata, SqliteMetaSettings(), busy_ms=5_000)
    try:
        with db:  # one transaction, for a consistent view
            yield db
    finally:
        disconnect(db)
