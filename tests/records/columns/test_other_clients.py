"""Columns beside other clients: aiokafka, kafka-python (golden files) and librdkafka."""

from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatch  # type: ignore[import-untyped]
from confluent_kafka import Producer
from hypothesis import given

import dray.testing
from dray.formats import wal_v1
from dray.records import Codec, Record
from dray.records.columns import StoredBatch, decode, encode
from tests.records.columns.oracle import rows_in
from tests.records.strategies import codecs
from tests.records.test_golden import GOLDEN, RECORDS
from tests.records.test_other_client import _written_by_aiokafka, records_they_can_write


def _seen(records: list[Record]) -> list[tuple[object, ...]]:
    return [
        (
            record.offset,
            record.timestamp * 1000,
            record.key,
            record.value,
            [(key.encode(), value) for key, value in record.headers],
        )
        for record in records
    ]


@given(records_they_can_write, codecs)
def test_batches_of_aiokafka_round_trip_through_columns(records: list[Record], codec: Codec) -> None:
    (rows,) = decode(0, [StoredBatch(0, _written_by_aiokafka(records, codec))])
    assert [row[1:6] for row in rows_in([rows])] == _seen(records)
    theirs = DefaultRecordBatch(bytes(encode(rows).buffer))
    assert theirs.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in theirs] == [
        (r.offset, r.timestamp, r.key, r.value, r.headers) for r in records
    ]


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("kafka-python-*.batch")))
def test_batches_of_kafka_python_become_rows(name: str) -> None:
    batch = StoredBatch(0, (GOLDEN / f"{name}.batch").read_bytes())
    assert [row[1:6] for row in rows_in(decode(0, [batch]))] == _seen(RECORDS)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_of_librdkafka_become_rows(codec: str, tmp_path: Path) -> None:
    sent = [(b"key-%d" % n if n % 2 else None, b"value-%d" % n * 20) for n in range(50)]
    settings = {"storage.url": f"file://{tmp_path}"}
    with dray.testing.broker(settings) as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": codec, "linger.ms": 5})
        for key, value in sent:
            producer.produce("clicks", value, key, headers=[("trace", b"1"), ("trace", None)])
        assert producer.flush(30) == 0
    stored = [batch for path in sorted(tmp_path.rglob("*.wo")) for batch in _batches(path)]
    rows = [row for batch in stored for row in rows_in(decode(0, [StoredBatch(0, batch)]))]
    assert sorted((row.key or b"", row.value) for row in rows) == sorted(
        (key or b"", value) for key, value in sent
    )
    assert all(row.headers == [(b"trace", b"1"), (b"trace", None)] for row in rows)
    assert {row.attributes & 7 for row in rows} == {Codec[codec.upper()]}


def _batches(path: Path) -> list[memoryview]:
    whole = wal_v1.decode(path.name, path.read_bytes())
    return [batch for chunk in whole.chunks for _, batch in chunk.batches]
