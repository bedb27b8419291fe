"""Making a topic's table for the first time, and only then.

A topic that has files already had a table. To make an empty one would leave out all their rows, and nobody
would see that it is not the whole: such a table is made by the rebuild, which knows when it is not finished.

No two tables have the same folder, or a sweep that asks one of them would take what is the other's. A table
is made in the topic's folder if that is empty. If not, because a table before it was dropped or renamed, or
its making was never finished, it is made in a folder of its own beside that. What was there stays: nobody
knows any more whose it is.
"""

from dray.cluster.topics import Topic
from dray.pipeline.parts import CompactionParts
from dray.pipeline.topic_tables import table_of
from dray.tables.names import spare_folder, table_folder
from dray.tables.port import TableMissing


async def ensure_table(parts: CompactionParts, topic: Topic) -> None:
    """See that the table can be written, and make the first; `TableMissing` leaves it to the rebuild."""
    try:
        await parts.tables.check(table_of(topic.ref))
    except TableMissing:
        if await _has_rows(parts, topic):
            raise
        await make_table(parts, topic)


async def make_table(parts: CompactionParts, topic: Topic) -> None:
    """Make an empty table for the topic unless there is one."""
    folder = await _new_folder(parts, topic.name)
    await parts.tables.create_if_missing(table_of(topic.ref), folder)


async def _new_folder(parts: CompactionParts, topic: str) -> str:
    folder = table_folder(topic)
    async for _ in parts.objects.list(f"{folder}/"):
        return spare_folder(topic, parts.entropy.token(8).hex())
    return folder


async def _has_rows(parts: CompactionParts, topic: Topic) -> bool:
    """Whether a file of the topic holds records."""
    async for file in parts.index.of_topic(topic):
        if file.entry.record_count:
            return True
    return False
