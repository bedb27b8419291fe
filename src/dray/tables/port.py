"""The topic's table as the rest of Dray sees it: a set of immutable data files that changes by commits.

*Table.* Each topic has one, found by the topic's name and recognised by its id: a table of that name with
another id is somebody else's and is never written.

*Path.* As the object store has it, relative to its root. A file outside that root, which somebody else has
added, goes by its whole URL; only such a name has `//` in it.

*Exactly once.* A commit carries a job. Doing a job again changes nothing and returns the snapshot of the
first time, or None for it when that has been expired. The table remembers a job by the summary of its
snapshot, and by the marks it set, one for each partition, which outlive the snapshot until the next job marks
the same partition. Whoever has been away for so long that others have settled the job, done the next and
expired the first must not do it again: it would not be found. So ask for `snapshot_id`, make sure that the
job is still to be done, and commit `onto` that snapshot: if anybody was quicker, the table has `Moved`.

*Unknown outcomes.* A commit whose answer was lost is looked up by the adapter. Only when the catalogue stays
out of reach does the caller see `OutcomeUnknown`; doing the same job again is always right. A caller who is
cancelled leaves the same doubt.

*Others.* Anybody may commit to the table: insert, delete, rewrite, add columns. `current` shows what is so.

Errors are sorted by what the caller must do:

    TablesError
    ├── TryAgain            later, with the same job
    │   ├── Unavailable     nothing happened
    │   └── OutcomeUnknown  it may or may not have happened
    ├── LookAgain           nothing happened; ask for `current` and decide anew
    │   ├── Conflict        others were always first
    │   ├── Moved           the table is not at the snapshot that it was to be committed onto
    │   └── FilesGone       files to be replaced are not in the table
    └── GiveUp              nothing happened, and nothing will until a person acts; the message says how
        ├── TableMissing    dropped, renamed or never created
        ├── TableAltered    our columns, our partitioning or the version of its format have been changed
        ├── TableDamaged    a file of its metadata is missing or cannot be read
        ├── NotOurs         a table of that name does not say that it is this topic's
        ├── NotAllowed      the catalogue or the store does not let us
        └── Refused         the catalogue does not take the request as it is
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

ANYWHERE: Final = -1
"""In place of a snapshot: wherever the table is."""


class TablesError(Exception):
    """A catalogue did not do what was asked."""


class TryAgain(TablesError):
    """It may pass; try again later, with the same job."""


class Unavailable(TryAgain):
    """The catalogue or the store could not be reached or would not answer; nothing was changed."""


class OutcomeUnknown(TryAgain):
    """The commit was sent and nobody could say what came of it."""


class LookAgain(TablesError):
    """The table is not as the caller thought; nothing was changed."""


class Conflict(LookAgain):
    """Others committed first, as often as we tried."""


class Moved(LookAgain):
    """Somebody has committed since the caller looked."""


class FilesGone(LookAgain):
    """Files that were to be replaced are not in the table any more."""


class GiveUp(TablesError):
    """Trying again will not help; nothing was changed."""


class TableMissing(GiveUp):
    """There is no such table in the catalogue."""


class TableAltered(GiveUp):
    """Our files no longer fit the table's schema, partitioning or format."""


class TableDamaged(GiveUp):
    """A file of the table's metadata is missing or cannot be read; other tables are not concerned."""


class NotOurs(GiveUp):
    """The table of that name belongs to another topic or another cluster, or does not say whose it is."""


class NotAllowed(GiveUp):
    """The credentials are wrong or do not suffice."""


class Refused(GiveUp):
    """The catalogue or the store does not take the request as it is."""


@dataclass(frozen=True, slots=True)
class TopicTable:
    """Names a table: the one of this topic. `topic_id` tells a topic from its namesakes before and after."""

    topic: str
    topic_id: str


