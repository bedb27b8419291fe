"""Client program that carries out an order with librdkafka in a process of its own.

That separates its cost from the benchmark's, and captures librdkafka's verbose standard error. Settings are
librdkafka's defaults except where a comment says why.
"""

import resource
import struct
import sys
import time
from collections.abc import Callable, Iterable
from itertools import cycle, repeat
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.beside_kafka.orders import (
    READY,
    AnyOrder,
    DeleteTopic,
    Done,
    Fetch,
    FirstRecord,
    Follow,
    MakeTopic,
    PacedProduce,
    Produce,
    ProduceText,
)
from benchmarks.beside_kafka.text import texts

_WAIT_S = 60.0
_SERVE_EVERY = 1_000
_AT_ONCE = 10_000
_ANY = -1
"""Let librdkafka choose the partition."""
_INSTANT = struct.Struct(">q")
_NS = 1_000_000_000


class ClientFailed(RuntimeError):
    """An order could not be carried out."""


class Stopwatch:
    """Wall and CPU time since its creation."""

    def __init__(self) -> None:
        self._cpu = _cpu_seconds()
        self._began = time.perf_counter()

    def done(self) -> Done:
        return Done(time.perf_counter() - self._began, _cpu_seconds() - self._cpu)


def make_topic(order: MakeTopic) -> Done:
    admin, watch = AdminClient({"bootstrap.servers": order.bootstrap, **order.security}), Stopwatch()
    for made in admin.create_topics([NewTopic(order.topic, order.partitions, 1)]).values():
        made.result(_WAIT_S)
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        known = admin.list_topics(order.topic, timeout=_WAIT_S).topics[order.topic].partitions
        if len(known) == order.partitions and all(part.leader >= 0 for part in known.values()):
            return watch.done()
        time.sleep(0.02)
    raise ClientFailed(f"{order.topic} was not created within {_WAIT_S} s")


