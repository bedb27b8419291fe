"""Records of every shape, sent by librdkafka with every codec, and the rows that every reader must return."""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.clients.records import hour_ago_ms, noise
from tests.clients.registry import CODECS

SHOWN: Final = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp_ms", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
"""What is compared, record by record, in the order of partition and offset."""

Headers = list[tuple[str, str | bytes | None]]
_KEYS: Final = (None, b"key", b"", bytes(range(256)), "ключ".encode())
_HEADERS: Final[tuple[Headers, ...]] = (
    [],
    [("one", b"1")],
    [("twice", b"1"), ("between", b"\x00\xff"), ("twice", b"2")],
    [("null", None), ("empty", b""), ("größe", "✓".encode())],
)
_WAIT_S: Final = 120.0
_QUEUE_MAX: Final = 200_000
_POLL_EVERY: Final = 1_000


class Sender:
    """Sends numbered records to a topic and remembers the offset of each."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._partitions = partitions
        self._sent: list[tuple[object, ...]] = []
        self._next = 0
        self._start_ms = hour_ago_ms()

    def make_topic(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        [made] = admin.create_topics([NewTopic(self._topic, self._partitions)]).values()
        made.result(_WAIT_S)

    def send(self, count: int) -> None:
        """Send that many more, an equal part with each codec, and wait for all acknowledgements."""
        share = -(-count // len(CODECS))
        for codec in CODECS:
            producer = Producer(
                {
                    "bootstrap.servers": self._bootstrap,
                    "compression.type": codec,
                    "linger.ms": 5,
                    "queue.buffering.max.messages": _QUEUE_MAX,
                }
            )
            for _ in range(min(share, count)):
                self._send_one(producer)
            count -= share
            assert producer.flush(_WAIT_S) == 0

    def expected(self) -> pa.Table:
        columns = list(zip(*self._sent, strict=True)) or [()] * len(SHOWN)
        table = pa.table(
            [pa.array(list(one), field.type) for one, field in zip(columns, SHOWN, strict=True)], SHOWN
        )
        return ordered(table)

    def _send_one(self, producer: Producer) -> None:
        number, self._next = self._next, self._next + 1
        key, value = _KEYS[number % len(_KEYS)], _value(number)
        headers, timestamp = _HEADERS[number % len(_HEADERS)], self._start_ms + number

        def done(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            shown = [{"key": name, "value": value} for name, value in headers]
            self._sent.append((message.partition(), message.offset(), timestamp, key, value, shown))

        if number % _POLL_EVERY == 0:
            while len(producer) > _QUEUE_MAX // 2:
                producer.poll(0.1)
        producer.produce(
            self._topic,
            value,
            key,
            number % self._partitions,
            on_delivery=done,
            timestamp=timestamp,
            headers=headers,
        )


def ordered(table: pa.Table) -> pa.Table:
    return table.cast(SHOWN).sort_by([("partition", "ascending"), ("offset", "ascending")]).combine_chunks()


def differences(found: pa.Table, expected: pa.Table) -> Iterator[str]:
    """Return the first differences between two tables; empty if they are equal."""
    if found.equals(expected):
        return
    if found.num_rows != expected.num_rows:
        yield f"{found.num_rows:,} records instead of {expected.num_rows:,}"
    for column in SHOWN.names:
        if found[column].equals(expected[column]):
            continue
        pairs = zip(found[column].to_pylist(), expected[column].to_pylist(), strict=False)
        first = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
        if first is not None:
            yield f"{column} of record {first:,}: {found[column][first]} instead of {expected[column][first]}"


def _value(number: int) -> bytes | None:
    shapes = (b"", None, noise(100, number), b"again and again " * 20, noise(1, number))
    return shapes[number % 9] if number % 9 < len(shapes) else f"value {number}".encode()
