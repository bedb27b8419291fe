"""How things stand in the metadata store, looked at from outside while others write."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
import msgspec

from dray.cluster.keys import CLUSTER_DOMAIN, topic_key
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
    domain_name,
    entries_after,
    file_gc_range,
    head_key,
    job_key,
)
from dray.meta.port import Domain
from dray.meta.sqlite import SqliteMetaSettings
from dray.meta.sqlite.reader import get, scan
from dray.meta.sqlite.schema import connect_reader, disconnect
from tests.chaos.producers import TOPIC

_DOMAIN = MetaDomain(0)
_STORE_DOMAIN = Domain(domain_name(_DOMAIN))
"""The only one of a cluster that was made without saying how many."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One partition."""

    stream: StreamId
    head: StreamHead
    entries: tuple[IndexEntry, ...]
    """Those that can be read."""
    job: CompactionJob | None

    @property
    def compacted(self) -> int:
        """Up to where the log lies in Parquet files."""
        end = self.head.log_start
        for entry in self.entries:
            if not isinstance(entry, ParquetEntry):
                break
            end = entry.end_offset
        return end

    @property
    def is_at_rest(self) -> bool:
        """Whether there is nothing left to compact, to finish, or to cut at the front."""
        done = self.job is None or self.job.state is JobState.DONE
        cut = not self.entries or self.entries[0].start_offset >= self.head.log_start
        return done and cut and self.compacted == self.head.high_watermark


@dataclass(frozen=True, slots=True)
class Sight:
    """The topic as it was at one moment, more or less: the streams are read one after the other."""

    topic: Topic
    streams: tuple[Stream, ...]
    marks: tuple[FileGcMarker, ...]

    @property
    def paths(self) -> set[str]:
        """Every object that the index names."""
        return {entry.path for stream in self.streams for entry in stream.entries}

    @property
    def is_at_rest(self) -> bool:
        return all(one.is_at_rest for one in self.streams) and not any(mark.in_table for mark in self.marks)


def look(metadata: Path) -> Sight:
    with _reading(metadata) as db:
        stored = get(db, CLUSTER_DOMAIN, topic_key(TOPIC))
        assert stored is not None, "there is no topic yet"
        topic = msgspec.msgpack.decode(stored.value, type=Topic)
        marks = scan(db, _STORE_DOMAIN, *file_gc_range(_DOMAIN), None, reverse=False)
        return Sight(
            topic,
            tuple(_stream(db, stream) for stream in topic.streams),
            tuple(decode_file_gc(found.key, found.value) for found in marks),
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
        with db:  # one transaction: all that is read belongs together
            yield db
    finally:
        disconnect(db)
