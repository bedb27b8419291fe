"""A metadata store in memory: a synchronous server, and clients that reach it through a link."""

from dray.meta.memory.server import CommitRefused, MemoryMetaServer
from dray.meta.memory.store import (
    DirectLink,
    Link,
    MemoryMetaSettings,
    MemoryMetaStore,
    ResponseLost,
)

__all__ = [
    "CommitRefused",
    "DirectLink",
    "Link",
    "MemoryMetaServer",
    "MemoryMetaSettings",
    "MemoryMetaStore",
    "ResponseLost",
]
