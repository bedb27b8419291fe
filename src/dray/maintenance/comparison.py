"""Comparison of a topic's table with its index, as both are now; `differences` decides."""

from dray.cluster.topics import Topic
from dray.compaction.index_files import IndexFiles
from dray.compaction.job_store import JobStore
from dray.maintenance.differences import Comparison, compare
from dray.tables.port import TableMissing, Tables, TopicTable


async def compare_topic(index: IndexFiles, jobs: JobStore, tables: Tables, topic: Topic) -> Comparison | None:
    """Compare a topic's table with its index; returns None if a table is missing.

    Both may change meanwhile: a difference that a second comparison does not find was a change in progress.
    """
    files = [file async for file in index.of_topic(topic)]
    stored = [await jobs.load(stream) for stream in topic.streams]
    busy = {at for at, one in enumerate(stored) if one is not None and one.job.is_unfinished}
    starts = await index.log_starts(topic)
    if not files and not any(starts.values()):
        return Comparison()
    try:
        state = await tables.current(TopicTable(topic.name, topic.topic_id.hex()))
    except TableMissing:
        return None if any(file.entry.record_count for file in files) else Comparison()
    return compare(files, state, starts, busy, is_compacted=topic.config.is_compacted)
