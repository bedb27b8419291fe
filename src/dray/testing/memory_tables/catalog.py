"""In-memory catalog: synchronous calls that take effect at once.

Several clients may share one. It follows the rules of the port and has nothing of Iceberg. The `external_`
methods are changes that other engines make to a table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dray.runtime import Clock
from dray.tables.names import metadata_folder
from dray.tables.port import (
    ANY_SNAPSHOT,
    Committed,
    DataFile,
    Expired,
    FilesMissing,
    Job,
    Listing,
    LiveFile,
    Mark,
    NotOurs,
    SnapshotChanged,
    TableAltered,
    TableDamaged,
    TableMissing,
    TablesError,
    TableState,
    TopicTable,
    marked,
)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    id: int
    parent: int | None
    made_ms: int
    job_id: str | None
    files: Mapping[str, LiveFile]


@dataclass(slots=True)
class _Table:
    topic_id: str
    folder: str
    snapshots: dict[int, _Snapshot] = field(default_factory=dict)
    current: int | None = None
    marks: dict[int, Mark] = field(default_factory=dict)
    misfit: str | None = None
    damage: str | None = None

    def files(self) -> Mapping[str, LiveFile]:
        return {} if self.current is None else self.snapshots[self.current].files


class MemoryCatalog:
    """The tables that all clients share."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tables: dict[str, _Table] = {}
        self._elsewhere: dict[str, tuple[TopicTable, _Table]] = {}
        self._last_id = 0

    def create_if_missing(self, table: TopicTable, folder: str) -> None:
        self._tables.setdefault(table.topic, _Table(table.topic_id, folder))
        self._fitting(table)

    def folder(self, table: TopicTable) -> str:
        return self._found(table).folder

    def check(self, table: TopicTable) -> None:
        self._fitting(table)

    def snapshot_id(self, table: TopicTable) -> int | None:
        return self._found(table).current

    def append(
        self,
        table: TopicTable,
        files: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        if done := self.find_job(table, job):
            return done
        self._check_snapshot(table, expected_snapshot_id)
        found = self._fitting(table)
        return self._commit(found, {**found.files(), **_live(files)}, job)

    def replace(
        self,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        if done := self.find_job(table, job):
            return done
        self._check_snapshot(table, expected_snapshot_id)
        found = self._fitting(table) if added else self._found(table)
        files = found.files()
        if missing := set(removed) - files.keys():
            raise FilesMissing(f"table of {table.topic}: {len(missing)} files, such as {min(missing)}")
        kept = {path: file for path, file in files.items() if path not in set(removed)}
        return self._commit(found, {**kept, **_live(added)}, job)

    def current(self, table: TopicTable) -> TableState:
        found = self._found(table)
        files = sorted(found.files().values(), key=lambda f: (f.partition or 0, f.first_offset or 0, f.path))
        properties = {"dray.topic": table.topic, "dray.topic-id": found.topic_id}
        return TableState(found.current, tuple(files), dict(found.marks), properties)

    def find_job(self, table: TopicTable, job: Job) -> Committed | None:
        found = self._found(table)
        at = found.current
        while at is not None and at in found.snapshots:
            if found.snapshots[at].job_id == job.id:
                return Committed(at, repeated=True)
            at = found.snapshots[at].parent
        known = [found.marks.get(partition) for partition in job.marks]
        if known and all(mark is not None and mark.job_id == job.id for mark in known):
            return Committed(None, repeated=True)
        return None

    def expire(self, table: TopicTable, older_than_ms: int) -> Expired:
        found = self._found(table)
        before = self.reachable(table)
        left = {s.parent: s.made_ms for s in found.snapshots.values()}
        old = [
            s.id
            for s in found.snapshots.values()
            if left.get(s.id, s.made_ms) < older_than_ms and s.id != found.current
        ]
        lists = {_list_path(found, snapshot_id) for snapshot_id in old}
        for snapshot_id in old:
            del found.snapshots[snapshot_id]
        unreachable = before - self.reachable(table)
        return Expired(len(old), tuple(sorted(unreachable & lists)))

    def reachable(self, table: TopicTable, *, data: bool = True) -> frozenset[str]:
        found = self._found(table)
        snapshots = found.snapshots.values()
        files = {path for snapshot in snapshots for path in snapshot.files} if data else set()
        return frozenset(files | {_list_path(found, snapshot.id) for snapshot in snapshots})

    def drop(self, table: TopicTable) -> bool:
        if table.topic not in self._tables:
            return False
        self._found(table)
        del self._tables[table.topic]
        return True

    def listing(self) -> Listing:
        named = {topic: found.damage for topic, found in self._tables.items()}
        renamed = {name: found.damage for name, (_, found) in self._elsewhere.items()}
        every = [*self._tables.values(), *(found for _, found in self._elsewhere.values())]
        return Listing(
            tables=tuple(
                TopicTable(topic, self._tables[topic].topic_id)
                for topic, damage in named.items()
                if damage is None
            ),
            unreadable=_damaged(named),
            elsewhere={name: self._elsewhere[name][0] for name, damage in renamed.items() if damage is None},
            unreadable_others=_damaged(renamed),
            folders=tuple(sorted(found.folder for found in every if found.damage is None)),
        )

    def external_drop(self, table: TopicTable) -> None:
        self._tables.pop(table.topic, None)

    def external_rename(self, table: TopicTable, name: str) -> None:
        self._elsewhere[name] = table, self._found(table)
        del self._tables[table.topic]

    def external_register(self, table: TopicTable, name: str) -> None:
        """Register the table a second time, under another name."""
        self._elsewhere[name] = table, self._found(table)

    def external_drop_other(self, name: str) -> None:
        """Drop a table whose name is not a topic's."""
        del self._elsewhere[name]

    def external_damage(self, table: TopicTable, damage: str | None) -> None:
        """Make the table unreadable; None repairs it."""
        self._tables[table.topic].damage = damage

    def external_damage_renamed(self, name: str, damage: str | None) -> None:
        """Make a renamed table unreadable; None repairs it."""
        self._elsewhere[name][1].damage = damage

    def external_alter(self, table: TopicTable, misfit: str | None) -> None:
        """Change the table's schema; `misfit` says why our files no longer fit, None that they do."""
        self._found(table).misfit = misfit

    def external_commit(self, table: TopicTable, removed: Sequence[str], added: Sequence[LiveFile]) -> None:
        found = self._found(table)
        kept = {path: file for path, file in found.files().items() if path not in set(removed)}
        self._commit(found, {**kept, **{file.path: file for file in added}}, None)

    def external_delete_rows(self, table: TopicTable, path: str) -> None:
        """Delete rows of a file without rewriting it."""
        file = self._found(table).files()[path]
        self.external_commit(table, [path], [replace(file, has_deletes=True)])

    def _check_snapshot(self, table: TopicTable, expected_snapshot_id: int | None) -> None:
        if expected_snapshot_id not in (ANY_SNAPSHOT, (at := self.snapshot_id(table))):
            raise SnapshotChanged(
                f"table of {table.topic}: expected snapshot {expected_snapshot_id}, found {at}"
            )

    def _found(self, table: TopicTable) -> _Table:
        found = self._tables.get(table.topic)
        if found is None:
            raise TableMissing(f"topic {table.topic} has no table; it was dropped or never created")
        if found.damage is not None:
            raise TableDamaged(found.damage)
        if found.topic_id != table.topic_id:
            raise NotOurs(
                f"the table of {table.topic} is for topic id {found.topic_id}, not {table.topic_id}"
            )
        return found

    def _fitting(self, table: TopicTable) -> _Table:
        found = self._found(table)
        if found.misfit:
            raise TableAltered(f"the table of {table.topic} was altered: {found.misfit}; undo that")
        return found

    def _commit(self, found: _Table, files: Mapping[str, LiveFile], job: Job | None) -> Committed:
        self._last_id += 1
        job_id = None if job is None else job.id
        snapshot = _Snapshot(self._last_id, found.current, self._clock.now_ms(), job_id, files)
        found.snapshots[snapshot.id], found.current = snapshot, snapshot.id
        if job is not None:
            found.marks.update(marked(job, found.marks))
        return Committed(snapshot.id)


def _list_path(found: _Table, snapshot_id: int) -> str:
    return f"{metadata_folder(found.folder)}snap-{snapshot_id}.avro"


def _damaged(known: Mapping[str, str | None]) -> dict[str, TablesError]:
    return {name: TableDamaged(damage) for name, damage in known.items() if damage is not None}


def _live(files: Sequence[DataFile]) -> dict[str, LiveFile]:
    return {
        file.path: LiveFile(
            path=file.path,
            size_bytes=file.size_bytes,
            records=file.records,
            partition=file.partition,
            first_offset=file.first_offset,
            last_offset=file.last_offset,
        )
        for file in files
    }
