"""Append and read back, and the contents of the stores in between."""

from dray.formats import wal_v1
from dray.ids import StreamId, meta_domain
from dray.index import parse_wal_path
from dray.log import LEADER_EPOCH
from dray.records import crc32c, parse_header
from dray.testing.sim.batches import tagged_batch
from tests.log.builders import DOMAIN, ONE, THREE, TWO, Rig, outcomes, simulated

_SET_BY_BROKER = 16
"""Base offset, length and leader epoch: the bytes that are set when a batch is served."""


@simulated
async def test_batch_round_trips_byte_for_byte(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("before", records=3)
    sent = tagged_batch("the batch", rig.clock.now_ms(), records=2)
    appended = await (await opened.log.append(ONE, sent))
    found = await opened.log.read(ONE, appended.base_offset, 1)
    served, stored = b"".join(found.parts), bytes(sent.buffer)
    header = parse_header(memoryview(served))
    assert served[_SET_BY_BROKER:] == stored[_SET_BY_BROKER:]
    assert (header.base_offset, header.batch_length) == (3, sent.header.batch_length)
    assert header.leader_epoch == LEADER_EPOCH == 0
    assert header.crc == crc32c(served[21:])
    assert (found.next_offset, found.size_bytes) == (5, len(stored))
    assert found.head == await rig.head()


@simulated
async def test_offsets_are_dense_in_each_stream(rig: Rig) -> None:
    opened = await rig.open()
    counts = [3, 1, 2, 5, 1]
    promises = [
        await opened.send(f"{number}", stream, records=count)
        for number, count in enumerate(counts)
        for stream in (ONE, TWO)
    ]
    bases = [(await promise).base_offset for promise in promises]
    assert bases[0::2] == bases[1::2] == [0, 3, 4, 6, 11]
    expected = [
        (base, count, f"{n}") for n, (base, count) in enumerate(zip(bases[0::2], counts, strict=True))
    ]
    assert await opened.tags(ONE) == await opened.tags(TWO) == expected
    assert await opened.tags(THREE) == []


@simulated
async def test_object_follows_the_wal_format(rig: Rig) -> None:
    opened = await rig.open()
    batches = {stream: tagged_batch(f"of {stream}", 5, records=2) for stream in (THREE, ONE, TWO)}
    promises = [await opened.log.append(stream, batch) for stream, batch in batches.items()]
    assert await outcomes(*promises) == ["0"] * 3
    (path,) = rig.paths()
    decoded = wal_v1.decode(path, rig.bucket.get(path))
    assert parse_wal_path(path) == (DOMAIN, decoded.header.wal_id)
    assert path.startswith("wal/v1/zone=z1/domain=0/date=2023/11/14/")
    assert decoded.header.domain == DOMAIN
    assert decoded.header.created_at_ms == rig.clock.now_ms()
    assert [chunk.entry.stream for chunk in decoded.chunks] == [ONE, TWO, THREE]
    for chunk in decoded.chunks:
        ((_, stored),) = chunk.batches
        assert bytes(stored) == bytes(batches[chunk.entry.stream].buffer)
        assert chunk.entry.record_count == 2


@simulated
async def test_commit_writes_entry_head_and_object_record(rig: Rig) -> None:
    opened = await rig.open(staging_markers_ahead=3)
    await outcomes(await opened.send("1", ONE), await opened.send("2", TWO), await opened.send("3", TWO))
    (path,) = rig.paths()
    (record,) = await rig.committed()
    assert (record.path, record.references, record.size_bytes) == (path, 2, len(rig.bucket.get(path)))
    staged = await rig.staged()
    assert len(staged) == 2, "the marker of the committed object is deleted, two are left for later objects"
    assert path not in {marker.path for marker in staged}
    (entry,) = await rig.wal_entries(TWO)
    assert (entry.start_offset, entry.end_offset, entry.record_count) == (0, 2, 2)
    assert entry.wal_path == path
    assert (await rig.head(TWO)).high_watermark == 2
    assert await rig.pending_deletion() == []


@simulated
async def test_staging_marker_is_written_before_its_object(rig: Rig) -> None:
    opened = await rig.open()
    opened.objects.hold_puts()
    promise = await opened.send("x")
    await rig.settle()
    assert not promise.done()
    assert opened.objects.puts[0] in {marker.path for marker in await rig.staged()}
    assert rig.paths() == []
    opened.objects.let_all()
    assert await outcomes(promise) == ["0"]


@simulated
async def test_nothing_is_acknowledged_or_visible_before_the_commit(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("first")
    answer = opened.link.hold("commit")
    promise = await opened.send("second")
    await rig.settle()
    assert not promise.done()
    assert len(rig.paths()) == 2
    answer.set()
    assert (await promise).base_offset == 1


@simulated
async def test_streams_of_different_domains_never_share_an_object(rig: Rig) -> None:
    opened = await rig.open(domains=3)
    streams = [StreamId(number) for number in range(100, 112)]
    for stream in streams:
        await opened.log.create_stream(stream)
    assert await outcomes(*[await opened.send("x", stream) for stream in streams]) == ["0"] * len(streams)
    assert len(rig.paths()) == len({meta_domain(stream, 3) for stream in streams}) == 3
    for path in rig.paths():
        decoded = wal_v1.decode(path, rig.bucket.get(path))
        assert {meta_domain(chunk.entry.stream, 3) for chunk in decoded.chunks} == {decoded.header.domain}


@simulated
async def test_empty_stream_reads_empty(rig: Rig) -> None:
    opened = await rig.open()
    found = await opened.log.read(ONE, 0, 100)
    assert (found.parts, found.next_offset, found.size_bytes) == ([], 0, 0)


@simulated
async def test_stream_creation_is_idempotent(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("x")
    await opened.log.create_stream(ONE)
    assert await opened.tags() == [(0, 1, "x")]
