"""Finding Parquet files that the index names and the store does not have.

The store is listed, not asked file by file: a listing tells of a thousand at a time. What is not on the list
is asked for by name, and the index is read again, before anything is called missing.
"""

from dray.cluster.topics import Topic
from dray.index import FILES_PREFIX
from dray.objects.port import NotFound, ObjectStore
from dray.pipeline.index_files import IndexedFile, IndexFiles


async def missing_files(index: IndexFiles, objects: ObjectStore, topic: Topic) -> list[IndexedFile]:
    """Return the files of a topic that are not there."""
    named = [file async for file in index.of_topic(topic)]
    if not named:
        return []
    there = {info.path async for info in objects.list(f"{FILES_PREFIX}topic={topic.name}/")}
    return [
        file
        for file in named
        if file.entry.path not in there
        and not await _is_there(objects, file.entry.path)
        and await index.still_names(file)
    ]


async def _is_there(objects: ObjectStore, path: str) -> bool:
    try:
        await objects.head(path)
    except NotFound:
        return False
    return True
