"""The contract of table catalogs: tests that every backend must pass.

A test module subclasses `TablesContract` and provides the fixture `harness`, one empty catalog per test:

    class TestMemory(TablesContract):
        @pytest.fixture
        async def harness(self) -> AsyncIterator[TablesHarness]: ...
"""

import asyncio
from typing import Final, Literal, Protocol

import pytest

from dray.tables.names import spare_folder, table_folder
from dray.tables.port import (
    Conflict,
    DataFile,
    FilesMissing,
    Job,
    LiveFile,
    Mark,
    NotOurs,
    SnapshotChanged,
    TableAltered,
    TableMissing,
    Tables,
    TopicTable,
)

Alteration = Literal["add", "rename", "drop", "retype"]

ORDERS: Final = TopicTable("orders.v1-eu", "topic-id-1")
END_OF_TIME_MS: Final = 4_102_444_800_000


class TablesHarness(Protocol):
    """One empty catalog, and changes that other engines make to its tables."""

    async def open(self) -> Tables:
        """Return a new client; the harness closes it when the test ends."""
        ...

    def file(self, partition: int, first_offset: int, records: int) -> DataFile:
        """Return a file that exists in the object store, under a unique path."""
        ...

    def insert(self, table: TopicTable, partition: int, records: int) -> None:
        """Insert rows as another engine, in one file."""
        ...

    def delete(self, table: TopicTable, path: str) -> None:
        """Delete all rows of a file as another engine, which removes the file."""
        ...

    def drop(self, table: TopicTable) -> None: ...

    def alter(self, table: TopicTable, how: Alteration) -> None:
        """Add a column, or rename, drop or retype one of Dray's columns."""
        ...


def live(file: DataFile) -> LiveFile:
    """Return the file as the table lists it."""
    return LiveFile(
        path=file.path,
        size_bytes=file.size_bytes,
        records=file.records,
        partition=file.partition,
        first_offset=file.first_offset,
        last_offset=file.last_offset,
    )


