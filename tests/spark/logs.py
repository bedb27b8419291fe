"""Log on disk for Spark to read, written by `dray.log`, and the records that a plain decoder finds in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from dray.compaction.rewrite import RewriteTask
from dray.ids import FileId, StreamId
from dray.index import IndexEntry, file_path
from dray.records import BatchRules, Codec, Record, encode_batch, validate
from tests.log.builders import ONE, THREE, TWO, OpenLog, Rig, simulate
from tests.log.compacting import records

STREAMS: Final = (ONE, TWO, THREE)
_CODECS: Final = (Codec.NONE, Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
_RULES: Final = BatchRules()
_NOW_MS: Final = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A directory of WAL objects, the index over them, and the records in them."""

    root: Path
    entries: dict[StreamId, list[IndexEntry]]
    records: dict[StreamId, list[Record]]

    def task(self, stream: StreamId, number: int) -> RewriteTask:
        """Return a task that rewrites a whole stream."""
        file_id = FileId(number.to_bytes(16, "big"))
        path = file_path(f"topic-{stream}", 7, "2026/01/02", stream, file_id)
        return RewriteTask(stream, 7, tuple(self.entries[stream]), 0, file_id, path)

    def tasks(self, number: int) -> list[RewriteTask]:
        return [self.task(stream, number) for stream in STREAMS]

    def read(self, path: str) -> list[Record]:
        """Return the records of a Parquet file as pyarrow reads them."""
        table = pq.read_table(self.root / path, partitioning=None)
        assert set(table["partition"].to_pylist()) <= {7}
        return [_record(row) for row in table.to_pylist()]


def stored_log(root: Path, *, batches: int = 40, records_each: int = 25) -> StoredLog:
    """Write a log of three streams: every codec, keys, headers, empty and missing values."""
    found = StoredLog(root, {}, {})

    async def body(rig: Rig) -> None:
        opened = await rig.open(linger_ms=1)
        for number in range(batches):
            await _append(opened, number, records_each)
        for stream in STREAMS:
            found.entries[stream] = await rig.entries(stream)
            found.records[stream] = await records(opened, stream)
        for path in rig.paths():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(rig.bucket.get(path))

    simulate(body)
    return found


async def _append(opened: OpenLog, number: int, count: int) -> None:
    codec = _CODECS[number % len(_CODECS)]
    sent = []
    for stream in STREAMS:
        batch = encode_batch(list(_records(stream, number, count)), codec=codec)
        sent.append(await opened.log.append(stream, validate(memoryview(batch), _RULES, _NOW_MS)))
    for promise in sent:
        await promise


def _records(stream: StreamId, number: int, count: int) -> Iterator[Record]:
    for offset in range(count):
        key = None if offset % 5 == 0 else f"{stream}/{number}".encode()
        value = None if offset % 7 == 3 else b"" if offset % 7 == 4 else f"value {offset} ".encode() * offset
        headers: Sequence[tuple[str, bytes | None]] = [("a", b"1"), ("a", None)] if offset % 3 else []
        yield Record(offset, _NOW_MS + number * 1000 + offset, key, value, tuple(headers))


def _record(row: dict[str, object]) -> Record:
    headers = row["headers"]
    assert isinstance(headers, list)
    timestamp = row["timestamp"]
    return Record(
        offset=row["offset"],  # type: ignore[arg-type]
        timestamp=round(timestamp.timestamp() * 1000),  # type: ignore[attr-defined]
        key=row["key"],  # type: ignore[arg-type]
        value=row["value"],  # type: ignore[arg-type]
        headers=tuple((header["key"], header["value"]) for header in headers),
    )
