"""Key compaction beside Apache Kafka: both retain the same records."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from dray.compaction.settings import CompactionSettings
from dray.records import BatchRules, Record, encode_batch, validate
from tests.compaction.key_compaction import KeyCompaction
from tests.log.builders import ONE, Rig, simulate
from tests.oracle.kafka import serve

_START_MS: Final = 1_700_000_000_000
_CLEANER: Final = {"log.cleaner.backoff.ms": "200", "log.cleaner.dedupe.buffer.size": "10485760"}
_EVERY: Final = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.0", "delete.retention.ms": "0"}
_TRIES_MAX: Final = 200

Sent = tuple[str, int]
"""Key, and milliseconds since the start; four values fill a segment of `segment.bytes`."""

SCENARIOS: Final[dict[str, tuple[dict[str, str], Sequence[Sent]]]] = {
    "defaults": ({}, [("a", 0), ("a", 1)]),
    "idle": ({"segment.ms": "1000"}, [("a", 0), ("a", 100)]),
    "rolled": ({"segment.ms": "1000"}, [("a", 0), ("a", 1_000), ("b", 1_001)]),
    "newer-in-the-active": ({"segment.ms": "1000"}, [("a", 0), ("a", 5_000)]),
    "two-rolled": (
        {"segment.ms": "1000"},
        [("a", 0), ("a", 100), ("a", 5_000), ("b", 5_050), ("b", 6_000), ("c", 10_000), ("c", 10_001)],
    ),
    "lag": ({"max.compaction.lag.ms": "1000"}, [("a", 0), ("a", 100), ("b", 5_000), ("b", 5_001)]),
    "full": ({"segment.bytes": "1048576"}, [("a", 0)] * 5),
    "full-twice": ({"segment.bytes": "1048576"}, [("a", 0), ("b", 0), ("a", 0)] * 3),
}


@pytest.mark.slow
@pytest.mark.real("java")
def test_key_compaction_keeps_what_kafka_keeps(tmp_path: Path) -> None:
    expected = {name: _kept(configs, sent) for name, (configs, sent) in SCENARIOS.items()}
    with serve(tmp_path / "kafka", _CLEANER) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        topics = [NewTopic(name, 1, 1, config=_EVERY | configs) for name, (configs, _) in SCENARIOS.items()]
        topics.append(NewTopic("compacted-last", 1, 1, config=_EVERY | {"segment.ms": "1000"}))
        for made in admin.create_topics(topics).values():
            made.result()
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        for name, (_, sent) in SCENARIOS.items():
            _send(producer, name, sent)
        changed = {name: kept for name, kept in expected.items() if len(kept) < len(SCENARIOS[name][1])}
        assert set(changed) == {"rolled", "two-rolled", "lag", "full", "full-twice"}
        for name, kept in changed.items():
            _wait_until_kept(kafka.bootstrap, name, kept)
        _send(producer, "compacted-last", [("a", 0), ("a", 100), ("b", 5_000)])
        _wait_until_kept(kafka.bootstrap, "compacted-last", [1, 2])
        assert {name: _offsets(kafka.bootstrap, name) for name in SCENARIOS} == expected


def _kept(configs: dict[str, str], sent: Sequence[Sent]) -> list[int]:
    """Return the offsets that Dray retains, if no record is old enough for `max.compaction.lag.ms`."""
    found: list[int] = []

    async def body(rig: Rig) -> None:
        opened = await rig.open()
        given = {"max.compaction.lag.ms": str(1 << 60)} | configs
        compaction = KeyCompaction(rig, given)
        now_ms = rig.clock.now_ms()
        for key, at_ms in sent:
            batch = encode_batch([Record(0, now_ms + at_ms, key.encode(), _value(configs))])
            await (await opened.log.append(ONE, validate(memoryview(batch), BatchRules(), now_ms)))
            await compaction.run(settings=CompactionSettings(wal_age_ms_max=0, merge_files_min=2))
        await compaction.compact_keys()
        found.extend(row.offset for row in await compaction.stream_rows())

    simulate(body)
    return found


def _value(configs: dict[str, str]) -> bytes:
    return bytes(300_000 if "segment.bytes" in configs else 10)


def _send(producer: Producer, topic: str, sent: Sequence[Sent]) -> None:
    configs = SCENARIOS[topic][0] if topic in SCENARIOS else {}
    for key, at_ms in sent:
        producer.produce(topic, _value(configs), key, timestamp=_START_MS + at_ms)
        producer.flush()


def _wait_until_kept(bootstrap: str, topic: str, kept: Sequence[int]) -> None:
    """Read the topic until the log cleaner has run."""
    found: Sequence[int] = []
    for _ in range(_TRIES_MAX):
        found = _offsets(bootstrap, topic)
        if found == kept:
            return
    raise AssertionError(f"{topic} keeps {found}, {kept} was expected")


def _offsets(bootstrap: str, topic: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.partition.eof": True})
    partition = TopicPartition(topic, 0, 0)
    try:
        consumer.assign([partition])
        found: list[int] = []
        while (message := consumer.poll(10)) is not None and message.error() is None:
            offset = message.offset()
            assert offset is not None
            found.append(offset)
        return found
    finally:
        consumer.close()
