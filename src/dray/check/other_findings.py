"""Findings about compaction jobs, bulk loads, undecodable values, tables and groups. Pure."""

from dataclasses import dataclass
from typing import ClassVar

from dray.check.findings import COMPACTOR, Finding, OfStream, Severity
from dray.ids import LoadId, TopicRef
from dray.index import JobState
from dray.index.loads import LoadState


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckJob(OfStream):
    """A compaction job that has not changed for long."""

    name: ClassVar[str] = "stuck_job"
    severity: ClassVar[Severity] = Severity.NOTE
    state: JobState
    changed_at_ms: int

    @property
    def what(self) -> str:
        return f"the compaction job is {self.state} and not finished"

    @property
    def remedy(self) -> str:
        return COMPACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class DanglingJob(OfStream):
    """A compaction job of a stream that no longer exists."""

    name: ClassVar[str] = "dangling_job"
    severity: ClassVar[Severity] = Severity.NOTE
    state: JobState
    topic: TopicRef

    @property
    def what(self) -> str:
        return f"a compaction job ({self.state}) of the deleted topic {self.topic.name}"

    @property
    def remedy(self) -> str:
        return COMPACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFileMissing(OfStream):
    """A job has written a file that does not exist."""

    name: ClassVar[str] = "job_file_missing"
    severity: ClassVar[Severity] = Severity.WRONG
    path: str
    state: JobState

    @property
    def what(self) -> str:
        return f"the compaction job ({self.state}) has written {self.path}, which does not exist"

    @property
    def remedy(self) -> str:
        if self.state is JobState.PUBLISHED:
            return f"restore {self.path}, for example from a version of the bucket"
        return COMPACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedLoad(Finding):
    """A bulk load that neither its driver nor the sweep has ended in time."""

    name: ClassVar[str] = "unfinished_load"
    severity: ClassVar[Severity] = Severity.NOTE
    load_id: LoadId
    topic: TopicRef
    state: LoadState

    @property
    def what(self) -> str:
        return f"the bulk load {self.load_id.hex()} into {self.topic.name} is {self.state} and not ended"

    @property
    def remedy(self) -> str:
        return "`dray gc run`; running brokers do it every minute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecodable(Finding):
    """A value that cannot be decoded."""

    name: ClassVar[str] = "undecodable"
    severity: ClassVar[Severity] = Severity.WRONG
    key: str
    reason: str

    @property
    def what(self) -> str:
        return self.reason

    @property
    def remedy(self) -> str:
        return f"restore {self.key} from a backup of the metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTable(Finding):
    """A finding in the table of a topic."""

    topic: str
    partition: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    reason: str

    @property
    def offsets(self) -> tuple[int, int] | None:
        if self.first_offset is None or self.last_offset is None:
            return None
        return self.first_offset, self.last_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDiffers(OfTable):
    """Records that a table lacks, has twice, or cannot be read from it."""

    name: ClassVar[str] = "table_differs"
    severity: ClassVar[Severity] = Severity.WRONG
    records: int

    @property
    def what(self) -> str:
        return f"{self.records} records differ in the table: {self.reason}"

    @property
    def remedy(self) -> str:
        return "`dray compaction status` shows what compactors know; docs/guide/tables.md says what to do"


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePending(OfTable):
    """A change that a compactor will make."""

    name: ClassVar[str] = "table_pending"
    severity: ClassVar[Severity] = Severity.NOTE

    @property
    def what(self) -> str:
        return f"table: {self.reason}"

    @property
    def remedy(self) -> str:
        return COMPACTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class TableUnreadable(OfTable):
    """A topic's table cannot be read."""

    name: ClassVar[str] = "table_unreadable"
    severity: ClassVar[Severity] = Severity.WRONG

    @property
    def what(self) -> str:
        return f"the table cannot be read: {self.reason}"

    @property
    def remedy(self) -> str:
        return "`dray tables list`"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsWithoutTopic(Finding):
    """Committed offsets of a group for partitions that do not exist."""

    name: ClassVar[str] = "offsets_without_topic"
    severity: ClassVar[Severity] = Severity.NOTE
    group: str
    topic: str
    partitions: tuple[int, ...]

    @property
    def what(self) -> str:
        partitions = ", ".join(map(str, self.partitions[:10]))
        more = f" and {len(self.partitions) - 10} more" if len(self.partitions) > 10 else ""
        return f"group '{self.group}' has offsets for partitions that do not exist: {partitions}{more}"

    @property
    def remedy(self) -> str:
        return "nothing: brokers remove them when they expire"
