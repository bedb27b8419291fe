"""What every catalogue of tables must do, whatever keeps them.

A test module subclasses `TablesContract` and provides the fixture `harness`, one empty catalogue for each
test:

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
    FilesGone,
    Job,
    LiveFile,
    Mark,
    Moved,
    NotOurs,
    TableAltered,
    TableMissing,
    Tables,
    TopicTable,
)

Alteration = Literal["add", "rename", "drop", "retype"]

ORDERS: Final = TopicTable("orders.v1-eu", "topic-id-1")
END_OF_TIME_MS: Final = 4_102_444_800_000


class TablesHarness(Protocol):
    """One empty catalogue, and what somebody else may do to its tables."""

    async def open(self) -> Tables:
        """Return a new client; the harness closes it when the test ends."""
        ...

    def file(self, partition: int, first_offset: int, records: int) -> DataFile:
        """A file that is in the object store, under a path of its own."""
        ...

    def insert(self, table: TopicTable, partition: int, records: int) -> None:
        """Somebody inserts rows, in one file."""
        ...

    def delete(self, table: TopicTable, path: str) -> None:
        """Somebody deletes all rows of one of the files, and the file with them."""
        ...

    def drop(self, table: TopicTable) -> None: ...

    def alter(self, table: TopicTable, how: Alteration) -> None:
        """Add a column, rename one of ours, drop one of ours, or give one of ours another type."""
        ...


def live(file: DataFile) -> LiveFile:
    """The file as the table shows it."""
    return LiveFile(
        path=file.path,
        size_bytes=file.size_bytes,
        records=file.records,
        partition=file.partition,
        first_offset=file.first_offset,
        last_offset=file.last_offset,
    )


class TablesContract:
    """The tests. They assume no more than the port promises."""

    @pytest.fixture
    async def tables(self, harness: TablesHarness) -> Tables:
        """A client, and the table of `ORDERS`."""
        tables = await harness.open()
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        return tables

    async def test_a_new_table_is_empty(self, tables: Tables) -> None:
        state = await tables.current(ORDERS)
        assert (state.snapshot_id, state.files, dict(state.marks)) == (None, (), {})
        assert state.properties["dray.topic"] == ORDERS.topic
        assert state.properties["dray.topic-id"] == ORDERS.topic_id
        assert (await tables.listing()).tables == (ORDERS,)

    async def test_creating_again_changes_nothing(self, tables: Tables, harness: TablesHarness) -> None:
        await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a"))
        before = await tables.current(ORDERS)
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        assert await tables.current(ORDERS) == before

    async def test_a_table_is_in_its_topics_folder_or_where_it_was_made(
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

    async def test_of_two_who_create_at_once_both_have_it(self, harness: TablesHarness) -> None:
        clients = [await harness.open(), await harness.open()]
        await asyncio.gather(
            *(client.create_if_missing(ORDERS, table_folder(ORDERS.topic)) for client in clients)
        )
        assert [(await client.listing()).tables for client in clients] == [(ORDERS,), (ORDERS,)]

    async def test_tables_of_several_topics(self, harness: TablesHarness) -> None:
        tables = await harness.open()
        assert (await tables.listing()).tables == ()
        topics = [TopicTable(name, f"id-{name}") for name in ("a.b", "a_b", "a-b", "A_b", "1st")]
        for topic in topics:
            await tables.create_if_missing(topic, table_folder(topic.topic))
            await tables.append(topic, [harness.file(0, 0, 1)], Job(topic.topic))
        assert set((await tables.listing()).tables) == set(topics)
        for topic in topics:
            assert len((await tables.current(topic)).files) == 1

    async def test_what_was_appended_is_there(self, tables: Tables, harness: TablesHarness) -> None:
        files = [harness.file(0, 0, 5), harness.file(0, 5, 3), harness.file(7, 100, 2)]
        done = await tables.append(ORDERS, files, Job("a", {0: 8, 7: 102}))
        state = await tables.current(ORDERS)
        assert state.files == tuple(map(live, files))
        assert state.snapshot_id == done.snapshot_id
        assert not done.repeated
        assert state.marks == {0: Mark(8, "a"), 7: Mark(102, "a")}

    async def test_a_job_done_again_changes_nothing(self, tables: Tables, harness: TablesHarness) -> None:
        file, job = harness.file(0, 0, 5), Job("a", {0: 5})
        first = await tables.append(ORDERS, [file], job)
        before = await tables.current(ORDERS)
        again = await tables.append(ORDERS, [file], job)
        assert (again.snapshot_id, again.repeated) == (first.snapshot_id, True)
        assert await tables.current(ORDERS) == before

    async def test_a_table_is_committed_to_where_it_was_looked_at(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        first, second = harness.file(0, 0, 5), harness.file(0, 5, 3)
        assert await tables.snapshot_id(ORDERS) is None
        done = await tables.append(ORDERS, [first], Job("a"), onto=None)
        assert await tables.snapshot_id(ORDERS) == done.snapshot_id
        await tables.append(ORDERS, [second], Job("b"), onto=done.snapshot_id)
        before = await tables.current(ORDERS)
        for onto in (None, done.snapshot_id):
            with pytest.raises(Moved):
                await tables.append(ORDERS, [harness.file(0, 8, 1)], Job("c"), onto=onto)
            with pytest.raises(Moved):
                await tables.replace(ORDERS, [first.path], [], Job("c"), onto=onto)
        again = await tables.append(ORDERS, [first], Job("a"), onto=None)
        assert again.repeated, "where it is matters to nobody who has nothing to do"
        assert await tables.current(ORDERS) == before
        await tables.replace(ORDERS, [first.path], [], Job("c"), onto=before.snapshot_id)
        assert (await tables.current(ORDERS)).files == (live(second),)

    async def test_a_job_without_files_sets_its_marks(self, tables: Tables, harness: TablesHarness) -> None:
        """As when there was nothing in its range but control batches."""
        await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a", {0: 5}))
        before = await tables.current(ORDERS)
        await tables.append(ORDERS, [], Job("b", {0: 9}))
        after = await tables.current(ORDERS)
        assert (after.files, after.marks) == (before.files, {0: Mark(9, "b")})
        await tables.append(ORDERS, [], Job("c", {0: 5}))  # on older files: no mark goes back
        assert (await tables.current(ORDERS)).marks == {0: Mark(9, "c")}

    async def test_a_job_is_known_to_other_clients_and_after_other_jobs(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        file, job = harness.file(0, 0, 5), Job("a")
        await tables.append(ORDERS, [file], job)
        await tables.append(ORDERS, [harness.file(0, 5, 5)], Job("b"))
        again = await (await harness.open()).append(ORDERS, [file], job)
        assert again.repeated
        assert len((await tables.current(ORDERS)).files) == 2

    async def test_finding_a_job(self, tables: Tables, harness: TablesHarness) -> None:
        assert await tables.find_job(ORDERS, Job("a")) is None
        done = await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a"))
        found = await tables.find_job(ORDERS, Job("a"))
        assert found is not None
        assert (found.snapshot_id, found.repeated) == (done.snapshot_id, True)
        assert await tables.find_job(ORDERS, Job("b", {0: 5})) is None

    async def test_a_marked_job_is_known_after_its_snapshot_was_expired(
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

    async def test_of_two_writers_both_land_once(self, harness: TablesHarness) -> None:
        clients = [await harness.open(), await harness.open()]
        await clients[0].create_if_missing(ORDERS, table_folder(ORDERS.topic))
        jobs = [(harness.file(n, 0, 5), Job(f"job-{n}", {n: 5})) for n in range(4)]
        # Each job is sent by both, as after a lost lock.
        await asyncio.gather(
            *(client.append(ORDERS, [file], job) for file, job in jobs for client in clients)
        )
        state = await clients[0].current(ORDERS)
        assert state.files == tuple(live(file) for file, _ in jobs)

    async def test_replacing_files(self, tables: Tables, harness: TablesHarness) -> None:
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

    async def test_retention_takes_whole_files(self, tables: Tables, harness: TablesHarness) -> None:
        old, kept = harness.file(0, 0, 5), harness.file(0, 5, 5)
        await tables.append(ORDERS, [old, kept], Job("a"))
        await tables.replace(ORDERS, [old.path], [], Job("b"))
        assert (await tables.current(ORDERS)).files == (live(kept),)
        await tables.replace(ORDERS, [kept.path], [], Job("c"))
        assert (await tables.current(ORDERS)).files == ()
        await tables.append(ORDERS, [harness.file(0, 10, 5)], Job("d"))
        assert len((await tables.current(ORDERS)).files) == 1

    async def test_replacing_what_is_gone_changes_nothing(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        old, kept = harness.file(0, 0, 5), harness.file(0, 5, 5)
        await tables.append(ORDERS, [old, kept], Job("a"))
        await tables.replace(ORDERS, [old.path], [harness.file(0, 0, 5)], Job("b"))
        before = await tables.current(ORDERS)
        with pytest.raises(FilesGone):
            await tables.replace(ORDERS, [old.path, kept.path], [harness.file(0, 0, 10)], Job("c"))
        assert await tables.current(ORDERS) == before
        assert await tables.find_job(ORDERS, Job("c")) is None

    async def test_of_two_who_replace_the_same_file_one_wins(self, harness: TablesHarness) -> None:
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
        assert isinstance(loser, FilesGone | Conflict)
        winner = new[0] if isinstance(outcomes[1], BaseException) else new[1]
        assert (await clients[0].current(ORDERS)).files == (live(winner),)

    async def test_expiring_tells_what_nothing_refers_to(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
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

    async def test_expiring_what_is_young_does_nothing(self, tables: Tables, harness: TablesHarness) -> None:
        for number in range(3):
            await tables.append(ORDERS, [harness.file(0, number, 1)], Job(f"job-{number}"))
        expired = await tables.expire(ORDERS, 1)
        assert (expired.snapshots, expired.metadata_files) == (0, ())
        assert await tables.find_job(ORDERS, Job("job-0")) is not None

    async def test_a_table_that_is_not_there(self, harness: TablesHarness) -> None:
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

    async def test_dropping(self, tables: Tables, harness: TablesHarness) -> None:
        await tables.append(ORDERS, [harness.file(0, 0, 1)], Job("a"))
        await tables.drop(ORDERS)
        await tables.drop(ORDERS)
        assert (await tables.listing()).tables == ()
        with pytest.raises(TableMissing):
            await tables.current(ORDERS)
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        assert (await tables.current(ORDERS)).files == ()

    async def test_a_namesake_is_left_alone(self, tables: Tables, harness: TablesHarness) -> None:
        """A topic that was deleted and made anew finds the table of the first one."""
        namesake = TopicTable(ORDERS.topic, "topic-id-2")
        file = harness.file(0, 0, 1)
        with pytest.raises(NotOurs):
            await tables.create_if_missing(namesake, table_folder(namesake.topic))
        with pytest.raises(NotOurs):
            await tables.check(namesake)
        await tables.check(ORDERS)
        listing = await tables.listing()
        assert (ORDERS in listing, namesake in listing) == (True, False)
        with pytest.raises(NotOurs):
            await tables.append(namesake, [file], Job("a"))
        with pytest.raises(NotOurs):
            await tables.drop(namesake)
        assert (await tables.current(ORDERS)).files == ()

    async def test_what_others_insert_is_shown_and_does_not_stop_us(
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

    async def test_what_others_delete_is_not_shown_and_does_not_stop_us(
        self, tables: Tables, harness: TablesHarness
    ) -> None:
        gone, kept, later = harness.file(0, 0, 5), harness.file(1, 0, 5), harness.file(0, 5, 5)
        await tables.append(ORDERS, [gone, kept], Job("a"))
        harness.delete(ORDERS, gone.path)
        assert (await tables.current(ORDERS)).files == (live(kept),)
        with pytest.raises(FilesGone):
            await tables.replace(ORDERS, [gone.path], [harness.file(0, 0, 5)], Job("b"))
        await tables.append(ORDERS, [later], Job("c"))
        assert (await tables.current(ORDERS)).files == (live(later), live(kept))

    async def test_a_table_dropped_behind_our_back(self, tables: Tables, harness: TablesHarness) -> None:
        await tables.append(ORDERS, [harness.file(0, 0, 5)], Job("a"))
        harness.drop(ORDERS)
        with pytest.raises(TableMissing):
            await tables.append(ORDERS, [harness.file(0, 5, 5)], Job("b"))
        with pytest.raises(TableMissing):
            await tables.current(ORDERS)

    @pytest.mark.parametrize("how", ["add", "rename"])
    async def test_alterations_that_we_can_live_with(
        self, tables: Tables, harness: TablesHarness, how: Alteration
    ) -> None:
        first, second = harness.file(0, 0, 5), harness.file(0, 5, 5)
        await tables.append(ORDERS, [first], Job("a"))
        harness.alter(ORDERS, how)
        await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
        await tables.append(ORDERS, [second], Job("b"))
        assert (await tables.current(ORDERS)).files == (live(first), live(second))

    @pytest.mark.parametrize("how", ["drop", "retype"])
    async def test_alterations_that_we_cannot_live_with(
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
