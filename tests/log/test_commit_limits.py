"""Commits cut to the limits of the metadata store."""

from dray.ids import StreamId
from dray.log.commit_limits import within
from dray.log.settings import LogSettings
from dray.meta.port import CommitLimits
from tests.log.builders import ONE, Rig, outcomes, simulated

SMALL = CommitLimits(checks_max=20, writes_max=20, bytes_max=10_000)
STREAMS = [StreamId(number) for number in range(1, 31)]


@simulated
async def test_batches_of_many_streams_are_committed_in_parts(rig: Rig) -> None:
    rig.limits = SMALL
    opened = await rig.open(producer_snapshot_entries=1)
    for stream in STREAMS:
        await opened.log.create_stream(stream)
    for sequence in range(3):
        sending = [
            await opened.send(f"{sequence}", stream, producer_id=7, sequence=sequence) for stream in STREAMS
        ]
        assert await outcomes(*sending) == [f"{sequence}"] * len(STREAMS)


@simulated
async def test_many_small_objects_are_committed_in_parts(rig: Rig) -> None:
    rig.limits = SMALL
    opened = await rig.open(flush_bytes=1, puts_in_flight_max=16)
    opened.objects.put_seconds = 0.1
    sending = [await opened.send(f"{number}") for number in range(40)]
    assert await outcomes(*sending) == [str(number) for number in range(40)]


@simulated
async def test_entries_are_removed_in_parts(rig: Rig) -> None:
    rig.limits = SMALL
    opened = await rig.open(flush_bytes=1)
    for number in range(40):
        await opened.append(f"{number}")
    await opened.log.trim(ONE, 39)
    assert len(await rig.entries()) == 1


@simulated
async def test_markers_are_reserved_and_released_in_parts(rig: Rig) -> None:
    """Also where the setting is larger than a commit of the store."""
    rig.limits = SMALL
    opened = await rig.open(staging_markers_ahead=200)
    for number in range(30):
        assert (await opened.append(f"{number}")).base_offset == number
    await rig.settle()
    assert len(await rig.staged()) > 0
    await opened.log.close()
    assert await rig.staged() == []


def test_large_limits_change_nothing() -> None:
    settings = LogSettings()
    assert within(settings, CommitLimits(10_000, 10_000, 64 << 20)) == settings


def test_etcds_defaults_allow_59_streams_in_a_commit() -> None:
    assert within(LogSettings(), CommitLimits(127, 127, 1_400_000)).streams_per_object_max == 59


@simulated
async def test_streams_without_space_for_a_snapshot_get_it_in_later_commits(rig: Rig) -> None:
    rig.limits = CommitLimits(checks_max=28, writes_max=28, bytes_max=20_000)
    opened = await rig.open(producer_snapshot_entries=1)
    crowd = STREAMS[:10]
    for stream in crowd:
        await opened.log.create_stream(stream)
    due = []
    for sequence in range(12):
        sending = [
            await opened.send(f"{sequence}", stream, producer_id=7, sequence=sequence) for stream in crowd
        ]
        assert await outcomes(*sending) == [f"{sequence}"] * len(crowd)
        due.append([(await rig.head(stream)).unsnapshotted for stream in crowd])
    assert max(map(max, due)) > 0, "there was no space in some commit"
    assert max(map(max, due)) < 3, "no stream waits long"
