"""Failure bookkeeping of a compactor: a metric, a log line and a backoff for each, and the stored reasons.

The reason why a topic is not compacted is kept in the metadata store, where `dray compaction status` finds it
until a round of the topic succeeds. It is written when it changes, not for every failed round. The store is
best effort: an error while writing a reason delays no topic, and the next pass tries again.
"""

from collections.abc import Hashable, Iterable
from contextlib import suppress

import msgspec

from dray.compaction.backoff import Backoff
from dray.compaction.metrics import CompactionMetrics
from dray.index import CorruptValue
from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, failure_key, failures_range
from dray.meta.port import ABSENT, Check, Delete, Entry, MetaError, MetaStore, Put
from dray.meta.reading import scan_all
from dray.observe import get_logger
from dray.runtime import Clock

_log = get_logger("compaction")


class FailureReporter:
    """Counts and logs failures, and starts the backoff of what has failed."""

    def __init__(self, backoff: Backoff, metrics: CompactionMetrics) -> None:
        self._backoff = backoff
        self._metrics = metrics

    def report(self, key: Hashable, scope: str, event: str, **fields: object) -> None:
        """Report a failure of `key`; `scope` is its label in the failure metric."""
        self._metrics.failures.labels(scope).inc()
        _log.warning(event, **fields, retry_in_s=self._backoff.failed(key))


class TopicFailure(msgspec.Struct, frozen=True, array_like=True, tag="e1"):
    """Since when a topic is not compacted, since when for this reason, and the reason."""

    since_ms: int
    changed_at_ms: int
    reason: str


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(TopicFailure)


async def load_failure(meta: MetaStore, topic_id: bytes) -> TopicFailure | None:
    """Return why a topic is not compacted, or None if its last round succeeded."""
    stored = await meta.get(CLUSTER_DOMAIN, failure_key(topic_id))
    return None if stored is None else _decoded(stored)


def _decoded(stored: Entry) -> TopicFailure:
    return decoded(_decoder, stored.key, stored.value, "a topic failure")


class TopicFailures:
    """Stored failures of topics; the caller holds the lease of the topic that it records or clears."""

    def __init__(self, meta: MetaStore, clock: Clock) -> None:
        self._meta = meta
        self._clock = clock
        self._stored: dict[str, Entry] = {}
        """What was stored when the pass began, so that a healthy topic costs no request."""

    async def before_pass(self, topic_ids: Iterable[bytes]) -> None:
        """Load the stored failures, and delete those of topics other than these."""
        live = set(map(failure_key, topic_ids))
        with suppress(MetaError):
            bounds = failures_range()
            found = scan_all(self._meta, CLUSTER_DOMAIN, bounds)
            self._stored = {stored.key: stored async for stored in found}
            for key in self._stored.keys() - live:
                await self._delete(key)

    async def record(self, topic_id: bytes, reason: str) -> None:
        """Store why the topic's round failed, unless that reason is stored already."""
        key = failure_key(topic_id)
        with suppress(MetaError):
            stored = await self._meta.get(CLUSTER_DOMAIN, key)
            previous = None if stored is None else _readable(stored)
            if previous is not None and previous.reason == reason:
                return
            now_ms = self._clock.now_ms()
            failure = TopicFailure(now_ms if previous is None else previous.since_ms, now_ms, reason)
            check = Check(key, ABSENT if stored is None else stored.version)
            await self._meta.commit(CLUSTER_DOMAIN, [check], [Put(key, _encoder.encode(failure))])

    async def clear(self, topic_id: bytes) -> None:
        """Delete the topic's failure after a round that succeeded."""
        key = failure_key(topic_id)
        if key in self._stored:
            with suppress(MetaError):
                await self._delete(key)

    async def _delete(self, key: str) -> None:
        check = Check(key, self._stored.pop(key).version)
        await self._meta.commit(CLUSTER_DOMAIN, [check], [Delete(key)])


def _readable(stored: Entry) -> TopicFailure | None:
    """Return the stored failure; a corrupt one is overwritten."""
    with suppress(CorruptValue):
        return _decoded(stored)
    return None
