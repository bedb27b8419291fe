"""Batches of idempotent producers that were accepted and then lost.

A producer that a stream knows cannot skip a sequence number: its next one is known. One that the stream does
not know may begin anywhere, because its state may have expired. If its first batch is lost here while a later
one is in flight, the later one would be taken for its first, and the lost one could never be sent again. So
the first lost sequence is remembered, and only a batch with that sequence may begin.

Only this process knows of it, and only for a while: other brokers have no batches of the same connection.
"""

from collections import OrderedDict

from dray.ids import StreamId
from dray.log.stages import Pending
from dray.producers import NO_PRODUCER, ProducerTable

_REMEMBERED_MAX = 10_000

_Key = tuple[StreamId, int, int]
"""Stream, producer id, producer epoch."""


class LostSequences:
    """The first lost sequence of each producer, per stream."""

    def __init__(self) -> None:
        self._first: OrderedDict[_Key, int] = OrderedDict()
        self._of_stream: dict[StreamId, set[_Key]] = {}

    def add(self, stream: StreamId, pending: Pending) -> None:
        """Add a batch that will not be committed, if it has a producer and is its first."""
        header = pending.header
        if header.producer_id <= NO_PRODUCER:
            return
        key = (stream, header.producer_id, header.producer_epoch)
        if self._first.setdefault(key, header.base_sequence) == header.base_sequence:
            self._of_stream.setdefault(stream, set()).add(key)
        if len(self._first) > _REMEMBERED_MAX:
            self._drop(self._first.popitem(last=False)[0])

    def first(self, stream: StreamId, producer_id: int, epoch: int) -> int | None:
        """Return the sequence with which an unknown producer must begin; None for any."""
        return self._first.get((stream, producer_id, epoch))

    def forget_known(self, stream: StreamId, known: ProducerTable) -> None:
        """Forget the producers that the stream knows."""
        if not self._of_stream:
            return
        for key in [key for key in self._of_stream.get(stream, ()) if key[1] in known]:
            del self._first[key]
            self._drop(key)

    def _drop(self, key: _Key) -> None:
        left = self._of_stream[key[0]]
        left.discard(key)
        if not left:
            del self._of_stream[key[0]]
