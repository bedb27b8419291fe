"""Compaction without Spark, tables or jobs: entries to files, and the swap of the index."""

import io
from collections.abc import Sequence

from typing_extensions import Buffer

from dray.compaction.rewrite import RewriteTask, Rewritten, rewrite
from dray.formats.parquet_v1 import GROUP_BYTES
from dray.ids import FileId, StreamId, TopicRef
from dray.index import FileRef, IndexEntry
from dray.log.settings import LogSettings
from dray.log.swap import Swapper
from dray.meta.port import ABSENT, Check, Put
from dray.objects.port import ByteRange
from dray.records import Record, decode_batch, iter_batches
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, OpenLog, Rig

TOPIC = TopicRef("t", bytes(16))
JOB = "/dray/v1/compaction/jobs/test"


def read_from(rig: Rig, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
    return rig.bucket.get_ranges(path, ranges)


def written(
    rig: Rig,
    entries: Sequence[IndexEntry],
    number: int,
    stream: StreamId = ONE,
    first_offset: int = 0,
    *,
    group_bytes: int = GROUP_BYTES,
) -> FileRef:
    """Write the entries to one file in the bucket."""
    file_id = FileId(number.to_bytes(16, "big"))
    task = RewriteTask(stream, 0, tuple(entries), first_offset, file_id, f"compaction/v1/{number}.parquet")
    output = io.BytesIO()
    result = rewrite(task, lambda path, ranges: read_from(rig, path, ranges), output, group_bytes=group_bytes)
    assert isinstance(result, Rewritten)
    rig.bucket.put_new(task.path, [output.getvalue()])
    return result.file


def swapper(rig: Rig) -> Swapper:
    return Swapper(rig.meta, DOMAIN, rig.clock, LogSettings())


async def swap(rig: Rig, files: Sequence[FileRef], stream: StreamId = ONE) -> bool:
    stored = await rig.meta.get(STORE_DOMAIN, JOB)
    check = Check(JOB, ABSENT if stored is None else stored.version)
    return await swapper(rig).swap(stream, files, TOPIC, (check, Put(JOB, b"done")))


async def compact(rig: Rig, stream: StreamId = ONE, *, number: int = 1, until: int | None = None) -> FileRef:
    """Rewrite everything up to an offset as one file."""
    entries = [entry for entry in await rig.entries(stream) if until is None or entry.end_offset <= until]
    place = written(rig, entries, number, stream)
    assert await swap(rig, [place], stream)
    return place


async def records(opened: OpenLog, stream: StreamId = ONE, offset: int = 0) -> list[Record]:
    """Read every record from `offset` on at once, whatever batches they are in."""
    found = await opened.log.read(stream, offset, 1 << 30)
    whole = memoryview(b"".join(found.parts))
    return [
        record
        for _, batch in iter_batches(whole)
        for record in decode_batch(batch)
        if record.offset >= offset
    ]
