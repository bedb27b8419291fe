"""A metadata store in one SQLite file, shared by the processes of one machine."""

from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.meta.sqlite.store import SqliteMetaStore

__all__ = ["SqliteMetaSettings", "SqliteMetaStore"]
