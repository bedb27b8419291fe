"""The tables port: the table of a topic as a set of immutable data files, changed by atomic commits.

*Table.* Each topic has one, looked up by the topic's name and identified by the topic's id. A table of that
name with another id is not the topic's and is never written.

*Path.* A path in the object store, relative to its root. A file outside that root, added by another engine,
has its whole URL as its path; only such a path contains `//`.

*Exactly once.* A commit belongs to a job. Repeating a job changes nothing and returns the snapshot of the
first commit, or None for it once that snapshot has expired. The table remembers a job by the summary of its
snapshot, and by the job's marks, one per partition, which outlive the snapshot until the next job marks the
same partition. A caller that was paused while others finished its job, did the next one and expired the first
would not find its job there, and must not repeat it. So read `snapshot_id`, make sure that the job is still
due, and pass that snapshot as `expected_snapshot_id`: a commit in between raises `SnapshotChanged`.

*Unknown outcomes.* The adapter looks up a commit whose response was lost. Only if the catalog stays
unavailable does the caller see `OutcomeUnknown`; repeating the same job is always safe. A cancelled call may
or may not have taken effect.

*Other engines.* Any engine may commit to the table: insert, delete, rewrite, add columns. `current`
reflects it.

Errors, by what the caller must do:

    TablesError
    ├── Retriable             retry later, with the same job
    │   ├── Unavailable       nothing was changed
    │   └── OutcomeUnknown    the commit may or may not have taken effect
    ├── StaleView             nothing was changed; read `current` and decide again
    │   ├── Conflict          every attempt lost to another commit
    │   ├── SnapshotChanged   the table is not at the snapshot that the commit was meant for
    │   └── FilesMissing      files to be replaced are not in the table
    └── Permanent             nothing was changed; an operator must act, and the message says how
        ├── TableMissing      dropped, renamed or never created
        ├── TableAltered      our columns, our partitioning or the format version were changed
        ├── TableDamaged      a metadata file is missing or unreadable
        ├── NotOurs           a table of that name is not marked as this topic's
        ├── AccessDenied      the catalog or the store denies access
        └── RequestRejected   the catalog rejects the request as it is
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

ANY_SNAPSHOT: Final = -1
"""As `expected_snapshot_id`: commit to whichever snapshot is current."""


class TablesError(Exception):
    """A call to the catalog failed."""


class Retriable(TablesError):
    """A temporary failure: retry later, with the same job."""


class Unavailable(Retriable):
    """The catalog or the store could not be reached or did not respond; nothing was changed."""


class OutcomeUnknown(Retriable):
    """The commit was sent, and its outcome could not be determined."""


class StaleView(TablesError):
    """The caller's view of the table is out of date; nothing was changed."""


class Conflict(StaleView):
    """Every attempt lost to another commit."""


class SnapshotChanged(StaleView):
    """Another commit came after the caller read the snapshot."""


class FilesMissing(StaleView):
    """Files to be replaced are no longer in the table."""


class Permanent(TablesError):
    """A retry will not help; nothing was changed."""


class TableMissing(Permanent):
    """The catalog has no such table."""


class TableAltered(Permanent):
    """Our files no longer fit the table's schema, partitioning or format version."""


class TableDamaged(Permanent):
    """A metadata file of the table is missing or unreadable; other tables are not affected."""


class NotOurs(Permanent):
    """The table of that name belongs to another topic or cluster, or does not say whose it is."""


class AccessDenied(Permanent):
    """The credentials are wrong or insufficient."""


class RequestRejected(Permanent):
    """The catalog or the store rejects the request as it is."""


@dataclass(frozen=True, slots=True)
class TopicTable:
    """The table of a topic. `topic_id` distinguishes topics that had the same name at different times."""

    topic: str
    topic_id: str


