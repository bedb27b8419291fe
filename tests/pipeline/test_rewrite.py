"""What one task writes: every record once, none from before the log; and what becomes of bad batches."""

import io
from collections.abc import Sequence
from functools import partial
from importlib import import_module

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dray.ids import FileId, StreamId, WalId
from dray.index import IndexEntry, StreamHead, assign
from dray.index.assign import BatchDraft, Chunk
from dray.log import LogDamaged
from dray.objects.memory import MemoryBucket
from dray.pipeline import rewrite as rewriting
from dray.pipeline.rewrite import Rewritten, SpanTask, rewrite
from dray.records import Codec, Record, encode_batch
from dray.records.checksum import crc32c
from dray.records.columns import StoredBatch, decode, decode_readable
from dray.runtime import SystemClock

STREAM = StreamId(1)


def _batch(tag: str, count: int = 2) -> bytes:
    return encode_batch(
        [Record(number, 1_000 + number, None, f"{tag}{number}".encode()) for number in range(count)]
    )


def _unreadable(count: int = 2) -> bytes:
    """Sound outside, with a payload that no client can decompress."""
    good = bytearray(encode_batch([Record(n, 1_000, None, b"x") for n in range(count)], codec=Codec.GZIP))
    good[70:] = bytes(len(good) - 70)
    good[17:21] = crc32c(bytes(good[21:])).to_bytes(4, "big")
    return bytes(good)


class _Written:
    """Batches in one object each, and what became of them."""

    def __init__(self) -> None:
        self.bucket = MemoryBucket(SystemClock())
        self.head = StreamHead()
        self.entries: list[IndexEntry] = []

    def add(self, *batches: bytes, counts: int = 2) -> None:
        number, position, drafts = len(self.entries), 0, []
        for batch in batches:
            drafts.append(BatchDraft(position, len(batch), counts, 1_000, 1_001, -1, -1, -1))
            position += len(batch)
        path = f"wal/{number}.wo"
        self.bucket.put_new(path, [b"".join(batches)])
        chunk = Chunk(STREAM, WalId(number.to_bytes(16, "big")), path, 0, position)
        self.head, entry = assign(self.head, chunk, drafts, 5)
        self.entries.append(entry)

    def rewrite(self, first_offset: int = 0) -> tuple[Rewritten, list[tuple[int, bytes]]]:
        task = SpanTask(STREAM, 3, tuple(self.entries), first_offset, FileId(bytes(16)), "x.parquet")
        output = io.BytesIO()
        done = rewrite(task, self.bucket.get_ranges, output)
        rows = pq.read_table(io.BytesIO(output.getvalue())).to_pylist()
        assert {row["partition"] for row in rows} <= {3}
        return done, [(row["offset"], row["value"]) for row in rows]


def test_every_record_is_written_once() -> None:
    written = _Written()
    written.add(_batch("a"), _batch("b"))
    written.add(_batch("c"))
    done, rows = written.rewrite()
    assert rows == [(0, b"a0"), (1, b"a1"), (2, b"b0"), (3, b"b1"), (4, b"c0"), (5, b"c1")]
    assert (done.place.start_offset, done.place.end_offset, done.place.record_count) == (0, 6, 6)
    assert done.unreadable_batches == 0


def test_what_lies_before_the_start_of_the_log_is_left_out() -> None:
    written = _Written()
    written.add(_batch("a"), _batch("b"))
    done, rows = written.rewrite(first_offset=3)
    assert rows == [(3, b"b1")]
    assert (done.place.start_offset, done.place.end_offset, done.place.record_count) == (3, 4, 1)


def test_an_unreadable_batch_is_counted_and_the_others_are_written() -> None:
    written = _Written()
    written.add(_batch("a"), _unreadable(), _batch("c"))
    done, rows = written.rewrite()
    assert rows == [(0, b"a0"), (1, b"a1"), (4, b"c0"), (5, b"c1")]
    assert done.unreadable_batches == 1
    assert "cannot be read" in done.first_unreadable
    assert (done.place.end_offset, done.place.record_count) == (6, 4)


def test_small_entries_become_columns_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches in one go, but no more than some megabytes; one that cannot be read costs only itself."""
    gone_through: list[int] = []

    def counted(partition: int, batches: Sequence[StoredBatch]) -> tuple[list[pa.RecordBatch], list[str]]:
        gone_through.append(len(batches))
        return decode_readable(partition, batches)

    monkeypatch.setattr(rewriting, "decode_readable", counted)
    monkeypatch.setattr(rewriting, "CHUNK_BYTES", 4 * len(_batch("a")))
    written = _Written()
    for tag in "abcdefghij":
        written.add(_batch(tag))
    _, rows = written.rewrite()
    assert [value for _, value in rows] == [f"{tag}{n}".encode() for tag in "abcdefghij" for n in (0, 1)]
    assert gone_through == [4, 4, 2]
    written.add(_unreadable())
    done, rows = written.rewrite()
    assert len(rows) == 20
    assert done.unreadable_batches == 1


def test_a_span_without_readable_records_becomes_a_file_without_rows() -> None:
    written = _Written()
    written.add(_unreadable())
    done, rows = written.rewrite()
    assert rows == []
    assert (done.place.record_count, done.place.min_timestamp_ms, done.place.packed_groups) == (0, -1, b"")


def test_a_damaged_batch_is_told_with_its_object_and_offsets() -> None:
    written = _Written()
    bad = bytearray(_batch("a"))
    bad[-1] ^= 0xFF
    written.add(_batch("b"))
    written.add(bytes(bad))
    with pytest.raises(
        LogDamaged, match=r"offsets 2 to 3 are in wal/1[.]wo, and the batch at offset 2 is damaged"
    ):
        written.rewrite()


def test_a_batch_that_is_large_once_decompressed_is_written() -> None:
    """Larger than a broker looks into: clients can read it, so it must not get lost."""
    large = bytes(65 << 20)
    written = _Written()
    written.add(encode_batch([Record(0, 1_000, None, large)], codec=Codec.ZSTD), counts=1)
    done, rows = written.rewrite()
    assert (done.unreadable_batches, [(offset, len(value)) for offset, value in rows]) == (
        0,
        [(0, len(large))],
    )


def test_a_batch_that_is_too_large_to_be_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        import_module("dray.records.columns.decode"), "decode", partial(decode, plain_bytes_max=10_000)
    )
    written = _Written()
    written.add(_batch("a"))
    written.add(encode_batch([Record(0, 1_000, None, bytes(20_000))], codec=Codec.ZSTD), counts=1)
    with pytest.raises(LogDamaged, match="and the batch at offset 2 is too large"):
        written.rewrite()
