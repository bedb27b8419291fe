"""Known limitations of the libraries, which are expected, and no others."""

import pytest
from msgspec.structs import replace

from tests.clients.protocol import Record
from tests.clients.records import varied
from tests.clients.registry import CLIENTS
from tests.clients.topics import PARTITIONS, assert_shows, bounds, log_of, places

RECORD = Record(b"", b"", (("twice", b"1"), ("null", None), ("twice", b"2"), ("empty", b"")))


@pytest.mark.parametrize("name", ["librdkafka", "aiokafka", "java", "franz-go", "sarama"])
def test_most_libraries_write_and_read_a_record_unchanged(name: str) -> None:
    assert CLIENTS[name].says(RECORD) == RECORD
    assert CLIENTS[name].shows(RECORD) == RECORD


def test_kafka_python_writes_an_empty_header_for_a_null() -> None:
    headers = (("twice", b"1"), ("null", b""), ("twice", b"2"), ("empty", b""))
    assert CLIENTS["kafka-python"].says(RECORD) == replace(RECORD, headers=headers)
    assert CLIENTS["kafka-python"].shows(RECORD) == RECORD


def test_kafkajs_groups_headers_by_name() -> None:
    written = (("twice", b"1"), ("twice", b"2"), ("null", b""), ("empty", b""))
    shown = (("twice", b"1"), ("twice", b"2"), ("null", None), ("empty", b""))
    assert CLIENTS["kafkajs"].says(RECORD) == replace(RECORD, headers=written)
    assert CLIENTS["kafkajs"].shows(RECORD) == replace(RECORD, headers=shown)


def test_kafka_go_reads_empty_as_null() -> None:
    headers = (("twice", b"1"), ("null", None), ("twice", b"2"), ("empty", None))
    assert CLIENTS["kafka-go"].says(RECORD) == RECORD
    assert CLIENTS["kafka-go"].shows(RECORD) == Record(None, None, headers)


def test_log_has_dense_offsets_in_each_partition() -> None:
    log = log_of(CLIENTS["java"], varied(5, PARTITIONS))
    assert places(log) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]
    assert bounds(log) == [(0, 3), (0, 2)]


def test_lost_duplicated_moved_or_changed_record_is_detected() -> None:
    java = CLIENTS["java"]
    log = log_of(java, varied(20, PARTITIONS))
    assert_shows(java, sorted(log, key=lambda record: record.partition), log)
    moved = [*log[:4], log[6], log[5], log[4], *log[7:]]
    for wrong in (log[:-1], [*log, log[-1]], moved, [replace(log[0], value=b"other"), *log[1:]]):
        with pytest.raises(AssertionError):
            assert_shows(java, wrong, log)


def test_records_take_every_shape() -> None:
    records = varied(300, PARTITIONS)
    shapes = {(record.key is None, record.value is None) for record in records}
    assert shapes == {(False, False), (True, False), (False, True)}
    assert {b""} < {record.key for record in records}
    assert {b""} < {record.value for record in records}
    headers = [header for record in records for header in record.headers]
    assert {None, b""} < {value for _, value in headers}
    assert any([name for name, _ in record.headers].count("twice") == 2 for record in records)
