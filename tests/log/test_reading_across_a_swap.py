"""Reads that start in WAL objects and end in the file that replaced them."""

from dray.index import WalEntry
from dray.records import decode_batch, iter_batches
from tests.log.builders import ONE, Rig, simulated
from tests.log.compacting import compact, records


@simulated
async def test_no_record_is_returned_twice(rig: Rig) -> None:
    """Not every client drops records that it has already received in the same response."""
    writer = await rig.open()
    await writer.append("a", records=2)
    await writer.append("b", records=2)
    reader = await rig.open("reader", readahead_chunks=0)
    await reader.log.read(ONE, 0, 1)  # caches the first chunk and both entries
    _, second = await rig.entries()
    assert isinstance(second, WalEntry)
    await compact(rig)
    rig.bucket.delete(second.wal_path)
    found = await reader.log.read(ONE, 0, 1 << 20)
    whole = memoryview(b"".join(found.parts))
    offsets = [record.offset for _, batch in iter_batches(whole) for record in decode_batch(batch)]
    assert (offsets, found.next_offset) == ([0, 1], 2)
    assert [record.offset for record in await records(reader, offset=2)] == [2, 3]
