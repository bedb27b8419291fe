"""Rates of throttled clients over 22 seconds, on Dray and on Apache Kafka side by side, with librdkafka.

A producer and a consumer that are limited to 2 MB/s and would do 3, and a producer without limits, run on
both brokers at the same time. Limits hold for windows of 11 seconds, so two of these are measured. Faster
clients would use the limit of ten seconds in the first one and then wait for nine, on either broker.
"""

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from dray.wire.apis.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryDataRequest,
    OpData,
)
from tests.brokers import running_brokers
from tests.oracle.kafka import Kafka
from tests.oracle.request_client import request_client

pytestmark = [pytest.mark.slow, pytest.mark.real("java")]

MB: Final = 1_000_000
LIMIT: Final = 2 * MB
LIMITED: Final = 3 * MB
"""What the limited clients would do."""
FREE: Final = 4 * MB
VALUE: Final = bytes(20_000)
SECONDS: Final = 22.0
STORED: Final = int(LIMITED * SECONDS * 1.5)
MEASURED_WITHIN_S: Final = 60.0
TOLERANCE: Final = 0.1


@dataclass(slots=True)
class Progress:
    """Bytes of one client over time."""

    total: int = 0
    at: list[tuple[float, int]] = field(default_factory=list)
    throttled_ms: int = 0

    def count(self, size: int) -> None:
        self.total += size
        self.at.append((time.monotonic(), self.total))

    @property
    def done(self) -> bool:
        return bool(self.at) and time.monotonic() - self.at[0][0] > SECONDS

    def rate(self) -> float:
        """Return bytes per second in the measured time, from the first ones on."""
        (began, first), *_ = self.at
        return (max(total for when, total in self.at if when <= began + SECONDS) - first) / SECONDS


class Pace:
    """A rate that a client does not exceed; after a delay it may catch up, or not."""

    def __init__(self, rate: float, *, catches_up: bool) -> None:
        self._seconds_per_byte = 1 / rate
        self._catches_up = catches_up
        self._next = time.monotonic()

    def wait(self, size: int) -> None:
        """Wait until so many bytes are due."""
        now = time.monotonic()
        threading.Event().wait(max(self._next - now, 0))
        begin = self._next if self._catches_up else max(self._next, now)
        self._next = begin + size * self._seconds_per_byte


@dataclass(slots=True)
class Side:
    """One broker with its three clients, each in a thread."""

    name: str
    address: tuple[str, int]
    stop: threading.Event = field(default_factory=threading.Event)
    producer: Progress = field(default_factory=Progress)
    consumer: Progress = field(default_factory=Progress)
    free: Progress = field(default_factory=Progress)

    def __str__(self) -> str:
        clients = {"producer": self.producer, "consumer": self.consumer, "producer without limits": self.free}
        shown = [
            f"{name} {one.rate() / MB:.2f} MB/s, throttled for {one.throttled_ms / 1000:.1f} s"
            for name, one in clients.items()
        ]
        return f"{self.name}: {'; '.join(shown)}"

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def prepare(self) -> None:
        """Make topics and quotas, and store what the consumer will read."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for made in admin.create_topics([NewTopic(name, 1, 1) for name in ("in", "out", "free")]).values():
            made.result()
        self._limit("limited-producer", "producer_byte_rate")
        self._limit("limited-consumer", "consumer_byte_rate")
        self._produce("filling", "out", Progress(), None, STORED)

    def threads(self) -> list[threading.Thread]:
        slowed = ("limited-producer", "in", self.producer, Pace(LIMITED, catches_up=False))
        free = ("free", "free", self.free, Pace(FREE, catches_up=True))
        return [
            threading.Thread(target=self._produce, args=slowed),
            threading.Thread(target=self._produce, args=free),
            threading.Thread(target=self._consume, args=(Pace(LIMITED, catches_up=False),)),
        ]

    def _limit(self, client_id: str, key: str) -> None:
        entity = [EntityData(entity_type="client-id", entity_name=client_id)]
        entry = EntryDataRequest(entity=entity, ops=[OpData(key=key, value=float(LIMIT))])
        with request_client(self.address) as client:
            request = AlterClientQuotasRequest(entries=[entry])
            assert client.send(request, AlterClientQuotasResponse).entries[0].error_code == 0

    def _produce(
        self, client_id: str, topic: str, progress: Progress, pace: Pace | None, most: int = 1 << 40
    ) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "client.id": client_id,
                "linger.ms": 20,
                "batch.size": 200_000,
                "queue.buffering.max.kbytes": 1_000,
                "throttle_cb": lambda event: _throttled(progress, event.throttle_time),
            }
        )
        sent = 0
        while sent < most and not self.stop.is_set():
            if pace is not None:
                pace.wait(len(VALUE))
            try:
                producer.produce(topic, VALUE, on_delivery=lambda error, _: _delivered(progress, error))
                sent += len(VALUE)
                producer.poll(0)
            except BufferError:
                producer.poll(0.05)
        producer.flush(MEASURED_WITHIN_S)

    def _consume(self, pace: Pace) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "client.id": "limited-consumer",
                "group.id": "unused",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "queued.max.messages.kbytes": 500,
                "fetch.queue.backoff.ms": 10,
                "fetch.message.max.bytes": 250_000,
                "throttle_cb": lambda event: _throttled(self.consumer, event.throttle_time),
            }
        )
        consumer.assign([TopicPartition("out", 0, 0)])
        while not self.stop.is_set():
            for message in consumer.consume(10, 0.1):
                self.consumer.count(len(message.value() or b""))
                pace.wait(len(VALUE))
        consumer.close()


def _delivered(progress: Progress, error: object) -> None:
    assert error is None, error
    progress.count(len(VALUE))


def _throttled(progress: Progress, seconds: float) -> None:
    progress.throttled_ms += round(seconds * 1000)


def _measure(sides: list[Side]) -> None:
    """Run all clients until the limited ones have been measured."""
    threads = [thread for side in sides for thread in side.threads()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + MEASURED_WITHIN_S
    limited = [one for side in sides for one in (side.producer, side.consumer)]
    while not all(one.done for one in limited) and time.monotonic() < deadline:
        threading.Event().wait(0.1)
    for side in sides:
        side.stop.set()
    for thread in threads:
        thread.join(MEASURED_WITHIN_S)


@pytest.fixture
def sides(apache_kafka: Kafka, tmp_path: Path) -> Iterator[list[Side]]:
    with running_brokers(1, tmp_path / "dray") as (broker,):
        host, _, port = broker.address.rpartition(":")
        yield [Side("Dray", (host, int(port))), Side("Kafka", apache_kafka.address)]


def test_limited_clients_have_their_rate_and_others_are_not_affected(
    sides: list[Side], capsys: pytest.CaptureFixture[str]
) -> None:
    for side in sides:
        side.prepare()
    _measure(sides)
    with capsys.disabled():
        for side in sides:
            sys.stdout.write(f"\n{side}")
    dray = sides[0]
    assert dray.producer.rate() == pytest.approx(LIMIT, rel=TOLERANCE)
    assert dray.consumer.rate() == pytest.approx(LIMIT, rel=TOLERANCE)
    assert dray.free.rate() == pytest.approx(FREE, rel=TOLERANCE)
    assert dray.producer.throttled_ms > 0
    assert dray.consumer.throttled_ms > 0
    assert dray.free.throttled_ms == 0