@dataclass(frozen=True, slots=True)
class Job:
    """The reason for a commit. `marks`: for each partition, the offset up to which it is now processed.

    The table keeps each mark with the job's id; a job on older files moves no mark back (`marked`).
    """

    id: str
    marks: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id or len(self.id) > 200 or not self.id.isascii() or not self.id.isprintable():
            raise ValueError(f"{self.id!r} is not a job id; expected 1 to 200 printable ASCII characters")
        if " " in self.id:
            raise ValueError(f"{self.id!r} is not a job id; it must not contain spaces")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file in the object store that is not in the table yet.

    `footer` is the file's own footer; the caller has verified its checksum.
    """

    path: str
    size_bytes: int
    records: int
    partition: int
    first_offset: int
    last_offset: int
    footer: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file of the table. Bounds are None if the writer left them out, and so is a mixed partition.

    `has_deletes`: rows may have been deleted from it without a rewrite (merge on read). Replacing it by its
    full content would restore them.
    """

    path: str
    size_bytes: int
    records: int
    partition: int | None
    first_offset: int | None
    last_offset: int | None
    has_deletes: bool = False

    def may_hold(self, partition: int, start_offset: int, end_offset: int) -> bool:
        """Whether it may hold rows of a partition from one offset to another, the second exclusive."""
        return (
            self.partition in (None, partition)
            and (self.first_offset is None or self.first_offset < end_offset)
            and (self.last_offset is None or self.last_offset >= start_offset)
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a partition has been processed, and by which job last."""

    offset: int
    job_id: str


def marked(job: Job, known: Mapping[int, Mark]) -> dict[int, Mark]:
    """Return the marks that a job sets, given the marks before it."""
    return {
        partition: Mark(max(offset, known[partition].offset if partition in known else 0), job.id)
        for partition, offset in job.marks.items()
    }


@dataclass(frozen=True, slots=True)
class TableState:
    """The table at one point in time; `snapshot_id` is None before the first commit."""

    snapshot_id: int | None
    files: tuple[LiveFile, ...]
    marks: Mapping[int, Mark]
    properties: Mapping[str, str]

    @property
    def whole_paths(self) -> frozenset[str]:
        """The files without deleted rows: those that may be replaced by their full content."""
        return frozenset(file.path for file in self.files if not file.has_deletes)


@dataclass(frozen=True, slots=True)
class Committed:
    """A job's commit. `repeated`: it was done before; `snapshot_id` is None if its snapshot has expired."""

    snapshot_id: int | None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Expired:
    """Metadata files that became unreachable. Deleting them is up to the caller."""

    snapshots: int
    metadata_files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """The tables of this cluster, whether or not their topics still exist.

    `unreadable`: unreadable tables that are named after a topic, by topic, each with the reason. They may be
    ours or not, so `in` counts them as present, while iteration leaves them out.
    `elsewhere`: tables marked as a topic's that have another name, by name. They are left alone.
    `unreadable_others`: unreadable tables that are not named after a topic, by name. They may be `elsewhere`.
    `folders`: locations of all readable tables, foreign ones included; repeated if two tables share one.
    """

    tables: tuple[TopicTable, ...] = ()
    unreadable: Mapping[str, TablesError] = field(default_factory=dict)
    elsewhere: Mapping[str, TopicTable] = field(default_factory=dict)
    unreadable_others: Mapping[str, TablesError] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every table was readable, so that no topic's table can be missing from the listing."""
        return not self.unreadable and not self.unreadable_others

    def __contains__(self, table: object) -> bool:
        return table in self.tables or (isinstance(table, TopicTable) and table.topic in self.unreadable)

    def __iter__(self) -> Iterator[TopicTable]:
        return iter(self.tables)


class Tables(Protocol):
    """The port."""

    async def create_if_missing(self, table: TopicTable, folder: str) -> None:
        """Create the table, or check that the existing one is ours and that our files fit.

        The folder must not be another table's: files in a table's folder that the table does not reach are
        deleted as orphans.
        """
        ...

    async def folder(self, table: TopicTable) -> str:
        """Return the table's location: a path in the store, or a URL if it was set to a place outside."""
        ...

    async def check(self, table: TopicTable) -> None:
        """Check that the table exists, that it is ours, and that our files fit."""
        ...

    async def snapshot_id(self, table: TopicTable) -> int | None:
        """Return the current snapshot without reading the file list; None before the first commit."""
        ...

    async def append(
        self,
        table: TopicTable,
        files: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        """Add files. A job that was done before is reported as repeated, whatever snapshot is current."""
        ...

    async def replace(
        self,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        """Remove files and add others in one commit.

        If the row counts are equal, the rows must be the same: the snapshot is a `replace`, which incremental
        readers skip. Without `added` the rows are deleted: retention removes whole files this way. A removed
        file that is not in the table raises `FilesMissing`.
        """
        ...

    async def current(self, table: TopicTable) -> TableState: ...

    async def find_job(self, table: TopicTable, job: Job) -> Committed | None:
        """Return the job's commit if it was done, without reading the file list."""
        ...

    async def expire(self, table: TopicTable, older_than_ms: int) -> Expired:
        """Expire snapshots that were replaced before then, unless a branch, a tag or a property keeps them.

        A reader can therefore rely on its snapshot for that long after it was replaced.
        """
        ...

    async def reachable(self, table: TopicTable, *, data: bool = True) -> frozenset[str]:
        """Return every file that the table or one of its snapshots references; without `data`, metadata only.

        Files of a commit in progress are not among them yet: leave young files alone.
        """
        ...

    async def drop(self, table: TopicTable) -> bool:
        """Remove the table from the catalog without deleting files; a missing table is not an error.

        Returns whether this call removed it, as far as that is known.
        """
        ...

    async def listing(self) -> Listing:
        """List all tables; one that cannot be read is reported in the result and does not hide the others."""
        ...

    async def close(self) -> None:
        """Wait for calls in progress, then release all resources."""
        ...
