"""Creation of a topic's table, only for a topic that never had one.

A topic that has files with records already had a table. A new, empty one would hide the rows of those files
without any sign that the table is incomplete. Such a table is restored by the rebuild
(`dray.maintenance.rebuild`), which records whether it has finished.

No two tables share a folder, as a sweep that consults one of them would delete the other's files. A table is
created in the topic's own folder if that is empty. Otherwise, after a table that was dropped or renamed or
whose creation did not finish, it gets a new folder next to it. The files in the old folder stay: there is no
record of which table they belong to.
"""

from dray.cluster.topics import Topic
from dray.compaction.deps import CompactionDeps
from dray.compaction.topic_tables import table_of
from dray.tables.names import spare_folder, table_folder
from dray.tables.port import TableMissing


async def ensure_table(deps: CompactionDeps, topic: Topic) -> None:
    """Check that the table is writable, or create the first one.

    Raises `TableMissing` if the topic has rows, so that its table must be rebuilt.
    """
    try:
        await deps.tables.check(table_of(topic.ref))
    except TableMissing:
        if await _has_rows(deps, topic):
            raise
        await make_table(deps, topic)


async def make_table(deps: CompactionDeps, topic: Topic) -> None:
    """Create an empty table for the topic unless it exists."""
    folder = await _new_folder(deps, topic.name)
    await deps.tables.create_if_missing(table_of(topic.ref), folder)


async def _new_folder(deps: CompactionDeps, topic: str) -> str:
    folder = table_folder(topic)
    async for _ in deps.objects.list(f"{folder}/"):
        return spare_folder(topic, deps.entropy.token(8).hex())
    return folder


async def _has_rows(deps: CompactionDeps, topic: Topic) -> bool:
    """Return whether any Parquet file of the topic holds records."""
    async for file in deps.index.of_topic(topic):
        if file.entry.record_count:
            return True
    return False
