"""Access to a cluster's stores for processes that are not brokers.

Commands that query a cluster open its stores in their own process. So do the processes that Spark starts on
the driver's machine to plan and to commit. Executors only get access to the object store.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from dray.meta.port import MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock, Entropy, Tasks


@dataclass(frozen=True, slots=True)
class OpenCluster:
    """A cluster whose stores are open in this process."""

    meta: MetaStore
    objects: ObjectStore
    cluster_id: str
    domains: int
    clock: Clock
    entropy: Entropy
    tasks: Tasks


ClusterAccess = Callable[[], AbstractAsyncContextManager[OpenCluster]]
"""Opens a cluster for the duration of an `async with`. It is pickled, with its settings bound to it."""

StorageAccess = Callable[[], Awaitable[ObjectStore]]
"""Opens the object store of the log, with retries of transient failures. It is pickled and sent to executors:
a function of a module that they can import, with its settings bound to it. Credentials are part of the
settings, or the executor finds them in its own environment."""
