"""What is in a table's own folder: its metadata, and data files that other engines have written.

Dray's data files are segments of the log and lie elsewhere. Other engines delete none of theirs when a table
names them no more, because tables ask them to delete nothing; so they are swept with the metadata.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Final

from dray.objects.paths import check_path
from dray.objects.port import ObjectError, ObjectInfo, ObjectStore
from dray.observe import get_logger
from dray.tables.names import metadata_folder, others_folder

_METADATA: Final = (".avro", ".metadata.json", ".parquet", ".puffin", ".stats")
_DATA: Final = (".avro", ".orc", ".parquet", ".puffin")
"""What tables' commits write, statistics too; whatever else somebody keeps in those folders stays."""
_log = get_logger("pipeline")


async def table_files(objects: ObjectStore, folder: str) -> AsyncIterator[ObjectInfo]:
    """List what commits to the table in this folder have written."""
    for place, endings in ((metadata_folder(folder), _METADATA), (others_folder(folder), _DATA)):
        async for info in objects.list(place):
            if info.path.endswith(endings) and _is_legal(info.path):
                yield info


def unnamed(paths: Iterable[str], reached: Iterable[str]) -> list[str]:
    """Return those of a table's files that it does not reach.

    They are told apart by their last part, which has a random number in it: engines write the rest in more
    than one way, `s3a` for `s3` for example.
    """
    kept = {path.rpartition("/")[2] for path in reached}
    return [path for path in paths if path.rpartition("/")[2] not in kept]


async def delete_all(objects: ObjectStore, paths: Iterable[str], topic: str) -> int:
    """Delete files of a table; one that cannot be deleted keeps no other. Returns how many are gone."""
    deleted = 0
    for path in paths:
        try:
            await objects.delete(path)
        except ObjectError as error:
            _log.warning("table_file_not_swept", topic=topic, path=path, error=str(error))
            continue
        deleted += 1
    if deleted:
        _log.info("table_files_swept", topic=topic, files=deleted)
    return deleted


def _is_legal(path: str) -> bool:
    """Whether our stores take such a path; other engines may write any."""
    with suppress(ValueError):
        check_path(path)
        return True
    return False