def produce(order: Produce) -> Done:
    # Only failures are reported, so that a million callbacks into Python are not measured.
    producer = _producer(order, {"linger.ms": 5, "delivery.report.only.error": True})
    value = bytes(range(256)) * (order.size // 256 + 1)
    watch = Stopwatch()
    partitions = cycle(range(order.partitions)) if order.partitions else repeat(_ANY)
    _send(producer, order.topic, repeat(value[: order.size], order.records), partitions)
    _flush(producer)
    return watch.done()


def produce_text(order: ProduceText) -> Done:
    codec = {"compression.type": order.codec}
    producer = _producer(order, {"linger.ms": 5, "delivery.report.only.error": True, **codec})
    watch = Stopwatch()
    _send(producer, order.topic, texts(order.size, order.records), cycle(range(order.partitions)))
    _flush(producer)
    return watch.done()


def _send(producer: Producer, topic: str, values: Iterable[bytes], partitions: Iterable[int]) -> None:
    for number, (value, partition) in enumerate(zip(values, partitions, strict=False)):
        while not _taken(producer, topic, value, partition):
            producer.poll(0.01)
        if not number % _SERVE_EVERY:
            producer.poll(0)


def _taken(producer: Producer, topic: str, value: bytes, partition: int) -> bool:
    try:
        producer.produce(topic, value, partition=partition, on_delivery=_refuse_failure)
    except BufferError:
        return False
    return True


def delete_topic(order: DeleteTopic) -> Done:
    admin = AdminClient({"bootstrap.servers": order.bootstrap, **order.security})
    for deleted in admin.delete_topics([order.topic]).values():
        deleted.result(_WAIT_S)
    return Done()


def fetch(order: Fetch) -> Done:
    # By default librdkafka sleeps for a second whenever its queue is full, and that would be measured.
    consumer = _consumer(order, {"fetch.queue.backoff.ms": 5})
    watch = Stopwatch()
    consumer.assign([TopicPartition(order.topic, number, 0) for number in range(order.partitions)])
    read, read_bytes, deadline = 0, 0, time.monotonic() + _WAIT_S
    while read < order.records and time.monotonic() < deadline:
        messages = consumer.consume(_AT_ONCE, 1.0)
        read += len(messages)
        read_bytes += sum(map(len, messages))
    done = watch.done()
    # An error is a message too, of another length.
    if (read, read_bytes) != (order.records, order.records * order.size):
        raise ClientFailed(f"read {read} records with {read_bytes} bytes, expected {order.records} records")
    return done


def paced_produce(order: PacedProduce) -> Done:
    latencies_ms: list[float] = []

    def acknowledged(error: KafkaError | None, message: Message) -> None:
        _refuse_failure(error, message)
        latencies_ms.append(_since(message))

    producer = _producer(order, {"linger.ms": 0})
    producer.list_topics(order.topic, _WAIT_S)
    filling = bytes(order.size - _INSTANT.size)
    watch, first = Stopwatch(), time.monotonic_ns()
    for number in range(order.records):
        due = first + number * _NS // order.rate
        while (early := due - time.monotonic_ns()) > 0:
            producer.poll(early / _NS)
        producer.produce(order.topic, _INSTANT.pack(due) + filling, on_delivery=acknowledged)
    _flush(producer)
    return msgspec.structs.replace(watch.done(), latencies_ms=latencies_ms)


def follow(order: Follow) -> Done:
    consumer = _consumer(order, {"enable.partition.eof": True})
    consumer.assign([TopicPartition(order.topic, number, 0) for number in range(order.partitions)])
    at_end: set[int | None] = set()
    latencies_ms: list[float] = []
    deadline = time.monotonic() + _WAIT_S
    while len(latencies_ms) < order.records and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is None:
            continue
        error = message.error()
        if error is None:
            latencies_ms.append(_since(message))
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
            at_end.add(message.partition())
            if len(at_end) == order.partitions and not latencies_ms:
                print(READY, flush=True)
        else:
            raise KafkaException(error)
    return Done(latencies_ms=latencies_ms)


def first_record(order: FirstRecord) -> Done:
    """Write one record, retrying every few milliseconds, where librdkafka would back off."""
    instants: list[int] = []

    def acknowledged(error: KafkaError | None, message: Message) -> None:
        _refuse_failure(error, message)
        instants.append(time.monotonic_ns())

    impatient = {
        "linger.ms": 0,
        "reconnect.backoff.ms": 10,
        "reconnect.backoff.max.ms": 20,
        "retry.backoff.ms": 10,
        "topic.metadata.refresh.fast.interval.ms": 10,
    }
    print(READY, flush=True)
    producer = _producer(order, impatient)
    producer.produce(order.topic, b"first", on_delivery=acknowledged)
    _flush(producer)
    return Done(acknowledged_ns=instants[0])


def _producer(order: AnyOrder, settings: dict[str, Any]) -> Producer:
    return Producer({"bootstrap.servers": order.bootstrap, "acks": "all", **order.security, **settings})


def _consumer(order: AnyOrder, settings: dict[str, Any]) -> Consumer:
    """Create a consumer; the group id is required and unused."""
    unused = {"group.id": "unused", "enable.auto.commit": False}
    return Consumer({"bootstrap.servers": order.bootstrap, **order.security, **unused, **settings})


def _flush(producer: Producer) -> None:
    left = producer.flush(_WAIT_S)
    if left:
        raise ClientFailed(f"{left} records were not acknowledged within {_WAIT_S} s")


def _refuse_failure(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        raise KafkaException(error)


def _value(message: Message) -> bytes:
    error, value = message.error(), message.value()
    if error is not None or not isinstance(value, bytes):
        raise KafkaException(error)
    return value


def _since(message: Message) -> float:
    return (time.monotonic_ns() - int(_INSTANT.unpack_from(_value(message))[0])) / 1e6


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


_CARRY_OUT: dict[type[AnyOrder], Callable[[Any], Done]] = {
    MakeTopic: make_topic,
    DeleteTopic: delete_topic,
    Produce: produce,
    ProduceText: produce_text,
    Fetch: fetch,
    PacedProduce: paced_produce,
    Follow: follow,
    FirstRecord: first_record,
}


def main(text: str) -> None:
    order: AnyOrder = msgspec.json.decode(text, type=AnyOrder)
    done = _CARRY_OUT[type(order)](order)
    print(msgspec.json.encode(done).decode(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
