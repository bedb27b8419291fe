"""How far groups are behind: the records between what they have committed and the end of the log.

It is measured now and then by the broker that looks after a group, and only to be shown. It must never be in
anybody's way, so groups are taken one after the other, with a rest after each that is nine times as long as
the work was: however many there are, measuring takes at most a tenth of the time. A stream's end is mostly
known here; where it is not, it is read and then kept true by the log's watch.

A partition for which nothing was committed says nothing about how far the group has come, and is left out.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

from dray.cluster.topics import Topics
from dray.coordinators.coordinator import GroupCoordinator, GroupsAway
from dray.coordinators.group_store import StoredOffset
from dray.coordinators.metrics import GroupMetrics
from dray.groups.stored import CorruptGroup
from dray.ids import StreamId
from dray.index import StreamHead
from dray.log import LogDamaged, LogError, StreamUnknown
from dray.observe import get_logger
from dray.runtime import Clock

HeadOf: TypeAlias = Callable[[StreamId], Awaitable[StreamHead]]
"""Tells where a stream ended a moment ago; raises a `LogError`."""
_REST = 9
_log = get_logger("groups")


class LagMeter:
    """Measures the lag of the groups that this broker looks after."""

    def __init__(
        self, groups: GroupCoordinator, topics: Topics, head_of: HeadOf, metrics: GroupMetrics, clock: Clock
    ) -> None:
        self._groups = groups
        self._topics = topics
        self._head_of = head_of
        self._metrics = metrics
        self._clock = clock
        self._told: dict[str, Mapping[str, int]] = {}
        """By group: lag by topic."""

    async def measure(self) -> None:
        """Measure every group once. What is told stays as it is while the stores are away."""
        groups = self._groups.looked_after()
        for gone in self._told.keys() - set(groups):
            self._tell(gone, {})
        for group_id in groups:
            began = self._clock.monotonic()
            try:
                self._tell(group_id, await self._lags(group_id))
            except (LogDamaged, CorruptGroup) as error:
                _log.warning("lag_not_measured", group=group_id, error=str(error))
            except (GroupsAway, LogError) as error:
                _log.warning("lags_not_measured", error=str(error))
                return
            await self._clock.sleep(_REST * (self._clock.monotonic() - began))

    async def _lags(self, group_id: str) -> Mapping[str, int]:
        lags: dict[str, int] = {}
        for stored in await self._groups.offsets(group_id):
            with suppress(StreamUnknown):
                lag = await self._lag(stored)
                if lag is not None:
                    lags[stored.topic] = lags.get(stored.topic, 0) + lag
        return lags

    async def _lag(self, stored: StoredOffset) -> int | None:
        """Return the lag in one partition; None if it is of a topic that is gone, or not yet known here."""
        topic = self._topics.find(stored.topic)
        if topic is None or topic.topic_id != stored.offset.topic_id:
            return None
        if stored.partition >= len(topic.streams):
            return None
        head = await self._head_of(topic.streams[stored.partition])
        return max(0, head.high_watermark - stored.offset.offset)

    def _tell(self, group_id: str, lags: Mapping[str, int]) -> None:
        for topic in self._told.pop(group_id, {}).keys() - lags.keys():
            self._metrics.lag.forget(group_id, topic)
        for topic, lag in lags.items():
            self._metrics.lag.labels(group_id, topic).set(lag)
        if lags:
            self._told[group_id] = lags
