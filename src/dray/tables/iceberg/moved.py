"""A data directory that was moved or copied.

A table's metadata names its files by where they were, and so does a catalogue beside it. Once everything lies
elsewhere, such a table cannot be read; or it can, and whoever changes a copy writes into the original. So the
catalogue forgets these tables, and the compactor makes them again from the files of the log, which are
named by their place under the root. Other tables in the same catalogue are left alone. The new ones are made
in folders of their own, and the metadata that was moved along stays where it is.
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
    """Take tables out of a catalogue of SQLite whose metadata is under `root` now and was elsewhere."""
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
        is_it = (Row.catalog_name == catalog, Row.table_namespace == namespace, Row.table_name == name)
        connection.execute(delete(Row).where(*is_it))
        _log.warning("table_moved", table=name, was=location, root=root, remedy="it is made again")


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
    # Not `Path.is_dir`, which raises where we may not look: what we cannot see is not this directory.
    return (here / file).is_file() and not (os.path.isdir(there) and os.path.samefile(there, here))  # noqa: PTH112, PTH121


def _path(url: str) -> Path:
    return Path(url.removeprefix(_LOCAL))
