"""Reader of a topic's partitions, from given offsets to given ends, without a consumer group.

librdkafka fetches, decompresses, checks CRCs and follows leaders. This adds exact ends, and a warning where
retention has deleted the offsets to be read. Damaged records are an error once everything before them was
returned, also those that the broker does not serve.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from dray.client.config import ClientConfig
from dray.client.connections import ConnectionErrors
from dray.client.errors import BrokerError, ClientError, Unreachable, Unreadable, client_error

_RECORDS_MAX: Final = 1000
_MIB: Final = 1 << 20
_OUT_OF_RANGE: Final = KafkaError._AUTO_OFFSET_RESET  # noqa: SLF001 - public, see `errors`
_END: Final = KafkaError._PARTITION_EOF  # noqa: SLF001
_DAMAGED: Final = (
    KafkaError._BAD_MSG,  # noqa: SLF001
    KafkaError._BAD_COMPRESSION,  # noqa: SLF001
    KafkaError._UNDERFLOW,  # noqa: SLF001
    KafkaError._NOT_IMPLEMENTED,  # noqa: SLF001
    KafkaError.INVALID_MSG,
)
_PROBE_S: Final = 1.0
_headers_of = methodcaller("headers")
"""Reads headers by a call that Python checks. Where a key is not UTF-8, confluent-kafka returns a damaged
list with an exception set, which an optimized call does not notice."""


class ConsumerRecord(NamedTuple):
    """A record that was read."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(slots=True)
class ReadRange:
    """A partition, the next offset to read, and the one to stop before (None: never)."""

    partition: int
    offset: int
    end: int | None = None

    @property
    def done(self) -> bool:
        return self.end is not None and self.offset >= self.end


