"""Client matrix: everything that users commonly do with a topic, by every client library.

Records are written to explicit partitions and read by assignment, without groups. The assertion is always the
same: offsets are dense and in the order of writing; keys, values, headers and timestamps are unchanged.
"""

import time

import pytest
from msgspec.structs import replace

from tests.clients.conftest import Programs
from tests.clients.process import ClientFailed
from tests.clients.protocol import Codec, Consume, Record
from tests.clients.records import MIB, hour_ago_ms, noise, varied
from tests.clients.registry import CLIENTS, CODECS, Client
from tests.clients.target import every_client, needs
from tests.clients.topics import PARTITIONS, assert_shows, bounds, log_of, of, places

pytestmark = pytest.mark.slow

COUNT = 300
MESSAGE_TOO_LARGE = 10
TOPIC_ALREADY_EXISTS = 36

every_idempotence = pytest.mark.parametrize(
    ("client", "idempotent"),
    [
        pytest.param(client, on, id=f"{name} {'on' if on else 'off'}", marks=needs(client.part))
        for name, client in CLIENTS.items()
        for on in client.idempotence
    ],
)


@every_client
def test_creates_a_topic(client: Client, programs: Programs, topic: str) -> None:
    program = programs[client.name]
    program.create_topic(topic, 3, {"retention.ms": "86400000"})
    assert program.describe_topic(topic) == [(0, 0)] * 3
    with pytest.raises(ClientFailed) as failed:
        program.create_topic(topic, 3)
    assert failed.value.code == TOPIC_ALREADY_EXISTS


@every_client
@pytest.mark.parametrize("codec", CODECS)
def test_reads_back_what_it_wrote(client: Client, codec: Codec, programs: Programs, topic: str) -> None:
    program, log = programs[client.name], log_of(client, varied(COUNT, PARTITIONS))
    program.create_topic(topic, len(PARTITIONS))
    assert program.produce(topic, log, codec) == places(log)
    assert program.describe_topic(topic) == bounds(log)
    assert_shows(client, program.consume(topic, COUNT, PARTITIONS), log)


@every_idempotence
def test_produces_with_idempotence_on_and_off(
    client: Client, idempotent: bool, programs: Programs, topic: str
) -> None:
    program, log = programs[client.name], log_of(client, varied(COUNT, PARTITIONS) * 2)
    program.create_topic(topic, len(PARTITIONS))
    first = program.produce(topic, log[:COUNT], idempotent=idempotent)
    second = program.produce(topic, log[COUNT:], idempotent=idempotent)
    assert first + second == places(log)
    assert_shows(client, program.consume(topic, len(log), PARTITIONS), log)


@every_client
def test_by_default_a_record_has_the_time_of_writing(client: Client, programs: Programs, topic: str) -> None:
    """All settings are the library's defaults."""
    program = programs[client.name]
    log = log_of(client, [replace(record, timestamp=None) for record in varied(COUNT, PARTITIONS)])
    program.create_topic(topic, len(PARTITIONS))
    before_ms = int(time.time() * 1000)
    assert program.produce(topic, log) == places(log)
    after_ms = int(time.time() * 1000)
    read = program.consume(topic, COUNT, PARTITIONS)
    assert_shows(client, [replace(record, timestamp=None) for record in read], log)
    assert all(before_ms <= (record.timestamp or 0) <= after_ms for record in read)


@every_client
def test_records_of_a_mebibyte_are_read(client: Client, programs: Programs, topic: str) -> None:
    """Producer and topic are configured for the size; the consumer is not."""
    program, written_ms = programs[client.name], hour_ago_ms()
    large = [Record(b"key", noise(MIB, number), timestamp=written_ms) for number in range(4)]
    log = log_of(client, large)
    program.create_topic(topic, len(PARTITIONS), {"max.message.bytes": str(2 * MIB)})
    assert program.produce(topic, log, bytes_max=2 * MIB) == places(log)
    assert_shows(client, program.consume(topic, len(log)), log)


@every_client
def test_record_too_large_for_the_topic_is_refused(client: Client, programs: Programs, topic: str) -> None:
    program = programs[client.name]
    program.create_topic(topic, len(PARTITIONS))
    with pytest.raises(ClientFailed) as failed:
        program.produce(topic, [Record(b"key", noise(2 * MIB, 0))], bytes_max=4 * MIB)
    assert failed.value.code == MESSAGE_TOO_LARGE
    assert program.describe_topic(topic) == [(0, 0)] * len(PARTITIONS)


@every_client
def test_starts_at_an_offset(client: Client, programs: Programs, topic: str) -> None:
    log = written(client, programs, topic)
    wanted = [record for record in log if record.offset >= 100]
    read = programs[client.name].consume(topic, len(wanted), PARTITIONS, "offset", 100)
    assert_shows(client, read, wanted)


@every_client
def test_starts_at_a_time(client: Client, programs: Programs, topic: str) -> None:
    """The time is half a second before that of record 200, which is the first to be read."""
    log = written(client, programs, topic)
    wanted, since_ms = log[200:], (log[200].timestamp or 0) - 500
    read = programs[client.name].consume(topic, len(wanted), PARTITIONS, "timestamp", since_ms)
    assert_shows(client, read, wanted)


@every_client
def test_starts_at_the_end(client: Client, programs: Programs, topic: str) -> None:
    """Existing records are not read; those that another client writes afterwards are."""
    log = written(client, programs, topic)
    reading = programs[client.name].begin_consume(Consume(topic, 2, (1,), "latest"))
    end = len(of(1, log))
    news = [Record(b"key", b"news", (), log[0].timestamp, 1, end + number) for number in range(2)]
    other = "aiokafka" if client.name == "librdkafka" else "librdkafka"
    assert programs[other].produce(topic, news) == places(news)
    assert list(reading) == news


def written(client: Client, programs: Programs, topic: str) -> list[Record]:
    """Return the records of a topic that the client has created and filled."""
    log = log_of(client, varied(COUNT, PARTITIONS))
    programs[client.name].create_topic(topic, len(PARTITIONS))
    assert programs[client.name].produce(topic, log) == places(log)
    return log
