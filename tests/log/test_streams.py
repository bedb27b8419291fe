"""Creation of many streams: few commits, within the store's limits, and existing streams are left alone."""

import pytest

from dray.ids import StreamId
from dray.index import StreamHead
from dray.log import StreamUnknown
from dray.meta.port import CommitLimits
from tests.log.builders import Rig, simulated

SMALL = CommitLimits(checks_max=20, writes_max=20, bytes_max=100_000)
STREAMS = [StreamId(number) for number in range(100, 190)]


@simulated
async def test_streams_are_created_in_few_commits_within_the_limits(rig: Rig) -> None:
    rig.limits = SMALL
    opened = await rig.open(domains=3, staging_markers_ahead=4)
    before = opened.link.calls["commit"]
    await opened.log.create_streams(STREAMS)
    assert opened.link.calls["commit"] - before <= 3 * 2 + 1
    for stream in STREAMS:
        assert await opened.log.head(stream) == StreamHead()
        assert (await opened.append("x", stream)).base_offset == 0


@simulated
async def test_existing_streams_keep_their_records_when_others_are_created_with_them(rig: Rig) -> None:
    opened = await rig.open()
    await opened.log.create_streams(STREAMS[::7])
    for stream in STREAMS[::7]:
        await opened.append("kept", stream)
    await opened.log.create_streams(STREAMS)
    offsets = [(await opened.append("x", stream)).base_offset for stream in STREAMS]
    assert offsets == [1 if stream in STREAMS[::7] else 0 for stream in STREAMS]


@simulated
async def test_half_deleted_stream_is_created_again_among_others(rig: Rig) -> None:
    opened = await rig.open()
    gone, *others = STREAMS
    await opened.log.create_streams([gone])
    await opened.append("old", gone)
    await opened.log.condemn_stream(gone)
    with pytest.raises(StreamUnknown):
        await opened.log.head(gone)
    await opened.log.create_streams(STREAMS)
    assert await opened.log.head(gone) == StreamHead()
    assert await rig.entries(gone) == []
    assert (await opened.append("x", others[0])).base_offset == 0


@simulated
async def test_streams_created_by_two_processes_at_once_exist_once(rig: Rig) -> None:
    one, other = await rig.open("a"), await rig.open("b")
    answer = one.link.hold("commit")
    creating = one.tasks.start(one.log.create_streams(STREAMS), name="create")
    await rig.settle()
    await other.log.create_streams(STREAMS[::2])
    assert (await other.append("kept", STREAMS[0])).base_offset == 0
    del one.link.held["commit"]
    answer.set()
    await creating
    assert (await one.append("x", STREAMS[0])).base_offset == 1
    assert (await one.append("x", STREAMS[1])).base_offset == 0