class RecordReader:
    """Reads ranges of one topic; `close` when done."""

    def __init__(
        self,
        config: ClientConfig,
        topic: str,
        ranges: Sequence[ReadRange],
        warn: Callable[[str], None],
    ) -> None:
        self._config = config
        self._topic = topic
        self._ranges = {one.partition: one for one in ranges if not one.done}
        self._warn = warn
        self._failure: ClientError | None = None
        self._errors = ConnectionErrors()
        self._down_s = 0.0
        self._idle_s = 0.0
        self._headers_missing = False
        self._awaited: dict[int, int] = {}
        """The end of each partition at the start of the current wait."""
        self._consumer = Consumer(
            {
                **config.properties(),
                "group.id": "unused",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": "read_uncommitted",
                "check.crcs": True,
                "fetch.max.bytes": 16 * _MIB,
                "max.partition.fetch.bytes": 2 * _MIB,
                "receive.message.max.bytes": 100 * _MIB,
                "fetch.queue.backoff.ms": 5,
                "queued.max.messages.kbytes": 64 << 10,
                "error_cb": self._errors.on_error,
            }
        )
        self._consumer.assign([self._place(one) for one in self._ranges.values()])

    @property
    def done(self) -> bool:
        """Whether every range was read to its end."""
        return not self._ranges

    def close(self) -> None:
        self._consumer.close()

    def poll(self, timeout_s: float) -> list[ConsumerRecord]:
        """Return the records that have come, in order within each partition; waits for the first one.

        An error is raised only once all records before it have been returned.
        """
        if self._failure is not None:
            raise self._failure
        first = self._consumer.poll(timeout_s)
        if first is None:
            self._check_reachable(timeout_s)
            self._check_progress(timeout_s)
            return []
        self._errors.all_down, self._down_s, self._idle_s = False, 0.0, 0.0
        self._awaited.clear()
        records: list[ConsumerRecord] = []
        for message in [first, *self._consumer.consume(_RECORDS_MAX, 0)]:
            try:
                self._take(message, records)
            except ClientError as error:
                if not records:
                    raise
                self._failure = error
                break
        return records

    def _take(self, message: Message, records: list[ConsumerRecord]) -> None:
        partition, offset, error = message.partition(), message.offset(), message.error()
        assert partition is not None
        wanted = self._ranges.get(partition)
        if wanted is None:
            return
        if error is not None:
            self._take_error(wanted, error, offset)
            return
        assert offset is not None
        if wanted.end is None or offset < wanted.end:
            records.append(
                ConsumerRecord(
                    partition,
                    offset,
                    message.timestamp()[1],
                    message.key(),
                    message.value(),
                    self._headers(message),
                )
            )
        self._advance(wanted, offset + 1)

    def _headers(self, message: Message) -> tuple[tuple[str, bytes | None], ...]:
        """Return the headers; none if a key is not UTF-8, which confluent-kafka fails on."""
        try:
            return tuple(_headers_of(message) or ())
        except SystemError as error:
            if not isinstance(error.__cause__, UnicodeDecodeError):
                raise
            if not self._headers_missing:
                self._headers_missing = True
                self._warn(
                    f"partition {message.partition()}, offset {message.offset()}: a header key is not UTF-8; "
                    "records with such keys are shown without headers"
                )
            return ()

    def _advance(self, wanted: ReadRange, offset: int) -> None:
        wanted.offset = max(wanted.offset, offset)
        if wanted.done:
            del self._ranges[wanted.partition]
            self._consumer.incremental_unassign([TopicPartition(self._topic, wanted.partition)])

    def _take_error(self, wanted: ReadRange, error: KafkaError, offset: int | None) -> None:
        where = self._where(wanted)
        code = error.code()
        if code == _END:
            self._advance(wanted, offset or 0)
        elif code == KafkaError.GROUP_AUTHORIZATION_FAILED:
            pass  # librdkafka must have a group, looks for its coordinator, and does not need it
        elif code == _OUT_OF_RANGE:
            self._skip_deleted(wanted, error, where)
        elif code in _DAMAGED:
            at = max(wanted.offset, offset or 0)
            raise Unreadable(f"{where}, offset {at}: the records there cannot be read: {error.str()}")
        else:
            raise client_error(error, where)

    def _skip_deleted(self, wanted: ReadRange, error: KafkaError, where: str) -> None:
        place = TopicPartition(self._topic, wanted.partition)
        start, _ = self._consumer.get_watermark_offsets(place, self._config.timeout_s)
        if start <= wanted.offset:
            raise BrokerError(f"{where}: {error.str()} (OFFSET_OUT_OF_RANGE)", KafkaError.OFFSET_OUT_OF_RANGE)
        self._warn(
            f"partition {wanted.partition}: offsets {wanted.offset} to {start - 1} have been deleted; "
            f"continuing at {start}"
        )
        wanted.offset = start
        self._consumer.incremental_unassign([place])
        if wanted.done:
            del self._ranges[wanted.partition]
        else:
            self._consumer.incremental_assign([self._place(wanted)])

    def _where(self, wanted: ReadRange) -> str:
        return f"partition {wanted.partition} of topic '{self._topic}'"

    def _place(self, wanted: ReadRange) -> TopicPartition:
        return TopicPartition(self._topic, wanted.partition, wanted.offset)

    def _check_reachable(self, waited_s: float) -> None:
        """Raise `Unreachable` once all brokers have been down for longer than the time limit."""
        if self._errors.all_down:
            self._down_s += waited_s
        if self._down_s < self._config.timeout_s:
            return
        try:
            self._consumer.list_topics(self._topic, _PROBE_S)
        except KafkaException as error:
            limit = f"{self._config.timeout_s:g} s"
            raise Unreachable(f"no broker has answered for {limit}: {self._errors.last}") from error
        self._errors.all_down, self._down_s = False, 0.0

    def _check_progress(self, waited_s: float) -> None:
        """Raise `Unreadable` if no record arrives within the time limit although the partition has some.

        librdkafka retries a fetch that gets KAFKA_STORAGE_ERROR forever, and does not report it.
        """
        self._idle_s += waited_s
        limit_s = self._config.timeout_s
        if self._idle_s < limit_s / 2:
            return
        for one in self._ranges.values():
            end = self._awaited.get(one.partition, 0)
            if one.offset < end:
                raise Unreadable(
                    f"{self._where(one)}, offset {one.offset}: the broker has sent no records for "
                    f"{limit_s:g} s, but has some up to offset {end - 1}; if they are damaged, its log and "
                    f"'dray compaction status {self._topic}' name the object"
                )
        self._idle_s = 0.0
        self._awaited = {one.partition: self._end_of(one) for one in self._ranges.values()}

    def _end_of(self, wanted: ReadRange) -> int:
        if wanted.end is not None:
            return wanted.end
        try:
            return self._consumer.get_watermark_offsets(self._place(wanted), _PROBE_S)[1]
        except KafkaException:
            return 0  # `_check_reachable` reports a broker that is down
