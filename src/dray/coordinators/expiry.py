"""Removing offsets whose time is up, and groups of which nothing is left.

Each broker does this for the groups it looks after. An offset goes only if it is still what was looked at,
and a group only if nobody has touched it meanwhile.
"""

from collections.abc import Awaitable, Callable

from dray.coordinators.coordinator import GroupCoordinator
from dray.coordinators.group_store import GroupStore, StoredOffset
from dray.groups import machine
from dray.groups.expiry import has_expired
from dray.groups.faults import Fault
from dray.groups.group import Doomed, Group
from dray.runtime import Clock

TopicId = Callable[[str], Awaitable[bytes | None]]


class OffsetExpiry:
    """Looks through the groups of one broker."""

    def __init__(self, groups: GroupCoordinator, store: GroupStore, topic_id: TopicId, clock: Clock) -> None:
        """`topic_id` tells a topic's id as it is now, not as it was: what is removed does not come back."""
        self._groups = groups
        self._store = store
        self._topic_id = topic_id
        self._clock = clock

    async def run(self) -> None:
        for group_id in self._groups.looked_after():
            await self._look_through(group_id)

    async def _look_through(self, group_id: str) -> None:
        known = await self._store.read(group_id)
        if known.group is None:
            return
        offsets = await self._store.offsets(group_id)
        ids = {topic: await self._topic_id(topic) for topic in {one.topic for one in offsets}}
        gone = [one for one in offsets if self._is_over(group_id, known.group, one, ids[one.topic])]
        await self._store.remove_offsets(group_id, known.version, gone)
        if len(gone) == len(offsets) and machine.delete_fault(known.group) is Fault.NONE:
            await self._store.write(group_id, known.version, Doomed(), ())

    def _is_over(self, group_id: str, group: Group, stored: StoredOffset, topic_id: bytes | None) -> bool:
        """Whether an offset is nobody's any more: of a topic that was deleted, or too old."""
        if stored.offset.topic_id != topic_id:
            return True
        limits, now_ms = self._groups.limits_of(group_id), self._clock.now_ms()
        return has_expired(group, stored.topic, stored.offset, limits, now_ms)
