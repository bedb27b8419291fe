"""Rewrite tasks: every record from the log start on is written once; unconvertible entries are reported."""

import io
from collections.abc import Sequence
from functools import partial
from importlib import import_module

import pyarrow.parquet as pq
import pytest

from dray.compaction import rewrite as rewriting
from dray.compaction.rewrite import RewriteTask, Rewritten, Unconvertible, rewrite
from dray.compaction.tasks import has_output
from dray.ids import FileId, StreamId, WalId
from dray.index import IndexEntry, StreamHead, assign
from dray.index.assign import BatchDraft, Chunk
from dray.log.stages import batch_draft
from dray.objects.memory import MemoryBucket
from dray.records import Codec, Record, encode_batch, parse_header
from dray.records.columns import Decoded, StoredBatch, decode, decode_convertible
from dray.records.primitives import crc32c
from dray.runtime import SystemClock

STREAM = StreamId(1)


def _batch(tag: str, count: int = 2) -> bytes:
    return encode_batch(
        [Record(number, 1_000 + number, None, f"{tag}{number}".encode()) for number in range(count)]
    )


def _unreadable(count: int = 2) -> bytes:
    """Return a batch with a valid header and a payload that no client can decompress."""
    good = bytearray(encode_batch([Record(n, 1_000, None, b"x") for n in range(count)], codec=Codec.GZIP))
    good[70:] = bytes(len(good) - 70)
    good[17:21] = crc32c(bytes(good[21:])).to_bytes(4, "big")
    return bytes(good)


class _Written:
    """Batches in one object each, and their index entries."""

    def __init__(self) -> None:
        self.bucket = MemoryBucket(SystemClock())
        self.head = StreamHead()
        self.entries: list[IndexEntry] = []

    def add(self, *batches: bytes) -> None:
        number, position, drafts = len(self.entries), 0, list[BatchDraft]()
        for batch in batches:
            drafts.append(batch_draft(parse_header(memoryview(batch)), position))
            position += len(batch)
        path = f"wal/{number}.wo"
        self.bucket.put_new(path, [b"".join(batches)])
        chunk = Chunk(STREAM, WalId(number.to_bytes(16, "big")), path, 0, position)
        self.head, entry = assign(self.head, chunk, drafts, 5)
        self.entries.append(entry)

    def rewrite(self, first_offset: int = 0) -> tuple[Rewritten, list[tuple[int, bytes]]]:
        done, output = self._done(first_offset)
        assert isinstance(done, Rewritten)
        rows = pq.read_table(io.BytesIO(output)).to_pylist()
        assert {row["partition"] for row in rows} <= {3}
        return done, [(row["offset"], row["value"]) for row in rows]

    def unconvertible(self, first_offset: int = 0) -> list[tuple[int, int, str, str]]:
        done, _ = self._done(first_offset)
        assert isinstance(done, Unconvertible)
        assert not has_output(done)
        return [(one.start_offset, one.end_offset, one.path, one.reason) for one in done.entries]

    def _done(self, first_offset: int) -> tuple[Rewritten | Unconvertible, bytes]:
        task = RewriteTask(STREAM, 3, tuple(self.entries), first_offset, FileId(bytes(16)), "x.parquet")
        output = io.BytesIO()
        return rewrite(task, self.bucket.get_ranges, output), output.getvalue()


def _damaged(batch: bytes) -> bytes:
    return batch[:-1] + bytes([batch[-1] ^ 0xFF])


def test_every_record_is_written_once() -> None:
    written = _Written()
    written.add(_batch("a"), _batch("b"))
    written.add(_batch("c"))
    done, rows = written.rewrite()
    assert rows == [(0, b"a0"), (1, b"a1"), (2, b"b0"), (3, b"b1"), (4, b"c0"), (5, b"c1")]
    assert (done.file.start_offset, done.file.end_offset, done.file.record_count) == (0, 6, 6)


def test_records_before_the_log_start_are_dropped() -> None:
    written = _Written()
    written.add(_batch("a"), _batch("b"))
    done, rows = written.rewrite(first_offset=3)
    assert rows == [(3, b"b1")]
    assert (done.file.start_offset, done.file.end_offset, done.file.record_count) == (3, 4, 1)


def test_entry_with_an_unreadable_batch_is_unconvertible() -> None:
    written = _Written()
    written.add(_batch("a"))
    written.add(_batch("b"), _unreadable(), _batch("c"))
    written.add(_batch("d"))
    ((start, end, path, reason),) = written.unconvertible()
    assert (start, end, path) == (2, 8, "wal/1.wo")
    assert "the batch at offset 4 cannot become rows" in reason


def test_all_unconvertible_entries_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = partial(decode, plain_bytes_max=10_000)
    monkeypatch.setattr(import_module("dray.records.columns.decode"), "decode", limited)
    written = _Written()
    written.add(_batch("valid"))
    written.add(_damaged(_batch("flipped")))
    written.add(_batch("missing"))
    written.bucket.delete("wal/2.wo")
    written.add(_batch("valid"), _batch("truncated"))
    whole = bytes(written.bucket.get("wal/3.wo"))
    written.bucket.delete("wal/3.wo")
    written.bucket.put_new("wal/3.wo", [whole[:-1]])
    written.add(encode_batch([Record(0, 1_000, None, bytes(20_000))], codec=Codec.ZSTD))
    written.add(_batch("valid"))
    written.add(_unreadable())
    found = written.unconvertible()
    assert sorted((start, end) for start, end, _, _ in found) == [(2, 4), (4, 6), (6, 10), (10, 11), (13, 15)]
    reasons = {path: reason for _, _, path, reason in found}
    assert "the batch at offset 2 is damaged" in reasons["wal/1.wo"]
    assert "there is no such object" in reasons["wal/2.wo"]
    assert "the object is truncated" in reasons["wal/3.wo"]
    assert "the batch at offset 10 is too large" in reasons["wal/4.wo"]
    assert "the batch at offset 13 cannot become rows" in reasons["wal/6.wo"]


def test_bad_batch_before_the_log_start_does_not_prevent_conversion() -> None:
    written = _Written()
    written.add(_damaged(_batch("a")), _unreadable(), _batch("c"))
    _, rows = written.rewrite(first_offset=4)
    assert rows == [(4, b"c0"), (5, b"c1")]


def test_small_entries_are_decoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a few megabytes at a time."""
    decoded: list[int] = []

    def recorded(partition: int, batches: Sequence[StoredBatch]) -> Decoded:
        decoded.append(len(batches))
        return decode_convertible(partition, batches)

    monkeypatch.setattr(rewriting, "decode_convertible", recorded)
    monkeypatch.setattr(rewriting, "CHUNK_BYTES", 4 * len(_batch("a")))
    written = _Written()
    for tag in "abcdefghij":
        written.add(_batch(tag))
    _, rows = written.rewrite()
    assert [value for _, value in rows] == [f"{tag}{n}".encode() for tag in "abcdefghij" for n in (0, 1)]
    assert decoded == [4, 4, 2]


def test_batch_that_is_large_once_decompressed_is_written() -> None:
    """It is larger than what a broker validates; clients can read it, so it must not be lost."""
    large = bytes(65 << 20)
    written = _Written()
    written.add(encode_batch([Record(0, 1_000, None, large)], codec=Codec.ZSTD))
    _, rows = written.rewrite()
    assert [(offset, len(value)) for offset, value in rows] == [(0, len(large))]