@dataclass(frozen=True, slots=True)
class Job:
    """What a commit is done for. `marks`: for each partition, the offset up to which it has now been done.

    The table keeps each mark with the job's id; a job on older files takes no offset back (`marked`).
    """

    id: str
    marks: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id or len(self.id) > 200 or not self.id.isascii() or not self.id.isprintable():
            raise ValueError(f"{self.id!r} is no id of a job; expected 1 to 200 printable characters")
        if " " in self.id:
            raise ValueError(f"{self.id!r} is no id of a job; it may not have spaces")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file that is in the object store and not yet in the table.

    `footer` is the file's own footer, whose checksum whoever read it has compared.
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
    """A data file of the table. What somebody else wrote may lack bounds, or mix partitions: then None.

    `has_deletes`: somebody may have deleted rows of it without rewriting it (merge on read). To replace it by
    its full content would bring those back.
    """

    path: str
    size_bytes: int
    records: int
    partition: int | None
    first_offset: int | None
    last_offset: int | None
    has_deletes: bool = False

    def may_hold(self, partition: int, start_offset: int, end_offset: int) -> bool:
        """Whether there may be rows in it of a partition between two offsets, the second not included."""
        return (
            self.partition in (None, partition)
            and (self.first_offset is None or self.first_offset < end_offset)
            and (self.last_offset is None or self.last_offset >= start_offset)
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a partition has been done, and by which job last."""

    offset: int
    job_id: str


def marked(job: Job, known: Mapping[int, Mark]) -> dict[int, Mark]:
    """Return the marks that a job leaves where there were others."""
    return {
        partition: Mark(max(offset, known[partition].offset if partition in known else 0), job.id)
        for partition, offset in job.marks.items()
    }


@dataclass(frozen=True, slots=True)
class TableState:
    """The table at one moment; `snapshot_id` is None before the first commit."""

    snapshot_id: int | None
    files: tuple[LiveFile, ...]
    marks: Mapping[int, Mark]
    properties: Mapping[str, str]

    @property
    def whole_paths(self) -> frozenset[str]:
        """The files of which nobody has deleted rows: those that may be replaced by what they hold."""
        return frozenset(file.path for file in self.files if not file.has_deletes)


@dataclass(frozen=True, slots=True)
class Committed:
    """The job is done. `repeated`: it had been before; then `snapshot_id` is None if that was expired."""

    snapshot_id: int | None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Expired:
    """What of the metadata nothing refers to any more. Nothing was deleted: that is for the caller."""

    snapshots: int
    metadata_files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """The tables of this cluster, whether or not their topics still exist.

    `unreadable`: tables that have the name of a topic's and cannot be read, by topic, each with the reason.
    Whose they are is not known, so `in` counts them as there, and going through the tables leaves them out.
    `elsewhere`: tables that say they are a topic's and have another name, by name. Nobody touches them.
    `unreadable_others`: tables that have no topic's name and cannot be read, by name: they may be of those.
    `folders`: where the tables are that could be read, strangers' too; twice what two tables have.
    """

    tables: tuple[TopicTable, ...] = ()
    unreadable: Mapping[str, TablesError] = field(default_factory=dict)
    elsewhere: Mapping[str, TopicTable] = field(default_factory=dict)
    unreadable_others: Mapping[str, TablesError] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every table could be read, so that none can be a topic's unknown to us."""
        return not self.unreadable and not self.unreadable_others

    def __contains__(self, table: object) -> bool:
        return table in self.tables or (isinstance(table, TopicTable) and table.topic in self.unreadable)

    def __iter__(self) -> Iterator[TopicTable]:
        return iter(self.tables)


class Tables(Protocol):
    """The port."""

    async def create_if_missing(self, table: TopicTable, folder: str) -> None:
        """Make the table unless it is there; if it is, see that it is ours and that our files fit.

        The folder that it is made in must not be another table's, for what is in a table's folder and not
        reached by it is swept.
        """
        ...

    async def folder(self, table: TopicTable) -> str:
        """Say where the table is: a path of the store, or a whole URL if somebody has set one outside."""
        ...

    async def check(self, table: TopicTable) -> None:
        """See that the table is there, that it is ours, and that our files fit."""
        ...

    async def snapshot_id(self, table: TopicTable) -> int | None:
        """Say where the table is, without reading the list of files; None before the first commit."""
        ...

    async def append(
        self, table: TopicTable, files: Sequence[DataFile], job: Job, onto: int | None = ANYWHERE
    ) -> Committed:
        """Put files in. A job that has been done is told as that, wherever the table is."""
        ...

    async def replace(
        self,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        job: Job,
        onto: int | None = ANYWHERE,
    ) -> Committed:
        """Take files out and put others in, in one commit.

        If as many rows come as go, they must be the same rows: readers of changes are told that nothing
        changed. Without `added` the rows are gone: this is how retention takes whole files. A removed file
        that is not in the table is `FilesGone`.
        """
        ...

    async def current(self, table: TopicTable) -> TableState: ...

    async def find_job(self, table: TopicTable, job: Job) -> Committed | None:
        """Say whether the job was done, without reading the list of files."""
        ...

    async def expire(self, table: TopicTable, older_than_ms: int) -> Expired:
        """Forget snapshots that were current no more before then, unless somebody has asked to keep them.

        So whoever read the table since may go on for as long as the snapshots are kept.
        """
        ...

    async def reachable(self, table: TopicTable, *, data: bool = True) -> frozenset[str]:
        """Every file that the table or a snapshot it still has refers to; without `data`, of metadata only.

        What a commit under way has written is not among them yet: leave young files alone.
        """
        ...

    async def drop(self, table: TopicTable) -> bool:
        """Take the table out of the catalogue and delete no file; one that is not there is no fault.

        Returns whether it was this call that did so, as far as that is known.
        """
        ...

    async def listing(self) -> Listing:
        """Look through all tables. One that cannot be read is told and keeps no other from being listed."""
        ...

    async def close(self) -> None:
        """Let go of everything held, after the calls under way have ended."""
        ...
