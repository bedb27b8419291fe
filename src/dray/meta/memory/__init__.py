"""A metadata store in memory: a server that is plain code, and clients that reach it through a link."""

from dray.meta.memory.link import AnswerLost, DirectLink, Link
from dray.meta.memory.server import CommitRefused, MemoryMetaServer
from dray.meta.memory.store import MemoryMetaSettings, MemoryMetaStore

__all__ = [
    "AnswerLost",
    "CommitRefused",
    "DirectLink",
    "Link",
    "MemoryMetaServer",
    "MemoryMetaSettings",
    "MemoryMetaStore",
]
