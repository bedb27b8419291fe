"""How whoever is no broker reaches a cluster: it opens the stores, in its own process.

So do commands that look, and what Spark runs to plan and to commit, in processes that it starts on the
driver's machine. Executors are given the object store alone, by `blocking.StorageAccess`.
"""

from collections.abc import Callable
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
"""Opens a cluster for the time of an `async with`; travels by pickle, with its settings bound to it."""
