"""Lag of groups: the records between their committed offsets and the end of the log.

Each broker measures the groups it owns now and then, only to report it. Measuring must not slow down anything
else, so groups are measured one after the other, with a pause after each that is nine times as long as the
measurement: however many groups there are, it takes at most a tenth of the time. The end of a stream is
usually known here; where it is not, it is read and then kept current by the log's watch.

A partition without a committed offset has no lag, and is left out.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

from dray.cluster.topics import TopicCatalog
from dray.coordinators.coordinator import GroupCoordinator, GroupsUnavailable
from dray.coordinators.group_store import StoredOffset
from dray.coordinators.metrics import GroupMetrics
from dray.groups.stored import CorruptGroup
from dray.ids import StreamId
from dray.index import StreamHead
from dray.log import LogDamaged, LogError, StreamUnknown
from dray.observe import get_logger
from dray.runtime import Clock

HeadOf: TypeAlias = Callable[[StreamId], Awaitable[StreamHead]]
"""Returns the head of a stream, possibly slightly stale; raises a `LogError`."""
_PAUSE_FACTOR = 9
_log = get_logger("groups")


class LagMeter:
    """Measures the lag of the groups that this broker owns."""

    def __init__(
        self,
        groups: GroupCoordinator,
        topics: TopicCatalog,
        head_of: HeadOf,
        metrics: GroupMetrics,
        clock: Clock,
    ) -> None:
        self._groups = groups
        self._topics = topics
        self._head_of = head_of
        self._metrics = metrics
        self._clock = clock
        self._reported: dict[str, Mapping[str, int]] = {}
        """By group: lag by topic."""

    async def measure(self) -> None:
        """Measure every group once. While the stores are unavailable, the reported lag stays as it is."""
        groups = self._groups.owned_groups()
        for not_owned in self._reported.keys() - set(groups):
            self._report(not_owned, {})
        for group_id in groups:
            began = self._clock.monotonic()
            try:
                self._report(group_id, await self._lags(group_id))
            except (LogDamaged, CorruptGroup) as error:
                _log.warning("lag_measurement_failed", group=group_id, error=str(error))
            except (GroupsUnavailable, LogError) as error:
                _log.warning("lag_measurement_failed", error=str(error))
                return
            await self._clock.sleep(_PAUSE_FACTOR * (self._clock.monotonic() - began))

    async def _lags(self, group_id: str) -> Mapping[str, int]:
        lags: dict[str, int] = {}
        for stored in await self._groups.offsets(group_id):
            with suppress(StreamUnknown):
                lag = await self._lag(stored)
                if lag is not None:
                    lags[stored.topic] = lags.get(stored.topic, 0) + lag
        return lags

    async def _lag(self, stored: StoredOffset) -> int | None:
        """Return the lag of one partition; None if its topic was deleted or is not known here yet."""
        topic = self._topics.find(stored.topic)
        if topic is None or topic.topic_id != stored.offset.topic_id:
            return None
        if stored.partition >= len(topic.streams):
            return None
        head = await self._head_of(topic.streams[stored.partition])
        return max(0, head.high_watermark - stored.offset.offset)

    def _report(self, group_id: str, lags: Mapping[str, int]) -> None:
        for topic in self._reported.pop(group_id, {}).keys() - lags.keys():
            self._metrics.lag.remove(group_id, topic)
        for topic, lag in lags.items():
            self._metrics.lag.labels(group_id, topic).set(lag)
        if lags:
            self._reported[group_id] = lags
