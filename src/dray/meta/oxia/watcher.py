"""One watch: the changes under its prefix that its reader has not fetched.

A notification has a key and its version, no value. Placeholders appear as keys that were *created*; the
real put that follows *modifies* them. A placeholder that replaces garbage, and garbage that is deleted,
look like changes and are reported: the reader finds the key absent, as it was.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

from dray.ids import Domain
from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.keys import data_prefix, key_of
from dray.meta.oxia.plan import port_version
from dray.meta.port import ABSENT, Change, ChangeBatch, Position, Version


class Watcher(AsyncIterator[ChangeBatch]):
    """Collects changes from its creation on; its reader gets none up to the offset of `begin`."""

    def __init__(self, domain: Domain, prefix: str) -> None:
        self._names = data_prefix(domain)
        self._prefix = prefix
        self._position = -1
        """The offset up to which changes were received or need not be."""
        self._pending: dict[str, tuple[int, Version]] = {}
        self._gap_at: int | None = None
        """The last offset before which changes were missed."""
        self._has_begun = False
        self._end: Exception | None = None
        self._woken = asyncio.Event()

    async def __anext__(self) -> ChangeBatch:
        while self._end is None:
            if self._pending or self._gap_at is not None or not self._has_begun:
                return self._take()
            self._woken.clear()
            await self._woken.wait()
        raise self._end

    async def sync(self) -> bool:
        """Return false: Oxia does not say up to which entry a read is current."""
        return False

    def begin(self, position: int) -> None:
        """Drop what was collected up to a position: the reader has not begun, and will read it."""
        self._pending = {key: change for key, change in self._pending.items() if change[0] > position}
        if self._gap_at is not None and self._gap_at <= position:
            self._gap_at = None
        self._position = max(position, self._position)

    def prepend(self, batches: list[api.NotificationBatch], *, gap: bool) -> None:
        """Add batches from before those received, or the fact that some are missing."""
        since, self._pending = self._pending, {}
        for batch in batches:
            self._collect(batch)
        self._pending = {key: change for key, change in self._pending.items() if key not in since} | since
        if gap:
            self._gap_at = self._position

    def add(self, batch: api.NotificationBatch, *, gap: bool) -> None:
        """Add the next batch; with `gap`, others before it are missing."""
        if batch.offset <= self._position:
            return  # the feed lags behind the beginning of this watch
        if gap:
            self._gap_at = batch.offset
        self._collect(batch)
        self._position = batch.offset
        if self._pending or self._gap_at is not None:
            self._woken.set()

    def end(self, end: Exception) -> None:
        self._end = self._end or end
        self._woken.set()

    def _collect(self, batch: api.NotificationBatch) -> None:
        for entry in batch.notifications:
            if entry.value.type == api.KEY_RANGE_DELETED:
                self._gap_at = batch.offset  # not by us, and it does not say which keys
        for key, version in self._changes(batch):
            self._pending.pop(key, None)  # moves the key to the end
            self._pending[key] = (batch.offset, version)

    def _changes(self, batch: api.NotificationBatch) -> Iterator[tuple[str, Version]]:
        for entry in batch.notifications:
            if entry.value.type == api.KEY_CREATED or not entry.key.startswith(self._names):
                continue
            key = key_of(entry.key, self._names)
            if key.startswith(self._prefix):
                deleted = entry.value.type != api.KEY_MODIFIED
                yield key, ABSENT if deleted else port_version(entry.value.version_id)

    def _take(self) -> ChangeBatch:
        changes = tuple(Change(key, version) for key, (_, version) in self._pending.items())
        batch = ChangeBatch(Position(self._position), changes, self._gap_at is not None)
        self._pending, self._gap_at, self._has_begun = {}, None, True
        return batch
