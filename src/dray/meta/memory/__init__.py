"""A metadata store in memory: a synchronous server, and clients that reach it through a link."""

from dray.meta.memory.server import CommitRefused, MemoryMetaServer
from dray.meta.memory.store import (
    DirectLink,
    Link,
    MemoryMetaSettings,
    MemoryMetaStore,
    ResponseLost,
)
from dray.meta.memory.watching import Receive

__all__ = [
    "CommitRefused",
    "DirectLink",
    "Link",
    "MemoryMetaServer",
    "MemoryMetaSettings",
    "MemoryMetaStore",
    "Receive",
    "ResponseLost",
]
