"""What a job begins with, before anything of it is stored: its record, and names that nobody has used."""

from datetime import UTC, datetime

from dray.ids import FileId, StreamId, TopicRef
from dray.index import CompactionJob, JobState, file_path
from dray.pipeline.parts import CompactionParts


def new_file(parts: CompactionParts, topic: str, partition: int, stream: StreamId) -> tuple[FileId, str]:
    """Name a file that is to be written."""
    file_id = FileId(parts.entropy.token(16))
    day = datetime.fromtimestamp(parts.clock.now_ms() / 1000, UTC).strftime("%Y/%m/%d")
    return file_id, file_path(topic, partition, day, stream, file_id)


def new_job(
    parts: CompactionParts,
    topic: TopicRef,
    partition: int,
    start_offset: int,
    end_offset: int,
    *,
    commit_id: str = "",
) -> CompactionJob:
    """Draft a job over a range of offsets, of which nothing is done yet."""
    now_ms = parts.clock.now_ms()
    return CompactionJob(
        job_id=parts.entropy.token(16).hex(),
        commit_id=commit_id,
        topic=topic,
        partition=partition,
        state=JobState.CREATED,
        created_at_ms=now_ms,
        changed_at_ms=now_ms,
        start_offset=start_offset,
        end_offset=end_offset,
    )
