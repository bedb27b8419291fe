"""Tables of a data directory that was moved or copied.

Table metadata and the catalog name files by absolute URL. In a moved directory the tables are unreadable; in
a copy, a commit would write into the original. So the catalog drops its entries for these tables, and the
compactor rebuilds them from the files of the log, whose paths are relative to the root. Other tables in the
same catalog are left alone. The rebuilt tables get new folders, and the old metadata stays where it is.
"""

import os
from pathlib import Path
from typing import Final

from pyiceberg.catalog.sql import IcebergTables as Row
from sqlalchemy import Connection, delete, select

from dray.observe import get_logger
from dray.tables.names import TABLES, folder_of_metadata, is_topics_folder, topic_of

_LOCAL: Final = "file://"
_log = get_logger("tables")


def forget_moved(connection: Connection, catalog: str, namespace: str, root: str) -> None:
    """Drop the catalog entries of tables whose metadata is under `root` now and was elsewhere."""
    if not root.startswith(_LOCAL):
        return
    rows = connection.execute(
        select(Row.table_name, Row.metadata_location).where(
            Row.catalog_name == catalog, Row.table_namespace == namespace
        )
    ).all()
    for name, location in rows:
        if location is None or not _is_moved(name, location, root):
            continue
        entry = (Row.catalog_name == catalog, Row.table_namespace == namespace, Row.table_name == name)
        connection.execute(delete(Row).where(*entry))
        remedy = "the compactor rebuilds it"
        _log.warning("table_moved", table=name, previous_location=location, root=root, remedy=remedy)


def _is_moved(name: str, location: str, root: str) -> bool:
    topic = topic_of(name)
    if topic is None:
        return False
    before, found, file = location.rpartition(f"/{TABLES}/")
    if not found or before == root or not before.startswith(_LOCAL):
        return False
    if not is_topics_folder(folder_of_metadata(f"{TABLES}/{file}"), topic):
        return False
    here, there = _path(root) / TABLES, _path(before) / TABLES
    # Not `Path.is_dir`, which raises without permission: a directory that we cannot see is not this one.
    return (here / file).is_file() and not (os.path.isdir(there) and os.path.samefile(there, here))  # noqa: PTH112, PTH121


def _path(url: str) -> Path:
    return Path(url.removeprefix(_LOCAL))
