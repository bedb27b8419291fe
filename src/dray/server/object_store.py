"""The object store that the section `storage` describes, for a broker and for a Spark worker."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dray.objects.local import LocalObjects
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import ObjectStore
from dray.objects.retrying import ObjectRetries, Retrying
from dray.objects.url import parse_storage_url
from dray.runtime import Clock, LazyModule, SystemClock, SystemEntropy
from dray.settings.storage import StorageSettings

if TYPE_CHECKING:
    from dray.server import cloud_storage
else:  # the cloud libraries are loaded only by a process that uses them
    cloud_storage = LazyModule("dray.server.cloud_storage")


async def open_bucket(storage: StorageSettings, clock: Clock) -> ObjectStore:
    """Open the store without retries; a local directory must exist."""
    url = parse_storage_url(storage.url)
    if url.scheme == "memory":
        return MemoryObjects(MemoryBucket(clock))
    if url.scheme == "file":
        return await LocalObjects.open(Path(url.path))
    return cloud_storage.open_cloud(url, storage, clock)


def retries_of(storage: StorageSettings) -> ObjectRetries:
    defaults = ObjectRetries()
    return ObjectRetries(
        replace(defaults.retry, budget_ms=storage.retry_budget_ms, attempts=storage.attempts_max),
        storage.attempt_timeout_ms,
        storage.bytes_per_s_min,
    )


async def open_from_settings(storage: StorageSettings) -> ObjectStore:
    """Open the store with retries, in a process that has nothing but these settings."""
    clock = SystemClock()
    return Retrying(await open_bucket(storage, clock), clock, SystemEntropy(), retries_of(storage))
