"""Dependencies shared by everything in a compactor, and the job records and file names drawn from them."""

from dataclasses import dataclass
from datetime import UTC, datetime

from dray.compaction.engine import RunTasks
from dray.compaction.index_files import IndexFiles
from dray.compaction.job_store import JobStore
from dray.compaction.publish import Publisher
from dray.compaction.settings import CompactionSettings
from dray.ids import FileId, StreamId, TopicRef
from dray.index import CompactionJob, JobState, file_path
from dray.log import LogSettings
from dray.meta.port import MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock, Entropy
from dray.tables.port import Tables


@dataclass(frozen=True, slots=True)
class CompactionDeps:
    """Stores, engine, clock, entropy and settings; created once per compactor."""

    meta: MetaStore
    jobs: JobStore
    objects: ObjectStore
    tables: Tables
    publisher: Publisher
    run_tasks: RunTasks
    clock: Clock
    entropy: Entropy
    settings: CompactionSettings
    log_settings: LogSettings

    @property
    def index(self) -> IndexFiles:
        """The Parquet files in the index."""
        return IndexFiles(self.meta, self.jobs)


def new_file(deps: CompactionDeps, topic: str, partition: int, stream: StreamId) -> tuple[FileId, str]:
    """Return a new id and path for a file to be written."""
    file_id = FileId(deps.entropy.token(16))
    day = datetime.fromtimestamp(deps.clock.now_ms() / 1000, UTC).strftime("%Y/%m/%d")
    return file_id, file_path(topic, partition, day, stream, file_id)


def new_job(
    deps: CompactionDeps,
    topic: TopicRef,
    partition: int,
    start_offset: int,
    end_offset: int,
    *,
    commit_id: str = "",
) -> CompactionJob:
    """Return a job in state `CREATED` over a range of offsets; nothing is stored yet."""
    now_ms = deps.clock.now_ms()
    return CompactionJob(
        job_id=deps.entropy.token(16).hex(),
        commit_id=commit_id,
        topic=topic,
        partition=partition,
        state=JobState.CREATED,
        created_at_ms=now_ms,
        changed_at_ms=now_ms,
        start_offset=start_offset,
        end_offset=end_offset,
    )
