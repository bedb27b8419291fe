"""Durable state of compaction jobs: one record per stream, changed by one conditional write at a time.

    created ──files written──▶ written ──table commit──▶ published ──index swapped──▶ done
       └──aborted──▶ done         └──aborted, files left to the sweep──▶ done

A compactor resumes any job that is not `done`:

- `created`: nothing is visible yet; the work is planned again.
- `written`: the files exist. The compactor looks for the commit in the table, and commits if it is missing.
- `published`: the table has the files; the index is still to be swapped.

One commit swaps the index, moves the job to `done`, and updates the references and deletion markers that the
sweep reads.

Streams of one topic share a table commit: jobs with the same `commit_id` are committed to the table together
or not at all.
"""

from enum import StrEnum

import msgspec

from dray.ids import FileId, TopicRef
from dray.index.key_compaction import KeyCompactionState
from dray.index.stored import decoded
from dray.index.swap import FileRef


class JobState(StrEnum):
    """Progress of a job."""

    CREATED = "created"
    WRITTEN = "written"
    PUBLISHED = "published"
    DONE = "done"


class Replaced(msgspec.Struct, frozen=True, array_like=True):
    """A Parquet file that the job's files replace."""

    file_id: FileId
    path: str


class SkippedRange(msgspec.Struct, frozen=True, array_like=True):
    """Adjacent index entries that compaction could not convert to rows; they stay in the WAL for retries."""

    start_offset: int
    end_offset: int
    path: str
    """The object of the first entry; empty if there are too many ranges to name them all."""
    reason: str
    """Why the first entry could not be converted; empty with the path."""
    since_ms: int


class CompactionJob(msgspec.Struct, frozen=True, array_like=True, tag="j1"):
    """One compaction of one stream."""

    job_id: str
    commit_id: str
    """Identifies the table commit that this job is part of."""
    topic: TopicRef
    partition: int
    state: JobState
    created_at_ms: int
    changed_at_ms: int
    start_offset: int
    end_offset: int
    files: tuple[FileRef, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    outcome: str = ""
    """Why the job was aborted; empty if it was not."""
    key_compaction: KeyCompactionState = KeyCompactionState()
    """Key compaction of the stream so far; each job copies it from the one before."""
    key_compaction_after: KeyCompactionState | None = None
    """What `key_compaction` becomes when the index is swapped, if this job compacts by key."""
    skipped: tuple[SkippedRange, ...] = ()
    """WAL entries of the stream that could not be converted; each job copies them from the one before."""

    @property
    def is_unfinished(self) -> bool:
        """Whether the job has files and must be completed; a job without files can be planned again."""
        return self.state in (JobState.WRITTEN, JobState.PUBLISHED)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(CompactionJob)


def encode_job(job: CompactionJob) -> bytes:
    return _encoder.encode(job)


def decode_job(key: str, value: bytes) -> CompactionJob:
    return decoded(_decoder, key, value, "a compaction job")