class TablesContract:
    """The tests; they assume only what the port promises."""

    @pytest.fixture
    async def tables(self, harness: TablesHarness) -> Tables:
        """Return a client, with the table of `ORDERS`."""
        tables = await harness.open()
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        return tables

    async def test_new_table_is_empty(self, tables: Tables) -> None:
        state = await tables.current(ORDERS)
        assert (state.snapshot_id, state.files, dict(state.marks)) == (None, (), {})
        assert state.properties["dray.topic"] == ORDERS.topic
        assert state.properties["dray.topic-id"] == ORDERS.topic_id
        assert (await tables.listing()).tables == (ORDERS,)

    async def test_create_is_idempotent(self, tables: Tables, harness: TablesHarness) -> None:
        await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a"))
        before = await tables.current(ORDERS)
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        assert await tables.current(ORDERS) == before

    async def test_table_is_in_the_folder_of_its_topic_or_where_it_was_created(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        other = TopicTable("other", "topic-id-2")
        elsewhere = spare_folder(other.topic, "another")
        await tables.create_if_missing(other, elsewhere)
        await tables.create_if_missing(other, table_folder(other.topic))
        folders = [await tables.folder(table) for table in (ORDERS, other)]
        assert folders == [table_folder(ORDERS.topic), elsewhere]
        await tables.append(other, [harness.file(0, 0, 5)], Job("a"))
        assert all(path.startswith(f"{elsewhere}/") for path in await tables.reachable(other, data=False))
        assert (await tables.listing()).folders == tuple(sorted(folders))
        with pytest.raises(TableMissing):
            await tables.folder(TopicTable("none", "topic-id-9"))

    async def test_concurrent_creations_both_succeed(self, harness: TablesHarness) -> None:
        clients = [await harness.open(), await harness.open()]
        await asyncio.gather(
            *(client.create_if_missing(ORDERS, table_folder(ORDERS.topic)) for client in clients)
        )
        assert [(await client.listing()).tables for client in clients] == [(ORDERS,), (ORDERS,)]

    async def test_tables_of_several_topics_are_listed(self, harness: TablesHarness) -> None:
        tables = await harness.open()
        assert (await tables.listing()).tables == ()
        topics = [TopicTable(name, f"id-{name}") for name in ("a.b", "a_b", "a-b", "A_b", "1st")]
        for topic in topics:
            await tables.create_if_missing(topic, table_folder(topic.topic))
            await tables.append(topic, [harness.file(0, 0, 1)], Job(topic.topic))
        assert set((await tables.listing()).tables) == set(topics)
        for topic in topics:
            assert len((await tables.current(topic)).files) == 1

    async def test_appended_files_are_in_the_table(self, tables: Tables, harness: TablesHarness) -> None:
        files = [harness.file(0, 0, 5), harness.file(0, 5, 3), harness.file(7, 100, 2)]
        done = await tables.append(ORDERS, files, Job("a", {0: 8, 7: 102}))
        state = await tables.current(ORDERS)
        assert state.files == tuple(map(live, files))
        assert state.snapshot_id == done.snapshot_id
        assert not done.repeated
        assert state.marks == {0: Mark(8, "a"), 7: Mark(102, "a")}

    async def test_repeated_job_changes_nothing(self, tables: Tables, harness: TablesHarness) -> None:
        file, job = harness.file(0, 0, 5), Job("a", {0: 5})
        first = await tables.append(ORDERS, [file], job)
        before = await tables.current(ORDERS)
        again = await tables.append(ORDERS, [file], job)
        assert (again.snapshot_id, again.repeated) == (first.snapshot_id, True)
        assert await tables.current(ORDERS) == before

    async def test_commit_onto_an_outdated_snapshot_is_refused(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        first, second = harness.file(0, 0, 5), harness.file(0, 5, 3)
        assert await tables.snapshot_id(ORDERS) is None
        done = await tables.append(ORDERS, [first], Job("a"), expected_snapshot_id=None)
        assert await tables.snapshot_id(ORDERS) == done.snapshot_id
        await tables.append(ORDERS, [second], Job("b"), expected_snapshot_id=done.snapshot_id)
        before = await tables.current(ORDERS)
        for expected_snapshot_id in (None, done.snapshot_id):
            with pytest.raises(SnapshotChanged):
                await tables.append(
                    ORDERS, [harness.file(0, 8, 1)], Job("c"), expected_snapshot_id=expected_snapshot_id
                )
            with pytest.raises(SnapshotChanged):
                await tables.replace(
                    ORDERS, [first.path], [], Job("c"), expected_snapshot_id=expected_snapshot_id
                )
        again = await tables.append(ORDERS, [first], Job("a"), expected_snapshot_id=None)
        assert again.repeated, "a commit without changes ignores the snapshot"
        assert await tables.current(ORDERS) == before
        await tables.replace(ORDERS, [first.path], [], Job("c"), expected_snapshot_id=before.snapshot_id)
        assert (await tables.current(ORDERS)).files == (live(second),)

    async def test_job_without_files_sets_its_marks(self, tables: Tables, harness: TablesHarness) -> None:
        """As when its range contains only control batches."""
        await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a", {0: 5}))
        before = await tables.current(ORDERS)
        await tables.append(ORDERS, [], Job("b", {0: 9}))
        after = await tables.current(ORDERS)
        assert (after.files, after.marks) == (before.files, {0: Mark(9, "b")})
        await tables.append(ORDERS, [], Job("c", {0: 5}))  # marks never go back
        assert (await tables.current(ORDERS)).marks == {0: Mark(9, "c")}

    async def test_job_is_found_by_other_clients_and_after_other_jobs(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        file, job = harness.file(0, 0, 5), Job("a")
        await tables.append(ORDERS, [file], job)
        await tables.append(ORDERS, [harness.file(0, 5, 5)], Job("b"))
        again = await (await harness.open()).append(ORDERS, [file], job)
        assert again.repeated
        assert len((await tables.current(ORDERS)).files) == 2

    async def test_find_job(self, tables: Tables, harness: TablesHarness) -> None:
        assert await tables.find_job(ORDERS, Job("a")) is None
        done = await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a"))
        found = await tables.find_job(ORDERS, Job("a"))
        assert found is not None
        assert (found.snapshot_id, found.repeated) == (done.snapshot_id, True)
        assert await tables.find_job(ORDERS, Job("b", {0: 5})) is None

    async def test_job_with_marks_is_found_after_its_snapshot_expired(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        file, job = harness.file(0, 0, 5), Job("a", {0: 5})
        await tables.append(ORDERS, [file], job)
        await tables.append(ORDERS, [harness.file(1, 0, 5)], Job("b", {1: 5}))
        await tables.expire(ORDERS, END_OF_TIME_MS)
        before = await tables.current(ORDERS)
        again = await tables.append(ORDERS, [file], job)
        assert (again.snapshot_id, again.repeated) == (None, True)
        assert await tables.current(ORDERS) == before

    async def test_two_writers_commit_each_job_once(self, harness: TablesHarness) -> None:
        clients = [await harness.open(), await harness.open()]
        await clients[0].create_if_missing(ORDERS, table_folder(ORDERS.topic))
        jobs = [(harness.file(n, 0, 5), Job(f"job-{n}", {n: 5})) for n in range(4)]
        # Both send each job, as after a lost lease.
        await asyncio.gather(
            *(client.append(ORDERS, [file], job) for file, job in jobs for client in clients)
        )
        state = await clients[0].current(ORDERS)
        assert state.files == tuple(live(file) for file, _ in jobs)

    async def test_replace_files(self, tables: Tables, harness: TablesHarness) -> None:
        old = [harness.file(0, 0, 5), harness.file(0, 5, 5)]
        kept, new = harness.file(1, 0, 5), harness.file(0, 0, 10)
        await tables.append(ORDERS, [*old, kept], Job("a"))
        job = Job("b", {0: 10})
        done = await tables.replace(ORDERS, [file.path for file in old], [new], job)
        state = await tables.current(ORDERS)
        assert state.files == (live(new), live(kept))
        assert state.snapshot_id == done.snapshot_id
        again = await tables.replace(ORDERS, [file.path for file in old], [new], job)
        assert (again.snapshot_id, again.repeated) == (done.snapshot_id, True)
        assert await tables.current(ORDERS) == state

    async def test_retention_removes_whole_files(self, tables: Tables, harness: TablesHarness) -> None:
        old, kept = harness.file(0, 0, 5), harness.file(0, 5, 5)
        await tables.append(ORDERS, [old, kept], Job("a"))
        await tables.replace(ORDERS, [old.path], [], Job("b"))
        assert (await tables.current(ORDERS)).files == (live(kept),)
        await tables.replace(ORDERS, [kept.path], [], Job("c"))
        assert (await tables.current(ORDERS)).files == ()
        await tables.append(ORDERS, [harness.file(0, 10, 5)], Job("d"))
        assert len((await tables.current(ORDERS)).files) == 1

    async def test_replacing_a_removed_file_changes_nothing(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        old, kept = harness.file(0, 0, 5), harness.file(0, 5, 5)
        await tables.append(ORDERS, [old, kept], Job("a"))
        await tables.replace(ORDERS, [old.path], [harness.file(0, 0, 5)], Job("b"))
        before = await tables.current(ORDERS)
        with pytest.raises(FilesMissing):
            await tables.replace(ORDERS, [old.path, kept.path], [harness.file(0, 0, 10)], Job("c"))
        assert await tables.current(ORDERS) == before
        assert await tables.find_job(ORDERS, Job("c")) is None

    async def test_one_of_two_concurrent_replacements_wins(self, harness: TablesHarness) -> None:
        clients = [await harness.open(), await harness.open()]
        await clients[0].create_if_missing(ORDERS, table_folder(ORDERS.topic))
        old = harness.file(0, 0, 5)
        await clients[0].append(ORDERS, [old], Job("a"))
        new = [harness.file(0, 0, 5), harness.file(0, 0, 5)]
        outcomes = await asyncio.gather(
            *(
                client.replace(ORDERS, [old.path], [file], Job(file.path))
                for client, file in zip(clients, new, strict=True)
            ),
            return_exceptions=True,
        )
        [loser] = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert isinstance(loser, FilesMissing | Conflict)
        winner = new[0] if isinstance(outcomes[1], BaseException) else new[1]
        assert (await clients[0].current(ORDERS)).files == (live(winner),)

    async def test_expire_returns_unreferenced_files(self, tables: Tables, harness: TablesHarness) -> None:
        old, kept, new = harness.file(0, 0, 5), harness.file(1, 0, 5), harness.file(0, 0, 5)
        await tables.append(ORDERS, [old, kept], Job("a"))
        await tables.replace(ORDERS, [old.path], [new], Job("b"))
        before = await tables.reachable(ORDERS)
        assert {old.path, kept.path, new.path} < before
        state = await tables.current(ORDERS)
        expired = await tables.expire(ORDERS, END_OF_TIME_MS)
        after = await tables.reachable(ORDERS)
        assert expired.snapshots == 1
        assert before - after == {old.path, *expired.metadata_files}
        assert expired.metadata_files
        assert {kept.path, new.path} < after
        assert await tables.reachable(ORDERS, data=False) == after - {kept.path, new.path}
        now = await tables.current(ORDERS)
        assert (now.snapshot_id, now.files) == (state.snapshot_id, state.files)

    async def test_expire_keeps_young_snapshots(self, tables: Tables, harness: TablesHarness) -> None:
        for number in range(3):
            await tables.append(ORDERS, [harness.file(0, number, 1)], Job(f"job-{number}"))
        expired = await tables.expire(ORDERS, 1)
        assert (expired.snapshots, expired.metadata_files) == (0, ())
        assert await tables.find_job(ORDERS, Job("job-0")) is not None

    async def test_missing_table_is_reported(self, harness: TablesHarness) -> None:
        tables = await harness.open()
        with pytest.raises(TableMissing):
            await tables.append(ORDERS, [harness.file(0, 0, 1)], Job("a"))
        with pytest.raises(TableMissing):
            await tables.current(ORDERS)
        with pytest.raises(TableMissing):
            await tables.find_job(ORDERS, Job("a"))
        with pytest.raises(TableMissing):
            await tables.expire(ORDERS, 1)
        with pytest.raises(TableMissing):
            await tables.check(ORDERS)

    async def test_drop_removes_the_table(self, tables: Tables, harness: TablesHarness) -> None:
        await tables.append(ORDERS, [harness.file(0, 0, 1)], Job("a"))
        await tables.drop(ORDERS)
        await tables.drop(ORDERS)
        assert (await tables.listing()).tables == ()
        with pytest.raises(TableMissing):
            await tables.current(ORDERS)
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        assert (await tables.current(ORDERS)).files == ()

    async def test_table_of_another_topic_of_the_same_name_is_untouched(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        """A recreated topic finds the table of the deleted one."""
        recreated = TopicTable(ORDERS.topic, "topic-id-2")
        file = harness.file(0, 0, 1)
        with pytest.raises(NotOurs):
            await tables.create_if_missing(recreated, table_folder(recreated.topic))
        with pytest.raises(NotOurs):
            await tables.check(recreated)
        await tables.check(ORDERS)
        listing = await tables.listing()
        assert (ORDERS in listing, recreated in listing) == (True, False)
        with pytest.raises(NotOurs):
            await tables.append(recreated, [file], Job("a"))
        with pytest.raises(NotOurs):
            await tables.drop(recreated)
        assert (await tables.current(ORDERS)).files == ()

    async def test_rows_inserted_by_others_are_visible_and_block_nothing(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        ours, later = harness.file(0, 0, 5), harness.file(0, 5, 5)
        await tables.append(ORDERS, [ours], Job("a", {0: 5}))
        harness.insert(ORDERS, 3, 7)
        await tables.append(ORDERS, [later], Job("b", {0: 10}))
        first, second, theirs = (await tables.current(ORDERS)).files
        assert (first, second) == (live(ours), live(later))
        assert (theirs.partition, theirs.records) == (3, 7)
        assert (await tables.append(ORDERS, [ours], Job("a"))).repeated

    async def test_rows_deleted_by_others_are_invisible_and_block_nothing(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        gone, kept, later = harness.file(0, 0, 5), harness.file(1, 0, 5), harness.file(0, 5, 5)
        await tables.append(ORDERS, [gone, kept], Job("a"))
        harness.delete(ORDERS, gone.path)
        assert (await tables.current(ORDERS)).files == (live(kept),)
        with pytest.raises(FilesMissing):
            await tables.replace(ORDERS, [gone.path], [harness.file(0, 0, 5)], Job("b"))
        await tables.append(ORDERS, [later], Job("c"))
        assert (await tables.current(ORDERS)).files == (live(later), live(kept))

    async def test_table_dropped_by_others_is_reported(self, tables: Tables, harness: TablesHarness) -> None:
        await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a"))
        harness.drop(ORDERS)
        with pytest.raises(TableMissing):
            await tables.append(ORDERS, [harness.file(0, 5, 5)], Job("b"))
        with pytest.raises(TableMissing):
            await tables.current(ORDERS)

    @pytest.mark.parametrize("how", ["add", "rename"])
    async def test_compatible_alterations_are_accepted(
        self, tables: Tables, harness: TablesHarness, how: Alteration
    ) -> None:
        first, second = harness.file(0, 0, 5), harness.file(0, 5, 5)
        await tables.append(ORDERS, [first], Job("a"))
        harness.alter(ORDERS, how)
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        await tables.append(ORDERS, [second], Job("b"))
        assert (await tables.current(ORDERS)).files == (live(first), live(second))

    @pytest.mark.parametrize("how", ["drop", "retype"])
    async def test_incompatible_alterations_are_refused(
        self, tables: Tables, harness: TablesHarness, how: Alteration
    ) -> None:
        first = harness.file(0, 0, 5)
        await tables.append(ORDERS, [first], Job("a"))
        harness.alter(ORDERS, how)
        with pytest.raises(TableAltered, match="altered"):
            await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        with pytest.raises(TableAltered, match="altered"):
            await tables.append(ORDERS, [harness.file(0, 5, 5)], Job("b"))
        assert (await tables.append(ORDERS, [first], Job("a"))).repeated
        assert (await tables.current(ORDERS)).files == (live(first),)
        await tables.replace(ORDERS, [first.path], [], Job("c"))
        assert (await tables.current(ORDERS)).files == ()
