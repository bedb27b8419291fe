"""From the section `storage` to an open object store, in a broker and in a worker of Spark."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dray.cli.settings.storage import StorageSettings
from dray.objects.local import LocalObjects
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import ObjectStore
from dray.objects.retrying import ObjectRetries, Retrying
from dray.objects.url import parse_storage_url
from dray.runtime import Clock, LazyModule, SystemClock, SystemEntropy

if TYPE_CHECKING:
    from dray.cli import cloud_storage
else:  # a process pays for the cloud's libraries when it is there
    cloud_storage = LazyModule("dray.cli.cloud_storage")


async def open_bucket(storage: StorageSettings, clock: Clock) -> ObjectStore:
    """Open the store itself; a directory must be there."""
    url = parse_storage_url(storage.url)
    if url.scheme == "memory":
        return MemoryObjects(MemoryBucket(clock))
    if url.scheme == "file":
        return await LocalObjects.open(Path(url.path))
    return cloud_storage.open_cloud(url, storage, clock)


def retries_of(storage: StorageSettings) -> ObjectRetries:
    usual = ObjectRetries()
    return ObjectRetries(
        replace(usual.retry, budget_ms=storage.retry_budget_ms, attempts=storage.attempts_max),
        storage.attempt_timeout_ms,
    )


async def open_there(storage: StorageSettings) -> ObjectStore:
    """Open the store in a process that was given nothing but these settings."""
    clock = SystemClock()
    return Retrying(await open_bucket(storage, clock), clock, SystemEntropy(), retries_of(storage))
