"""SIGTERM under load, with real clients: an exit within three seconds that loses nothing acknowledged."""

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupState,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from tests.cli.up_process import running, up

pytestmark = pytest.mark.slow

TOPIC, PARTITIONS = "t", 4
LIMIT_S = 3.0
WAIT_S = 60.0
LONG_POLL = {"fetch.wait.max.ms": 30_000, "fetch.min.bytes": 50_000_000}
CONSUMERS: list[dict[str, Any]] = [
    {"group.protocol": protocol, **polling}
    for protocol in ("classic", "consumer")
    for polling in ({"fetch.wait.max.ms": 500}, LONG_POLL)
]


def neighbouring_ports(count: int) -> int:
    """Return the first of so many free ports in a row."""
    for first in range(20_000, 30_000, count):
        with ExitStack() as taken:
            try:
                for port in range(first, first + count):
                    taken.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports")


class Clients:
    """Consumers, each in a group of its own, and what becomes of their assignments."""

    def __init__(self, bootstrap: str) -> None:
        self.config: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0}
        self.admin = AdminClient(self.config)

    @contextmanager
    def consuming(self, group: str, **options: Any) -> Iterator[threading.Event]:
        """Consume all the time; the event is set once a partition is assigned."""
        consumer = Consumer({**self.config, "group.id": group, **options})
        assigned, over = threading.Event(), threading.Event()
        consumer.subscribe([TOPIC], on_assign=lambda *_: assigned.set())

        def poll() -> None:
            while not over.is_set():
                consumer.poll(0.1)

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            yield assigned
        finally:
            over.set()
            thread.join()
            consumer.close()

    def until_rebalancing(self, group: str) -> None:
        """Return when the group waits for members to join."""
        while True:
            listed = self.admin.list_consumer_groups().result(WAIT_S).valid
            if (group, ConsumerGroupState.PREPARING_REBALANCING) in [(g.group_id, g.state) for g in listed]:
                return

    def stored(self) -> dict[tuple[int, int], bytes]:
        """Read all records."""
        consumer = Consumer({**self.config, "group.id": "reader", "enable.auto.commit": False})
        parts = [TopicPartition(TOPIC, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
        try:
            count = sum(consumer.get_watermark_offsets(part)[1] for part in parts)
            consumer.assign(parts)
            found: dict[tuple[int, int], bytes] = {}
            while len(found) < count:
                message = consumer.poll(WAIT_S)
                assert message is not None
                assert message.error() is None
                found[message.partition(), message.offset()] = message.value()  # type: ignore[index,assignment]
            return found
        finally:
            consumer.close()


class Producing:
    """An idempotent producer that writes all the time, and what the brokers acknowledged of that."""

    def __init__(self, clients: Clients) -> None:
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self._producer = Producer({**clients.config, "enable.idempotence": True, "linger.ms": 2})
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def finish(self) -> None:
        self._over.set()
        self._thread.join()
        assert self._producer.flush(WAIT_S) == 0

    def _run(self) -> None:
        number = 0
        while not self._over.wait(0.0005):
            number += 1
            value = b"%d" % number
            self._producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=self._delivered)
            self._producer.poll(0)
            while len(self._producer) > 1_000 and not self._over.is_set():
                self._producer.poll(0.01)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        assert error is None
        self.acknowledged[message.partition(), message.offset()] = message.value()  # type: ignore[index,assignment]


@pytest.mark.parametrize(("brokers", "options"), [(1, []), (2, []), (1, ["--compaction"])])
def test_sigterm_under_load_exits_in_time_and_keeps_what_was_acknowledged(
    tmp_path: Path, brokers: int, options: list[str]
) -> None:
    """The clients outlive the brokers: after a restart everything is written exactly once."""
    listen = f"--listen=127.0.0.1:{neighbouring_ports(brokers)}"
    with ExitStack() as running_clients:
        with running(*up(brokers, listen, *options), cwd=tmp_path) as command:
            clients = Clients(",".join(one.kafka for one in command.served(brokers)))
            clients.admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(WAIT_S)
            members = [
                running_clients.enter_context(clients.consuming(f"g{number}", **options))
                for number, options in enumerate(CONSUMERS)
            ]
            producing = Producing(clients)
            assert all(assigned.wait(WAIT_S) for assigned in members)
            joining = clients.consuming("late", **{"group.protocol": "classic"})
            members.append(running_clients.enter_context(joining))
            clients.until_rebalancing("late")
            started = time.monotonic()
            code = command.end(signal.SIGTERM)
            took_s = time.monotonic() - started
        assert (code, took_s < LIMIT_S) == (0, True), f"exit code {code} after {took_s:.1f} s"
        assert not any("drain_timeout" in line for line in command.errors)
        before = dict(producing.acknowledged)
        with running(*up(brokers, listen), cwd=tmp_path) as again:
            again.served(brokers)
            producing.finish()
            found = clients.stored()
            running_clients.close()
            again.end(signal.SIGTERM)
    assert before
    assert before.items() <= found.items()
    assert producing.acknowledged == found
