"""Making a topic's table for the first time, and only then.

A topic that has files already had a table. To make an empty one would leave out all their rows, and nobody
would see that it is not the whole: such a table is made by the rebuild, which knows when it is not finished.
"""

from dray.cluster.topics import Topic
from dray.pipeline.index_files import IndexFiles
from dray.pipeline.publish import table_of
from dray.tables.port import TableMissing, Tables


async def ensure_table(tables: Tables, index: IndexFiles, topic: Topic) -> None:
    """See that the table can be written, and make the first; `TableMissing` leaves it to the rebuild."""
    table = table_of(topic.ref)
    try:
        await tables.check(table)
    except TableMissing:
        if await has_rows(index, topic):
            raise
        await tables.create_if_missing(table)


async def has_rows(index: IndexFiles, topic: Topic) -> bool:
    """Whether a file of the topic holds records."""
    async for file in index.of_topic(topic):
        if file.entry.record_count:
            return True
    return False
