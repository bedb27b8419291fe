"""Fetch sessions (KIP-227): the partitions that a client fetches, kept by the broker between its requests.

A client opens a session with a full request, and then sends what changes: partitions to add, to read from
another offset, or to forget. A response in a session names only partitions that have news: records, an error,
or another high watermark or log start offset than the client was sent.

A session keeps a watch over its streams, so that only partitions that are *due* are read: those that the
client changed, those whose stream changed, and those that had more than fitted into the last response.

The number of sessions is limited as in Kafka: a new one evicts a session that was unused for the eviction
time, or else one that is as old as that and has fewer partitions. Without space there is no new session, and
the client continues with full requests. Requests of one session are numbered by its epoch, so that only one
of them is answered.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from dray.api.errors import RequestRejected
from dray.api.metrics import FetchSessionMetrics
from dray.api.settings import KafkaSettings
from dray.ids import StreamId
from dray.index import StreamHead
from dray.log import StreamWatch
from dray.runtime import Entropy
from dray.wire import ErrorCode
from dray.wire.apis.fetch import FetchPartition, FetchRequest, PartitionData

NO_SESSION: Final = 0
_INITIAL_EPOCH: Final = 0
_FINAL_EPOCH: Final = -1
_EPOCH_MAX: Final = (1 << 31) - 1
_UNKNOWN: Final = -1
"""A high watermark or log start offset that the client was not sent."""


class PartitionKey(NamedTuple):
    """A partition as requests name it: by the name of its topic, or by its id."""

    topic: str
    topic_id: bytes
    partition: int


class FetchedPartition:
    """A partition of a request or a session, and what the client knows of it."""

    __slots__ = ("high_watermark", "key", "log_start", "requested", "stream")

    def __init__(self, key: PartitionKey, requested: FetchPartition) -> None:
        self.key = key
        self.requested = requested
        self.stream: StreamId | None = None
        """The stream that is watched for it."""
        self.high_watermark = _UNKNOWN
        self.log_start = _UNKNOWN

    def is_news(self, data: PartitionData) -> bool:
        """Return whether a response must contain this."""
        return (
            data.error_code != ErrorCode.NONE
            or bool(data.records)
            or data.high_watermark != self.high_watermark
            or data.log_start_offset != self.log_start
        )

    def shows(self, head: StreamHead | None) -> bool:
        """Return whether the client knows this state of the stream."""
        return head is not None and (head.high_watermark, head.log_start) == (
            self.high_watermark,
            self.log_start,
        )

    def sent(self, data: PartitionData) -> None:
        """Note what the client is sent. After an error everything is news."""
        self.high_watermark = data.high_watermark if data.error_code == ErrorCode.NONE else _UNKNOWN
        self.log_start = data.log_start_offset

    def is_at_end(self, data: PartitionData) -> bool:
        """Return whether everything is read until the stream changes."""
        return (
            data.error_code == ErrorCode.NONE
            and not data.records
            and self.requested.fetch_offset >= data.high_watermark
        )


Partitions = dict[PartitionKey, FetchedPartition]


def requested_partitions(request: FetchRequest) -> Partitions:
    """Return the partitions of a request; of one that is listed twice, the last entry counts."""
    found: Partitions = {}
    for named in request.topics:
        for requested in named.partitions:
            key = PartitionKey(named.topic, named.topic_id, requested.partition)
            if key in found:
                found[key].requested = requested
            else:
                found[key] = FetchedPartition(key, requested)
    return found


class FetchSession:
    """The partitions of one client."""

    def __init__(
        self, number: int, partitions: Partitions, watch: StreamWatch, *, uses_ids: bool, now: float
    ) -> None:
        self.number = number
        self.partitions = partitions
        self.watch = watch
        self.uses_ids = uses_ids
        self.created, self.used = now, now
        self.epoch = _next(_INITIAL_EPOCH)
        """That of the next request."""
        self._due = dict.fromkeys(partitions)
        """Partitions to be read, in the order in which they get space in a response."""
        self._keys = {one.stream: key for key, one in partitions.items() if one.stream is not None}
        self._resolved_by: object = None

    def due(self) -> list[FetchedPartition]:
        """Return the partitions that may have news."""
        for stream in self.watch.take_changed():
            key = self._keys.get(stream)
            if key is not None and not self.partitions[key].shows(self.watch.known(stream)):
                self._due.setdefault(key)
        return [self.partitions[key] for key in self._due]

    def resolve_by(self, state: object) -> None:
        """Make everything due if topics, routes, ACLs or the client differ from those of the last request."""
        if self._resolved_by != state:
            self._resolved_by = state
            self._due = dict.fromkeys(self.partitions)

    def watch_stream(self, partition: FetchedPartition, stream: StreamId | None) -> None:
        """Watch the stream of a partition; None if the partition cannot be read."""
        if partition.stream == stream:
            return
        self._unwatch(partition)
        if stream is not None:
            partition.stream = stream
            self._keys[stream] = partition.key
            self.watch.add(stream)

    def settle(self, partition: FetchedPartition, data: PartitionData) -> None:
        """Take a partition that was read and has no news off the due ones, if it is at its end."""
        if partition.is_at_end(data):
            self._due.pop(partition.key, None)

    def sent(self, partition: FetchedPartition, data: PartitionData) -> None:
        """Note what is sent of a partition; one with records gets space after all others next time.

        As in Kafka, the order of the first response is that of the request, and so is that of the second.
        """
        partition.sent(data)
        if data.records and self.epoch > _next(_INITIAL_EPOCH):
            self._due.pop(partition.key, None)
            self._due[partition.key] = None
        else:
            self.settle(partition, data)

    def update(self, request: FetchRequest) -> None:
        """Change the partitions as the client requests."""
        for key, one in requested_partitions(request).items():
            known = self.partitions.setdefault(key, one)
            known.requested = one.requested
            self._due.setdefault(key)
        for named in request.forgotten_topics_data:
            for number in named.partitions:
                key = PartitionKey(named.topic, named.topic_id, number)
                forgotten = self.partitions.pop(key, None)
                if forgotten is not None:
                    self._unwatch(forgotten)
                    self._due.pop(key, None)

    def _unwatch(self, partition: FetchedPartition) -> None:
        if partition.stream is not None:
            self.watch.discard(partition.stream)
            self._keys.pop(partition.stream, None)
            partition.stream = None


class FetchSessions:
    """The sessions of all clients of this broker."""

    def __init__(
        self,
        settings: KafkaSettings,
        entropy: Entropy,
        monotonic: Callable[[], float],
        metrics: FetchSessionMetrics,
    ) -> None:
        self._settings = settings
        self._entropy = entropy
        self._monotonic = monotonic
        self._metrics = metrics
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        """By id, the least recently used one first."""
        self._partitions = 0
        metrics.sessions.set_function(lambda: len(self._sessions))
        metrics.partitions.set_function(lambda: self._partitions)

    def resume(self, request: FetchRequest, *, uses_ids: bool) -> FetchSession | None:
        """Return the session of an incremental request, updated by it; None for a full request.

        A full request closes the session that it names, and an incremental one that leaves nothing to fetch
        is a full one. Raises `RequestRejected` if the session does not continue with this request.
        """
        if request.session_epoch in (_INITIAL_EPOCH, _FINAL_EPOCH):
            self._close(self._sessions.get(request.session_id))
            return None
        session = self._sessions.get(request.session_id)
        if session is None:
            raise RequestRejected(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise RequestRejected(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_ids != uses_ids:
            raise RequestRejected(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        self._update(session, request)
        if not session.partitions:
            self._close(session)
            return None
        session.epoch = _next(session.epoch)
        session.watch.set()  # an earlier request that still waits is no longer the current one
        return session

    def open(
        self, request: FetchRequest, partitions: Partitions, watch: StreamWatch, *, uses_ids: bool
    ) -> FetchSession | None:
        """Open the session that a full request asks for, if there is space; it then owns the watch."""
        if request.session_epoch != _INITIAL_EPOCH or not self._has_space(len(partitions)):
            return None
        session = FetchSession(
            self._new_number(), partitions, watch, uses_ids=uses_ids, now=self._monotonic()
        )
        self._sessions[session.number] = session
        self._partitions += len(partitions)
        return session

    def _update(self, session: FetchSession, request: FetchRequest) -> None:
        before = len(session.partitions)
        session.update(request)
        self._partitions += len(session.partitions) - before
        session.used = self._monotonic()
        self._sessions.move_to_end(session.number)
        if self._partitions > self._settings.fetch_session_partitions_max:
            self._close(session)
            raise RequestRejected(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)  # the client sends a full request

    def _close(self, session: FetchSession | None) -> None:
        if session is not None and self._sessions.pop(session.number, None) is not None:
            self._partitions -= len(session.partitions)
            session.watch.close()

    def _has_space(self, size: int) -> bool:
        if self._partitions + size > self._settings.fetch_session_partitions_max:
            return False
        return len(self._sessions) < self._settings.max_incremental_fetch_session_cache_slots or self._evict(
            size
        )

    def _evict(self, size: int) -> bool:
        """Evict a session for one with so many partitions, if Kafka would."""
        unused_s = self._settings.min_incremental_fetch_session_eviction_ms / 1000
        earliest = self._monotonic() - unused_s
        evicted = next(iter(self._sessions.values()), None)
        if evicted is None:
            return False
        if evicted.used >= earliest:
            old = [one for one in self._sessions.values() if one.created < earliest]
            evicted = min(old, key=lambda one: len(one.partitions), default=None)
            if evicted is None or len(evicted.partitions) >= size:
                return False
        self._close(evicted)
        self._metrics.evictions.inc()
        return True

    def _new_number(self) -> int:
        while True:
            number = int.from_bytes(self._entropy.token(4)) & _EPOCH_MAX
            if number != NO_SESSION and number not in self._sessions:
                return number


def _next(epoch: int) -> int:
    return 1 if epoch == _EPOCH_MAX else epoch + 1
