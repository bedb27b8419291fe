"""Round trip from stored batches to a file and back: a consumer sees the same records."""

from dray.formats import parquet_v1
from dray.records import Record, decode_batch, encode_batch, iter_batches
from dray.records.columns import StoredBatch, decode, encode
from tests.formats.parquet_v1.builders import read_all, written

NOW_MS = 1_700_000_000_000


def _records(base: int, count: int) -> list[Record]:
    return [
        Record(
            base + n,
            NOW_MS + n,
            None if n % 5 == 0 else b"key-%d" % n,
            None if n % 7 == 0 else b"value" * (n % 11),
            (("trace", b"%d" % n), ("trace", None)) if n % 3 else (),
        )
        for n in range(count)
    ]


def test_records_survive_a_round_trip_through_parquet() -> None:
    sent = [_records(1000 * number, 400) for number in range(5)]
    batches = [
        StoredBatch(records[0].offset, encode_batch(records, codec=number))
        for number, records in enumerate(sent)
    ]
    whole, file = written(decode(3, batches), group_bytes=10_000)
    assert len(file.groups) > 5
    got = [
        record
        for rows in read_all(whole, file, parquet_v1.SERVED)
        for _, batch in iter_batches(encode(rows).buffer)
        for record in decode_batch(batch)
    ]
    assert got == [record for records in sent for record in records]


def test_rows_that_were_read_can_be_written_again() -> None:
    batches = [StoredBatch(0, encode_batch(_records(0, 300)))]
    whole, file = written(decode(3, batches), group_bytes=5_000)
    again, merged = written(read_all(whole, file, parquet_v1.SCHEMA.names))
    assert len(merged.groups) == 1
    assert merged.row_count == file.row_count
    first, second = (
        [row for rows in read_all(data, facts, parquet_v1.SCHEMA.names) for row in rows.to_pylist()]
        for data, facts in ((whole, file), (again, merged))
    )
    assert first == second
