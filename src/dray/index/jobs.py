"""The durable state of a compaction: one record a stream, changed by one conditional write at a time.

    created ──files written──▶ written ──in the table──▶ tabled ──index swapped──▶ done
       └──given up──▶ done          └──given up, files left to the sweep──▶ done

Whoever finds a record that is not done goes on from there. `created`: nothing has happened that anybody can
see, so the work is planned anew. `written`: the table is asked whether it has the commit, and gets it if not.
`tabled`: the index is swapped. The swap and the step to `done` are one commit, together with the references
and marks by which the sweep finds what may be deleted.

Streams of one topic share their table commit: the records that name the same `commit_id` go into the table
together or not at all.
"""

from enum import StrEnum
from typing import Final

import msgspec

from dray.ids import FileId, StreamId, TopicRef
from dray.index.cleaned import Cleaned
from dray.index.keys import ROOT, children
from dray.index.stored import decoded
from dray.index.swap import FilePlace

_JOBS: Final = f"{ROOT}/compaction/jobs/"


class JobState(StrEnum):
    """How far a job has come."""

    CREATED = "created"
    WRITTEN = "written"
    TABLED = "tabled"
    DONE = "done"


class Replaced(msgspec.Struct, frozen=True, array_like=True):
    """A Parquet file that the job's files are to stand for from now on."""

    file_id: FileId
    path: str


class CompactionJob(msgspec.Struct, frozen=True, array_like=True, tag="j1"):
    """One compaction of one stream."""

    job_id: str
    commit_id: str
    """Names the change of the table that this job is part of."""
    topic: TopicRef
    partition: int
    state: JobState
    created_at_ms: int
    changed_at_ms: int
    start_offset: int
    end_offset: int
    files: tuple[FilePlace, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    outcome: str = ""
    """Why it was given up; empty if it was not."""
    cleaned: Cleaned = Cleaned()
    """How far the stream has been cleaned by now; each job hands it on to the next."""
    cleaned_then: Cleaned | None = None
    """What `cleaned` becomes when the index is swapped, if this job cleans."""

    @property
    def is_unfinished(self) -> bool:
        """Whether it has files and must be taken to its end; without any, it can be planned anew."""
        return self.state in (JobState.WRITTEN, JobState.TABLED)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(CompactionJob)


def encode_job(job: CompactionJob) -> bytes:
    return _encoder.encode(job)


def decode_job(key: str, value: bytes) -> CompactionJob:
    return decoded(_decoder, key, value, "a compaction job")


def job_key(stream: StreamId) -> str:
    return f"{_JOBS}{stream:016x}"


def jobs_range() -> tuple[str, str]:
    """Return the scan that covers the jobs of a domain's streams."""
    return children(_JOBS)


def lease_key(topic_id: bytes) -> str:
    return f"{ROOT}/compaction/leases/{topic_id.hex()}"
