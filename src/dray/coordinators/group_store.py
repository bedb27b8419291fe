"""Groups and their offsets in the metadata store.

Every write checks the version of the group's key, also when only offsets are written: a member that was put
out in the meantime commits nothing.

Deleting a group is done in steps, each of which can be the last before a crash: the group is replaced by a
mark, under which nothing can be committed any more; then its offsets go; then the mark. Whoever finds
a mark goes on from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dray.coordinators.keys import group_domain, group_key, offsets_range, partition_of
from dray.groups.group import Doomed, Group
from dray.groups.stored import CommittedOffset, CorruptGroup, decode_group, decode_offset, encode_group
from dray.meta.port import ABSENT, Check, Conflict, Delete, Domain, Entry, MetaStore, Put, Version, Write

_DELETED_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Known:
    """A group as it was read; None: there is none."""

    group: Group | None
    version: Version


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """A committed offset and where it is kept."""

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

    async def read(self, group_id: str) -> Known:
        while True:
            entry = await self._meta.get(self._domain(group_id), group_key(group_id))
            if entry is None:
                return Known(None, ABSENT)
            group = decoded(entry)
            if not isinstance(group, Doomed):
                return Known(group, entry.version)
            await self._finish(group_id, entry.version)

    async def write(
        self, group_id: str, version: Version, group: Group | Doomed, writes: Sequence[Write]
    ) -> Known | None:
        """Store the group, with other keys of it; None if it is no longer what `version` was."""
        key = group_key(group_id)
        result = await self._meta.commit(
            self._domain(group_id), [Check(key, version)], [Put(key, encode_group(group)), *writes]
        )
        if isinstance(result, Conflict):
            return None
        if not isinstance(group, Doomed):
            return Known(group, result.of[0])
        await self._finish(group_id, result.of[0])
        return await self.read(group_id)

    async def write_beside(self, group_id: str, version: Version, writes: Sequence[Write]) -> bool:
        """Write other keys of a group that itself stays as it is; false if it is not what `version` was."""
        check = Check(group_key(group_id), version)
        return not isinstance(await self._meta.commit(self._domain(group_id), [check], writes), Conflict)

    async def offsets(self, group_id: str, topic: str | None = None) -> list[StoredOffset]:
        """Return what is committed for a group, or for one of its topics."""
        entries = await self._meta.scan(self._domain(group_id), *offsets_range(group_id, topic))
        return [_stored_offset(entry) for entry in entries]

    async def remove_offsets(self, group_id: str, version: Version, gone: Sequence[StoredOffset]) -> None:
        """Remove offsets that are still as they were read, if the group is still what `version` was."""
        for start in range(0, len(gone), _DELETED_AT_ONCE):
            chunk = gone[start : start + _DELETED_AT_ONCE]
            await self._meta.commit(
                self._domain(group_id),
                [Check(group_key(group_id), version), *(Check(one.key, one.version) for one in chunk)],
                [Delete(one.key) for one in chunk],
            )

    async def _finish(self, group_id: str, version: Version) -> None:
        """Remove what is left of a group that is marked."""
        domain = self._domain(group_id)
        mark = Check(group_key(group_id), version)
        while found := await self._meta.scan(domain, *offsets_range(group_id), limit=_DELETED_AT_ONCE):
            if isinstance(
                await self._meta.commit(domain, [mark], [Delete(one.key) for one in found]), Conflict
            ):
                return
        await self._meta.commit(domain, [mark], [Delete(mark.key)])

    def _domain(self, group_id: str) -> Domain:
        return group_domain(group_id, self._domains)


def decoded(entry: Entry) -> Group | Doomed:
    """Return what is stored of a group; raises `CorruptGroup`."""
    try:
        return decode_group(entry.value)
    except CorruptGroup as error:
        raise CorruptGroup(f"{entry.key}: {error}; restore the value, or delete the key") from error


def _stored_offset(entry: Entry) -> StoredOffset:
    topic, partition = partition_of(entry.key)
    return StoredOffset(topic, partition, decode_offset(entry.value), entry.key, entry.version)
