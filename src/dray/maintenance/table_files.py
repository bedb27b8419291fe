"""Files in a table's own folder: its metadata, and the data files that other engines have written.

Dray's data files are segments of the log and lie elsewhere. Other engines do not delete data files that a
table no longer references, because tables carry `gc.enabled=false`; they are swept with the metadata.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Final

from dray.objects.paths import check_path
from dray.objects.port import ObjectError, ObjectInfo, ObjectStore
from dray.observe import get_logger
from dray.tables.names import external_data_folder, metadata_folder

_METADATA: Final = (".avro", ".metadata.json", ".parquet", ".puffin", ".stats")
_DATA: Final = (".avro", ".orc", ".parquet", ".puffin")
"""File types written by commits, statistics included; any other files in those folders are kept."""
_log = get_logger("maintenance")


async def table_files(objects: ObjectStore, folder: str) -> AsyncIterator[ObjectInfo]:
    """List the files that commits to the table in this folder have written."""
    for place, endings in ((metadata_folder(folder), _METADATA), (external_data_folder(folder), _DATA)):
        async for info in objects.list(place):
            if info.path.endswith(endings) and _is_legal(info.path):
                yield info


def unreferenced(paths: Iterable[str], reached: Iterable[str]) -> list[str]:
    """Return those of a table's files that it does not reach.

    Files are compared by file name, which contains a random number: engines spell the rest of a path in
    several ways, such as `s3a` for `s3`.
    """
    kept = {path.rpartition("/")[2] for path in reached}
    return [path for path in paths if path.rpartition("/")[2] not in kept]


async def delete_all(objects: ObjectStore, paths: Iterable[str], topic: str) -> int:
    """Delete files of a table; failures are logged and skipped. Returns how many were deleted."""
    deleted = 0
    for path in paths:
        try:
            await objects.delete(path)
        except ObjectError as error:
            _log.warning("table_file_sweep_failed", topic=topic, path=path, error=str(error))
            continue
        deleted += 1
    if deleted:
        _log.info("table_files_swept", topic=topic, files=deleted)
    return deleted


def _is_legal(path: str) -> bool:
    """Return whether our stores accept the path; other engines may write any."""
    with suppress(ValueError):
        check_path(path)
        return True
    return False
