"""Expiry of committed offsets, and of groups that have neither members nor offsets.

Each broker expires the offsets of the groups it owns. An offset is removed only if it has not changed since
it was read, and a group only if it has not changed either.
"""

from collections.abc import Awaitable, Callable

from dray.coordinators.coordinator import GroupCoordinator
from dray.coordinators.group_store import GroupStore, StoredOffset
from dray.groups import machine
from dray.groups.stored import Group, Tombstone
from dray.groups.types import GroupError
from dray.runtime import Clock

TopicId = Callable[[str], Awaitable[bytes | None]]


class OffsetExpiry:
    """Expires the offsets of one broker's groups."""

    def __init__(self, groups: GroupCoordinator, store: GroupStore, topic_id: TopicId, clock: Clock) -> None:
        """`topic_id` returns a topic's current id, never a stale one: removed offsets do not come back."""
        self._groups = groups
        self._store = store
        self._topic_id = topic_id
        self._clock = clock

    async def run(self) -> None:
        for group_id in self._groups.owned_groups():
            await self._expire(group_id)

    async def _expire(self, group_id: str) -> None:
        known = await self._store.read(group_id)
        if known.group is None:
            return
        offsets = await self._store.offsets(group_id)
        ids = {topic: await self._topic_id(topic) for topic in {one.topic for one in offsets}}
        expired = [one for one in offsets if self._has_expired(group_id, known.group, one, ids[one.topic])]
        await self._store.remove_offsets(group_id, known.version, expired)
        if len(expired) == len(offsets) and machine.delete_error(known.group) is GroupError.NONE:
            await self._store.write(group_id, known.version, Tombstone(), {})

    def _has_expired(self, group_id: str, group: Group, stored: StoredOffset, topic_id: bytes | None) -> bool:
        """Return whether an offset belongs to a deleted topic or is too old."""
        if stored.offset.topic_id != topic_id:
            return True
        limits, now_ms = self._groups.limits_of(group_id), self._clock.now_ms()
        return machine.has_expired(group, stored.topic, stored.offset, limits, now_ms)
