"""Groups and committed offsets in the metadata store.

Every write checks the version of the group's key, also if it writes only offsets: a member that was removed
in the meantime commits nothing.

A group is deleted in steps, each of which may be the last before a crash: a tombstone replaces the group,
under which nothing can be committed; then its offsets are removed; then the tombstone. A process that finds a
tombstone continues from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dray.groups.results import OffsetChanges
from dray.groups.stored import (
    CorruptGroup,
    Group,
    Tombstone,
    decode_group,
    decode_offset,
    encode_group,
    encode_offset,
)
from dray.groups.types import CommittedOffset
from dray.ids import Domain
from dray.keyspace import group_domain, group_key, offset_key, offsets_range, partition_of
from dray.meta.port import ABSENT, Check, Conflict, Delete, Entry, MetaStore, Put, Version, Write

_DELETES_MAX: Final = 500
"""The most deletions in one commit, unless the metadata store accepts fewer."""


@dataclass(frozen=True, slots=True)
class VersionedGroup:
    """A group as it was read (None: there is none), and its version."""

    group: Group | None
    version: Version


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """A committed offset with its key."""

    topic: str
    partition: int
    offset: CommittedOffset
    key: str
    version: Version


class GroupStore:
    """Reads and writes groups."""

    def __init__(self, meta: MetaStore, domains: int) -> None:
        self._meta = meta
        self._domains = domains
        self._writes_max = max(1, min(meta.limits.checks_max, meta.limits.writes_max) - 1)
        self._deletes_max = min(_DELETES_MAX, self._writes_max)

    async def read(self, group_id: str) -> VersionedGroup:
        while True:
            entry = await self._meta.get(self._domain(group_id), group_key(group_id))
            if entry is None:
                return VersionedGroup(None, ABSENT)
            group = decoded(entry)
            if not isinstance(group, Tombstone):
                return VersionedGroup(group, entry.version)
            await self._finish_deletion(group_id, entry.version)

    async def write(
        self, group_id: str, version: Version, group: Group | Tombstone, offsets: OffsetChanges
    ) -> VersionedGroup | None:
        """Store a group and changes of its offsets; None if the group no longer has this version.

        Offsets that do not fit into the commit of the group precede it: until the group has changed, its
        commands may be applied again.
        """
        key = group_key(group_id)
        writes = _writes(group_id, offsets)
        before, last = writes[self._writes_max :], writes[: self._writes_max]
        if before and not await self._write_all(group_id, version, before):
            return None
        put = Put(key, encode_group(group))
        result = await self._meta.commit(self._domain(group_id), [Check(key, version)], [put, *last])
        if isinstance(result, Conflict):
            return None
        if not isinstance(group, Tombstone):
            return VersionedGroup(group, result.of[0])
        await self._finish_deletion(group_id, result.of[0])
        return await self.read(group_id)

    async def write_offsets(self, group_id: str, version: Version, offsets: OffsetChanges) -> bool:
        """Store changes of offsets; false if the group no longer has this version, even if nothing changes.

        Offsets of many partitions may take several commits; after a failure the client sends all again.
        """
        return await self._write_all(group_id, version, _writes(group_id, offsets))

    async def _write_all(self, group_id: str, version: Version, writes: Sequence[Write]) -> bool:
        """Make writes in as many commits as needed, at least one; false if the group has another version."""
        check = Check(group_key(group_id), version)
        for start in range(0, max(1, len(writes)), self._writes_max):
            chunk = writes[start : start + self._writes_max]
            if isinstance(await self._meta.commit(self._domain(group_id), [check], chunk), Conflict):
                return False
        return True

    async def offsets(self, group_id: str, topic: str | None = None) -> list[StoredOffset]:
        """Return the committed offsets of a group, or of one of its topics."""
        entries = await self._meta.scan(self._domain(group_id), *offsets_range(group_id, topic))
        return [_stored_offset(entry) for entry in entries]

    async def remove_offsets(self, group_id: str, version: Version, offsets: Sequence[StoredOffset]) -> None:
        """Remove offsets that have not changed since they were read, if the group still has this version."""
        for start in range(0, len(offsets), self._deletes_max):
            chunk = offsets[start : start + self._deletes_max]
            await self._meta.commit(
                self._domain(group_id),
                [Check(group_key(group_id), version), *(Check(one.key, one.version) for one in chunk)],
                [Delete(one.key) for one in chunk],
            )

    async def _finish_deletion(self, group_id: str, version: Version) -> None:
        """Remove the offsets under a tombstone, and then the tombstone."""
        domain = self._domain(group_id)
        tombstone = Check(group_key(group_id), version)
        while found := await self._meta.scan(domain, *offsets_range(group_id), limit=self._deletes_max):
            deletes = [Delete(one.key) for one in found]
            if isinstance(await self._meta.commit(domain, [tombstone], deletes), Conflict):
                return
        await self._meta.commit(domain, [tombstone], [Delete(tombstone.key)])

    def _domain(self, group_id: str) -> Domain:
        return group_domain(group_id, self._domains)


def decoded(entry: Entry) -> Group | Tombstone:
    """Decode a stored group; raises `CorruptGroup`."""
    try:
        return decode_group(entry.value)
    except CorruptGroup as error:
        raise CorruptGroup(f"{entry.key}: {error}; restore the value, or delete the key") from error


def _writes(group_id: str, offsets: OffsetChanges) -> list[Write]:
    return [
        Delete(offset_key(group_id, topic, partition))
        if offset is None
        else Put(offset_key(group_id, topic, partition), encode_offset(offset))
        for (topic, partition), offset in offsets.items()
    ]


def _stored_offset(entry: Entry) -> StoredOffset:
    topic, partition = partition_of(entry.key)
    return StoredOffset(topic, partition, decode_offset(entry.value), entry.key, entry.version)
