"""Deviating batches: consumers read the same records from Dray and Apache Kafka; both store them as sent.

The batches are uncompressed, since Kafka rejects compressed ones with such offset deltas. librdkafka returns
every record, at the batch's base offset plus its delta. Java's consumer skips records whose offset is not
above the last. So the meaning of a batch depends on the client, and the broker must keep its bytes unchanged.
"""

from collections.abc import Iterator, Sequence

import pytest

from dray.wire.apis.produce import ProduceResponse
from tests.clients.conftest import Programs
from tests.clients.protocol import Record
from tests.clients.topics import new_name
from tests.oracle.batches import batch
from tests.oracle.kafka import Kafka
from tests.oracle.request_client import request_client
from tests.oracle.requests import Named, produce
from tests.records.deviations import OFFSET_DELTAS, TIME_MS, VALID, Deviation

pytestmark = [pytest.mark.slow, pytest.mark.real("java")]

BEFORE, AFTER = batch(b"before", time_ms=TIME_MS - 1), batch(b"after", time_ms=TIME_MS + 9000)
BASE, END = 1, 4


@pytest.fixture(scope="session")
def kafka_programs(apache_kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    running = Programs(apache_kafka.bootstrap, tmp_path_factory.mktemp("kafka-clients"))
    yield running
    running.close()


@pytest.mark.parametrize("deviation", [VALID, *OFFSET_DELTAS], ids=str)
def test_deviating_offset_deltas_read_the_same(
    deviation: Deviation,
    bootstrap: str,
    programs: Programs,
    apache_kafka: Kafka,
    kafka_programs: Programs,
) -> None:
    deltas = [one.offset_delta for one in deviation.records]
    for client, expected in (("librdkafka", _every(deltas)), ("java", _ascending(deltas))):
        for address, running in ((bootstrap, programs), (apache_kafka.bootstrap, kafka_programs)):
            topic = new_name()
            running[client].create_topic(topic, 1, {"retention.ms": "-1"})
            _send(address, topic, BEFORE, deviation.batch(), AFTER)
            assert _shown(running[client].consume(topic, len(expected))) == expected


def _every(deltas: Sequence[int]) -> list[tuple[int, bytes]]:
    three = [(BASE + delta, b"v%d" % number) for number, delta in enumerate(deltas)]
    return [(0, b"before"), *three, (END, b"after")]


def _ascending(deltas: Sequence[int]) -> list[tuple[int, bytes]]:
    shown: list[tuple[int, bytes]] = []
    for offset, value in _every(deltas)[:-1]:
        if not shown or offset > shown[-1][0]:
            shown.append((offset, value))
    return [*shown, (END, b"after")] if shown[-1][0] < END else shown


def _send(address: str, topic: str, *batches: bytes) -> None:
    host, _, port = address.rpartition(":")
    with request_client((host, int(port)), 30) as client:
        for records in batches:
            came = client.send(produce(Named(topic, bytes(16)), records), ProduceResponse, 9)
            assert came.responses[0].partition_responses[0].error_code == 0


def _shown(records: Sequence[Record]) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in records]
