"""Producer for one topic.

librdkafka batches, compresses, retries and keeps the order within each partition. This adds what a command
needs: a bounded queue, errors that name input lines, and keyless records that stay together batch by batch.
A record with a key goes to the partition that Kafka's own producer would choose. The first record that cannot
be delivered ends everything: what is queued is dropped, and the next `poll` or `flush` raises.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as KafkaProducer

from dray.client.config import ClientConfig
from dray.client.connections import ConnectionErrors
from dray.client.errors import Undelivered, client_error
from dray.ids import missing_partition

ALL_REPLICAS: Final = -1
NO_ACKS: Final = 0
_QUEUED_RECORDS_MAX: Final = 1_000_000
_QUEUED_KB_MAX: Final = 32 << 10
_MESSAGE_BYTES_MAX: Final = 1_000_000_000
_POLL_S: Final = 0.05
_ANY_PARTITION: Final = -1
_CURRENT_TIME: Final = 0
"""The timestamp that librdkafka replaces by the current time."""
_DROPPED: Final = (
    KafkaError._PURGE_QUEUE,  # noqa: SLF001 - public, see `errors`
    KafkaError._PURGE_INFLIGHT,  # noqa: SLF001
    KafkaError._INVALID_DIFFERENT_RECORD,  # noqa: SLF001
)
"""Records that failed only because another one did."""

_POLL_RECORDS: Final = 100


class ProducerRecord(NamedTuple):
    """A record to send; `line` is the input line it came from, for messages."""

    line: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """How records are sent."""

    codec: str = "none"
    acks: int = ALL_REPLICAS
    idempotent: bool = True
    batch_bytes: int = 1_000_000
    linger_ms: int = 5


class StickyPartition:
    """The partition of keyless records: the next one whenever a batch is full, or the input pauses."""

    def __init__(self, partitions: int, batch_bytes: int) -> None:
        self._partitions = partitions
        self._batch_bytes = batch_bytes
        self._number = 0
        self._filled_bytes = 0

    def place(self, size_bytes: int) -> int:
        if self._filled_bytes + size_bytes > self._batch_bytes:
            self.advance()
        self._filled_bytes += size_bytes + 1
        return self._number

    def advance(self) -> None:
        if self._filled_bytes:
            self._number = (self._number + 1) % self._partitions
            self._filled_bytes = 0


class Producer:
    """Sends records; `flush` before leaving."""

    def __init__(self, config: ClientConfig, topic: str, partitions: int, settings: ProducerSettings) -> None:
        self._config = config
        self._topic = topic
        self._partitions = partitions
        self._settings = settings
        self._sticky = StickyPartition(partitions, settings.batch_bytes)
        self._sent = self._sent_bytes = 0
        self._lost = self._lost_bytes = 0
        self._flushed = False
        self._failures: list[tuple[int, KafkaError]] = []
        self._errors = ConnectionErrors()
        self._producer = KafkaProducer(
            {
                **config.properties(),
                "error_cb": self._errors.on_error,
                "compression.type": settings.codec,
                "acks": settings.acks,
                "enable.idempotence": settings.idempotent,
                "max.in.flight": 5 if settings.idempotent else 1,
                "batch.size": settings.batch_bytes,
                "batch.num.messages": _QUEUED_RECORDS_MAX,
                "linger.ms": settings.linger_ms,
                "delivery.timeout.ms": settings.linger_ms + int(config.timeout_s * 1000) + 1,
                "delivery.report.only.error": True,
                "message.max.bytes": _MESSAGE_BYTES_MAX,
                "partitioner": "murmur2_random",
                "queue.buffering.max.messages": _QUEUED_RECORDS_MAX,
                "queue.buffering.max.kbytes": _QUEUED_KB_MAX,
            }
        )
        self._produce = self._producer.produce
        self._check_topic()

    @property
    def acknowledged(self) -> tuple[int, int]:
        """Number of acknowledged records and the bytes of their keys and values; exact after `flush`."""
        queued = 0 if self._flushed else len(self._producer)
        records = max(0, self._sent - self._lost - queued)
        size_bytes = self._sent_bytes - self._lost_bytes
        return records, size_bytes * records // max(1, self._sent - self._lost)

    def send(self, record: ProducerRecord, partition: int | None = None) -> None:
        """Queue a record, as soon as there is space; `partition` is for one that names none itself."""
        line, key, value, headers, timestamp_ms, wanted = record
        size_bytes = len(key or b"") + len(value or b"")
        if timestamp_ms is None:
            timestamp_ms = _CURRENT_TIME
        elif timestamp_ms == _CURRENT_TIME:
            raise Undelivered(f"line {line}: timestamp 0 cannot be sent: it would become the current time")
        chosen = partition if wanted is None else wanted
        if chosen is None:
            number = _ANY_PARTITION if key is not None else self._sticky.place(size_bytes)
        else:
            number = self._existing(line, chosen)
        failed = partial(self._record_failure, line, size_bytes)
        while True:
            try:
                self._produce(self._topic, value, key, number, failed, failed, timestamp_ms, list(headers))
            except BufferError:
                self.poll(_POLL_S)
            else:
                break
        self._flushed = False
        self._sent += 1
        self._sent_bytes += size_bytes
        if self._sent % _POLL_RECORDS == 0:
            self.poll()

    def pause(self) -> None:
        """Start a new batch for keyless records, as the input has paused; raises `Undelivered`."""
        self._sticky.advance()
        self.poll()

    def poll(self, timeout_s: float = 0) -> None:
        """Take delivery reports; raises `Undelivered`."""
        self._producer.poll(timeout_s)
        if self._failures:
            self._producer.purge(in_flight=False)
            while self._producer.flush(_POLL_S):
                pass
            self._flushed = True
            raise self._undelivered()

    def flush(self) -> None:
        """Wait until everything is acknowledged; raises `Undelivered`."""
        while self._producer.flush(_POLL_S) and not self._failures:
            pass
        self._flushed = True
        self.poll()
        if self._settings.acks == NO_ACKS:
            # A broker answers a connection in order: what it has answered came after all records.
            self._producer.list_topics(self._topic, self._config.timeout_s)

    def _check_topic(self) -> None:
        """Look up the topic; raises `ClientError`.

        librdkafka requests a producer id whenever metadata arrives, else twice a second. The first metadata
        arrives over the bootstrap connection, which it then closes; the second over one that it can use.
        """
        for _ in range(2):
            try:
                self._producer.list_topics(self._topic, self._config.timeout_s)
            except KafkaException as error:
                cause = "" if self._errors.last is None else f": {self._errors.last}"
                raise client_error(error.args[0], f"topic '{self._topic}'", cause) from error

    def _existing(self, line: int, partition: int) -> int:
        if not 0 <= partition < self._partitions:
            missing = missing_partition(self._topic, partition, self._partitions)
            raise Undelivered(f"line {line}: {missing}")
        return partition

    def _record_failure(self, line: int, size_bytes: int, error: KafkaError, _: Message) -> None:
        self._lost += 1
        self._lost_bytes += size_bytes
        if error.code() not in _DROPPED:
            self._failures.append((line, error))

    def _undelivered(self) -> Undelivered:
        _, first = min(self._failures, key=lambda failure: failure[0])
        lines = format_lines([line for line, error in self._failures if error.code() == first.code()])
        if first.code() == KafkaError._MSG_TIMED_OUT:  # noqa: SLF001 - public, see `errors`
            reason = "" if self._errors.last is None else f": {self._errors.last}"
            return Undelivered(f"{lines}: not acknowledged within {self._config.timeout_s:g} s{reason}")
        return Undelivered(str(client_error(first, f"{lines}: rejected")))


def format_lines(lines: Sequence[int]) -> str:
    """Return which lines: one, or from where to where."""
    first, last = min(lines), max(lines)
    return f"line {first}" if first == last else f"lines {first} to {last}"
